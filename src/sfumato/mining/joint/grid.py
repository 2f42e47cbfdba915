"""The exact grid: the joint distribution of class and true cells, by EM through each column's table in turn.

    P(y, t₁..t_D) ← P · Σ_{y',s} N(y', s)/M(y', s) · L[y', y] · Π_j C_j[s_j, t_j] / n,
    M(y', s) = Σ_{y,t} L[y', y] · Π_j C_j[s_j, t_j] · P(y, t).

From the uniform start early steps are smooth, so the number of steps is the amount of smoothing. A missing report is a
row of ones: it integrates out.

True cells shrink in number as columns are added, so that the grid stays small; report cells widen with them, measured
in noise deviations (a report cell of half a deviation loses about 2 % of the information in a mean). Members of one
model use different counts and shifts: their edges never coincide, and neither do they line up with cut points of the
truth by luck.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sfumato.counts import Fold, Question, Reports
from sfumato.domain import Codes, Floats
from sfumato.domain.checked import given_numbers, given_rows
from sfumato.reconstruction import Axis, ColumnCells, OverRelaxed, ProductTable, Steps, maximise_likelihood

Array = npt.NDArray[np.float32]
TINY = 1e-30
DIMENSIONS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
TRUE_CELLS = (97.0, 97.0, 37.0, 23.0, 15.0, 10.0, 7.0, 5.0)
COARSENESS = (0.05, 0.05, 0.1, 0.25, 0.5, 0.8, 1.0, 1.3)
SELECTION_CELLS = (29.0, 29.0, 16.0, 11.0, 8.0, 6.0, 5.0, 4.0)
SELECTION_COARSENESS = (0.2, 0.2, 0.35, 0.5, 0.65, 0.9, 1.1, 1.5)
FULL_AXIS = 25.0
CLEAR_SMOOTHING = 0.5
RELAXATION, PLAIN_STEPS = 1.8, 5


@dataclass(frozen=True)
class Resolution:
    """Cells per column, width of report cells in noise deviations, shift of the edges in cells."""

    cells: int
    coarseness: float
    shift: float = 0.0

    def cut(self, axis: Axis) -> ColumnCells:
        return axis.at(self.cells, self.coarseness, self.shift)

    def coarsened(self, axes: Sequence[Axis], most: int) -> Resolution:
        """With report cells widened until there are at most `most` combinations of them."""
        found = self
        for _ in range(20):
            if np.prod([float(found.cut(axis).reported) for axis in axes]) <= most:
                break
            found = replace(found, coarseness=1.15 * found.coarseness)
        return found


def effective_dimension(axes: Sequence[Axis]) -> float:
    """How many full axes the columns amount to: one of few values counts as a part of an axis."""
    return float(sum(min(1.0, np.log(max(axis.natural_size, 1)) / np.log(FULL_AXIS)) for axis in axes))


def resolution_for(axes: Sequence[Axis], people: float, member: int = 0, *, selecting: bool = False) -> Resolution:
    """The resolution for these columns together; clear columns need people in their cells."""
    dimension = effective_dimension(axes)
    table, widths = (SELECTION_CELLS, SELECTION_COARSENESS) if selecting else (TRUE_CELLS, COARSENESS)
    cells = float(np.interp(dimension, DIMENSIONS, table))
    if any(not axis.noisy for axis in axes):
        cells = min(cells, max(3.0, (people / 8.0) ** (1.0 / max(dimension, 1.0))))
    spread = 1.0 + 0.3 * (golden(member) - 0.5) if member else 1.0
    coarseness = float(np.interp(dimension, DIMENSIONS, widths))
    return Resolution(max(2, round(cells * spread)), coarseness, shift_of(member))


def shift_of(member: int) -> float:
    """How far a member's edges are shifted, in cells."""
    return 0.6 * (golden(2 * member + 1) - 0.5)


def golden(place: int) -> float:
    """A low-discrepancy sequence in [0, 1)."""
    return float((place * 0.6180339887498949) % 1.0)


