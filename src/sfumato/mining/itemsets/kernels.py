"""Compiled counting of ones in column bitmaps (the NumPy ways are in `bitmaps`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from sfumato.channels.baskets import Words
from sfumato.domain import Codes

WORDS_AT_ONCE = 2048
COLUMNS_AT_ONCE = 32
BLOCKS_AT_ONCE = 8


@intrinsic
def ones(typing_context: Any, word: Any) -> Any:
    """The processor's own count of ones in a word."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


@njit(cache=True)
def ones_in_both(a: Words, b: Words) -> np.int64:
    total = np.uint64(0)
    for word in range(a.size):
        total += ones(a[word] & b[word])
    return np.int64(total)


@njit(cache=True)
def count_itemsets(columns: Words, bounds: Codes, itemsets: Codes, counts: NDArray[np.int64]) -> None:
    """Neighbouring itemsets share their first items, so the conjunction of all but the last is kept."""
    length = itemsets.shape[1]
    for group in range(bounds.size - 1):
        low, high = bounds[group], bounds[group + 1]
        prefix = np.empty(high - low, dtype=np.uint64)
        for row in range(itemsets.shape[0]):
            if row == 0 or not _same_prefix(itemsets[row], itemsets[row - 1]):
                prefix[:] = ~np.uint64(0)
                for place in range(length - 1):
                    other = columns[itemsets[row, place], low:high]
                    for word in range(prefix.size):
                        prefix[word] &= other[word]
            counts[row, group] = ones_in_both(prefix, columns[itemsets[row, length - 1], low:high])


@njit(cache=True)
def _same_prefix(a: Codes, b: Codes) -> bool:
    for place in range(a.size - 1):  # noqa: SIM110 - the compiler knows no generators
        if a[place] != b[place]:
            return False
    return True


@njit(cache=True)
def count_all_pairs(columns: Words, bounds: Codes, counts: NDArray[np.int32]) -> None:
    """Blocks of words and of columns that stay in the cache together, two by two columns at a time."""
    even = columns.shape[0] - columns.shape[0] % 2
    for group in range(bounds.size - 1):
        table = counts[group]
        for low in range(bounds[group], bounds[group + 1], WORDS_AT_ONCE):
            high = min(low + WORDS_AT_ONCE, bounds[group + 1])
            for first in range(0, even, COLUMNS_AT_ONCE):
                for b in range(first, even, 2):
                    for a in range(first, min(first + COLUMNS_AT_ONCE, b + 2), 2):
                        _count_two_by_two(columns, low, high, a, b, table)
            if even < columns.shape[0]:
                for a in range(even + 1):
                    table[a, even] += ones_in_both(columns[a, low:high], columns[even, low:high])
        for a in range(columns.shape[0]):
            for b in range(a):
                table[a, b] = table[b, a]


@njit(cache=True)
def _count_two_by_two(columns: Words, low: int, high: int, i: int, j: int, counts: NDArray[np.int32]) -> None:
    """Columns i, i+1 with j, j+1: each word is read once for two pairs. A slice of one row stays contiguous."""
    a, next_a, b, next_b = (
        columns[i, low:high],
        columns[i + 1, low:high],
        columns[j, low:high],
        columns[j + 1, low:high],
    )
    ab, a_next, next_ab, both_next = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    for word in range(a.size):
        ab += ones(a[word] & b[word])
        a_next += ones(a[word] & next_b[word])
        next_ab += ones(next_a[word] & b[word])
        both_next += ones(next_a[word] & next_b[word])
    counts[i, j] += np.int32(ab)
    counts[i, j + 1] += np.int32(a_next)
    counts[i + 1, j] += np.int32(next_ab)
    counts[i + 1, j + 1] += np.int32(both_next)


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
