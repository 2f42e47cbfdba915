"""The number and width of cells into which columns are cut that are modelled together.

With more columns each has fewer true cells, so that a grid of all columns stays small, and wider report cells, measured
in noise deviations: cells of h deviations lose h²/12 of the information in a mean, half a deviation 2 %. Where several
models are averaged (*members*), each has other numbers of cells and shifts, so that their edges do not coincide, nor
all of them with a cut in the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.evidence.cells import Axis, ColumnCells

DIMENSIONS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
"""Effective dimensions for which the four rows below state a resolution; between them it is interpolated."""
TRUE_CELLS = (97.0, 97.0, 37.0, 23.0, 15.0, 10.0, 7.0, 5.0)
"""True cells of each column. By judgement: a grid of up to six columns has about 10⁵ cells at most, one of eight
4·10⁵, so that a step of EM takes milliseconds; mostly odd numbers, so that no edge lies in the middle of the domain."""
COARSENESS = (0.05, 0.05, 0.1, 0.25, 0.5, 0.8, 1.0, 1.3)
"""Width of report cells in noise deviations. By judgement: h²/12 of the information is lost, 14 % at most; narrower
cells make more combinations to count."""
SELECTION_CELLS = (29.0, 29.0, 16.0, 11.0, 8.0, 6.0, 5.0, 4.0)
"""True cells of each column in a set that is only judged. By judgement: a third to a thirteenth of the grid's cells,
because many sets are judged."""
SELECTION_COARSENESS = (0.2, 0.2, 0.35, 0.5, 0.65, 0.9, 1.1, 1.5)
"""Width of report cells, in noise deviations, of a set that is only judged; by judgement as COARSENESS."""
FULL_AXIS = 25.0
"""Values from which a column counts as a whole dimension; one of v values counts as log v / log 25. By judgement:
larger makes a column of few values nearly free."""
PEOPLE_A_CELL = 8.0
"""People in each cell of clear columns, about, which no noise smooths. By judgement: fewer fit chance, more hide
detail."""
MEMBER_SPREAD = 0.3
"""Range of the members' numbers of cells, as a part of the first member's: 15 % more or fewer. By judgement: enough
that members have different edges, little enough that all are about as fine."""
MEMBER_SHIFT = 0.6
"""Range of the members' shifts, in cells: edges are up to .3 of a cell aside. By judgement, as for MEMBER_SPREAD."""
WIDENING = 1.15
"""Factor by which report cells are widened until there are few enough; by judgement, small, to widen little too far."""
MOST_WIDENINGS = 20
"""How often they are widened at most: 16-fold together, wider than any noise; then the loop ends anyway."""


@dataclass(frozen=True)
class Resolution:
    """How finely columns are cut.

    cells: true cells of each column, about. coarseness: the least width of report cells, in noise deviations. shift: by
    which inner edges of true cells are moved, in cells.
    """

    cells: int
    coarseness: float
    shift: float = 0.0

    def cut(self, axis: Axis) -> ColumnCells:
        """Return a column cut into cells of this resolution."""
        return axis.at(self.cells, self.coarseness, self.shift)

    def coarsened(self, axes: Sequence[Axis], most: int) -> Resolution:
        """Return a resolution with report cells so wide that the columns have ``most`` combinations of them at most."""
        coarser = self
        for _ in range(MOST_WIDENINGS):
            if np.prod([float(coarser.cut(axis).reported) for axis in axes]) <= most:
                break
            coarser = replace(coarser, coarseness=WIDENING * coarser.coarseness)
        return coarser


def effective_dimension(axes: Sequence[Axis]) -> float:
    """Return how many dimensions columns have together; one of few values counts as a part of one (FULL_AXIS)."""
    return float(sum(min(1.0, np.log(max(axis.natural_size, 1)) / np.log(FULL_AXIS)) for axis in axes))


def resolution_for(axes: Sequence[Axis], people: float, member: int = 0, *, selecting: bool = False) -> Resolution:
    """Return the resolution at which columns are modelled together.

    people: how many there are; clear columns need some in each cell. member: the index of the model in an average.
    selecting: whether the set of columns is only judged.
    """
    dimension = effective_dimension(axes)
    table, widths = (SELECTION_CELLS, SELECTION_COARSENESS) if selecting else (TRUE_CELLS, COARSENESS)
    cells = float(np.interp(dimension, DIMENSIONS, table))
    if any(not axis.noisy for axis in axes):
        cells = min(cells, max(3.0, (people / PEOPLE_A_CELL) ** (1.0 / max(dimension, 1.0))))
    coarseness = float(np.interp(dimension, DIMENSIONS, widths))
    return Resolution(max(2, round(cells * spread_of(member))), coarseness, shift_of(member))


def spread_of(member: int) -> float:
    """Return the factor on the first member's number of cells that another member of an average has."""
    return 1.0 + MEMBER_SPREAD * (golden(member) - 0.5) if member else 1.0


def shift_of(member: int) -> float:
    """Return how far the edges of a member of an average are shifted, in cells."""
    return MEMBER_SHIFT * (golden(2 * member + 1) - 0.5)


def golden(index: int) -> float:
    """Return an entry of the low-discrepancy sequence i/φ mod 1 in [0, 1), φ the golden ratio."""
    return float((index * 0.6180339887498949) % 1.0)
