"""The usual recipes of a chooser: learners that take the noise off, and classifiers that take reports at face value."""

from __future__ import annotations

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sfumato.channels.base import Channel
from sfumato.mining.additive import AdditiveClassifier
from sfumato.mining.direct import DirectClassifier
from sfumato.mining.estimator import Channels, Learner
from sfumato.mining.joint.model import MixtureModel
from sfumato.mining.mixture import MixtureClassifier
from sfumato.mining.naive_bayes import NaiveBayes
from sfumato.mining.tree import TreeClassifier

SMOOTH, DETAILED = (120, 2.0), (60, 0.2)


def readable(channels: Channels, label_channel: Channel | None = None) -> dict[str, Learner]:
    """Models that people can read: a tree, and a sum of terms."""
    return {
        "reconstruct, tree": TreeClassifier(channels, "likelihood", label_channel=label_channel, random_state=0),
        "reconstruct, sum of terms": AdditiveClassifier(channels, label_channel=label_channel),
    }


def densities(channels: Channels, label_channel: Channel | None = None) -> dict[str, MixtureClassifier | MixtureModel]:
    """Densities of true values within the classes: they can also say what lies behind reports."""
    products = {
        f"reconstruct, mixture of products {words}": MixtureModel(
            channels, label_channel=label_channel, components=components, pseudo_count=pseudo_count, members=1,
            random_state=0,
        )
        for words, (components, pseudo_count) in {"in detail": DETAILED, "smooth": SMOOTH}.items()
    }
    normals = MixtureClassifier(channels, label_channel=label_channel, random_state=0)
    return {"reconstruct, gaussian mixtures": normals, **products}


def reconstructing(channels: Channels, label_channel: Channel | None = None) -> dict[str, Learner]:
    """Learners that take the noise off: densities of the classes, which serve most people best, before those that look
    for a rule and need many reports to find it."""
    normals, *products = densities(channels, label_channel).items()
    bayes = ("reconstruct, naive Bayes", NaiveBayes(channels, label_channel=label_channel))
    return dict([normals, bayes, *products, *readable(channels, label_channel).items()])


def direct(channels: Channels) -> dict[str, Learner]:
    """Classifiers of scikit-learn that take reports as true values."""
    tree = DecisionTreeClassifier(min_samples_leaf=0.01, random_state=0)
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    return {
        "direct, logistic regression": DirectClassifier(logistic, channels),
        "direct, naive Bayes": DirectClassifier(None, channels),
        "direct, tree": DirectClassifier(tree, channels),
    }
