"""The recipes that a chooser compares unless others are given: learners that subtract the noise or read through it, and
classifiers that take reports for true values.

In each function ``channels`` are one a column or a mapping from column name, as learners take them, and
``label_channel`` is what class labels went through (None: they are clear). Recipes are returned unfitted, by name.
"""

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

COMPONENTS, PSEUDO_COUNT = 120, 2.0
"""Components and pseudo-counts of the mixture of products. By trial on six columns of income data with as much noise as
signal: with 160 and 2 it was right about .82 of the people, as the best there; fewer components cost less time, more
pseudo-counts make components alike. One in more detail (60 and .2) beside it changes the chooser's accuracy on thirteen
sets by .04 ± .09 points (decision 31)."""


def readable(channels: Channels, label_channel: Channel | None = None) -> dict[str, Learner]:
    """Return the recipes whose models people can read: a tree, and a sum of terms."""
    return {
        "reconstruct, tree": TreeClassifier(channels, "likelihood", label_channel=label_channel, random_state=0),
        "reconstruct, sum of terms": AdditiveClassifier(channels, label_channel=label_channel),
    }


def densities(
    channels: Channels, label_channel: Channel | None = None
) -> dict[str, GaussianMixtureClassifier | ProductMixtureClassifier]:
    """Return the recipes that model P(class, true values): they can also draw true values behind reports."""
    products = ProductMixtureClassifier(
        channels, label_channel=label_channel, components=COMPONENTS, pseudo_count=PSEUDO_COUNT, members=1,
        random_state=0,
    )
    normals = GaussianMixtureClassifier(channels, label_channel=label_channel, random_state=0)
    return {"reconstruct, gaussian mixtures": normals, "reconstruct, mixture of products": products}


def reconstructing(channels: Channels, label_channel: Channel | None = None) -> dict[str, Learner]:
    """Return the recipes that account for the noise, those first that are to be taken unless others predict better.

    Densities of the classes, which serve most people best, come before rules, which need many reports to be found.
    """
    normals, products = densities(channels, label_channel).items()
    bayes = ("reconstruct, naive Bayes", NaiveBayesClassifier(channels, label_channel=label_channel))
    return dict([normals, bayes, products, *readable(channels, label_channel).items()])


def direct(channels: Channels) -> dict[str, Learner]:
    """Return classifiers of scikit-learn that take reports for true values."""
    tree = DecisionTreeClassifier(min_samples_leaf=0.01, random_state=0)
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    return {
        "direct, logistic regression": FaceValueClassifier(logistic, channels),
        "direct, naive Bayes": FaceValueClassifier(None, channels),
        "direct, tree": FaceValueClassifier(tree, channels),
    }
