"""The interpreter of drawing programs, compiled: the same report for the same words as ``program.py``.

Only what large arrays spend their time on: numbers to codes, the two commonest steps, codes to numbers. Each loop is
short enough to stay in the processor's cache with its block; imported only where numba is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy")
def encode_grid(
    values: Any, codes: Any, low: float, high: float, first: float, stride: float, per: float, last: float
) -> tuple[int, int, int]:
    """codes = rint((value · per − first) / stride), −1 for NaN; how many are outside low..high, not whole, missing.

    Values outside are clamped; whether any of this is allowed is the caller's business.
    """
    outside, broken, missing = 0, 0, 0
    for i in range(values.size):
        value = values[i]
        known = value == value
        outside += int((value < low) | (value > high))
        broken += int((value != np.rint(value)) & known)
        missing += int(not known)
        inside = min(max(value, low), high)
        code = min(max(np.rint((inside * per - first) / stride), 0.0), last)
        codes[i] = np.int32(code) if known else np.int32(-1)
    return outside, broken, missing


@njit(cache=True)
def shift(codes: Any, words: Any, entries: Any, bits: int, offset: int, last: int) -> None:
    """``Shift.draw`` in place; missing stays missing."""
    places, rest = np.uint64(64 - bits), np.uint64((np.uint64(1) << np.uint64(64 - bits)) - np.uint64(1))
    threshold, alias_bits = np.uint64(bits), np.uint64((np.uint64(1) << np.uint64(bits)) - np.uint64(1))
    for i in range(codes.size):
        word = words[i, 0]
        place = word >> places
        entry = entries[place]
        alias = np.int32(entry & alias_bits)
        drawn = alias + (np.int32(place) - alias) * np.int32((word & rest) < (entry >> threshold))
        report = min(max(codes[i] + drawn - np.int32(offset), np.int32(0)), np.int32(last))
        codes[i] = report if codes[i] >= 0 else np.int32(-1)


@njit(cache=True)
def window(codes: Any, words: Any, inside: Any, size: int, others: int) -> None:
    """``Window.draw`` in place; missing stays missing."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    near_bound, far_bound = np.uint64(size), np.uint64(others)
    for i in range(codes.size):
        high_part, low_part = words[i, 1] >> half, words[i, 1] & low
        near = np.int32((high_part * near_bound + ((low_part * near_bound) >> half)) >> half)
        far = np.int32((high_part * far_bound + ((low_part * far_bound) >> half)) >> half)
        code = codes[i]
        beside = far + np.int32(size) * np.int32(far >= code)
        report = beside + (code + near - beside) * np.int32((words[i, 0] >> np.uint64(1)) < inside)
        codes[i] = report if code >= 0 else np.int32(-1)


@njit(cache=True, error_model="numpy")
def decode_grid(codes: Any, reports: Any, first: float, stride: float, per: float) -> None:
    """reports = (first + stride · code) / per, NaN for missing."""
    for i in range(codes.size):
        number = (first + stride * np.float64(codes[i])) / per
        reports[i] = number if codes[i] >= 0 else np.nan


@njit(cache=True, error_model="numpy")
def decode_whole(codes: Any, reports: Any, first: float, stride: float, per: float) -> None:
    """The same in whole numbers; missing is left to the caller."""
    for i in range(codes.size):
        reports[i] = np.int64(np.rint((first + stride * np.float64(codes[i])) / per))
