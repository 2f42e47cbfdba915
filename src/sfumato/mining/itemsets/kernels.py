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


@intrinsic
def ones(typing_context: Any, word: Any) -> Any:
    """The processor's own count of ones in a word."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


@njit(cache=True)
def count_itemsets(columns: Words, bounds: Codes, itemsets: Codes, runs: Codes, counts: NDArray[np.int64]) -> None:
    """A run of itemsets shares all items but the last: their conjunction is made once and read once for four counts."""
    for group in range(bounds.size - 1):
        low, high = bounds[group], bounds[group + 1]
        shared = np.empty(high - low, dtype=np.uint64)
        for run in range(runs.size - 1):
            first, end = runs[run], runs[run + 1]
            shared[:] = ~np.uint64(0)
            for place in range(itemsets.shape[1] - 1):
                other = columns[itemsets[first, place], low:high]
                for word in range(shared.size):
                    shared[word] &= other[word]
            in_fours = end - (end - first) % 4
            for row in range(first, in_fours, 4):
                _count_four(shared, columns, low, high, itemsets[row : row + 4, -1], counts[row : row + 4, group])
            for row in range(in_fours, end):
                last, total = columns[itemsets[row, -1], low:high], np.uint64(0)
                for word in range(shared.size):
                    total += ones(shared[word] & last[word])
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
def walk_baskets(codes: Codes, ends: Codes, items: int, itemsets: Codes, runs: Codes, counts: NDArray[np.int64]) -> None:
    """Baskets one after the other, each rising; ends[p] is where the basket of place p ends.

    places[d] are the places in the baskets that hold the first d items of a run, after the d-th of them, sorted by the
    item that stands there: those of item i are bounds[d, i] to bounds[d, i + 1].
    """
    prefix = itemsets.shape[1] - 1
    places, bounds = np.empty((prefix, codes.size), np.int32), np.empty((prefix, items + 1), np.int64)
    seen = np.zeros(items, np.int64)
    before_all = np.array([-1], np.int32)  # and ends[-1] is the end of all
    _sort_places(before_all, codes, ends, places[0], bounds[0], seen)
    for run in range(runs.size - 1):
        first, end, same = runs[run], runs[run + 1], 0
        while run and itemsets[first, same] == itemsets[first - 1, same]:
            same += 1
        for depth in range(same + 1, prefix):
            holders = _at(places, bounds, depth - 1, itemsets[first])
            _sort_places(holders, codes, ends, places[depth], bounds[depth], seen)
        holders = _at(places, bounds, prefix - 1, itemsets[first])
        for i in range(holders.size):
            for place in range(holders[i] + 1, ends[holders[i]]):
                seen[codes[place]] += 1
        for row in range(first, end):
            counts[row] = seen[itemsets[row, prefix]]
        for i in range(holders.size):
            for place in range(holders[i] + 1, ends[holders[i]]):
                seen[codes[place]] = 0


@njit(cache=True)
def _at(places: Codes, bounds: Codes, depth: int, itemset: Codes) -> Codes:
    """Where the next item of the itemset stands in the baskets that hold the first `depth`."""
    item = itemset[depth]
    return places[depth, bounds[depth, item] : bounds[depth, item + 1]]


@njit(cache=True)
def _sort_places(holders: Codes, codes: Codes, ends: Codes, places: Codes, bounds: Codes, seen: Codes) -> None:
    """All places after the holders, to the ends of their baskets, by the item that stands there; `seen` stays zero."""
    for i in range(holders.size):
        for place in range(holders[i] + 1, ends[holders[i]]):
            seen[codes[place]] += 1
    bounds[0] = 0
    for item in range(seen.size):
        bounds[item + 1], seen[item] = bounds[item] + seen[item], bounds[item]
    for i in range(holders.size):
        for place in range(holders[i] + 1, ends[holders[i]]):
            places[seen[codes[place]]] = place
            seen[codes[place]] += 1
    seen[:] = 0


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
