"""`Evidence`: counts of reports together with the table through which they saw the true values.

    N[r, s]          reports of problem r in report cell s
    P[s, t]          chance of report cell s for a person in true cell t
    log-likelihood   L_r(p) = Σ_s N[r, s]·log (P p_r)_s

Estimates and models are fitted to evidence alone. Reports that are not counted yet are counted when `counts` is first
read; `Reports.prepare` with the questions of several evidences counts all of them in one pass.
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

LEAST_DOUBLE = 1e-300
"""The least probability in double precision whose logarithm is taken, near the smallest double: it decides only how
much a report that no true value can lead to lowers the likelihood."""
LEAST_SINGLE = 1e-30
"""The least probability in single precision whose logarithm is taken, well above the smallest number, 10⁻³⁸."""


class CountSource(Protocol):
    """The source of the counts of an `Evidence`."""

    def counts(self, fold: Fold | None, squared: bool) -> npt.ArrayLike:
        """Count the reports of a fold in each report cell, or sum the squares of their weights."""


@dataclass(frozen=True)
class KnownCounts:
    """Counts in memory as the source of an `Evidence`.

    numbers: reports, or sums of weights, in each report cell. squares: sums of squared weights; None: every report
    counts once.
    """

    numbers: npt.ArrayLike
    squares: npt.ArrayLike | None = None

    def counts(self, fold: Fold | None, squared: bool) -> npt.ArrayLike:
        """Return the counts, or the sums of squared weights; folds are not known."""
        return self.squares if squared and self.squares is not None else self.numbers


@dataclass(frozen=True)
class CountableColumns:
    """Columns of reports as a source of counts: they are counted in cells when they are needed.

    cells: of each column. by_class: whether the class is a last axis of the counts.
    """

    reports: Reports
    cells: tuple[ColumnCells, ...]
    by_class: bool

    def question(self, fold: Fold | None, squared: bool) -> Question:
        """Return the question to `Reports` whose answer is the counts of a fold."""
        names = [cut.name for cut in self.cells]
        return self.reports.counting(names, self.cells, by_class=self.by_class, fold=fold, squared=squared)

    def counts(self, fold: Fold | None, squared: bool) -> npt.ArrayLike:
        """Count the reports of a fold, or sum their squared weights; without weights both are the same."""
        counts: Floats = self.reports.ask([self.question(fold, squared and self.reports.weighted)])[0]
        return counts


@dataclass(frozen=True, eq=False)
class Evidence:
    """Counts of reports, and the table through which they saw the true values.

    Made by `of_counts` or `of_columns`.

    table: P[report cell, true cell].
    source: where the counts come from, memory or reports.
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
        """Return the evidence of counts in memory.

        table: P[report cell, true cell].
        counts: reports in each report cell, one row for each problem that shares the table (a class, a component);
            where people weigh differently, sums of their weights.
        squares: sums of squared weights in each report cell; None where every report counts once.
        cells: the columns behind the axes of the table.
        """
        return cls(table, KnownCounts(counts, squares), tuple(cells))

    @classmethod
    def of_columns(
        cls, reports: Reports, axes: Sequence[Axis], resolution: Resolution, *, by_class: bool | None = None,
        fold: Fold | None = None, dtype: npt.DTypeLike = np.float32,
    ) -> Evidence:
        """Return the evidence of some columns of reports together, cut into cells.

        axes: the columns. resolution: how finely they are cut.
        by_class: whether the class is an axis of the table, the first of true cells and the last of report cells;
            None: if the reports have classes.
        fold: whose reports are counted; None: everybody's.
        dtype: precision of counts and table.
        """
        by_class = reports.classes is not None if by_class is None else by_class
        cells = tuple(resolution.cut(axis) for axis in axes)
        factors = [cut.table_with_missing(axis.column.has_missing) for axis, cut in zip(axes, cells, strict=True)]
        label = reports.label_channel.matrix() if by_class and reports.label_channel is not None else None
        classes = len(reports.classes or ()) if by_class else 1
        table = ProductTable(factors, label=label, classes=classes, dtype=dtype)
        return cls(table, CountableColumns(reports, cells, by_class), cells, fold)

    # --- counts -------------------------------------------------------------------------------------------------

    @cached_property
    def counts(self) -> Array:
        """The number of reports in each report cell, one row a problem."""
        return self._rows(self.source.counts(self.fold, squared=False))

    @cached_property
    def squares(self) -> Array:
        """The sum of squared weights in each report cell, one row a problem; the counts without weights."""
        return self._rows(self.source.counts(self.fold, squared=True))

    def _rows(self, counts: npt.ArrayLike) -> Array:
        """Return counts with one row a problem, in the precision of the table."""
        return np.asarray(counts, dtype=self.table.dtype).reshape(-1, self.table.shape[0])

    @cached_property
    def totals(self) -> Floats:
        """The number of reports of each problem."""
        return np.asarray(self.counts.sum(axis=-1, dtype=np.float64))

    @property
    def total(self) -> float:
        """The number of reports of all problems."""
        return float(self.totals.sum())

    @property
    def product(self) -> ProductTable:
        """The table as a `ProductTable`, one factor a column; only of evidence about columns."""
        assert isinstance(self.table, ProductTable)
        return self.table

    @property
    def in_cells(self) -> Array:
        """The counts with one axis a column, the class last."""
        return np.asarray(self.counts.reshape(self.product.report_shape))

    def questions(self, *folds: Fold | None) -> list[Question]:
        """Return the questions whose answers are the counts of these folds, for `Reports.prepare`.

        Without folds, those of this evidence's own.
        """
        source = self.source
        assert isinstance(source, CountableColumns)
        kinds = (False, True) if source.reports.weighted else (False,)
        return [source.question(fold, squared) for fold in folds or (self.fold,) for squared in kinds]

    def of_fold(self, fold: Fold | None) -> Evidence:
        """Return the evidence of the people in a fold, through the same table."""
        return replace(self, fold=fold)

    def with_counts(self, counts: npt.ArrayLike) -> Evidence:
        """Return the evidence of other counts, in memory and without weights, through the same table."""
        return replace(self, source=KnownCounts(counts), fold=None)

    def only(self, problems: npt.NDArray[np.bool_] | Codes) -> Evidence:
        """Return the evidence of some problems, chosen by a mask or by rows, without weights."""
        return self.with_counts(self.counts[problems])

    @cached_property
    def block_people(self) -> Floats:
        """For each report cell the number n of people in its block, so that E[N_s] = n·(P p)_s.

        The report cells of one privacy level are a block, whose chances sum to one, and so is the cell of missing
        reports; a block has as many people as were counted in it. Of several columns blocks are combined.
        """
        shape = self.product.report_shape
        blocks = [block_of_row(cut.reported, cut.blocks, rows) for cut, rows in zip(self.cells, shape, strict=False)]
        number = reduce(lambda before, more: np.add.outer(before * (more.max() + 1), more), blocks, np.zeros((), int))
        block = np.unique(np.repeat(number.ravel(), shape[-1]), return_inverse=True)[1]
        return np.bincount(block, self.counts.ravel()).astype(np.float64)[block]

    # --- the likelihood -------------------------------------------------------------------------------------------

    def predict(self, p: Array) -> Array:
        """Return the distribution of reports P p that every row p predicts, no chance below the least number."""
        least = LEAST_DOUBLE if self.table.dtype == np.float64 else LEAST_SINGLE
        predicted: Array = self.table.apply(p)
        return np.asarray(np.maximum(predicted, np.asarray(least, predicted.dtype), out=predicted))

    def log_likelihood(self, p: Array) -> Floats:
        """Return Σ_s N_s·log (P p)_s of every problem."""
        return np.asarray(np.sum(self.counts * np.log(self.predict(p)), axis=-1, dtype=np.float64))

    def surprise(self, p: Array) -> Array:
        """Return N_s/(P p)_s of every problem: counts divided by the predicted share of each report cell."""
        predicted = self.predict(p)
        return np.asarray(np.divide(self.counts, predicted, out=predicted))


def block_of_row(reported: int, starts: tuple[int, ...], rows: int) -> Codes:
    """Return the index of the block of each row of a column's table.

    reported: how many report cells the column has; a row after them is that of missing reports, a block of its own.
    starts: the first report cell of each block. rows: how many rows there are.
    """
    return np.searchsorted([*starts, reported], np.arange(rows), side="right") - 1
