"""sfumato: learn from answers that people blurred themselves.

Each person's device turns the true answer into a random report whose chances are known; from many reports the
distribution of the true answers can be reconstructed, and models can be learned. The names below are the whole public
list, in the order in which data flows; each is loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.channels import (
        Chain,
        Channel,
        Choice,
        Clear,
        CorrelatedNoise,
        Discretize,
        Gaussian,
        Laplace,
        Longitudinal,
        Piecewise,
        RandomizedResponse,
        SelectASize,
        SquareWave,
        SubsetResponse,
        Tabulated,
        TwoPhase,
        Uniform,
    )  # fmt: skip
    from sfumato.channels.bounded.words import Words
    from sfumato.client import Device, Ledger
    from sfumato.counts import Counts, Reports
    from sfumato.domain import Categories, Interval, Items
    from sfumato.guarantee import Breach, CombinedGuarantee, Guarantee, breach_information
    from sfumato.itemsets import association_rules, frequent_itemsets
    from sfumato.itemsets.words import frequent_words
    from sfumato.learners.additive import AdditiveClassifier
    from sfumato.learners.choose import Chooser
    from sfumato.learners.face_value import FaceValueClassifier
    from sfumato.learners.gaussian_mixture import GaussianMixtureClassifier
    from sfumato.learners.joint import JointModel
    from sfumato.learners.naive_bayes import NaiveBayesClassifier
    from sfumato.learners.product_mixture import ProductMixtureClassifier
    from sfumato.learners.tree import TreeClassifier
    from sfumato.microdata import release
    from sfumato.plan import Attribute, Plan
    from sfumato.privacy import Advice, Audit, advise, audit
    from sfumato.reconstruction import (
        Difference,
        Estimate,
        JointEstimate,
        combine,
        difference,
        mean,
        reconstruct,
        reconstruct_joint,
    )
    from sfumato.regression import Regression, regress

__version__ = "0.1.0"

_LAZY = {
    **dict.fromkeys(("Interval", "Categories", "Items"), "sfumato.domain"),
    **dict.fromkeys(
        ("Channel", "Gaussian", "Uniform", "Laplace", "Discretize", "RandomizedResponse", "SquareWave", "Tabulated"),
        "sfumato.channels",
    ),
    **dict.fromkeys(("Chain", "Longitudinal", "Choice", "Clear", "TwoPhase"), "sfumato.channels"),
    **dict.fromkeys(("SubsetResponse", "SelectASize", "CorrelatedNoise", "Piecewise"), "sfumato.channels"),
    "Words": "sfumato.channels.bounded.words",
    **dict.fromkeys(("Device", "Ledger"), "sfumato.client"),
    **dict.fromkeys(("Guarantee", "CombinedGuarantee", "Breach", "breach_information"), "sfumato.guarantee"),
    "Attribute": "sfumato.plan",
    "Plan": "sfumato.plan",
    "Counts": "sfumato.counts",
    "Reports": "sfumato.counts",
    "Estimate": "sfumato.reconstruction",
    "JointEstimate": "sfumato.reconstruction",
    "reconstruct": "sfumato.reconstruction",
    "mean": "sfumato.reconstruction",
    "reconstruct_joint": "sfumato.reconstruction",
    "difference": "sfumato.reconstruction",
    "Difference": "sfumato.reconstruction",
    "combine": "sfumato.reconstruction",
    "regress": "sfumato.regression",
    "Regression": "sfumato.regression",
    "TreeClassifier": "sfumato.learners.tree",
    "AdditiveClassifier": "sfumato.learners.additive",
    "NaiveBayesClassifier": "sfumato.learners.naive_bayes",
    "JointModel": "sfumato.learners.joint",
    "FaceValueClassifier": "sfumato.learners.face_value",
    "ProductMixtureClassifier": "sfumato.learners.product_mixture",
    "GaussianMixtureClassifier": "sfumato.learners.gaussian_mixture",
    "Chooser": "sfumato.learners.choose",
    "frequent_itemsets": "sfumato.itemsets",
    "association_rules": "sfumato.itemsets",
    "frequent_words": "sfumato.itemsets.words",
    "audit": "sfumato.privacy",
    "Audit": "sfumato.privacy",
    "advise": "sfumato.privacy",
    "Advice": "sfumato.privacy",
    "release": "sfumato.microdata",
}

__all__ = [
    "Interval", "Categories", "Items",
    "Channel", "Gaussian", "Uniform", "Laplace", "Discretize", "RandomizedResponse", "SubsetResponse", "SquareWave",
    "Piecewise", "Tabulated", "Chain", "Longitudinal", "Choice", "Clear", "TwoPhase", "SelectASize",
    "CorrelatedNoise", "Words",
    "Guarantee", "CombinedGuarantee", "Breach", "breach_information",
    "Attribute", "Plan", "Device", "Ledger",
    "Counts", "Reports",
    "Estimate", "JointEstimate", "reconstruct", "reconstruct_joint", "mean", "difference", "Difference", "combine",
    "regress", "Regression",
    "TreeClassifier", "AdditiveClassifier", "GaussianMixtureClassifier", "NaiveBayesClassifier", "JointModel",
    "ProductMixtureClassifier", "FaceValueClassifier", "Chooser",
    "frequent_itemsets", "association_rules", "frequent_words",
    "audit", "Audit", "advise", "Advice",
    "release",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name from its module when it is first used."""
    if name == "microdata":  # a module with names of its own: the methods of `release`
        return import_module("sfumato.microdata")
    if name not in _LAZY:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the module's names, those that are not imported yet among them."""
    return sorted({*globals(), *__all__})
