"""Randomized baskets as the collector holds them: a bitmap or a seed a person, and the disclosed size."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.gf2 import Words, pack_bits, unpack_bits
from sfumato.channels.itemsets import Baskets
from sfumato.domain import Codes, Items

Sizes = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class BasketReports:
    """One report a row: `words` are bitmaps over the items, or seeds when `compressed`; `sizes` are the true sizes."""

    items: Items
    sizes: Sizes
    words: Words
    compressed: bool = False

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.words):
            raise ValueError(
                f"{len(self.sizes)} sizes for {len(self.words)} reports: give the true size of every basket"
            )

    @classmethod
    def of_lists(cls, items: Items, reported: Any, sizes: Sequence[int]) -> BasketReports:
        """Reports that came as lists of items, each with the true size of its basket."""
        baskets = Baskets.read(reported, items)
        return cls(items, np.asarray(sizes, dtype=np.uint16), bitmaps_of(baskets))

    @classmethod
    def of_bytes(cls, items: Items, sizes: Sequence[int], reports: Iterable[bytes], compressed: bool) -> BasketReports:
        """The inverse of `to_bytes`."""
        rows = list(reports)
        width = -(-max((len(row) for row in rows), default=1) // 8)
        octets = b"".join(row.ljust(8 * width, b"\0") for row in rows)
        words = np.frombuffer(octets, dtype="<u8").astype(np.uint64).reshape(len(rows), width)
        if not compressed and rows and width != bitmap_width(items.size):
            raise ValueError(
                f"a report has {8 * width} bytes where {items.size} items need {8 * bitmap_width(items.size)}"
            )
        return cls(items, np.asarray(sizes, dtype=np.uint16), words, compressed)

    def to_bytes(self, bits: int | None = None) -> list[bytes]:
        """Each report as little-endian bytes: whole words, or only as many bytes as `bits` need."""
        length = None if bits is None else -(-bits // 8)
        return [row.tobytes()[:length] for row in self.words.astype("<u8", copy=False)]

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, rows: Any) -> BasketReports:
        return BasketReports(self.items, self.sizes[rows], self.words[rows], self.compressed)

    def __add__(self, other: BasketReports) -> BasketReports:
        """Reports of other people over the same items; nobody's report depends on anybody else's."""
        if self.compressed != other.compressed or self.items != other.items:
            raise ValueError(
                "bitmaps and seeds, or reports over different items, do not add up: expand the seeds first"
            )
        width = max(self.words.shape[1], other.words.shape[1])
        stacked = [np.pad(part.words, ((0, 0), (0, width - part.words.shape[1]))) for part in (self, other)]
        return BasketReports(self.items, np.concatenate([self.sizes, other.sizes]), np.vstack(stacked), self.compressed)

    def rows_of_size(self, size: int) -> Codes:
        return np.flatnonzero(self.sizes == size)

    def to_lists(self) -> list[list[Hashable]]:
        """The items that each bitmap shows."""
        if self.compressed:
            raise ValueError("seeds show no items by themselves: call channel.expand(reports) first")
        labels = self.items.labels
        shown = unpack_bits(self.words, self.items.size)
        return [[labels[code] for code in np.flatnonzero(row).tolist()] for row in shown]

    @property
    def nbytes(self) -> int:
        return int(self.words.nbytes + self.sizes.nbytes)


def bitmap_width(items: int) -> int:
    """Words in a bitmap."""
    return -(-items // 64)


def bitmaps_of(baskets: Baskets) -> Words:
    """Clean baskets as bitmaps, one row a basket."""
    bitmaps = np.zeros((len(baskets), bitmap_width(baskets.items.size)), dtype=np.uint64)
    rows = np.repeat(np.arange(len(baskets)), baskets.sizes)
    bits = np.uint64(1) << (baskets.codes & 63).astype(np.uint64)
    np.bitwise_or.at(bitmaps, (rows, baskets.codes >> 6), bits)
    return bitmaps


def item_mask(items: int) -> Words:
    """A bitmap with every item."""
    return pack_bits(np.ones(items, dtype=bool))
