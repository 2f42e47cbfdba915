"""`Swap`: rank swapping, a method of the literature with which the others are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.method import Amount, Terms, WholeTable, by_field, check_amount
from sfumato.microdata.methods.noise import ranked_within
from sfumato.microdata.table.fields import Microdata

WINDOW = 0.15
"""The default window in shares of the ranks. Chosen by judgement; a larger one hides more and loses more."""

VARIED = (0.05, 0.15, 0.3, 0.6, 1.0)
"""Windows that are compared by `find_frontier`."""


@dataclass(frozen=True)
class Swap(WholeTable):
    """The method of release that exchanges values between records of neighbouring ranks; classes stay as they are.

    window   how far the ranks of two records may be apart, as a share of all ranks, 0 to 1; for all attributes or by
    name

    >>> import sfumato as sf
    >>> ages = [20 + row % 30 for row in range(60)]
    >>> table = {"age": ages, "class": ["young" if age < 35 else "old" for age in ages]}
    >>> plain = sf.microdata.Treatment(outliers="keep")
    >>> done = sf.release(table, "class", sf.microdata.Swap(window=0.3), treatment=plain, rng=1)
    >>> sorted(done.table["age"].tolist()) == sorted(ages)
    True
    """

    name: ClassVar[str] = "swap"
    window: Amount = WINDOW

    def __post_init__(self) -> None:
        check_amount("window", self.window, 1.0)

    def amounts(self, data: Microdata) -> Floats:
        return by_field(data, self.window, WINDOW)

    def varied(self) -> tuple[Swap, ...]:
        return tuple(replace(self, window=window) for window in VARIED)

    def blurred(self, data: Microdata, terms: Terms, draws: Draws) -> Floats:
        """Return the values after swapping, [record, field].

        In the order of ranks each record not yet swapped exchanges its value with a random later one inside its window.
        """
        released = data.X.copy()
        for index in np.flatnonzero(~terms.kept):
            present = np.flatnonzero(~np.isnan(data.X[:, index]))
            if present.size:
                order = present[ranked_within(data.X[present, index], np.zeros(present.size, np.int64), draws)[0]]
                partner = _partners(present.size, max(1, round(terms.amount[index] * present.size)), draws)
                released[order, index] = data.X[order[partner], index]
        return released


def _partners(n: int, window: int, draws: Draws) -> Codes:
    """Return for each of n ranks the rank with which it exchanges its value, at most ``window`` apart, drawn at random.

    Its own where it exchanges with none.
    """
    partner, free = np.arange(n), np.ones(n, dtype=bool)
    for index, u in enumerate(draws.uniform(n).tolist()):
        if free[index]:
            later = np.flatnonzero(free[index + 1 : index + 1 + window])
            if later.size:
                other = index + 1 + int(later[int(u * later.size)])
                partner[index], partner[other] = other, index
                free[other] = False
            free[index] = False
    return partner.astype(np.int64)
