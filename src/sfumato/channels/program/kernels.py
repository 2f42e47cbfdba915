"""Compiled loops of the interpreter of drawing programs: the same report for the same words as ``program.py``.

They do what large arrays spend their time on: values to codes, the two commonest steps, codes to reports. A choice in
a loop is a selection between two results, so that most loops run on several values at once. Imported only where numba
is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

TILE = 1 << 12
"""Values that ``report_grid`` takes at once. By judgement: their codes and noise, 16 kB each, stay in a processor's
first cache from loop to loop; larger tiles leave it, smaller ones repeat more often what a loop begins with."""


@njit(cache=True, error_model="numpy")
def encode_grid(
    values: Any, codes: Any, low: float, high: float, first: float, stride: float, per: float, last: int
) -> tuple[int, int]:
    """Write the grid codes of ``values`` into ``codes``; return two counts of values that may be wrong.

    How many are outside low..high or missing, and how many are not whole:

        code = min(rint((value · per − first) / stride), last)

    Values outside are clamped, and missing ones become the lowest; the caller decides whether they are allowed.
    """
    outside, broken = 0, 0
    for i in range(values.size):
        value = values[i]
        outside += int(not ((value >= low) & (value <= high)))
        broken += int(value != np.rint(value))
        offset = min(max(value, low), high) * per - first
        code = np.int32(np.rint(offset if stride == 1 else offset / stride))  # a loop without divisions for stride 1
        codes[i] = min(code, np.int32(last))
    return outside, broken


@njit(cache=True)
def encode_whole(values: Any, codes: Any, low: int, code_of: Any) -> int:
    """Write the code of every whole number, code_of[value − low], into ``codes``; return how many values have none."""
    unknown, last = 0, np.uint64(code_of.size - 1)
    for i in range(values.size):
        index = np.uint64(np.int64(values[i]) - low)  # below low it is large
        code = code_of[min(index, last)]
        unknown += int(index > last) + int(code < 0)
        codes[i] = np.int32(code)
    return unknown


@njit(cache=True)
def encode_text(texts: Any, codes: Any, labels: Any) -> int:
    """Write into ``codes`` the number of the label that equals each text; return how many texts equal none.

    Texts and labels are rows of characters.
    """
    unknown = 0
    for i in range(codes.size):
        code = -1
        for label in range(labels.shape[0]):
            same = True
            for column in range(texts.shape[1]):
                same &= texts[i, column] == labels[label, column]
            code = label if same else code
        unknown += int(code < 0)
        codes[i] = np.int32(code)
    return unknown


def _shifting(unsigned: Any, width: int) -> Any:
    """Compile the loop that adds noise to codes in place, for whole words (64 bits) or upper halves of words (32 bits).

    It draws as ``Shift.draw`` does. ``unsigned``: the type of numbers of ``width`` bits. The compiled function returns
    whether the codes were moved: upper halves decide unless one equals its threshold, and then no code moves. Shifts
    are masked and sums wrapped, so that the loops after the look-up stay within ``width`` bits.
    """
    lowest, one, halved = unsigned(width - 1), unsigned(1), width < 64

    @njit(cache=True)
    def shift(codes: Any, words: Any, entries: Any, bits: int, offset: int, last: int) -> bool:
        index_shift, threshold_shift = unsigned(width - bits) & lowest, unsigned(bits) & lowest
        lower, aliases = unsigned((one << index_shift) - one), unsigned((one << threshold_shift) - one)
        noise, undecided = np.empty(codes.size, entries.dtype), False
        for i in range(codes.size):
            noise[i] = entries[words[i] >> index_shift]
        for i in range(codes.size):
            fraction, threshold = unsigned(words[i] & lower), unsigned(noise[i] >> threshold_shift)
            undecided |= fraction == threshold
            noise[i] = unsigned(words[i] >> index_shift) if fraction < threshold else unsigned(noise[i] & aliases)
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
    """Replace codes in place by the codes that a ``Window`` step draws: near the code, or anywhere else.

    ``words``: two a code, one after the other. ``inside``, ``size`` and ``others`` are the step's chance of the window
    and how many codes lie in it and outside it; both sizes are below 2^32, so that products fit.
    """
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
    """Write into ``reports`` the number that each grid code stands for: (first + stride · code) / per."""
    for i in range(codes.size):
        reports[i] = (first + stride * np.float64(codes[i])) / per


@njit(cache=True)
def report_grid(values: Any, reports: Any, upper: Any, enter: Any, noise: Any, leave: Any) -> Any:
    """Blur numbers by a program that adds noise, and write their reports; return how many were written.

    It ends before the first tile with a value outside or an undecided word. ``enter``, ``noise`` and ``leave`` hold the
    arguments of ``encode_grid``, ``shift_by_halves`` and ``decode_grid``, which run tile by tile: memory is passed over
    once.
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
    """Write into ``reports`` the whole number that each grid code stands for: first + stride · code."""
    for i in range(codes.size):
        reports[i] = first + stride * np.int64(codes[i])


@njit(cache=True)
def decode_numbers(codes: Any, reports: Any, labels: Any) -> None:
    """Write into ``reports`` the label of each code, where labels are numbers: labels[code]."""
    for i in range(codes.size):
        reports[i] = labels[codes[i]]


@njit(cache=True)
def decode_texts(codes: Any, reports: Any, labels: Any) -> None:
    """Write into ``reports`` the label of each code, labels[code], where labels are texts as rows of characters."""
    for i in range(codes.size):
        for column in range(labels.shape[1]):
            reports[i, column] = labels[codes[i], column]
