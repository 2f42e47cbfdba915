"""A column of reports and the levels that people chose, as one array of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.domain import as_array

LEVEL_SUFFIX = ".level"
REPORT, LEVEL = "report", "level"


def with_levels(column: npt.NDArray[Any], level: npt.ArrayLike) -> npt.NDArray[Any]:
    """The reports, each with the name of its level."""
    pairs = np.empty(column.shape, dtype=[(REPORT, column.dtype), (LEVEL, object)])
    pairs[REPORT], pairs[LEVEL] = column, as_array(level)
    return pairs


def reports_in(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The reports alone."""
    return column[REPORT] if column.dtype.names else column


def levels_in(column: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """The levels alone, None where the column has none."""
    return column[LEVEL] if column.dtype.names else None
