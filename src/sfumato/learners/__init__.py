"""Learn classifiers of true values from reports: trees, sums of terms, joint models, mixtures, naive Bayes, a chooser.

A learner's module is imported when its name is first used.
"""

from importlib import import_module
from typing import Any

LEARNERS = {
    "TreeClassifier": "sfumato.learners.tree",
    "AdditiveClassifier": "sfumato.learners.additive",
    "GaussianMixtureClassifier": "sfumato.learners.gaussian_mixture",
    "NaiveBayesClassifier": "sfumato.learners.naive_bayes",
    "JointModel": "sfumato.learners.joint",
    "ProductMixtureClassifier": "sfumato.learners.product_mixture",
    "FaceValueClassifier": "sfumato.learners.face_value",
    "Chooser": "sfumato.learners.choose",
}
"""The module of each learner. Every learner fits on reports, is a scikit-learn classifier, and can be shipped."""

OTHERS = {"Learner": "sfumato.learners.estimator", "learner_named": "sfumato.learners.estimator"}
"""The modules of the learners' base class and of the function that finds a learner by its name."""

__all__ = ["LEARNERS", *LEARNERS, *OTHERS]


def __getattr__(name: str) -> Any:
    """Import a learner, its base class or `learner_named` when it is first used."""
    if name in LEARNERS or name in OTHERS:
        return getattr(import_module({**LEARNERS, **OTHERS}[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
