"""A data owner's own records: release a perturbed copy whose patterns survive, and measure what was kept and given
away.
"""

from sfumato.microdata.judged.frontier import Frontier, find_frontier, usual_methods
from sfumato.microdata.judged.report import ReleaseReport
from sfumato.microdata.kept.preserved import PatternWarning, Preserved
from sfumato.microdata.methods.donors import Donors
from sfumato.microdata.methods.gadp import Gadp
from sfumato.microdata.methods.ib04 import IB04
from sfumato.microdata.methods.laws import Law
from sfumato.microdata.methods.method import Method
from sfumato.microdata.methods.named import METHODS, read_method
from sfumato.microdata.methods.swap import Swap
from sfumato.microdata.methods.treatment import Treatment
from sfumato.microdata.patterns.comparison import LeafRule, TreeComparison, compare_trees, rules_of
from sfumato.microdata.releasing import Release, release

__all__ = [
    "Donors", "IB04", "Law", "Gadp", "Swap", "Method", "METHODS", "read_method", "Treatment", "release", "Release",
    "Preserved", "PatternWarning", "ReleaseReport", "find_frontier", "usual_methods", "Frontier", "compare_trees",
    "rules_of", "LeafRule", "TreeComparison",
]
