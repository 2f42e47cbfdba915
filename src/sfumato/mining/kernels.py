"""Compiled loops over records."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from sfumato.domain import Floats


@njit(cache=True)
def nearest_codes(values: Floats, origin: float, step: float, size: int) -> npt.NDArray[np.int32]:
    """The nearest grid code of each number, end codes beyond the ends, −1 for NaN."""
    codes = np.empty(values.size, np.int32)
    for i in range(values.size):
        value = (values[i] - origin) / step
        if np.isnan(value):
            codes[i] = -1
        else:
            codes[i] = int(min(max(np.rint(value), 0.0), size - 1.0))
    return codes


@njit(cache=True)
def split_columns(table: Floats) -> Floats:
    """The columns of a row-major table as rows, copied in blocks that stay in the cache."""
    records, columns = table.shape
    found = np.empty((columns, records))
    for start in range(0, records, 512):
        for j in range(columns):
            for i in range(start, min(start + 512, records)):
                found[j, i] = table[i, j]
    return found


@njit(cache=True)
def report_cells(
    codes: npt.NDArray[np.int32], cell_of_code: npt.NDArray[np.int32], missing: int
) -> npt.NDArray[np.int32]:
    """The report cell of each code; missing codes go to the cell `missing`."""
    cells = np.empty(codes.size, np.int32)
    for i in range(codes.size):
        cells[i] = cell_of_code[codes[i]] if codes[i] >= 0 else missing
    return cells


@njit(cache=True)
def weighted_counts(flat: npt.NDArray[np.int64], weight: npt.NDArray[np.float32], size: int) -> npt.NDArray[np.float32]:
    """The summed weight at each place."""
    counts = np.zeros(size, np.float32)
    for i in range(flat.size):
        counts[flat[i]] += weight[i]
    return counts


@njit(cache=True, fastmath=True)
def mixture_step(
    cells: npt.NDArray[np.int32],
    weight: npt.NDArray[np.float32],
    p_report: npt.NDArray[np.float32],
    prior: npt.NDArray[np.float32],
    counts: npt.NDArray[np.float32],
) -> float:
    """E-step of a mixture of products: adds P(z | w) to counts[j, w_j, z]; returns the log-likelihood.

    p_report[j, s, z] = P(w_j = s | z); cells[i, j] is the report cell of record i.
    """
    records, attributes = cells.shape
    components = prior.size
    p = np.empty(components, np.float32)
    likelihood = 0.0
    for i in range(records):
        for z in range(components):
            p[z] = prior[z]
        for j in range(attributes):
            row = p_report[j, cells[i, j]]
            for z in range(components):
                p[z] *= row[z]
        total = np.float32(1e-37)
        for z in range(components):
            total += p[z]
        likelihood += weight[i] * np.log(total)
        share = weight[i] / total
        for z in range(components):
            p[z] *= share
        for j in range(attributes):
            row = counts[j, cells[i, j]]
            for z in range(components):
                row[z] += p[z]
    return likelihood
