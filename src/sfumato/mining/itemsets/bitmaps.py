"""Column bitmaps: for every item the people who show it, so that an itemset's count is a count of ones.

Rows are grouped by the disclosed size of the basket and every group starts on a word of its own, so that one pass gives
the counts of every group:  counts[itemset, group] = ones of (column_a AND column_b AND ..) within the group's words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.baskets import BasketReports, Baskets, Words, bitmap_width, bitmaps_of, pack_bits, unpack_bits
from sfumato.channels.drawing import kernels_in
from sfumato.domain import Codes, Items

Counts = NDArray[np.int64]

ROWS_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class ColumnBitmaps:
    """`columns[item]` over the rows of all groups; group g has `people[g]` rows in words bounds[g]:bounds[g+1]."""

    items: Items
    groups: tuple[int, ...]
    people: Counts
    bounds: Codes
    columns: Words

    @classmethod
    def of_reports(cls, reports: BasketReports, channel: Any) -> ColumnBitmaps:
        """Reports by disclosed size; seeds are expanded piece by piece and never all at once."""
        sizes = tuple(int(size) for size in np.unique(reports.sizes))
        rows = [reports.rows_of_size(size) for size in sizes]

        def bitmaps() -> Iterator[tuple[int, Words]]:
            for group, members in enumerate(rows):
                for start in range(0, members.size, ROWS_AT_ONCE):
                    rows_of_part = members[start : start + ROWS_AT_ONCE]
                    part = reports[_as_slice(rows_of_part)]
                    yield group, (channel.expand(part) if part.compressed else part).words

        return cls._build(reports.items, sizes, [part.size for part in rows], bitmaps())

    @classmethod
    def of_baskets(cls, baskets: Baskets) -> ColumnBitmaps:
        """Clean baskets, one group."""

        def bitmaps() -> Iterator[tuple[int, Words]]:
            for start in range(0, len(baskets), ROWS_AT_ONCE):
                part = baskets.starts[start : start + ROWS_AT_ONCE + 1]
                yield 0, bitmaps_of(Baskets(baskets.items, part - part[0], baskets.codes[part[0] : part[-1]]))

        return cls._build(baskets.items, (0,), [len(baskets)], bitmaps())

    @classmethod
    def _build(
        cls, items: Items, groups: tuple[int, ...], people: list[int], bitmaps: Iterator[tuple[int, Words]]
    ) -> ColumnBitmaps:
        widths = [-(-count // 64) for count in people]
        bounds = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        columns = np.zeros((64 * bitmap_width(items.size), int(bounds[-1])), dtype=np.uint64)
        filled = bounds[:-1].copy()
        for group, words in bitmaps:
            width = -(-len(words) // 64)
            _transpose_into(words, columns, int(filled[group]))
            filled[group] += width
        return cls(items, groups, np.array(people, dtype=np.int64), bounds, columns[: items.size])

    def counts(self, itemsets: Codes) -> Counts:
        """How many people of each group show all items of each row of `itemsets`."""
        kernels = _kernels()
        if kernels is not None:
            found = np.zeros((len(itemsets), len(self.groups)), dtype=np.int64)
            kernels.count_itemsets(self.columns, self.bounds, np.ascontiguousarray(itemsets), found)
            return found
        return np.array([self._count(row) for row in itemsets], dtype=np.int64).reshape(len(itemsets), len(self.groups))

    def _count(self, itemset: Codes) -> Counts:
        shown = np.bitwise_count(np.bitwise_and.reduce(self.columns[itemset], axis=0)).astype(np.int64)
        sums = np.concatenate([[0], np.cumsum(shown)])
        return np.asarray(np.diff(sums[self.bounds]))

    def all_pair_counts(self) -> NDArray[np.int32]:
        """counts[group, a, b] of all pairs; the diagonal counts single items."""
        kernels = _kernels()
        items = len(self.columns)
        found = np.zeros((len(self.groups), items, items), dtype=np.int32)
        if kernels is not None:
            kernels.count_all_pairs(self.columns, self.bounds, found)
            return found
        for a in range(items):
            shown = np.bitwise_count(self.columns[a] & self.columns[a:]).astype(np.int32)
            sums = np.concatenate([np.zeros((items - a, 1), dtype=np.int32), np.cumsum(shown, axis=1)], axis=1)
            found[:, a, a:] = np.diff(sums[:, self.bounds], axis=1).T
            found[:, a:, a] = found[:, a, a:]
        return found


def _as_slice(rows: Codes) -> slice | Codes:
    """Neighbouring rows need no copy."""
    first, last = int(rows[0]), int(rows[-1])
    return slice(first, last + 1) if last - first + 1 == rows.size else rows


def _transpose_into(words: Words, columns: Words, start: int) -> None:
    kernels = _kernels()
    if kernels is not None:
        kernels.transpose(np.ascontiguousarray(words), columns, start)
        return
    turned = pack_bits(unpack_bits(words, 64 * words.shape[1]).T)
    columns[:, start : start + turned.shape[1]] = turned


def _kernels() -> Any:
    """The numba kernels, or None where numba is missing."""
    return kernels_in("sfumato.mining.itemsets.kernels")
