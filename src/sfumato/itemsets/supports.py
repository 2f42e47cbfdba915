"""Supports of itemsets from counts of reports, with their standard errors.

Column bitmaps hold for every item the people who show it, so that an itemset's count is a count of ones. Rows are
grouped by the disclosed size of the basket and every group starts on a word of its own, so that one pass gives the
counts of every group:  counts[itemset, group] = ones of (column_a AND column_b AND ..) within the group's words.

With counts c_S of the reports (of baskets of one size) that show all of S, for every subset S of A, |A| = k:

    g          = Π_{a∈A} (1[a∈t'] − ρ) / λ_k
    N mean(g)  = Σ_S (−ρ)^(k−|S|) c_S / λ_k
    N mean(g²) = Σ_S (1−2ρ)^|S| (ρ²)^(k−|S|) c_S / λ_k²
    support = mean(g),  variance = (mean(g²) − mean(g)) / N               given the people's true baskets
    all sizes:  support = Σ_m (N_m/N) support_m,   variance = Σ_m (N_m/N)² variance_m

Baskets smaller than A add zero support and no variance. Clean baskets are the limit ρ = 0, λ = 1. People who chose
among several designs give one estimate a level g, weighted by what the level tells:

    support = Σ_g w_g · support_g / Σ_g w_g,     1/w_g = Σ_m (N_gm/N_g)² · noise power_gm / N_gm

w_g is the inverse variance for an itemset that nobody has: it depends on the designs and on how many people chose them,
never on their reports, so the average stays unbiased. Levels must not depend on the baskets beyond their sizes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.baskets import (
    BasketReports,
    Baskets,
    SelectASize,
    Words,
    bitmap_width,
    pack_bits,
    rows_by_size,
    unpack_bits,
)
from sfumato.channels.program.interpreter import kernels_in
from sfumato.domain import Codes, Floats, Items

Counts = NDArray[np.int64]

ROWS_AT_ONCE = 1 << 14
WORDS_A_STEP = 6
"""To count a pair in a basket takes as long as to read so many words of columns."""


@dataclass(frozen=True, eq=False)
class ColumnBitmaps:
    """`columns[item]` over the rows of all groups; group g has `people[g]` rows in words bounds[g]:bounds[g+1]."""

    groups: tuple[int, ...]
    people: Counts
    bounds: Codes
    columns: Words

    @classmethod
    def of_reports(
        cls, reports: BasketReports, channel: SelectASize | None, sizes: Sequence[int] | None = None,
        chosen: Codes | None = None,
    ) -> ColumnBitmaps:
        """Reports by disclosed size (those that occur, or those given); with `chosen` of these items alone.

        Seeds are expanded piece by piece and never all at once.
        """
        if channel is not None:
            channel.check(reports)
        people = np.bincount(reports.sizes)
        groups = tuple(np.flatnonzero(people).tolist() if sizes is None else sizes)
        people = np.pad(people, (0, max(groups, default=0) + 1))[list(groups)]
        parts = (reports[_as_slice(rows)] for _, rows in rows_by_size(reports.sizes, groups, ROWS_AT_ONCE))
        bitmaps = ((part if channel is None else channel.expand(part, chosen)).words for part in parts)
        return cls._build(reports.items.size if chosen is None else chosen.size, groups, people, bitmaps)

    @classmethod
    def of_baskets(cls, baskets: Baskets) -> ColumnBitmaps:
        """Clean baskets, one group: that of the largest."""
        columns = np.zeros((baskets.items.size, -(-len(baskets) // 64)), dtype=np.uint64)
        rows, kernels = np.repeat(np.arange(len(baskets)), baskets.sizes), _kernels()
        if kernels is not None:
            kernels.mark(columns, baskets.codes, rows)
        else:
            np.bitwise_or.at(columns, (baskets.codes, rows >> 6), np.uint64(1) << (rows & 63).astype(np.uint64))
        return cls((largest_of(baskets),), np.array([len(baskets)]), np.array([0, columns.shape[1]]), columns)

    @classmethod
    def _build(cls, items: int, groups: tuple[int, ...], people: Counts, bitmaps: Iterable[Words]) -> ColumnBitmaps:
        """Bitmaps group by group, in parts of whole words except for the last of a group."""
        bounds = np.concatenate([[0], np.cumsum(-(-people // 64))]).astype(np.int64)
        columns = np.zeros((64 * bitmap_width(items), int(bounds[-1])), dtype=np.uint64)
        filled = 0
        for words in bitmaps:
            _transpose_into(words, columns, filled)
            filled += -(-len(words) // 64)
        return cls(groups, people, bounds, columns[:items])

    def counts(self, itemsets: Codes) -> Counts:
        """How many people of each group show all items of each row of `itemsets`."""
        found = np.zeros((len(itemsets), len(self.groups)), dtype=np.int64)
        kernels = _kernels()
        if kernels is not None and len(itemsets):
            runs = runs_of(itemsets)
            kernels.count_itemsets(self.columns, self.bounds, np.ascontiguousarray(itemsets), runs, found)
            return found
        for row, itemset in enumerate(itemsets):
            shown = np.bitwise_count(np.bitwise_and.reduce(self.columns[itemset], axis=0)).astype(np.int64)
            found[row] = np.diff(np.concatenate([[0], np.cumsum(shown)])[self.bounds])
        return found


def runs_of(itemsets: Codes) -> Codes:
    """Where the runs of itemsets begin that share all items but the last, and where the last one ends."""
    differ = (itemsets[1:, :-1] != itemsets[:-1, :-1]).any(axis=1)
    return np.concatenate([[0], np.flatnonzero(differ) + 1, [len(itemsets)]])


def largest_of(baskets: Baskets) -> int:
    return int(baskets.sizes.max(initial=0))


class CleanBaskets:
    """Clean baskets, one group: that of the largest.

    Pairs are counted basket by basket where baskets are small, in Σ C(size, 2) steps for all of them; else, and longer
    itemsets, in the columns of the items that are left.
    """

    def __init__(self, baskets: Baskets) -> None:
        self.baskets = baskets
        self.groups, self.people = (largest_of(baskets),), np.array([len(baskets)])
        self._place = np.arange(baskets.items.size)  # of each item among those that are left
        self._columns: ColumnBitmaps | None = None

    def counts(self, itemsets: Codes) -> Counts:
        """How many people show all items of each row; later calls ask for no other items than earlier ones."""
        if itemsets.shape[1] == 1:
            return np.bincount(self.baskets.codes, minlength=self._place.size)[itemsets]
        if not itemsets.size or not self.baskets.codes.size:
            return np.zeros((len(itemsets), 1), dtype=np.int64)
        codes, kernels = self._narrowed(itemsets), _kernels()
        steps, words = self._pairs_in_baskets(), len(codes) * len(self.baskets) / 64
        if kernels is not None and codes.shape[1] == 2 and WORDS_A_STEP * steps < words:
            together = np.zeros((self.baskets.items.size,) * 2, dtype=np.int32)
            ends = np.repeat(self.baskets.starts[1:], self.baskets.sizes)
            kernels.count_pairs(self.baskets.codes, ends, together)
            return together[codes[:, :1], codes[:, 1:]].astype(np.int64)
        self._columns = self._columns or ColumnBitmaps.of_baskets(self.baskets)
        return self._columns.counts(codes)

    def _narrowed(self, itemsets: Codes) -> Codes:
        """Forget all other items; the itemsets in what is left."""
        used = np.zeros(self._place.size, dtype=bool)
        used[itemsets] = True
        left = np.flatnonzero(used)
        if left.size < self.baskets.items.size:
            self.baskets, self._columns = self.baskets.holding(self._place[left]), None
            self._place[left] = np.arange(left.size)
        return np.asarray(self._place[itemsets])

    def _pairs_in_baskets(self) -> float:
        sizes: Floats = self.baskets.sizes.astype(float)
        return float(sizes @ (sizes - 1.0)) / 2.0


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
    return kernels_in("sfumato.itemsets.kernels")


@dataclass(frozen=True, eq=False)
class Level:
    """Itemsets of one length: sorted rows of item codes, and the estimates."""

    itemsets: Codes
    support: Floats
    stderr: Floats

    def kept(self, rows: NDArray[np.bool_]) -> Level:
        return Level(self.itemsets[rows], self.support[rows], self.stderr[rows])


@dataclass(eq=False)
class Group:
    """People who reported through one design (`channel`), or clean baskets, which count as of the largest's size.

    It remembers what was counted of them.
    """

    items: Items
    sizes: tuple[int, ...]
    people: Counts
    channel: SelectASize | None
    compressed: bool = False
    counted: list[tuple[Codes, Counts]] = field(default_factory=list)

    @property
    def total(self) -> int:
        return int(self.people.sum())

    def longest(self, max_len: int | None) -> int:
        """The most items of an itemset that can be read from them."""
        if self.channel is None:
            return self.sizes[0] if max_len is None else min(max_len, self.sizes[0])
        return min(max_len or self.channel.up_to, max(self.channel.sizes))

    def estimates(self, itemsets: Codes, counts: Counts) -> tuple[Floats, Floats]:
        """Support and variance from counts[itemset, size]; all proper subsets of the itemsets came before."""
        total, k = max(self.total, 1), itemsets.shape[1]
        if self.channel is None:
            return counts[:, 0] / total, np.zeros(len(itemsets))
        self.counted.append((self._keys(itemsets), counts))
        by_size = self._counts_by_subset_size(itemsets)
        support, variance = np.zeros(len(itemsets)), np.zeros(len(itemsets))
        for group, size in enumerate(self.sizes):
            if size < k:
                continue
            law, j = self.channel.laws[size], np.arange(k + 1)
            signal = float(law.estimator(k)[k] / (1.0 - law.rho) ** k)  # 1/λ_k
            g = by_size[:, :, group] @ ((-law.rho) ** (k - j) * signal)
            square = by_size[:, :, group] @ ((1.0 - 2.0 * law.rho) ** j * law.rho ** (2 * (k - j)) * signal**2)
            support += g / total
            variance += np.maximum(square - g, 0.0) / total**2
        return support, variance

    def _counts_by_subset_size(self, itemsets: Codes) -> Floats:
        """[itemset, j, size]: the sum of c_S over the subsets S of j items."""
        rows, k = itemsets.shape
        sums = np.zeros((rows, k + 1, len(self.sizes)))
        sums[:, 0] = self.people
        for j in range(1, k + 1):
            keys, counts = self.counted[j - 1]
            for columns in combinations(range(k), j):
                sums[:, j] += counts[np.searchsorted(keys, self._keys(itemsets[:, columns]))]
        return sums

    def _keys(self, itemsets: Codes) -> Codes:
        """One number an itemset, rising in lexicographic order."""
        items = self.items.size
        if items ** itemsets.shape[1] >= 1 << 63:
            raise ValueError(f"itemsets of {itemsets.shape[1]} out of {items} items are beyond reach; lower max_len")
        keys = np.zeros(len(itemsets), dtype=np.int64)
        for column in range(itemsets.shape[1]):
            keys = keys * items + itemsets[:, column]
        return keys

    def precision(self, k: int) -> float:
        """w_g of itemsets of k items; of clean baskets any number, they are never averaged with others."""
        if self.channel is None:
            return 1.0
        people: Floats = self.people.astype(float)
        laws = [self.channel.laws[size] for size in self.sizes]
        terms = [n * law.noise_power(k) for n, law in zip(people, laws, strict=True) if law.size >= k]
        return float(people.sum() ** 2 / sum(terms)) if terms else 0.0

    def fall(self, k: int) -> float:
        """By how much the variance of an estimated support falls for each unit of true support."""
        if self.channel is None or not self.precision(k):
            return 0.0
        noise, own, share = self.channel.power(k, dict(zip(self.sizes, self.people.tolist(), strict=True)))
        return ((noise - own) / share + 1.0) / self.total


class Holder(ABC):
    """Whoever holds the baskets: says who there are, and counts them."""

    groups: Sequence[Group]

    @property
    def items(self) -> Items:
        return self.groups[0].items

    @abstractmethod
    def counts(self, itemsets: Codes) -> list[Counts]:
        """For each group [itemset, size]: how many people show all items of each row of `itemsets`."""


@dataclass(frozen=True, eq=False)
class MemoryHolder(Holder):
    """Baskets in memory."""

    groups: Sequence[Group]
    held: Sequence[ColumnBitmaps | CleanBaskets]

    @classmethod
    def of_reports(cls, parts: Sequence[tuple[BasketReports, SelectASize]]) -> MemoryHolder:
        """Reports, each with the channel that made them."""
        bitmaps = [ColumnBitmaps.of_reports(reports, channel) for reports, channel in parts]
        groups = [
            Group(reports.items, each.groups, each.people, channel, reports.compressed)
            for each, (reports, channel) in zip(bitmaps, parts, strict=True)
        ]
        return cls(groups, bitmaps)

    @classmethod
    def of_baskets(cls, baskets: Baskets) -> MemoryHolder:
        """Clean baskets."""
        held = CleanBaskets(baskets)
        return cls([Group(baskets.items, held.groups, held.people, None)], [held])

    def counts(self, itemsets: Codes) -> list[Counts]:
        return [each.counts(itemsets) for each in self.held]


class SupportCounter:
    """Counts itemsets level by level; every level needs the counts of all subsets, which Apriori has already made."""

    def __init__(self, holder: Holder) -> None:
        self.holder = holder

    def _weights(self, k: int) -> Floats:
        precision = np.array([group.precision(k) for group in self.holder.groups])
        return np.asarray(precision / (precision.sum() or 1.0))

    def variance(self, k: int) -> tuple[float, float]:
        """(A, B): A − B s is the variance of an itemset that s of the people hold and nobody in part; 0 if clean."""
        if any(group.channel is None for group in self.holder.groups):
            return 0.0, 0.0
        weights, precision = self._weights(k), sum(group.precision(k) for group in self.holder.groups)
        falls = np.array([group.fall(k) for group in self.holder.groups])
        return (1.0 / precision if precision else 0.0), float(weights**2 @ falls)

    def count(self, itemsets: Codes) -> Level:
        """The next level: `itemsets` in rising lexicographic order, all their proper subsets counted before."""
        groups, counts = self.holder.groups, self.holder.counts(itemsets)
        weights = self._weights(itemsets.shape[1])
        support, variance = np.zeros(len(itemsets)), np.zeros(len(itemsets))
        for weight, group, counted in zip(weights, groups, counts, strict=True):
            found = group.estimates(itemsets, counted)
            support += weight * found[0]
            variance += weight**2 * found[1]
        return Level(itemsets, support, np.sqrt(variance))
