"""Learn classifiers of true values from reports: trees, sums of terms, joint models, naive Bayes.

Each is loaded when it is first used.
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
"""The learners by name, and where they are: every one fits on reports, is a scikit-learn classifier, and ships."""

OTHERS = {"Learner": "sfumato.learners.estimator", "learner_named": "sfumato.learners.estimator"}

__all__ = ["LEARNERS", *LEARNERS, *OTHERS]


def __getattr__(name: str) -> Any:
    if name in LEARNERS or name in OTHERS:
        return getattr(import_module({**LEARNERS, **OTHERS}[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
