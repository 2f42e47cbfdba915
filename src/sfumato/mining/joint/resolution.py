"""How finely to cut attributes, by how many are modelled together.

True cells shrink in number as attributes are added, so that the grid stays small; report cells widen with them,
measured in noise deviations (a report cell of half a deviation loses about 2 % of the information in a mean).
Members of one model use different counts and shifts: their edges never coincide, and neither do they line up with
cut points of the truth by luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.mining.columns import Axis

DIMENSIONS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
TRUE_CELLS = (97.0, 97.0, 37.0, 23.0, 15.0, 10.0, 7.0, 5.0)
COARSENESS = (0.05, 0.05, 0.1, 0.25, 0.5, 0.8, 1.0, 1.3)
SELECTION_CELLS = (29.0, 29.0, 16.0, 11.0, 8.0, 6.0, 5.0, 4.0)
SELECTION_COARSENESS = (0.2, 0.2, 0.35, 0.5, 0.65, 0.9, 1.1, 1.5)
FULL_AXIS = 25.0


@dataclass(frozen=True)
class Resolution:
    """Cells per attribute, width of report cells in noise deviations, shift of the edges in cells."""

    cells: int
    coarseness: float
    shift: float = 0.0


def effective_dimension(attributes: Sequence[Axis]) -> float:
    """How many full axes the attributes amount to: one of few values counts as a part of an axis."""
    return float(sum(min(1.0, np.log(max(a.natural_size, 1)) / np.log(FULL_AXIS)) for a in attributes))


def resolution_for(
    attributes: Sequence[Axis], records: int, member: int = 0, *, selecting: bool = False
) -> Resolution:
    """The resolution for these attributes together; clear columns need records in their cells."""
    dimension = effective_dimension(attributes)
    table, widths = (SELECTION_CELLS, SELECTION_COARSENESS) if selecting else (TRUE_CELLS, COARSENESS)
    cells = float(np.interp(dimension, DIMENSIONS, table))
    if any(not a.noisy for a in attributes):
        cells = min(cells, max(3.0, (records / 8.0) ** (1.0 / max(dimension, 1.0))))
    spread = 1.0 + 0.3 * (golden(member) - 0.5) if member else 1.0
    shift = 0.6 * (golden(2 * member + 1) - 0.5)
    return Resolution(max(2, round(cells * spread)), float(np.interp(dimension, DIMENSIONS, widths)), shift)


def golden(place: int) -> float:
    """A low-discrepancy sequence in [0, 1)."""
    return float((place * 0.6180339887498949) % 1.0)
