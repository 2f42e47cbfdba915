"""The channel for categories whose table of chances is written out."""

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
"""Entries of a table at most. By judgement: each is sixteen digits in the program that a device executes, so that these
are 80 MB of text and more; a plan from a stranger must not ask for more memory than that."""


class Tabulated(Channel):
    """A channel for categories with any law, given as its table P[reported, true].

    Law: the table, in whole numbers over 2^64.
    γ: read off the table.

    ``domain``: the Categories that people may answer, one column of the table each.
    ``table``: chances, a row for each report and a column for each answer; columns sum to 1.
    ``reports``: the labels of the reports, one a row; None: those of the domain. ``missing`` and ``outside`` are those
    of ``Channel``.

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
    """Return a table as an array; raise an error unless it has this shape and columns of chances that sum to 1."""
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
