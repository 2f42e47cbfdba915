"""`IB04`: noise on each value alone, leaf by leaf, after Islam & Brankovic (2004)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from sfumato.domain import Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.laws import Law, draw_by_law, law_of
from sfumato.microdata.methods.leafwise import Leafwise
from sfumato.microdata.methods.method import Amount, LookedAt, Moved, Terms, by_field, check_amount, check_name
from sfumato.microdata.table.fields import Microdata

USUAL = {"dealt": 1.0, "rank": 1.0, "additive": 0.276}
"""The usual standard deviation: as a share of the leaf's ranks ("dealt", "rank"), or of the interval (IB04's Figure 2).
Rank noise may be larger, because it moves values only to where the leaf has others; 1 shuffles them nearly at
random."""

VARIED = (0.1, 0.276, 0.5, 1.0)
"""Amounts that are compared by `find_frontier`."""


@dataclass(frozen=True, kw_only=True)
class IB04(LookedAt):
    """The method of Islam and Brankovic (2004): noise on each value alone that leaves a tree's rules as they are.

    A tree that predicts the target is grown on the table; its rules are its leaves. Each value then moves inside the
    interval that the cuts on the way to its record's leaf leave open, so that the record stays in the leaf.

    leaves     the tree whose rules survive: None grows one on the table; or a number of leaves, "c45", options of
               scikit-learn's trees, or a fitted tree
    labels     how classes move inside leaves: "rpt" permutes them, "ppt" draws them from the leaf's shares, "alpt" in
               pure leaves too, "none" leaves them as they are
    tested     whether attributes move that are tested on the way to the leaf (alone, with ``untested=False``: what
               Islam and Brankovic call LINAPT)
    untested   whether the others move (alone, with ``tested=False``: their LIAPT); "mixed": in leaves of several
               classes only
    law        the law of the noise: "rank" noise on the ranks inside the leaf, which keeps the leaf's distribution;
               "dealt" the same, and then each leaf's true values are given out again to the records of each class, in
               the order of the noisy ones, so that every cut scores as it did (the default where all attributes move;
               "rank" otherwise); "additive" normal noise folded at the ends of the interval, as in the article of 2004,
               with the values next to a cut kept; "paper" that article's discrete noise, drawn once; or a law of your
               own, drawn once: a table {share of the interval: probability}, a quantile function or a `Law`
    amount     the standard deviation as a share of the leaf's ranks (1 if left out) or of the interval ("additive":
               0.276); for "paper" or a law of your own a factor (1); for all attributes or by name
    attempts   how often a tree is grown on the release to see whether it finds the patterns (0: never; None: from 4
               times for large tables to 60 for small ones)

    >>> import sfumato as sf
    >>> ages = [20 + row % 30 for row in range(60)]
    >>> table = {"age": ages, "class": ["young" if age < 35 else "old" for age in ages]}
    >>> done = sf.release(table, "class", sf.microdata.IB04(leaves=3, law="paper"), rng=1)
    >>> sorted(set(done.table["class"].tolist()))
    ['old', 'young']
    """

    name: ClassVar[str] = "ib04"
    wanted: ClassVar[str] = "rules"
    tested: bool = True
    untested: bool | Literal["mixed"] = True
    law: Any = None
    amount: Amount | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("tested", self.tested, (True, False))
        check_name("untested", self.untested, (True, False, "mixed"))
        if self.law is not None and not (isinstance(self.law, Mapping | Law) or callable(self.law)):
            check_name("law", self.law, (*USUAL, "paper"), "a table of shares and probabilities, or a function")
        self._drawn_once()
        if self.amount is not None:
            check_amount("amount", self.amount)

    @property
    def noise(self) -> str:
        """The kind of noise, where values may be drawn again until the tree survives: "dealt", "rank" or "additive"."""
        if isinstance(self.law, str) and self.law in USUAL:
            return self.law
        return "dealt" if self.tested and self.untested is True else "rank"

    def _drawn_once(self) -> Law | None:
        """Return the law of noise that is drawn once, that of the article of 2004 or the owner's; None for other noise.
        """
        return None if self.law is None or (isinstance(self.law, str) and self.law in USUAL) else law_of(self.law)

    def amounts(self, data: Microdata) -> Floats:
        usual = 1.0 if self._drawn_once() else USUAL[self.noise]
        return by_field(data, usual if self.amount is None else self.amount, usual)

    def varied(self) -> tuple[IB04, ...]:
        return tuple(replace(self, amount=amount) for amount in VARIED)

    def move(self, data: Microdata, terms: Terms, draws: Draws) -> Moved:
        law = self._drawn_once()
        search = law is None and self.noise == "dealt"
        rules, pattern, leaves = self.find_leaves(data, terms, search=search, finer=True, observed=law is None)
        work = Leafwise(
            data, leaves, terms, rules, draws,
            noise=self.noise, labels=self.labels, tested=self.tested, untested=self.untested,
        )  # fmt: skip
        y = work.classes(slice(None))
        if law is None:
            X, y, regrown = work.release(y, pattern)
            return Moved(X, y, pattern, leaves, tuple(rules), regrown=regrown)
        X = draw_by_law(data, leaves, law, terms.amount, terms.kept, work.moves, draws)
        return Moved(X, y, pattern, leaves, tuple(rules))
