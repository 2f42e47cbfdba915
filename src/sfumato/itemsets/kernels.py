"""Compiled counting of people by the items that their reports show; imported only where numba is installed.

It reads column bitmaps, one for each item: a bit for every person, set where the person's report shows the item.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from sfumato.channels.baskets import Words
from sfumato.domain import Codes

BLOCKS_AT_ONCE = 8
"""Blocks of 64 people that are transposed together, so that eight neighbouring words are written at once: 64 bytes are
a cache line. It changes no result."""

FEW = 4
"""Only words with a person in them are read where they are fewer than one in so many; else all words, four itemsets at
once. Chosen by speed (bench/itemsets.py); it changes no result."""


@intrinsic
def ones(typing_context: Any, word: Any) -> Any:
    """Count the ones in a 64-bit word by the processor's own instruction (popcount)."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


@njit(cache=True)
def count_itemsets(columns: Words, bounds: Codes, itemsets: Codes, runs: Codes, counts: NDArray[np.int64]) -> None:
    """Count the people whose reports show all items of each itemset; write the numbers into counts[itemset, group].

    ``columns[item]``: a bit for every person, set where the report shows the item; the people of group g have the words
    bounds[g]:bounds[g + 1]. A run of itemsets, runs[r]:runs[r + 1], shares all items but the last: the conjunction of
    these is made once for the run and read once for four itemsets. Where few of its words have a person in them, those
    alone are read.
    """
    for group in range(bounds.size - 1):
        low, high = bounds[group], bounds[group + 1]
        shared, filled = np.empty(high - low, dtype=np.uint64), np.empty(high - low, dtype=np.int64)
        for run in range(runs.size - 1):
            first, end = runs[run], runs[run + 1]
            shared[:] = ~np.uint64(0)
            for index in range(itemsets.shape[1] - 1):
                other = columns[itemsets[first, index], low:high]
                for word in range(shared.size):
                    shared[word] &= other[word]
            filled_count = 0
            for word in range(shared.size):
                filled[filled_count] = word
                filled_count += shared[word] != np.uint64(0)
            in_fours = end - (end - first) % 4 if FEW * filled_count > shared.size else first
            for row in range(first, in_fours, 4):
                _count_four(shared, columns, low, high, itemsets[row : row + 4, -1], counts[row : row + 4, group])
            for row in range(in_fours, end):
                last, total = columns[itemsets[row, -1], low:high], np.uint64(0)
                for index in range(filled_count):
                    total += ones(shared[filled[index]] & last[filled[index]])
                counts[row, group] = np.int64(total)


@njit(cache=True)
def _count_four(shared: Words, columns: Words, low: int, high: int, items: Codes, counts: NDArray[np.int64]) -> None:
    """Count the people marked in ``shared`` whose reports show an item, for four items at once; write into ``counts``.

    ``shared``: a bit for every person in the words low:high, set where the report shows the itemset's other items;
    ``columns[item]``: likewise for each item.
    """
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
    """Count the baskets that hold each pair of items: together[a, b] rises by 1 for every basket with a before b.

    ``codes``: the items of all baskets one after the other. ``ends[i]``: where the basket that codes[i] is in ends.
    """
    for index in range(codes.size):
        beside = together[codes[index]]
        for other in range(index + 1, ends[index]):
            beside[codes[other]] += 1


@njit(cache=True)
def mark(columns: Words, codes: Codes, rows: Codes) -> None:
    """Set the bit of person rows[i] in the bitmap of item codes[i], for every i, in place.

    ``columns[item]``: a bit for every person, set where the person has the item.
    """
    for index in range(codes.size):
        columns[codes[index], rows[index] >> 6] |= np.uint64(1) << np.uint64(rows[index] & 63)


@njit(cache=True)
def transpose(rows: Words, columns: Words, start: int) -> None:
    """Turn the bitmaps of people (a bit for every item) into bitmaps of items (a bit for every person), for counting.

    ``rows``: [person, word of items]; ``columns``: [item, word of people], written in place from the word ``start`` on.
    """
    blocks = np.empty((BLOCKS_AT_ONCE, 64), dtype=np.uint64)
    width = (rows.shape[0] + 63) // 64
    for first in range(0, width, BLOCKS_AT_ONCE):
        count = min(BLOCKS_AT_ONCE, width - first)
        for word in range(rows.shape[1]):
            for index in range(count):
                block = blocks[index]
                for row in range(64):
                    person = 64 * (first + index) + row
                    block[row] = rows[person, word] if person < rows.shape[0] else np.uint64(0)
                _transpose_block(block)
            for bit in range(64):
                column = columns[64 * word + bit]
                for index in range(count):
                    column[start + first + index] = blocks[index, bit]


@njit(cache=True)
def _transpose_block(block: Words) -> None:
    """Transpose a 64 by 64 bit matrix, 64 words, in place, in six rounds of swapped halves."""
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
