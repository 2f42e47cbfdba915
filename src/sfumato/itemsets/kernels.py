"""Compiled counting of ones in column bitmaps (the NumPy ways are in `supports`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from sfumato.channels.baskets import Words
from sfumato.domain import Codes

BLOCKS_AT_ONCE = 8
FEW = 4
"""Below one in so many, words are picked."""


@intrinsic
def ones(typing_context: Any, word: Any) -> Any:
    """The processor's own count of ones in a word."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


@njit(cache=True)
def count_itemsets(columns: Words, bounds: Codes, itemsets: Codes, runs: Codes, counts: NDArray[np.int64]) -> None:
    """A run of itemsets shares all items but the last: their conjunction is made once and read once for four counts.

    Where few of its words hold anybody, those alone are read.
    """
    for group in range(bounds.size - 1):
        low, high = bounds[group], bounds[group + 1]
        shared, filled = np.empty(high - low, dtype=np.uint64), np.empty(high - low, dtype=np.int64)
        for run in range(runs.size - 1):
            first, end = runs[run], runs[run + 1]
            shared[:] = ~np.uint64(0)
            for place in range(itemsets.shape[1] - 1):
                other = columns[itemsets[first, place], low:high]
                for word in range(shared.size):
                    shared[word] &= other[word]
            many = 0
            for word in range(shared.size):
                filled[many] = word
                many += shared[word] != np.uint64(0)
            in_fours = end - (end - first) % 4 if FEW * many > shared.size else first
            for row in range(first, in_fours, 4):
                _count_four(shared, columns, low, high, itemsets[row : row + 4, -1], counts[row : row + 4, group])
            for row in range(in_fours, end):
                last, total = columns[itemsets[row, -1], low:high], np.uint64(0)
                for place in range(many):
                    total += ones(shared[filled[place]] & last[filled[place]])
                counts[row, group] = np.int64(total)


@njit(cache=True)
def _count_four(shared: Words, columns: Words, low: int, high: int, items: Codes, counts: NDArray[np.int64]) -> None:
    a, b = columns[items[0], low:high], columns[items[1], low:high]
    c, d = columns[items[2], low:high], columns[items[3], low:high]
    in_a, in_b, in_c, in_d = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    for word in range(shared.size):
        in_a += ones(shared[word] & a[word])
        in_b += ones(shared[word] & b[word])
        in_c += ones(shared[word] & c[word])
        in_d += ones(shared[word] & d[word])
    counts[0], counts[1], counts[2], counts[3] = np.int64(in_a), np.int64(in_b), np.int64(in_c), np.int64(in_d)


@njit(cache=True)
def count_pairs(codes: Codes, ends: Codes, together: NDArray[np.int32]) -> None:
    """Baskets one after the other; ends[p] is where the basket of place p ends. together[a, b], a before b, rises."""
    for place in range(codes.size):
        beside = together[codes[place]]
        for other in range(place + 1, ends[place]):
            beside[codes[other]] += 1


@njit(cache=True)
def mark(columns: Words, codes: Codes, rows: Codes) -> None:
    for place in range(codes.size):
        columns[codes[place], rows[place] >> 6] |= np.uint64(1) << np.uint64(rows[place] & 63)


@njit(cache=True)
def transpose(rows: Words, columns: Words, start: int) -> None:
    """Row bitmaps (people by words of items) into column bitmaps (items by words of people)."""
    blocks = np.empty((BLOCKS_AT_ONCE, 64), dtype=np.uint64)
    width = (rows.shape[0] + 63) // 64
    for first in range(0, width, BLOCKS_AT_ONCE):
        count = min(BLOCKS_AT_ONCE, width - first)
        for word in range(rows.shape[1]):
            for place in range(count):
                block = blocks[place]
                for row in range(64):
                    person = 64 * (first + place) + row
                    block[row] = rows[person, word] if person < rows.shape[0] else np.uint64(0)
                _transpose_block(block)
            for bit in range(64):
                column = columns[64 * word + bit]
                for place in range(count):
                    column[start + first + place] = blocks[place, bit]


@njit(cache=True)
def _transpose_block(block: Words) -> None:
    """A 64 by 64 bit matrix in six rounds of swapped halves."""
    width, mask = 32, np.uint64(0x00000000FFFFFFFF)
    while width:
        row = 0
        while row < 64:
            swapped = ((block[row] >> np.uint64(width)) ^ block[row + width]) & mask
            block[row] ^= swapped << np.uint64(width)
            block[row + width] ^= swapped
            row = ((row | width) + 1) & ~width
        width >>= 1
        mask ^= mask << np.uint64(width)
