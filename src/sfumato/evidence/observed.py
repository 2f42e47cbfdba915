"""`Evidence`: counts of reports together with the table through which they saw the true values.

    N[r, s]          reports of problem r in report cell s
    P[s, t]          chance of report cell s for a person in true cell t
    log-likelihood   L_r(p) = Σ_s N[r, s]·log (P p_r)_s

Estimates and models are fitted to evidence alone. Of reports that are not counted yet it knows what to ask, and counts
when `counts` is first read; `Reports.prepare` with the questions of several counts them in one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sfumato.counts import Fold, Question, Reports
from sfumato.domain import Codes, Floats
from sfumato.evidence.cells import Axis, ColumnCells
from sfumato.evidence.resolution import Resolution
from sfumato.evidence.tables import Array, ProductTable, Table

LEAST_DOUBLE, LEAST_SINGLE = 1e-300, 1e-30
"""The least probability whose logarithm is taken, near the smallest number of either precision: by how much a report
that no true value can lead to is held against a distribution. Nothing else depends on them."""


class CountSource(Protocol):
    """Where the counts of an `Evidence` come from."""

    def counts(self, fold: Fold | None, squared: bool) -> npt.ArrayLike:
        """Count the reports of a fold in each report cell, or sum the squares of their weights."""


@dataclass(frozen=True)
class KnownCounts:
    """Counts that are known already; ``squares`` None: every report counts once."""

    known: npt.ArrayLike
    squares: npt.ArrayLike | None = None

    def counts(self, fold: Fold | None, squared: bool) -> npt.ArrayLike:
        """Return the counts, or the squares."""
        return self.squares if squared and self.squares is not None else self.known


@dataclass(frozen=True)
class Askable:
    """Columns of reports in cells, which can be counted, also with the class as a last axis."""

    reports: Reports
    cells: tuple[ColumnCells, ...]
    by_class: bool

    def question(self, fold: Fold | None, squared: bool) -> Question:
        """Return the question whose answer is the counts of a fold."""
        names = [cut.name for cut in self.cells]
        return self.reports.counting(names, self.cells, by_class=self.by_class, fold=fold, squared=squared)

    def counts(self, fold: Fold | None, squared: bool) -> npt.ArrayLike:
        """Count the reports of a fold; without weights squares are the counts again."""
        counts: Floats = self.reports.ask([self.question(fold, squared and self.reports.weighted)])[0]
        return counts


@dataclass(frozen=True, eq=False)
class Evidence:
    """Counts of reports, and the table through which they saw the true values.

    table: P[report cell, true cell].
    source: where its counts come from; made by `of_counts` or `of_columns`.
    cells: the columns behind the axes of the table, in their order; empty where only the table matters.
    fold: whose reports are counted; None for everybody's.

    >>> from sfumato.evidence import DenseTable, Evidence
    >>> coin = Evidence.of_counts(DenseTable([[0.75, 0.25], [0.25, 0.75]]), [40, 60])
    >>> coin.predict(np.array([[0.5, 0.5]])).tolist()
    [[0.5, 0.5]]
    """

    table: Table
    source: CountSource
    cells: tuple[ColumnCells, ...] = ()
    fold: Fold | None = None

    @classmethod
    def of_counts(
        cls, table: Table, counts: npt.ArrayLike, squares: npt.ArrayLike | None = None,
        cells: Sequence[ColumnCells] = (),
    ) -> Evidence:
        """Return the evidence of known counts.

        counts: reports in each report cell, one row for each problem that shares the table (a class, a component);
            where people weigh differently, sums of their weights.
        squares: sums of squared weights in each report cell; None where every report counts once.
        """
        return cls(table, KnownCounts(counts, squares), tuple(cells))

    @classmethod
    def of_columns(
        cls, reports: Reports, axes: Sequence[Axis], resolution: Resolution, *, by_class: bool | None = None,
        fold: Fold | None = None, dtype: npt.DTypeLike = np.float32,
    ) -> Evidence:
        """Return what some columns of reports tell together, cut into cells.

        by_class: whether the class is an axis of the table, the first of true cells and the last of report cells;
            None: if the reports have classes.
        dtype: precision of counts and table.
        """
        by_class = reports.classes is not None if by_class is None else by_class
        cells = tuple(resolution.cut(axis) for axis in axes)
        factors = [cut.table_with_missing(axis.column.has_missing) for axis, cut in zip(axes, cells, strict=True)]
        label = reports.label_channel.matrix() if by_class and reports.label_channel is not None else None
        classes = len(reports.classes or ()) if by_class else 1
        table = ProductTable(factors, label=label, classes=classes, dtype=dtype)
        return cls(table, Askable(reports, cells, by_class), cells, fold)

    # --- counts -------------------------------------------------------------------------------------------------

    @cached_property
    def counts(self) -> Array:
        """Reports in each report cell, one row a problem."""
        return self._rows(self.source.counts(self.fold, squared=False))

    @cached_property
    def squares(self) -> Array:
        """Sums of squared weights in each report cell; the counts where every report counts once."""
        return self._rows(self.source.counts(self.fold, squared=True))

    def _rows(self, counts: npt.ArrayLike) -> Array:
        return np.asarray(counts, dtype=self.table.dtype).reshape(-1, self.table.shape[0])

    @cached_property
    def totals(self) -> Floats:
        """Reports of each problem."""
        return np.asarray(self.counts.sum(axis=-1, dtype=np.float64))

    @property
    def total(self) -> float:
        """All reports."""
        return float(self.totals.sum())

    @property
    def product(self) -> ProductTable:
        """The table of evidence about columns, one factor a column."""
        assert isinstance(self.table, ProductTable)
        return self.table

    @property
    def in_cells(self) -> Array:
        """The counts with one axis a column, the class last."""
        return np.asarray(self.counts.reshape(self.product.report_shape))

    def questions(self, *folds: Fold | None) -> list[Question]:
        """Return what must be counted to fit on these folds and judge on them, for `Reports.prepare`."""
        source = self.source
        assert isinstance(source, Askable)
        kinds = (False, True) if source.reports.weighted else (False,)
        return [source.question(fold, squared) for fold in folds or (self.fold,) for squared in kinds]

    def of_fold(self, fold: Fold | None) -> Evidence:
        """Return the evidence of the people in a fold, through the same table."""
        return replace(self, fold=fold)

    def with_counts(self, counts: npt.ArrayLike) -> Evidence:
        """Return other counts seen through the same table."""
        return replace(self, source=KnownCounts(counts), fold=None)

    def only(self, problems: npt.NDArray[np.bool_] | Codes) -> Evidence:
        """Return the evidence of some problems, chosen by a mask or by their rows."""
        return self.with_counts(self.counts[problems])

    @cached_property
    def block_people(self) -> Floats:
        """How many people each report cell is one of the reports of: n in E[N_s] = n·(P p)_s.

        Report cells of one level sum to one on their own, and so does the cell of missing reports: each such block has
        as many people as were counted in it.
        """
        shape = self.product.report_shape
        blocks = [block_of_row(cut.reported, cut.blocks, rows) for cut, rows in zip(self.cells, shape, strict=False)]
        number = reduce(lambda before, more: np.add.outer(before * (more.max() + 1), more), blocks, np.zeros((), int))
        block = np.unique(np.repeat(number.ravel(), shape[-1]), return_inverse=True)[1]
        return np.bincount(block, self.counts.ravel()).astype(np.float64)[block]

    # --- the likelihood -------------------------------------------------------------------------------------------

    def predict(self, p: Array) -> Array:
        """Return the distribution of reports P p of every row p, kept above zero."""
        least = LEAST_DOUBLE if self.table.dtype == np.float64 else LEAST_SINGLE
        predicted: Array = self.table.apply(p)
        return np.asarray(np.maximum(predicted, np.asarray(least, predicted.dtype), out=predicted))

    def log_likelihood(self, p: Array) -> Floats:
        """Return Σ_s N_s·log (P p)_s of every problem."""
        return np.asarray(np.sum(self.counts * np.log(self.predict(p)), axis=-1, dtype=np.float64))

    def surprise(self, p: Array) -> Array:
        """Return N_s/(P p)_s: in which report cells more people are than p predicts."""
        predicted = self.predict(p)
        return np.asarray(np.divide(self.counts, predicted, out=predicted))


def block_of_row(reported: int, starts: tuple[int, ...], rows: int) -> Codes:
    """Return the block of each report cell of a column; a row beyond them is that of missing reports."""
    return np.searchsorted([*starts, reported], np.arange(rows), side="right") - 1
