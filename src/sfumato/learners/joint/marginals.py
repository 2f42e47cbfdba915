"""Reconstructed distributions of single columns, which synthetic records are made to have.

A joint model is cut coarsely and stops early; a column by itself is reconstructed much better. Synthetic records keep
their order in each column and take their values from its reconstruction: the r-th lowest of m numbers becomes
F⁻¹((r − ½)/m), F the reconstructed distribution. Labels have no order: as few records as possible, drawn at random,
change theirs. The dependence between columns stays; predictions of the class do not use these distributions.
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

INTERVALS = 100
"""Intervals in which a column of numbers is reconstructed. By judgement: within one, a hundredth of the domain,
synthetic values are spread evenly; a larger number costs time and space in the document."""
LEAST_DRAWN = 20_000
"""Synthetic records that are drawn at least, however few are wanted, so that the rank of a record has an error of
√(¼/20,000), a third of a per cent. Fewer distort small samples, more cost time."""


@dataclass(frozen=True)
class Marginal:
    """The distribution of one column over fine cells, or over labels.

    cells: the cells of true values; they have no table of reports. p_cell: the probability of each.
    """

    cells: ColumnCells
    p_cell: Floats

    @classmethod
    def of(cls, name: str, counts: Counts) -> Marginal:
        """Reconstruct the distribution of a column from the counts of its reports."""
        domain: Any = next(iter(counts.levels.values())).channel.domain
        estimate = reconstruct(counts, intervals=intervals_for(domain, INTERVALS))
        if isinstance(domain, Interval):
            return cls.over(name, estimate.probabilities, estimate.edges, None, domain.integer)
        return cls.over(name, estimate.probabilities, None, tuple(domain.labels))

    @classmethod
    def over(
        cls, name: str, p: Floats, edges: Floats | None, labels: tuple[Any, ...] | None, integer: bool = False
    ) -> Marginal:
        """Return the distribution p of a column over cells between edges, or over labels.

        integer: numbers drawn from a cell are whole.
        """
        cells = ColumnCells(name, np.zeros((0, p.size)), np.zeros(0, np.int32), edges, labels, integer)
        p = np.maximum(p, 0.0)
        return cls(cells, p / p.sum())

    def spread_cells(self, n: int) -> Codes:
        """Return the cells of n records in ascending order, each cell as often as its probability says."""
        cumulative = np.cumsum(self.p_cell)
        cell = np.searchsorted(cumulative, (np.arange(n) + 0.5) / n * cumulative[-1], side="right")
        return np.asarray(np.minimum(cell, self.p_cell.size - 1), np.int64)

    def impose_on(self, values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Return values changed to this distribution: numbers keep their order, as few labels as possible change."""
        if self.cells.labels is not None:
            return self.cells.draw(self.impose_on_codes(self.cells.true_cells(values), rng), rng)
        drawn = np.sort(self.cells.draw(self.spread_cells(values.size), rng))
        imposed = np.empty_like(drawn)
        imposed[np.lexsort((rng.random(values.size), values))] = drawn
        return imposed

    def impose_on_codes(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Return codes of cells changed to this distribution: as few as possible change, drawn at random."""
        wanted = np.bincount(self.spread_cells(codes.size), minlength=self.p_cell.size)
        surplus = np.maximum(np.bincount(codes, minlength=wanted.size) - wanted, 0)
        shuffled = rng.permutation(codes.size)
        order = shuffled[np.argsort(codes[shuffled], kind="stable")]
        first = np.searchsorted(codes[order], np.arange(wanted.size))
        leaving = np.concatenate([order[start : start + size] for start, size in zip(first, surplus, strict=True)])
        missing = np.maximum(wanted - np.bincount(codes, minlength=wanted.size), 0)
        imposed = codes.copy()
        imposed[leaving] = rng.permutation(np.repeat(np.arange(wanted.size), missing))
        return imposed

    def to_dict(self) -> dict[str, Any]:
        """Return the distribution as plain data for JSON."""
        return {"cells": self.cells.to_dict(), "p_cell": self.p_cell.tolist()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Marginal:
        """Return the distribution that ``to_dict`` wrote; ValueError if all its probabilities are zero."""
        cells = ColumnCells.from_dict(given_table(data, "cells"))
        p = given_numbers(data, "p_cell", (cells.size,), 0.0)
        if not p.sum() > 0:
            raise ValueError("the probabilities of a column are all zero")
        return cls.over(cells.name, p, cells.edges, cells.labels, cells.integer)
