"""The numba kernels of additive noise; imported only where numba is installed.

Three short loops instead of one: the look-up cannot be vectorised, the arithmetic can.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy")
def draw_upper(words: Any, table: Any, bits: int, codes: Any) -> int:
    """Codes from 32-bit words by the upper thresholds; returns how many words are undecided."""
    bin_shift, threshold_shift = np.uint32(32 - bits), np.uint32(bits)
    fraction = np.uint32((np.uint32(1) << bin_shift) - np.uint32(1))
    alias_mask = np.uint32((np.uint32(1) << threshold_shift) - np.uint32(1))
    undecided = 0
    for i in range(codes.size):
        word = words[i]
        code = word >> bin_shift
        entry = table[code]
        alias = np.int32(entry & alias_mask)
        rest, threshold = word & fraction, entry >> threshold_shift
        codes[i] = alias + (np.int32(code) - alias) * np.int32(rest < threshold)
        undecided += int(rest == threshold)
    return undecided


@njit(cache=True, error_model="numpy")
def decide(words: Any, table: Any, lower: Any, bits: int, more: Any, codes: Any) -> None:
    """The undecided codes, from 32 more bits each and the lower halves of the thresholds."""
    bin_shift, threshold_shift = np.uint32(32 - bits), np.uint32(bits)
    fraction = np.uint32((np.uint32(1) << bin_shift) - np.uint32(1))
    used = 0
    for i in range(codes.size):
        code = words[i] >> bin_shift
        if (words[i] & fraction) == (table[code] >> threshold_shift):
            if more[used] < lower[code]:
                codes[i] = np.int32(code)
            used += 1


@njit(cache=True, error_model="numpy", fastmath={"contract", "nsz"})
def add(
    values: Any, reports: Any, noise: Any, low: float, high: float, per_step: float, shift: float, last: float,
    start: float, multiply: float, divide: float,
) -> int:  # fmt: skip
    """reports = (start + multiply·code)/divide, code = clip(round((value − low)·per_step) + noise + shift).

    Returns how many values lie outside low..high (those are clamped); missing stays missing.
    """
    outside = 0
    for i in range(values.size):
        value = values[i]
        outside += int((value < low) | (value > high))
        inside = min(max(value, low), high)
        code = np.rint((inside - low) * per_step) + (np.float64(noise[i]) + shift)
        report = (start + multiply * min(max(code, 0.0), last)) / divide
        reports[i] = report if value == value else np.nan
    return outside