@dataclass(frozen=True)
class GridProblem:
    """Some columns at one resolution: counts of reports in cells of (s₁..s_D, y'), and the tables that lead to them."""

    reports: Reports
    cells: tuple[ColumnCells, ...]
    table: ProductTable
    by_class: bool

    @classmethod
    def of(
        cls, reports: Reports, axes: Sequence[Axis], resolution: Resolution, *, by_class: bool | None = None,
        dtype: npt.DTypeLike = np.float32,
    ) -> GridProblem:
        """`by_class`: whether the class is an axis of the grid; None: if there is one."""
        by_class = reports.classes is not None if by_class is None else by_class
        cells = tuple(resolution.cut(axis) for axis in axes)
        factors = [cut.table_with_missing(axis.column.has_missing) for axis, cut in zip(axes, cells, strict=True)]
        label = reports.label_channel.matrix() if by_class and reports.label_channel is not None else None
        classes = len(reports.classes or ()) if by_class else 1
        return cls(reports, cells, ProductTable(factors, label=label, classes=classes, dtype=dtype), by_class)

    @property
    def all_clear(self) -> bool:
        clear_label = not self.by_class or self.reports.label_channel is None
        return clear_label and all(cut.identity for cut in self.cells)

    def counts(self, fold: Fold | None = None, *, squared: bool = False) -> Array:
        """N(s₁..s_D, y') of all people or of those in a fold."""
        found: Floats = self.reports.ask([self.question(fold, squared=squared)])[0]
        return found.astype(np.float32)

    def question(self, fold: Fold | None = None, *, squared: bool = False) -> Question:
        """What `counts` asks."""
        names = [cut.name for cut in self.cells]
        return self.reports.counting(names, self.cells, by_class=self.by_class, fold=fold, squared=squared)

    def fit(self, counts: Array, steps: int, joint: Array | None = None) -> Array:
        """P(y, t) after so many EM steps, over-relaxed once under way; a clear histogram is exact after one."""
        total = float(counts.sum(dtype=np.float64))
        smoothing = CLEAR_SMOOTHING * np.sqrt(total) if any(cut.identity for cut in self.cells) else 0.0
        further = OverRelaxed(RELAXATION, after=PLAIN_STEPS if joint is None else 0)
        found = maximise_likelihood(
            self.table, counts, start=joint, stop=Steps(1 if self.all_clear else steps),
            acceleration=None if self.all_clear else further, smoothing=smoothing,
        )
        return found.probabilities.reshape(self.table.true_shape)

    def expected(self, joint: Array) -> Array:
        """M(s₁..s_D, y')."""
        return self.table.apply(joint.reshape(-1)).reshape(self.table.report_shape)

    def fit_until_held_out_falls(
        self, counts: Array, held: Array, block: int, limit: int, tolerance: float
    ) -> tuple[Array, int]:
        """EM in blocks, until the likelihood of the held-out reports gains less than `tolerance` a block."""
        joint = self.fit(counts, block)
        done, last = block, self.likelihood(joint, held)
        while done < limit and not self.all_clear:
            joint = self.fit(counts, block, joint)
            done += block
            likelihood = self.likelihood(joint, held)
            if likelihood - last < tolerance:
                break
            last = likelihood
        return joint, done

    def likelihood(self, joint: Array, counts: Array) -> float:
        """Σ N(y', s)·log M(y', s) / ΣN."""
        seen = counts > 0
        logs = np.log(np.maximum(self.expected(joint)[seen], TINY))
        return float(np.sum(counts[seen] * logs, dtype=np.float64) / counts.sum(dtype=np.float64))

    def loss_of_label(self, joint: Array) -> Array:
        """−log P(y' | s) in every cell."""
        expected = np.maximum(self.expected(joint), TINY)
        return np.asarray(np.log(expected.sum(axis=-1, keepdims=True)) - np.log(expected))


