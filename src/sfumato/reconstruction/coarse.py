"""Very fine grids are solved on a coarser one: no noise lets so much detail through."""

from __future__ import annotations

import numpy as np

from .families import Codes, Matrix, Vector

MOST_CELLS = 300


def group_starts(size: int) -> Codes | None:
    """The first member of each run of neighbours that become one; None where there are few enough."""
    if size <= MOST_CELLS:
        return None
    run = -(-size // MOST_CELLS)
    return np.arange(0, size, run)


def merge_rows(matrix: Matrix, starts: Codes | None) -> Matrix:
    """Reports of neighbouring observation cells counted together."""
    return matrix if starts is None else np.add.reduceat(matrix, starts, axis=0)


def merge_columns(matrix: Matrix, widths: Vector, starts: Codes | None) -> Matrix:
    """People even over neighbouring fine cells: the columns' mean, weighted by width."""
    if starts is None:
        return matrix
    return np.asarray(np.add.reduceat(matrix * widths, starts, axis=1) / np.add.reduceat(widths, starts))


def spread_out(cells: Vector, widths: Vector, starts: Codes | None) -> Vector:
    """Probabilities of merged cells back on the fine ones, even inside."""
    if starts is None:
        return cells
    merged = np.add.reduceat(widths, starts)
    group = np.searchsorted(starts, np.arange(widths.size), side="right") - 1
    return np.asarray(cells[group] * widths / merged[group])
