"""Learning from reports: trees, sums of terms, joint models, naive Bayes, itemsets. Each is loaded when asked for."""

from importlib import import_module
from typing import Any

LEARNERS = {
    "TreeClassifier": "sfumato.mining.tree",
    "AdditiveClassifier": "sfumato.mining.additive",
    "JointModel": "sfumato.mining.joint",
    "MixtureModel": "sfumato.mining.joint",
    "MixtureClassifier": "sfumato.mining.mixture",
    "NaiveBayes": "sfumato.mining.naive_bayes",
    "LinearDiscriminant": "sfumato.mining.discriminant",
    "DirectClassifier": "sfumato.mining.direct",
    "Chooser": "sfumato.mining.chooser",
}
"""The learners by name, and where they are: every one fits on reports, is a scikit-learn classifier, and ships."""

OTHERS = {
    "Learner": "sfumato.mining.estimator",
    "learner_named": "sfumato.mining.estimator",
    "regress": "sfumato.mining.regression",
    "Regression": "sfumato.mining.regression",
    "frequent_itemsets": "sfumato.mining.itemsets",
    "association_rules": "sfumato.mining.itemsets",
    "PaddingAndSampling": "sfumato.mining.itemsets",
    "compare_collections": "sfumato.mining.itemsets",
}

__all__ = ["LEARNERS", *LEARNERS, *OTHERS]


def __getattr__(name: str) -> Any:
    if name in LEARNERS or name in OTHERS:
        return getattr(import_module({**LEARNERS, **OTHERS}[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
