"""Rank swapping: a peer that an owner may choose, and that others are compared with."""

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
VARIED = (0.05, 0.15, 0.3, 0.6, 1.0)


@dataclass(frozen=True)
class Swap(WholeTable):
    """Exchange values between records whose ranks lie within a window of each other; classes stay as they are.

    window   the window as a share of the ranks, 0 to 1, for all attributes or by name

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
        """Walk the ranks upwards; each record not yet swapped exchanges with a random later one inside its window."""
        released = data.X.copy()
        for place in np.flatnonzero(~terms.kept):
            known = np.flatnonzero(~np.isnan(data.X[:, place]))
            if known.size:
                order = known[ranked_within(data.X[known, place], np.zeros(known.size, np.int64), draws)[0]]
                partner = _partners(known.size, max(1, round(terms.amount[place] * known.size)), draws)
                released[order, place] = data.X[order[partner], place]
        return released


def _partners(n: int, window: int, draws: Draws) -> Codes:
    partner, free = np.arange(n), np.ones(n, dtype=bool)
    for place, u in enumerate(draws.uniform(n).tolist()):
        if free[place]:
            later = np.flatnonzero(free[place + 1 : place + 1 + window])
            if later.size:
                other = place + 1 + int(later[int(u * later.size)])
                partner[place], partner[other] = other, place
                free[other] = False
            free[place] = False
    return partner.astype(np.int64)
