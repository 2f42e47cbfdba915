"""The numba form of one block of additive noise; imported only where numba is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, fastmath={"contract", "nsz"})
def add_noise_block(
    values: Any, reports: Any, words: Any, table: Any, bits: int, low: float, high: float, per_step: float, clamp: bool,
    origin: float, step: float, shift: float, last: float,
) -> int:  # fmt: skip
    """reports = origin + step·clip(round((values − low)/step) + noise + shift); returns the first refused place or −1."""
    bin_shift, threshold_shift = np.uint64(64 - bits), np.uint64(bits)
    fraction = np.uint64((np.uint64(1) << bin_shift) - np.uint64(1))
    alias_mask = np.uint64((np.uint64(1) << threshold_shift) - np.uint64(1))
    refused = 0
    for i in range(values.size):
        value, word = values[i], words[i]
        refused += (value < low) | (value > high)
        code = word >> bin_shift
        entry = table[code]
        alias = np.int64(entry & alias_mask)
        below = np.int64((word & fraction) < (entry >> threshold_shift))
        noise = alias + (np.int64(code) - alias) * below
        place = np.rint((min(max(value, low), high) - low) * per_step) + noise + shift
        place = min(max(place, 0.0), last)
        reports[i] = origin + step * place if value == value else np.nan
    if refused and not clamp:
        for i in range(values.size):
            if values[i] < low or values[i] > high:
                return i
    return -1
