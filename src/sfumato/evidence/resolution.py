"""How finely columns are cut when several are seen together.

True cells shrink in number as columns are added, so that a grid of all of them stays small; report cells widen with
them, measured in noise deviations (a report cell of half a deviation loses about 2 % of the information in a mean).
Members of one average use different counts and shifts: their edges never coincide, and neither do they line up with cut
points of the truth by luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.evidence.cells import Axis, ColumnCells

DIMENSIONS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
"""Effective dimensions for which the four rows below state a resolution; between them it is interpolated."""
TRUE_CELLS = (97.0, 97.0, 37.0, 23.0, 15.0, 10.0, 7.0, 5.0)
"""True cells a column, so that a grid of all columns has about 10⁵ at most and one step of EM takes milliseconds. Odd
and prime numbers, so that no edge lies in the middle or at a round part of the domain."""
COARSENESS = (0.05, 0.05, 0.1, 0.25, 0.5, 0.8, 1.0, 1.3)
"""Width of report cells in noise deviations, so that there are about as many of them as of true cells."""
SELECTION_CELLS = (29.0, 29.0, 16.0, 11.0, 8.0, 6.0, 5.0, 4.0)
SELECTION_COARSENESS = (0.2, 0.2, 0.35, 0.5, 0.65, 0.9, 1.1, 1.5)
"""The same two for sets of columns that are only judged: a tenth of the cells, because many sets are."""
FULL_AXIS = 25.0
"""Values from which on a column counts as a whole dimension; one of v values counts as log v / log 25."""
PEOPLE_A_CELL = 8.0
"""People that a cell should have where a column is clear, whose cells are not smoothed by any noise."""
MEMBER_SPREAD = 0.3
MEMBER_SHIFT = 0.6
"""Members of an average have up to 15 % more or fewer cells, and edges up to .3 of a cell aside; by judgement, far
enough that no two members have edges at the same places."""
WIDENING = 1.15
MOST_WIDENINGS = 20
"""Report cells are widened by this factor, so many times at most (16-fold together), until there are few enough."""


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
        for _ in range(MOST_WIDENINGS):
            if np.prod([float(found.cut(axis).reported) for axis in axes]) <= most:
                break
            found = replace(found, coarseness=WIDENING * found.coarseness)
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
        cells = min(cells, max(3.0, (people / PEOPLE_A_CELL) ** (1.0 / max(dimension, 1.0))))
    coarseness = float(np.interp(dimension, DIMENSIONS, widths))
    return Resolution(max(2, round(cells * spread_of(member))), coarseness, shift_of(member))


def spread_of(member: int) -> float:
    """How many times the cells of the first member another one has."""
    return 1.0 + MEMBER_SPREAD * (golden(member) - 0.5) if member else 1.0


def shift_of(member: int) -> float:
    """How far a member's edges are shifted, in cells."""
    return MEMBER_SHIFT * (golden(2 * member + 1) - 0.5)


def golden(place: int) -> float:
    """A low-discrepancy sequence in [0, 1)."""
    return float((place * 0.6180339887498949) % 1.0)
