"""The usual recipes of a chooser: learners that take the noise off, and classifiers that take reports at face value."""

from __future__ import annotations

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sfumato.channels.base import Channel
from sfumato.learners.additive import AdditiveClassifier
from sfumato.learners.estimator import Channels, Learner
from sfumato.learners.face_value import FaceValueClassifier
from sfumato.learners.gaussian_mixture import GaussianMixtureClassifier
from sfumato.learners.naive_bayes import NaiveBayesClassifier
from sfumato.learners.product_mixture import ProductMixtureClassifier
from sfumato.learners.tree import TreeClassifier

SMOOTH, DETAILED = (120, 2.0), (60, 0.2)


def readable(channels: Channels, label_channel: Channel | None = None) -> dict[str, Learner]:
    """Models that people can read: a tree, and a sum of terms."""
    return {
        "reconstruct, tree": TreeClassifier(channels, "likelihood", label_channel=label_channel, random_state=0),
        "reconstruct, sum of terms": AdditiveClassifier(channels, label_channel=label_channel),
    }


def densities(
    channels: Channels, label_channel: Channel | None = None
) -> dict[str, GaussianMixtureClassifier | ProductMixtureClassifier]:
    """Densities of true values within the classes: they can also say what lies behind reports."""
    products = {
        f"reconstruct, mixture of products {words}": ProductMixtureClassifier(
            channels, label_channel=label_channel, components=components, pseudo_count=pseudo_count, members=1,
            random_state=0,
        )
        for words, (components, pseudo_count) in {"in detail": DETAILED, "smooth": SMOOTH}.items()
    }
    normals = GaussianMixtureClassifier(channels, label_channel=label_channel, random_state=0)
    return {"reconstruct, gaussian mixtures": normals, **products}


def reconstructing(channels: Channels, label_channel: Channel | None = None) -> dict[str, Learner]:
    """Learners that take the noise off: densities of the classes, which serve most people best, before those that look
    for a rule and need many reports to find it."""
    normals, *products = densities(channels, label_channel).items()
    bayes = ("reconstruct, naive Bayes", NaiveBayesClassifier(channels, label_channel=label_channel))
    return dict([normals, bayes, *products, *readable(channels, label_channel).items()])


def direct(channels: Channels) -> dict[str, Learner]:
    """Classifiers of scikit-learn that take reports as true values."""
    tree = DecisionTreeClassifier(min_samples_leaf=0.01, random_state=0)
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    return {
        "direct, logistic regression": FaceValueClassifier(logistic, channels),
        "direct, naive Bayes": FaceValueClassifier(None, channels),
        "direct, tree": FaceValueClassifier(tree, channels),
    }