class Member(ABC):
    """P(y, x₁..x_D) over cells."""

    cells: tuple[ColumnCells, ...]
    classes: int

    @abstractmethod
    def joint_of_classes(self, places: list[Codes]) -> Floats:
        """P(y, x) of records in these cells, up to a factor for each, one column a class; −1 integrates one out."""

    @abstractmethod
    def sample_cells(self, n: int, rng: np.random.Generator) -> tuple[Codes, list[Codes]]:
        """Class codes and cells of n draws."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The member as plain data."""


class GridMember(Member):
    """P(y, t₁..t_D) as one array."""

    def __init__(self, cells: tuple[ColumnCells, ...], joint: Array) -> None:
        self.cells, self.joint, self.classes = cells, joint, int(joint.shape[0])

    def joint_of_classes(self, places: list[Codes]) -> Floats:
        records = places[0].size if places else 1
        if not self.cells:
            return np.repeat(self.joint.reshape(1, -1).astype(np.float64), records, axis=0)
        missing = np.array(places) < 0
        found = np.empty((records, self.classes))
        patterns, which = np.unique(missing, axis=1, return_inverse=True) if missing.any() else (missing[:, :1], None)
        for number, pattern in enumerate(patterns.T):
            rows = slice(None) if which is None else np.flatnonzero(which.ravel() == number)
            table = self._summed_over(1 + np.flatnonzero(pattern)) if pattern.any() else self.joint
            kept = [place[rows] for place, gone in zip(places, pattern, strict=True) if not gone]
            found[rows] = np.moveaxis(table, 0, -1)[tuple(kept)] if kept else table
        return found

    def _summed_over(self, axes: Codes) -> Floats:
        """The joint distribution without these axes, cell by cell, the last axis running fastest."""
        first = np.moveaxis(self.joint.astype(np.float64), axes, np.arange(axes.size))
        return added(first.reshape(-1, *first.shape[axes.size :]))

    def sample_cells(self, n: int, rng: np.random.Generator) -> tuple[Codes, list[Codes]]:
        cumulative = np.cumsum(self.joint.ravel(), dtype=np.float64)
        drawn = np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right")
        places = np.unravel_index(np.minimum(drawn, cumulative.size - 1), self.joint.shape)
        return places[0].astype(np.int64), [place.astype(np.int64) for place in places[1:]]

    def to_dict(self) -> dict[str, Any]:
        rounded = [float(f"{value:.5g}") for value in self.joint.ravel()]
        return {
            "form": "grid",
            "cells": [cut.to_dict() for cut in self.cells],
            "shape": list(self.joint.shape),
            "joint": rounded,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: int, classes: int) -> Self:
        cells = tuple(ColumnCells.from_dict(cut) for cut in given_rows(data, "cells", columns))
        shape = (classes, *(cut.size for cut in cells))
        if tuple(given_rows(data, "shape")) != shape:
            raise ValueError(f"shape is not {shape}, the classes and the cells of each column")
        joint = given_numbers(data, "joint", (prod(shape),), 0.0)
        return cls(cells, joint.astype(np.float32).reshape(shape))


def added(parts: Iterable[Floats]) -> Floats:
    """The sum of arrays, from the first to the last: NumPy's own sums run in an order that no other language knows."""
    return np.asarray(sum(parts))


def rescaled(masses: Floats) -> Floats:
    """Columns divided by their largest number, so that products of many probabilities stay within doubles."""
    largest = masses.max(axis=0)
    return np.asarray(masses / np.where(largest > 0, largest, 1.0))


def draw_columns(table: npt.NDArray[Any], columns: Codes, rng: np.random.Generator) -> Codes:
    """A row for each wanted column, with the probabilities of that column."""
    cumulative = np.cumsum(table, axis=0, dtype=np.float64)
    cumulative = (cumulative / cumulative[-1]).T
    offset = np.arange(cumulative.shape[0])[:, None]
    flat = (cumulative + offset).ravel()
    drawn = np.searchsorted(flat, rng.random(columns.size) + columns, side="right") - columns * table.shape[0]
    return np.asarray(np.clip(drawn, 0, table.shape[0] - 1), np.int64)
