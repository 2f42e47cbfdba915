"""Supports of itemsets from counts of reports, with their standard errors.

A column bitmap has a bit for every person, set where the report shows the item, so that an itemset's count is a number
of ones. Rows are grouped by the disclosed size of the basket, and every group starts on a word of its own, so that one
pass gives the counts of every group:  counts[itemset, group] = ones of (column_a AND column_b AND …) in its words.

With counts c_S of the reports (of baskets of one size) that show all of S, for every subset S of A, |A| = k:

    g          = Π_{a∈A} (1[a∈t'] − ρ) / λ_k
    N mean(g)  = Σ_S (−ρ)^(k−|S|) c_S / λ_k
    N mean(g²) = Σ_S (1−2ρ)^|S| (ρ²)^(k−|S|) c_S / λ_k²
    support = mean(g),  variance = (mean(g²) − mean(g)) / N               given the people's true baskets
    all sizes:  support = Σ_m (N_m/N) support_m,   variance = Σ_m (N_m/N)² variance_m

Baskets smaller than A add zero support and no variance. Clean baskets are the limit ρ = 0, λ = 1. People who chose
among several designs give one estimate a level g; estimates are averaged by their precision w_g:

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
"""Reports that are expanded to bitmaps at once, to bound the memory. It changes no result."""

WORDS_A_STEP = 6
"""The time to count one pair in a basket, in words of columns read in that time: it decides whether pairs are counted
basket by basket. Chosen by speed (bench/itemsets.py); it changes no result."""


@dataclass(frozen=True, eq=False)
class ColumnBitmaps:
    """Baskets as one bitmap an item, quick to count: a bit for every person, set where the report shows the item.

    People are grouped by the size of their basket: group g has size ``groups[g]`` and ``people[g]`` people.
    ``columns[item]``: the bitmap of an item, in words of 64 people; group g has its words bounds[g]:bounds[g + 1].
    """

    groups: tuple[int, ...]
    people: Counts
    bounds: Codes
    columns: Words

    @classmethod
    def of_reports(
        cls, reports: BasketReports, channel: SelectASize | None, sizes: Sequence[int] | None = None,
        chosen: Codes | None = None,
    ) -> ColumnBitmaps:
        """Make a bitmap for each item of blurred baskets, with people grouped by the disclosed size of the basket.

        ``channel``: the design that made the reports, which expands seeds to bitmaps (None: they are bitmaps).
        ``sizes``: the basket sizes of the groups (None: those that occur). ``chosen``: the items to keep (None: all).
        Seeds are expanded piece by piece, never all at once.
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
        """Make a bitmap for each item of clean (not blurred) baskets.

        All people are one group, of the largest basket's size.
        """
        columns = np.zeros((baskets.items.size, -(-len(baskets) // 64)), dtype=np.uint64)
        rows, kernels = np.repeat(np.arange(len(baskets)), baskets.sizes), _kernels()
        if kernels is not None:
            kernels.mark(columns, baskets.codes, rows)
        else:
            np.bitwise_or.at(columns, (baskets.codes, rows >> 6), np.uint64(1) << (rows & 63).astype(np.uint64))
        return cls((largest_of(baskets),), np.array([len(baskets)]), np.array([0, columns.shape[1]]), columns)

    @classmethod
    def _build(cls, items: int, groups: tuple[int, ...], people: Counts, bitmaps: Iterable[Words]) -> ColumnBitmaps:
        """Make the bitmaps of items (a bit for every person) from those of people (a bit for every item).

        ``bitmaps``: those of people, group by group, in parts of a multiple of 64 rows (the last part of a group may
        have fewer). ``groups``: the basket size of each group; ``people``: how many are in it.
        """
        bounds = np.concatenate([[0], np.cumsum(-(-people // 64))]).astype(np.int64)
        columns = np.zeros((64 * bitmap_width(items), int(bounds[-1])), dtype=np.uint64)
        filled = 0
        for words in bitmaps:
            _transpose_into(words, columns, filled)
            filled += -(-len(words) // 64)
        return cls(groups, people, bounds, columns[:items])

    def counts(self, itemsets: Codes) -> Counts:
        """Count the people whose reports show all items of each itemset; return an array [itemset, group].

        A group is the people with one basket size. ``itemsets``: item codes, one itemset a row.
        """
        counts = np.zeros((len(itemsets), len(self.groups)), dtype=np.int64)
        kernels = _kernels()
        if kernels is not None and len(itemsets):
            runs = runs_of(itemsets)
            kernels.count_itemsets(self.columns, self.bounds, np.ascontiguousarray(itemsets), runs, counts)
            return counts
        for row, itemset in enumerate(itemsets):
            shown = np.bitwise_count(np.bitwise_and.reduce(self.columns[itemset], axis=0)).astype(np.int64)
            counts[row] = np.diff(np.concatenate([[0], np.cumsum(shown)])[self.bounds])
        return counts


def runs_of(itemsets: Codes) -> Codes:
    """Return where each run of itemsets that share all items but the last begins, and at last where the last run ends.

    ``itemsets``: one a row, sorted. Items that a run shares are looked up only once for it.
    """
    differ = (itemsets[1:, :-1] != itemsets[:-1, :-1]).any(axis=1)
    return np.concatenate([[0], np.flatnonzero(differ) + 1, [len(itemsets)]])


def largest_of(baskets: Baskets) -> int:
    """Return the size (number of items) of the largest basket, 0 where there is none."""
    return int(baskets.sizes.max(initial=0))


class CleanBaskets:
    """Clean (not blurred) baskets that can be counted by itemset; all people are one group.

    The group has the size of the largest basket.

    Pairs are counted basket by basket where baskets are small, in Σ C(size, 2) steps for all of them; otherwise, and
    for longer itemsets, in bitmaps (a bit for every person) of those items that are still asked for.
    """

    def __init__(self, baskets: Baskets) -> None:
        self.baskets = baskets
        self.groups, self.people = (largest_of(baskets),), np.array([len(baskets)])
        self._index = np.arange(baskets.items.size)  # each item's index among those that are still asked for
        self._columns: ColumnBitmaps | None = None

    def counts(self, itemsets: Codes) -> Counts:
        """Count the people who have all items of each itemset; return an array [itemset, 1].

        Later calls may ask for no items that an earlier call for pairs or longer itemsets did not.
        """
        if itemsets.shape[1] == 1:
            return np.bincount(self.baskets.codes, minlength=self._index.size)[itemsets]
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
        """Drop all items that none of these itemsets has; return the itemsets by the items' new indices.

        This saves memory.
        """
        used = np.zeros(self._index.size, dtype=bool)
        used[itemsets] = True
        left = np.flatnonzero(used)
        if left.size < self.baskets.items.size:
            self.baskets, self._columns = self.baskets.holding(self._index[left]), None
            self._index[left] = np.arange(left.size)
        return np.asarray(self._index[itemsets])

    def _pairs_in_baskets(self) -> float:
        """Return how many pairs of items all baskets hold, Σ C(size, 2): the steps of counting basket by basket."""
        sizes: Floats = self.baskets.sizes.astype(float)
        return float(sizes @ (sizes - 1.0)) / 2.0


def _as_slice(rows: Codes) -> slice | Codes:
    """Return sorted row numbers as a slice if they have no gaps, so that indexing makes no copy; else unchanged."""
    first, last = int(rows[0]), int(rows[-1])
    return slice(first, last + 1) if last - first + 1 == rows.size else rows


def _transpose_into(words: Words, columns: Words, start: int) -> None:
    """Turn bitmaps of people (a bit for every item) into bitmaps of items (a bit for every person), written in place.

    ``words``: [person, word of items]; ``columns``: [item, word of people], written from the word ``start`` on.
    """
    kernels = _kernels()
    if kernels is not None:
        kernels.transpose(np.ascontiguousarray(words), columns, start)
        return
    turned = pack_bits(unpack_bits(words, 64 * words.shape[1]).T)
    columns[:, start : start + turned.shape[1]] = turned


def _kernels() -> Any:
    """Return the module of compiled loops that count, or None where numba is not installed."""
    return kernels_in("sfumato.itemsets.kernels")


@dataclass(frozen=True, eq=False)
class Level:
    """Itemsets with the same number of items, with their estimated supports (shares of people) and standard errors.

    ``itemsets``: item codes, one sorted itemset a row; ``support``, ``stderr``: one number an itemset.
    """

    itemsets: Codes
    support: Floats
    stderr: Floats

    def kept(self, rows: NDArray[np.bool_]) -> Level:
        """Return a new ``Level`` with only the itemsets that the mask ``rows`` marks."""
        return Level(self.itemsets[rows], self.support[rows], self.stderr[rows])


@dataclass(eq=False)
class Group:
    """The people who reported through one design, or who have clean baskets, with all counts of itemsets made so far.

    ``items``: all items there are. ``sizes`` and ``people``: the disclosed basket sizes, and how many people have each
    (clean baskets: one size, that of the largest). ``channel``: the design, None for clean baskets. ``compressed``:
    whether reports are seeds. ``counted[k − 1]``: the itemsets of k items, one number (key) each, and their counts.
    """

    items: Items
    sizes: tuple[int, ...]
    people: Counts
    channel: SelectASize | None
    compressed: bool = False
    counted: list[tuple[Codes, Counts]] = field(default_factory=list)

    @property
    def total(self) -> int:
        """The number of people in this group."""
        return int(self.people.sum())

    def longest(self, max_len: int | None) -> int:
        """Return how many items an itemset may have at most to be estimated from these people.

        ``max_len``: the most that the caller wants (None: no limit).
        """
        if self.channel is None:
            return self.sizes[0] if max_len is None else min(max_len, self.sizes[0])
        return min(max_len or self.channel.up_to, max(self.channel.sizes))

    def estimates(self, itemsets: Codes, counts: Counts) -> tuple[Floats, Floats]:
        """Estimate (supports, their variances) of itemsets, one number an itemset, from counts of blurred baskets.

        ``counts``: how many people show all items, [itemset, basket size]. All proper subsets of the itemsets must have
        been counted before. The formulas head this module.
        """
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
        """Return the summed counts of the subsets of j items of each itemset: an array [itemset, j, basket size]."""
        rows, k = itemsets.shape
        sums = np.zeros((rows, k + 1, len(self.sizes)))
        sums[:, 0] = self.people
        for j in range(1, k + 1):
            keys, counts = self.counted[j - 1]
            for columns in combinations(range(k), j):
                sums[:, j] += counts[np.searchsorted(keys, self._keys(itemsets[:, columns]))]
        return sums

    def _keys(self, itemsets: Codes) -> Codes:
        """Return one whole number for each itemset, rising in lexicographic order, by which counts are found again."""
        items = self.items.size
        if items ** itemsets.shape[1] >= 1 << 63:
            raise ValueError(f"itemsets of {itemsets.shape[1]} out of {items} items are beyond reach; lower max_len")
        keys = np.zeros(len(itemsets), dtype=np.int64)
        for column in range(itemsets.shape[1]):
            keys = keys * items + itemsets[:, column]
        return keys

    def precision(self, k: int) -> float:
        """Return the weight of this group's estimate for itemsets of k items in the average over groups.

        It is the inverse variance for an itemset that nobody has, w_g in the module's formulas; 1 for clean baskets,
        which are never averaged with others.
        """
        if self.channel is None:
            return 1.0
        people: Floats = self.people.astype(float)
        laws = [self.channel.laws[size] for size in self.sizes]
        terms = [n * law.noise_power(k) for n, law in zip(people, laws, strict=True) if law.size >= k]
        return float(people.sum() ** 2 / sum(terms)) if terms else 0.0

    def fall(self, k: int) -> float:
        """Return by how much the variance of an estimated support falls for each unit of true support.

        A support is a share of people. ``k``: how many items the itemset has. For clean baskets the result is 0.
        """
        if self.channel is None or not self.precision(k):
            return 0.0
        noise, own, share = self.channel.power(k, dict(zip(self.sizes, self.people.tolist(), strict=True)))
        return ((noise - own) / share + 1.0) / self.total


class Holder(ABC):
    """Baskets that can be counted by itemset, in memory or elsewhere, with the groups of people they come from.

    A group is the people who reported through one design.
    """

    groups: Sequence[Group]

    @property
    def items(self) -> Items:
        """All items that baskets may hold."""
        return self.groups[0].items

    @abstractmethod
    def counts(self, itemsets: Codes) -> list[Counts]:
        """Count the people whose reports show all items of each itemset, one itemset a row.

        Returns for each group (the people who reported through one design) an array [itemset, basket size].
        """


@dataclass(frozen=True, eq=False)
class MemoryHolder(Holder):
    """Baskets in memory that can be counted by itemset: groups of people, and the bitmaps or clean baskets of each.

    A group is the people who reported through one design.
    """

    groups: Sequence[Group]
    bitmaps: Sequence[ColumnBitmaps | CleanBaskets]

    @classmethod
    def of_reports(cls, parts: Sequence[tuple[BasketReports, SelectASize]]) -> MemoryHolder:
        """Make blurred baskets countable by itemset.

        ``parts``: pairs of reports and the design that made them; the people of each pair are one group.
        """
        bitmaps = [ColumnBitmaps.of_reports(reports, channel) for reports, channel in parts]
        groups = [
            Group(reports.items, column_bitmaps.groups, column_bitmaps.people, channel, reports.compressed)
            for column_bitmaps, (reports, channel) in zip(bitmaps, parts, strict=True)
        ]
        return cls(groups, bitmaps)

    @classmethod
    def of_baskets(cls, baskets: Baskets) -> MemoryHolder:
        """Make clean (not blurred) baskets countable by itemset, all people as one group."""
        clean = CleanBaskets(baskets)
        return cls([Group(baskets.items, clean.groups, clean.people, None)], [clean])

    def counts(self, itemsets: Codes) -> list[Counts]:
        return [counter.counts(itemsets) for counter in self.bitmaps]


class SupportCounter:
    """An object that estimates supports (shares of people) of itemsets: first of one item, then of two, and so on.

    Each estimate needs the counts of all subsets, which were made before. ``holder``: the baskets that are counted.
    """

    def __init__(self, holder: Holder) -> None:
        self.holder = holder

    def _weights(self, k: int) -> Floats:
        """Return for each group (people who reported through one design) its weight in the average, together 1.

        ``k``: how many items the itemsets have; groups with less noise weigh more.
        """
        precision = np.array([group.precision(k) for group in self.holder.groups])
        return np.asarray(precision / (precision.sum() or 1.0))

    def variance(self, k: int) -> tuple[float, float]:
        """Return (A, B), where A − B·s is the variance of the estimated support of k items and s the true one.

        The support is the share of people who have all of it, where nobody has a part of it alone. (0, 0) for clean
        baskets.
        """
        if any(group.channel is None for group in self.holder.groups):
            return 0.0, 0.0
        weights, precision = self._weights(k), sum(group.precision(k) for group in self.holder.groups)
        falls = np.array([group.fall(k) for group in self.holder.groups])
        return (1.0 / precision if precision else 0.0), float(weights**2 @ falls)

    def count(self, itemsets: Codes) -> Level:
        """Estimate the supports (shares of people) of ``itemsets`` with standard errors, as a ``Level``.

        ``itemsets``: one a row, in lexicographic order; all their proper subsets must have been counted before.
        """
        groups, counts = self.holder.groups, self.holder.counts(itemsets)
        weights = self._weights(itemsets.shape[1])
        support, variance = np.zeros(len(itemsets)), np.zeros(len(itemsets))
        for weight, group, counted in zip(weights, groups, counts, strict=True):
            estimates = group.estimates(itemsets, counted)
            support += weight * estimates[0]
            variance += weight**2 * estimates[1]
        return Level(itemsets, support, np.sqrt(variance))
