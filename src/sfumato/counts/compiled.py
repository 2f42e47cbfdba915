"""The numba form of counting; imported only where numba is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy")
def count_on_grid(reports: Any, origin: float, step: float, counts: Any) -> tuple[int, int]:
    """Add every report to the count of its nearest code, beyond the ends to the end codes; (missing, infinite)."""
    last = counts.size - 1.0
    missing, infinite = 0, 0
    for i in range(reports.size):
        report = reports[i]
        if report == report:
            infinite += abs(report) == np.inf
            counts[np.int64(min(max(np.rint((report - origin) / step), 0.0), last))] += 1
        else:
            missing += 1
    return missing, infinite
