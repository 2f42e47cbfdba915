"""The smooth reconstruction on very fine cells: neighbours are merged, solved, and the density is spread out again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.evidence import DenseTable, Evidence
from sfumato.reconstruction.density.average import Candidates, SmoothFit, smooth
from sfumato.reconstruction.density.fit import Codes, Matrix, Vector, widths_of
from sfumato.reconstruction.density.noiseless import is_deterministic, smooth_noiseless

MOST_CELLS = 300
"""True cells, and report cells, on which a density is solved at most. By judgement: time grows with their third power,
and useful noise lets no more detail through; fewer make atoms and stretches coarser."""


@dataclass(frozen=True)
class MergedFit:
    """A fit that was made on merged cells.

    fit: the estimate, with its density on all true cells. starts: the index of the first true cell of each merged one.
    """

    fit: SmoothFit
    starts: Codes


def smooth_merged(evidence: Evidence, candidates: Candidates, to_intervals: Matrix) -> MergedFit:
    """Return the smooth reconstruction, by `smooth` on at most MOST_CELLS cells, or without noise `smooth_noiseless`.

    evidence: one problem about the true cells of a numeric column. candidates: of atoms and rounding. to_intervals:
    (intervals × cells) sums cells to the wanted intervals.
    """
    if is_deterministic(evidence.table.dense()):
        fit = smooth_noiseless(evidence, to_intervals)
        return MergedFit(fit, np.arange(to_intervals.shape[1]))
    widths = widths_of(evidence)
    rows, columns = run_starts(evidence.table.shape[0]), run_starts(evidence.table.shape[1])
    if rows.size == evidence.table.shape[0] and columns.size == widths.size:
        return MergedFit(smooth(evidence, candidates, to_intervals), columns)
    table = np.add.reduceat(merged_columns(evidence.table.dense(), widths, columns), rows, axis=0)
    edges = evidence.cells[0].edges
    assert edges is not None
    cells = replace(evidence.cells[0], edges=np.append(edges[columns], edges[-1]))
    merged = Evidence.of_counts(DenseTable(table), np.add.reduceat(evidence.counts[0], rows), cells=(cells,))
    fewer = Candidates(
        np.add.reduceat(candidates.points, rows, axis=0),
        np.searchsorted(columns, candidates.cell_of, side="right") - 1,
        *(() if columns.size < widths.size else (candidates.roundings,)),
    )
    fit = smooth(merged, fewer, merged_columns(to_intervals, widths, columns))
    return MergedFit(replace(fit, density=spread_out(fit.density, widths, columns)), columns)


def run_starts(size: int) -> Codes:
    """Return the index of the first cell of each run that is merged; every index if there are at most MOST_CELLS."""
    return np.arange(0, size, -(-size // MOST_CELLS))


def merged_columns(matrix: Matrix, widths: Vector, starts: Codes) -> Matrix:
    """Merge the columns of a matrix in runs of neighbours, each to its columns' mean weighted by the cells' widths.

    widths: of the cells that the columns stand for. starts: the first column of each run.
    """
    return np.asarray(np.add.reduceat(matrix * widths, starts, axis=1) / np.add.reduceat(widths, starts))


def spread_out(cells: Vector, widths: Vector, starts: Codes) -> Vector:
    """Return the probabilities of cells from those of merged cells, spread evenly by width.

    cells: probabilities of the merged cells. widths: of the cells. starts: the first cell of each merged one.
    """
    merged = np.add.reduceat(widths, starts)
    run = np.searchsorted(starts, np.arange(widths.size), side="right") - 1
    return np.asarray(cells[run] * widths / merged[run])
