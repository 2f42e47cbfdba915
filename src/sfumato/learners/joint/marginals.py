"""What single columns are known to hold, kept by synthetic records.

A joint model is cut coarsely and stops early; one column by itself is reconstructed much better. Synthetic records keep
their order in each column and take their values from its reconstruction: the r-th lowest of m numbers becomes
F⁻¹((r − ½)/m), F the reconstructed distribution. Labels have no order: as few records as possible, drawn at random,
change theirs. What belongs together stays together; Bayes' rule is not touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts import Counts
from sfumato.domain import Codes, Floats, Interval
from sfumato.domain.checked import given_numbers, given_table
from sfumato.evidence import ColumnCells
from sfumato.reconstruction import intervals_for, reconstruct

FINE = 100
LEAST_DRAWN = 20_000
"""So many records are drawn at least, so that those wanted have ranks among enough others."""


@dataclass(frozen=True)
class Marginal:
    """The distribution of one column over fine cells, or over labels."""

    cells: ColumnCells
    p_cell: Floats

    @classmethod
    def of(cls, name: str, counts: Counts) -> Marginal:
        """Reconstructed from the counts of a column's reports."""
        domain: Any = next(iter(counts.levels.values())).channel.domain
        found = reconstruct(counts, intervals=intervals_for(domain, FINE))
        if isinstance(domain, Interval):
            return cls.over(name, found.probabilities, found.edges, None, domain.integer)
        return cls.over(name, found.probabilities, None, tuple(domain.labels))

    @classmethod
    def over(
        cls, name: str, p: Floats, edges: Floats | None, labels: tuple[Any, ...] | None, integer: bool = False
    ) -> Marginal:
        cells = ColumnCells(name, np.zeros((0, p.size)), np.zeros(0, np.int32), edges, labels, integer)
        p = np.maximum(p, 0.0)
        return cls(cells, p / p.sum())

    def places(self, n: int) -> Codes:
        """The cells of n records in order, each as often as its probability says."""
        below = np.cumsum(self.p_cell)
        found = np.searchsorted(below, (np.arange(n) + 0.5) / n * below[-1], side="right")
        return np.asarray(np.minimum(found, self.p_cell.size - 1), np.int64)

    def kept_by(self, values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Values as this distribution has them, in the order that they had."""
        if self.cells.labels is not None:
            return self.cells.draw(self.kept_by_codes(self.cells.true_cells(values), rng), rng)
        drawn = np.sort(self.cells.draw(self.places(values.size), rng))
        found = np.empty_like(drawn)
        found[np.lexsort((rng.random(values.size), values))] = drawn
        return found

    def kept_by_codes(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Codes of which as few as possible are changed, at random."""
        wanted = np.bincount(self.places(codes.size), minlength=self.p_cell.size)
        surplus = np.maximum(np.bincount(codes, minlength=wanted.size) - wanted, 0)
        shuffled = rng.permutation(codes.size)
        order = shuffled[np.argsort(codes[shuffled], kind="stable")]
        first = np.searchsorted(codes[order], np.arange(wanted.size))
        leaving = np.concatenate([order[at : at + many] for at, many in zip(first, surplus, strict=True)])
        missing = np.maximum(wanted - np.bincount(codes, minlength=wanted.size), 0)
        found = codes.copy()
        found[leaving] = rng.permutation(np.repeat(np.arange(wanted.size), missing))
        return found

    def to_dict(self) -> dict[str, Any]:
        return {"cells": self.cells.to_dict(), "p_cell": self.p_cell.tolist()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Marginal:
        cells = ColumnCells.from_dict(given_table(data, "cells"))
        p = given_numbers(data, "p_cell", (cells.size,), 0.0)
        if not p.sum() > 0:
            raise ValueError("the probabilities of a column are all zero")
        return cls.over(cells.name, p, cells.edges, cells.labels, cells.integer)
