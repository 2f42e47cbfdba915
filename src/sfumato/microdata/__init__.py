"""A data owner's own records: release a perturbed copy whose patterns survive, and prove what was kept."""

from sfumato.microdata.frontier import Frontier, find_frontier
from sfumato.microdata.releasing import Release, release
from sfumato.microdata.report import ReleaseReport
from sfumato.microdata.rules import Rule, RuleComparison, compare_trees, rules_of

__all__ = [
    "release",
    "Release",
    "ReleaseReport",
    "find_frontier",
    "Frontier",
    "compare_trees",
    "rules_of",
    "Rule",
    "RuleComparison",
]
