"""AS00 §4: reconstruct a distribution, then associate records with intervals by rank.

The reconstruction says how many values lie in each interval; the N(I₁) lowest reports go to I₁, the next N(I₂) to I₂,
and so on. Categories have no order: each reported category is shared out by P(true | reported).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.stats import chi2

from sfumato.mining.columns import Axis, ColumnCells

Floats = npt.NDArray[np.float64]
MOST_STEPS = 2_000
STOP_SHARE = 0.003
"""AS00 stops at 1 % of the χ² threshold: early for Local. A tenth of that is late for ByClass; this is between."""


@lru_cache
def stopping_distance(intervals: int) -> float:
    """The χ² distance between successive estimates below which reconstruction stops."""
    return STOP_SHARE * float(chi2.ppf(0.95, max(intervals - 1, 1)))


def reconstruct_groups(table: npt.NDArray[np.float32], counts: Floats) -> Floats:
    """Equation 3 for several groups, p ← p · Pᵀ(N / P p) / n, one row a group, from the uniform start."""
    found = np.full((counts.shape[0], table.shape[1]), 1.0 / table.shape[1])
    for p, reports in zip(found, counts, strict=True):
        if reports.any():
            reconstruct_one(table, reports.astype(np.float32), p, stopping_distance(table.shape[1]), MOST_STEPS)
    return found


@njit(cache=True, fastmath=True)
def reconstruct_one(table: Any, counts: Any, p: Any, threshold: float, most_steps: int) -> None:
    """EM in place, until n·Σ(p' − p)²/p between successive estimates falls below the threshold."""
    reports, intervals = table.shape
    total = counts.sum()
    factor, current = np.empty(intervals, np.float32), p.astype(np.float32)
    for _ in range(most_steps):
        factor[:] = 0.0
        for s in range(reports):
            if counts[s] == 0:
                continue
            row = table[s]
            expected = np.float32(1e-30)
            for t in range(intervals):
                expected += row[t] * current[t]
            ratio = counts[s] / (total * expected)
            for t in range(intervals):
                factor[t] += row[t] * ratio
        moved, mass = 0.0, 0.0
        for t in range(intervals):
            moved += current[t] * (factor[t] - 1.0) ** 2
            current[t] *= factor[t]
            mass += current[t]
        for t in range(intervals):
            current[t] /= mass
        if total * moved < threshold:
            break
    for t in range(intervals):
        p[t] = current[t]


@dataclass(frozen=True)
class Intervals:
    """One attribute cut into m intervals, and the association of its reports with them."""

    attribute: Axis
    cells: ColumnCells

    @property
    def size(self) -> int:
        return self.cells.size

    def associate(self, records: Any, group: Any, groups: int, weight: Floats) -> Any:
        """The interval of each of the records, reconstructed within each group; `size` stands for missing."""
        codes = self.attribute.codes[records]
        if not self.attribute.noisy:
            return np.where(codes < 0, self.size, self.cells.cell_of_code[np.maximum(codes, 0)])
        by_code = counts_by_code(codes, group, weight, groups, self.cells.cell_of_code.size)
        table = self.cells.table
        by_cell = np.array([np.bincount(self.cells.cell_of_code, row, table.shape[0]) for row in by_code])
        p = reconstruct_groups(table, by_cell)
        if self.cells.labels is not None:
            posterior = p[:, None, :] * table[None]
            posterior /= np.maximum(posterior.sum(axis=2, keepdims=True), 1e-300)
            return by_share(codes, group, np.cumsum(posterior, axis=2), self.size)
        if self.attribute.levels > 1:  # ranks are comparable among people of one level only
            group = group * self.attribute.levels + self.attribute.level_of(codes)
            by_code = counts_by_code(codes, group, weight, groups * self.attribute.levels, by_code.shape[1])
            p = np.repeat(p, self.attribute.levels, axis=0)
        bounds = np.cumsum(p, axis=1) * by_code.sum(axis=1, keepdims=True)
        return by_rank(codes, group, weight, by_code, bounds, self.size)


@njit(cache=True)
def counts_by_code(codes: Any, group: Any, weight: Any, groups: int, size: int) -> Any:
    """Summed weight of each group's reports at each code."""
    counts = np.zeros((groups, size))
    for i in range(codes.size):
        if codes[i] >= 0:
            counts[group[i], codes[i]] += weight[i]
    return counts


@njit(cache=True)
def by_rank(codes: Any, group: Any, weight: Any, by_code: Any, bounds: Any, missing: int) -> Any:
    """A stable counting sort within each group; a record's interval is where the middle of its weight falls."""
    groups, size = by_code.shape
    rank, pointer = np.zeros((groups, size)), np.zeros((groups, size), np.int64)
    for g in range(groups):
        below, place = 0.0, 0
        for code in range(size):
            rank[g, code] = below
            while place < missing - 1 and bounds[g, place] <= below:
                place += 1
            pointer[g, code] = place
            below += by_code[g, code]
    found = np.empty(codes.size, np.uint8)
    for i in range(codes.size):
        code, g = codes[i], group[i]
        if code < 0:
            found[i] = missing
            continue
        middle = rank[g, code] + 0.5 * weight[i]
        rank[g, code] += weight[i]
        place = pointer[g, code]
        while place < missing - 1 and bounds[g, place] <= middle:
            place += 1
        pointer[g, code] = place
        found[i] = place
    return found


@njit(cache=True)
def by_share(codes: Any, group: Any, bounds: Any, missing: int) -> Any:
    """Each group's reports of one category shared out by P(true | reported): the k-th takes the place k·φ mod 1."""
    seen = np.zeros(bounds.shape[:2])
    found = np.empty(codes.size, np.uint8)
    for i in range(codes.size):
        code, g = codes[i], group[i]
        if code < 0:
            found[i] = missing
            continue
        seen[g, code] += 1.0
        share = (seen[g, code] * 0.6180339887498949) % 1.0
        place = 0
        while place < missing - 1 and bounds[g, code, place] <= share:
            place += 1
        found[i] = place
    return found
