"""Columns drawn in turn from donors, inside the leaves of a tree: what ``sf.release`` does by default."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from sfumato.domain import Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.leafwise import Leafwise
from sfumato.microdata.methods.method import Amount, LookedAt, Moved, Terms, by_field, check_amount
from sfumato.microdata.table.fields import Microdata

FEWEST_DONORS = 10.0
VARIED = (5.0, 10.0, 20.0, 50.0)


@dataclass(frozen=True)
class Donors(LookedAt):
    """Draw each value from true records that are alike in class, leaf and the columns drawn before it.

    fewest     the least number of donors that a value is drawn from, for all attributes or by name
    leaves     the tree whose rules survive: a number of leaves, "c45", options of a tree or a fitted tree
    labels     how classes move inside leaves: "rpt", "ppt", "alpt" or "none"
    attempts   how often to look whether a tree grown on the release still finds the patterns (0: never; None: from 4
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
