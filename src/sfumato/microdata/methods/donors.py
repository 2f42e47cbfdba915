"""`Donors`: columns drawn one after the other from donors, inside the leaves of a tree; the default of
``sf.release``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from sfumato.domain import Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.leafwise import Leafwise
from sfumato.microdata.methods.method import Amount, LookedAt, Moved, Terms, by_field, check_amount
from sfumato.microdata.table.fields import Microdata

FEWEST_DONORS = 10.0
"""The fewest donors of a value, by default. Chosen by judgement beside docs/decisions/0027: fewer gain less than half a
point of accuracy or raise the risk, more lose dependence between columns."""

VARIED = (5.0, 10.0, 20.0, 50.0)
"""Numbers of donors that are compared by `find_frontier`."""


@dataclass(frozen=True)
class Donors(LookedAt):
    """The method that draws each value from true records (donors) alike in class, leaf and the columns drawn before it.

    Dependence between columns survives so, and so do the rules of a tree that predicts the target.

    fewest     the fewest donors that a value is drawn from, for all attributes or by name
    leaves     the tree whose rules survive: None grows one on the table; or a number of leaves, "c45", options of
               scikit-learn's trees, or a fitted tree
    labels     how classes move inside leaves: "rpt" permutes them, "ppt" draws them from the leaf's shares, "alpt" in
               pure leaves too, "none" leaves them as they are
    attempts   how often a tree is grown on the release to see whether it finds the patterns (0: never; None: from 4
               times for large tables to 60 for small ones)

    >>> import sfumato as sf
    >>> ages = [20 + row % 30 for row in range(60)]
    >>> table = {"age": ages, "class": ["young" if age < 35 else "old" for age in ages]}
    >>> done = sf.release(table, "class", sf.microdata.Donors(fewest=20, attempts=0), rng=1)
    >>> len(done.table["age"])
    60
    """

    name: ClassVar[str] = "donors"
    wanted: ClassVar[str] = "both"
    fewest: Amount = FEWEST_DONORS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_amount("fewest", self.fewest)

    def amounts(self, data: Microdata) -> Floats:
        return by_field(data, self.fewest, FEWEST_DONORS)

    def varied(self) -> tuple[Donors, ...]:
        return tuple(replace(self, fewest=fewest) for fewest in VARIED)

    def move(self, data: Microdata, terms: Terms, draws: Draws) -> Moved:
        rules, pattern, leaves = self.find_leaves(data, terms, search=True, finer=False)
        work = Leafwise(data, leaves, terms, rules, draws, noise="donors", labels=self.labels)
        X, y, regrown = work.release(work.classes(slice(None)), pattern)
        return Moved(X, y, pattern, leaves, tuple(rules), regrown=regrown)
