"""Compiled loops over reports; imported only where numba is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy")
def nearest_codes(values: Any, first: float, stride: float, per: float, size: int) -> Any:
    """Return the code of the grid point nearest to each number, as `Grid.encode` rounds it.

    code = rint((value·per − first)/stride), limited to 0 … size − 1; −1 for NaN.
    """
    codes = np.empty(values.size, np.int32)
    for i in range(values.size):
        value = (values[i] * per - first) / stride
        codes[i] = int(min(max(np.rint(value), 0.0), size - 1.0)) if value == value else -1
    return codes


@njit(cache=True)
def place_into(flat: Any, codes: Any, cell_of_code: Any, cells: int, missing: int) -> None:
    """Append one column's cells (groups of codes) to the records' indices in an array of counts, in place.

        flat ← flat·cells + cell_of_code[code]

    A code below zero (a missing report) counts as the cell ``missing``.
    """
    for i in range(flat.size):
        flat[i] = flat[i] * cells + (cell_of_code[codes[i]] if codes[i] >= 0 else missing)


@njit(cache=True)
def sum_at(flat: Any, weights: Any, chosen: Any, size: int) -> Any:
    """Return an array with the summed weights of the records at each index 0 … size − 1 of flattened counts.

    ``flat``: every record's index; records with one below zero are left out.
    ``chosen`` marks the records that count; an empty array: all do.
    """
    sums = np.zeros(size)
    for i in range(flat.size):
        if flat[i] >= 0 and (chosen.size == 0 or chosen[i]):
            sums[flat[i]] += weights[i]
    return sums


@njit(cache=True)
def count_at(flat: Any, chosen: Any, size: int) -> Any:
    """Return an array with the number of records at each index 0 … size − 1 of flattened counts.

    ``flat``: every record's index; records with one below zero are left out.
    ``chosen`` marks the records that count; an empty array: all do.
    """
    counts = np.zeros(size, np.int64)
    if chosen.size == 0:
        for i in range(flat.size):
            if flat[i] >= 0:
                counts[flat[i]] += 1
        return counts
    for i in range(flat.size):
        if chosen[i] and flat[i] >= 0:
            counts[flat[i]] += 1
    return counts


@njit(cache=True)
def count_codes(codes: Any, level: Any, group: Any, size: int, counts: Any) -> None:
    """Count every report of a column, in place: a report at counts[group, code], a missing one after the codes.

    That is at counts[group, size + level], level the number of the strength of blurring that the person chose.
    """
    for i in range(codes.size):
        code = codes[i]
        if code < 0:
            code = size + (level[i] if level.size else 0)
        counts[group[i], code] += 1
