"""Compiled loops over reports; imported only where numba is installed."""

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


@njit(cache=True, error_model="numpy")
def nearest_codes(values: Any, origin: float, step: float, size: int) -> Any:
    """The nearest grid code of each number, end codes beyond the ends, −1 for NaN."""
    codes = np.empty(values.size, np.int32)
    for i in range(values.size):
        value = (values[i] - origin) / step
        codes[i] = int(min(max(np.rint(value), 0.0), size - 1.0)) if value == value else -1
    return codes


@njit(cache=True)
def place_into(flat: Any, codes: Any, cell_of_code: Any, cells: int, missing: int) -> None:
    """flat ← flat · cells + the cell of each code; missing codes go to the cell ``missing``."""
    for i in range(flat.size):
        flat[i] = flat[i] * cells + (cell_of_code[codes[i]] if codes[i] >= 0 else missing)


@njit(cache=True)
def sum_at(flat: Any, weights: Any, size: int) -> Any:
    """The summed weight at each place; a place below zero does not count."""
    sums = np.zeros(size)
    for i in range(flat.size):
        if flat[i] >= 0:
            sums[flat[i]] += weights[i]
    return sums


@njit(cache=True)
def count_at(flat: Any, size: int) -> Any:
    """How often each place occurs; a place below zero does not count."""
    counts = np.zeros(size, np.int64)
    for i in range(flat.size):
        if flat[i] >= 0:
            counts[flat[i]] += 1
    return counts


@njit(cache=True)
def split_columns(table: Any) -> Any:
    """The columns of a row-major table as rows, copied in blocks that stay in the cache."""
    records, columns = table.shape
    found = np.empty((columns, records))
    for start in range(0, records, 512):
        for j in range(columns):
            for i in range(start, min(start + 512, records)):
                found[j, i] = table[i, j]
    return found
