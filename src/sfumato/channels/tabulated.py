"""Any law on categories, given as its table."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels.base import Channel
from sfumato.channels.program import Draw, integer_weights
from sfumato.domain import Categories, Floats
from sfumato.prose import Voice

MOST_WRITTEN = 4_000_000
"""A table has at most so many entries: each is a whole number over 2^64 in what a device executes."""


class Tabulated(Channel):
    """The channel whose table somebody wrote down.

    Domain: Categories; the reports may have labels of their own.
    Law: P[reported, true] as given, in whole numbers over 2^64; every column sums to 1.
    γ: read off the table.

    >>> import sfumato as sf
    >>> bit = sf.Tabulated(sf.Categories([0, 1]), [[0.6, 0.4], [0.4, 0.6]])
    >>> round(bit.guarantee().gamma, 6)
    1.5
    """

    kind = "tabulated"
    unbounded = "its table has the γ that it has; use randomized-response, or another table"

    def __init__(
        self, domain: Categories, table: ArrayLike, *, reports: Iterable[Hashable] | None = None,
        missing: str = "pass", outside: str = "refuse",
    ) -> None:
        if not isinstance(domain, Categories):
            raise TypeError(f"a tabulated channel needs Categories, not {type(domain).__name__}")
        super().__init__(domain, missing, outside)
        self.domain: Categories = domain
        self.inputs: Categories = domain
        self.outputs: Categories = domain if reports is None else Categories(reports)
        self._given = _check_table(table, (self.outputs.size, domain.size))

    def steps(self) -> tuple[Draw]:
        law = self._given / self._given.sum(axis=0)
        return (Draw.of([integer_weights(column) for column in law.T]),)

    def describe(self, say: Voice) -> str:
        return say("how.table", count=self.outputs.size)

    def parameters(self) -> dict[str, Any]:
        own_labels = {} if self.outputs == self.domain else {"reports": list(self.outputs.labels)}
        return {"table": self._given.tolist(), **own_labels}


def _check_table(table: ArrayLike, shape: tuple[int, int]) -> Floats:
    if shape[0] * shape[1] > MOST_WRITTEN:
        size = f"{shape[0]:,} × {shape[1]:,}"
        raise ValueError(f"a table of {size} has more than {MOST_WRITTEN:,} entries; group some categories")
    law = np.array(table, dtype=float)
    if law.shape != shape:
        raise ValueError(f"table has shape {law.shape}; it needs a row per report and a column per true value: {shape}")
    if not (law >= 0).all():
        raise ValueError("table has a negative or missing entry; every entry is a probability")
    total = law.sum(axis=0)
    if not np.allclose(total, 1, atol=1e-6):
        worst = int(np.argmax(np.abs(total - 1)))
        raise ValueError(f"column {worst} of table sums to {total[worst]:g}; every column (true value) must sum to 1")
    return law
