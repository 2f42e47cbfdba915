"""sfumato: learn from people without seeing them.

People blur their own answers on their own device; the crowd's picture can still be read. The names below are the
whole public list, in the order in which data flows; each is loaded when first used.
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
    from sfumato.channels.bounded.unknown import Words
    from sfumato.client import Device, Ledger
    from sfumato.counts import Counts, Reports
    from sfumato.domain import Categories, Interval, Items
    from sfumato.guarantee import Breach, CombinedGuarantee, Guarantee, breach_information
    from sfumato.microdata import release
    from sfumato.mining.additive import AdditiveClassifier
    from sfumato.mining.chooser import Chooser
    from sfumato.mining.direct import DirectClassifier
    from sfumato.mining.discriminant import LinearDiscriminant
    from sfumato.mining.itemsets import association_rules, frequent_itemsets
    from sfumato.mining.joint import JointModel, MixtureModel
    from sfumato.mining.mixture import MixtureClassifier
    from sfumato.mining.naive_bayes import NaiveBayes
    from sfumato.mining.regression import Regression, regress
    from sfumato.mining.tree import TreeClassifier
    from sfumato.mining.words import frequent_words
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

__version__ = "0.1.0"

_LAZY = {
    **dict.fromkeys(("Interval", "Categories", "Items"), "sfumato.domain"),
    **dict.fromkeys(
        ("Channel", "Gaussian", "Uniform", "Laplace", "Discretize", "RandomizedResponse", "SquareWave", "Tabulated"),
        "sfumato.channels",
    ),
    **dict.fromkeys(("Chain", "Longitudinal", "Choice", "Clear", "TwoPhase"), "sfumato.channels"),
    **dict.fromkeys(("SubsetResponse", "SelectASize", "CorrelatedNoise", "Piecewise"), "sfumato.channels"),
    "Words": "sfumato.channels.bounded.unknown",
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
    "regress": "sfumato.mining.regression",
    "Regression": "sfumato.mining.regression",
    "TreeClassifier": "sfumato.mining.tree",
    "AdditiveClassifier": "sfumato.mining.additive",
    "NaiveBayes": "sfumato.mining.naive_bayes",
    "JointModel": "sfumato.mining.joint",
    "DirectClassifier": "sfumato.mining.direct",
    "MixtureModel": "sfumato.mining.joint",
    "MixtureClassifier": "sfumato.mining.mixture",
    "LinearDiscriminant": "sfumato.mining.discriminant",
    "Chooser": "sfumato.mining.chooser",
    "frequent_itemsets": "sfumato.mining.itemsets",
    "association_rules": "sfumato.mining.itemsets",
    "frequent_words": "sfumato.mining.words",
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
    "TreeClassifier", "AdditiveClassifier", "NaiveBayes", "JointModel", "DirectClassifier", "MixtureModel",
    "MixtureClassifier", "LinearDiscriminant", "Chooser",
    "frequent_itemsets", "association_rules", "frequent_words",
    "audit", "Audit", "advise", "Advice",
    "release",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
