"""The interpreter of drawing programs, compiled: the same report for the same words as ``program.py``.

Only what large arrays spend their time on: values to codes, the two commonest steps, codes to reports. Loops are short,
and a choice in them is a selection between two results, so that most run on several values at once. Imported only where
numba is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

TILE = 1 << 12  # values whose codes and noise stay in the nearest cache from loop to loop


@njit(cache=True, error_model="numpy")
def encode_grid(
    values: Any, codes: Any, low: float, high: float, first: float, stride: float, per: float, last: int
) -> tuple[int, int]:
    """codes = rint((value · per − first) / stride), at most the last; how many values are not within low..high (or
    missing), not whole.

    Values outside are clamped and missing ones become the lowest; what is allowed is the caller's business.
    """
    outside, broken = 0, 0
    for i in range(values.size):
        value = values[i]
        outside += int(not ((value >= low) & (value <= high)))
        broken += int(value != np.rint(value))
        place = min(max(value, low), high) * per - first
        code = np.int32(np.rint(place if stride == 1 else place / stride))  # a loop without divisions for stride 1
        codes[i] = min(code, np.int32(last))
    return outside, broken


@njit(cache=True)
def encode_whole(values: Any, codes: Any, low: int, code_of: Any) -> int:
    """codes = code_of[value − low]; how many values have no code."""
    unknown, last = 0, np.uint64(code_of.size - 1)
    for i in range(values.size):
        place = np.uint64(np.int64(values[i]) - low)  # below low it is large
        code = code_of[min(place, last)]
        unknown += int(place > last) + int(code < 0)
        codes[i] = np.int32(code)
    return unknown


@njit(cache=True)
def encode_text(texts: Any, codes: Any, labels: Any) -> int:
    """The label that equals each text, both as rows of characters; how many texts equal none."""
    unknown = 0
    for i in range(codes.size):
        found = -1
        for label in range(labels.shape[0]):
            same = True
            for place in range(texts.shape[1]):
                same &= texts[i, place] == labels[label, place]
            found = label if same else found
        unknown += int(found < 0)
        codes[i] = np.int32(found)
    return unknown


def _shifting(unsigned: Any, width: int) -> Any:
    """``Shift.draw`` in place for words, or halves of words, of ``width`` bits.

    The upper halves of words decide unless one equals its threshold: then no code moves and the answer is False. Shifts
    are masked and sums wrapped, so that the loops after the look-up stay within ``width`` bits.
    """
    lowest, one, halved = unsigned(width - 1), unsigned(1), width < 64

    @njit(cache=True)
    def shift(codes: Any, words: Any, entries: Any, bits: int, offset: int, last: int) -> bool:
        places, threshold = unsigned(width - bits) & lowest, unsigned(bits) & lowest
        rest, aliases = unsigned((one << places) - one), unsigned((one << threshold) - one)
        noise, undecided = np.empty(codes.size, entries.dtype), False
        for i in range(codes.size):
            noise[i] = entries[words[i] >> places]
        for i in range(codes.size):
            left, bound = unsigned(words[i] & rest), unsigned(noise[i] >> threshold)
            undecided |= left == bound
            noise[i] = unsigned(words[i] >> places) if left < bound else unsigned(noise[i] & aliases)
        if halved and undecided:
            return False
        for i in range(codes.size):
            code = np.int32(np.int32(codes[i] - np.int32(offset)) + np.int32(noise[i]))
            codes[i] = min(max(code, np.int32(0)), np.int32(last))
        return True

    return shift


shift, shift_by_halves = _shifting(np.uint64, 64), _shifting(np.uint32, 32)


@njit(cache=True)
def window(codes: Any, words: Any, inside: Any, size: Any, others: Any) -> None:
    """``Window.draw`` in place; sizes are 32-bit numbers, so that products are of 32 bits by 32."""
    half, low, one = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(1)
    near_bound, far_bound, width = np.uint64(size), np.uint64(others), np.int64(size)
    for i in range(codes.size):
        upper, lower = words[2 * i + 1] >> half, words[2 * i + 1] & low
        near = np.int64((upper * near_bound + ((lower * near_bound) >> half)) >> half)
        far = np.int64((upper * far_bound + ((lower * far_bound) >> half)) >> half)
        code = np.int64(codes[i])
        beside = far + (width if far >= code else np.int64(0))
        codes[i] = np.int32(code + near if (words[2 * i] >> one) < inside else beside)


@njit(cache=True, error_model="numpy")
def decode_grid(codes: Any, reports: Any, first: float, stride: float, per: float) -> None:
    """reports = (first + stride · code) / per."""
    for i in range(codes.size):
        reports[i] = (first + stride * np.float64(codes[i])) / per


@njit(cache=True)
def report_grid(values: Any, reports: Any, upper: Any, enter: Any, noise: Any, leave: Any) -> Any:
    """``encode_grid``, ``shift_by_halves`` and ``decode_grid`` tile by tile, so that memory is passed over once.

    How many reports are made: those before the first tile with a value outside or an undecided word.
    """
    codes = np.empty(TILE, np.int32)
    for start in range(0, values.size, TILE):
        tile = slice(start, min(start + TILE, values.size))
        drawn = codes[: tile.stop - start]
        outside, _ = encode_grid(values[tile], drawn, *enter)
        if outside or not shift_by_halves(drawn, upper[tile], *noise):
            return start
        decode_grid(drawn, reports[tile], *leave)
    return values.size


@njit(cache=True)
def decode_whole(codes: Any, reports: Any, first: int, stride: int) -> None:
    """reports = first + stride · code, in whole numbers."""
    for i in range(codes.size):
        reports[i] = first + stride * np.int64(codes[i])


@njit(cache=True)
def decode_numbers(codes: Any, reports: Any, labels: Any) -> None:
    """reports = labels[code]."""
    for i in range(codes.size):
        reports[i] = labels[codes[i]]


@njit(cache=True)
def decode_texts(codes: Any, reports: Any, labels: Any) -> None:
    """reports = labels[code], rows of characters."""
    for i in range(codes.size):
        for place in range(labels.shape[1]):
            reports[i, place] = labels[codes[i], place]
