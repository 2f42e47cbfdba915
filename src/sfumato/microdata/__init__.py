"""A data owner's own records: release a perturbed copy whose patterns survive, and prove what was kept."""

from sfumato.microdata.judged.frontier import Frontier, find_frontier
from sfumato.microdata.judged.preserved import PatternWarning, Preserved
from sfumato.microdata.judged.report import ReleaseReport
from sfumato.microdata.patterns.comparison import LeafRule, TreeComparison, compare_trees, rules_of
from sfumato.microdata.releasing import Release, release

__all__ = [
    "release", "Release", "Preserved", "PatternWarning", "ReleaseReport", "find_frontier", "Frontier", "compare_trees",
    "rules_of", "LeafRule", "TreeComparison",
]
