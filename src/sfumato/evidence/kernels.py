"""EM by AS00's Equation 3, compiled by numba, for one small dense problem; imported only where numba is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, fastmath=True)
def equation_3(table: Any, counts: Any, p: Any, threshold: float, limit: int) -> int:
    """Run EM on one problem in place until n·Σ(p' − p)²/p falls below the threshold; return how many steps it took.

    table: P[report cell, true cell]. counts: reports in each report cell. p: the start, which becomes the estimate.
    limit: steps at most.
    """
    reports, cells = table.shape
    total = counts.sum()
    tiny = table.dtype.type(1e-30)
    factor = np.empty(cells, table.dtype)
    for step in range(limit):
        factor[:] = 0
        for s in range(reports):
            if counts[s] == 0:
                continue
            row = table[s]
            expected = tiny
            for t in range(cells):
                expected += row[t] * p[t]
            ratio = counts[s] / (total * expected)
            for t in range(cells):
                factor[t] += row[t] * ratio
        moved, mass = 0.0, 0.0
        for t in range(cells):
            moved += p[t] * (factor[t] - 1.0) ** 2
            p[t] *= factor[t]
            mass += p[t]
        for t in range(cells):
            p[t] /= mass
        if total * moved < threshold:
            return step + 1
    return limit
