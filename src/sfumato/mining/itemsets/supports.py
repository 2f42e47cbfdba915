"""Supports of itemsets from counts of reports, with their standard errors.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.baskets import SizeLaw
from sfumato.domain import Codes, Floats
from sfumato.mining.itemsets.bitmaps import ColumnBitmaps, Counts


@dataclass(frozen=True, eq=False)
class Level:
    """Itemsets of one length: sorted rows of item codes, how many reports of each size show them, and the estimates."""

    itemsets: Codes
    counts: Counts
    support: Floats
    stderr: Floats

    def kept(self, rows: NDArray[np.bool_]) -> Level:
        return Level(self.itemsets[rows], self.counts[rows], self.support[rows], self.stderr[rows])


class SupportCounter:
    """Counts itemsets level by level; every level needs the counts of all subsets, which Apriori has already made."""

    def __init__(self, bitmaps: ColumnBitmaps, laws: Mapping[int, SizeLaw] | None) -> None:
        self.bitmaps = bitmaps
        self.laws = laws
        self.total = int(bitmaps.people.sum())
        self._levels: list[tuple[NDArray[np.int64], Counts]] = []

    def count(self, itemsets: Codes) -> Level:
        """The next level: `itemsets` in rising lexicographic order, all their proper subsets counted before."""
        counts = self.bitmaps.counts(itemsets)
        self._levels.append((self._keys(itemsets), counts))
        if self.laws is None:
            support = counts[:, 0] / max(self.total, 1)
            return Level(itemsets, counts, support, np.zeros(len(itemsets)))
        return Level(itemsets, counts, *self._estimates(itemsets))

    def _estimates(self, itemsets: Codes) -> tuple[Floats, Floats]:
        k = itemsets.shape[1]
        by_size = self._counts_by_subset_size(itemsets)
        support, variance = np.zeros(len(itemsets)), np.zeros(len(itemsets))
        assert self.laws is not None
        for group, size in enumerate(self.bitmaps.groups):
            if size < k:
                continue
            law, j = self.laws[size], np.arange(k + 1)
            signal = float(law.estimator(k)[k] / (1.0 - law.rho) ** k)  # 1/λ_k
            g = by_size[:, :, group] @ ((-law.rho) ** (k - j) * signal)
            square = by_size[:, :, group] @ ((1.0 - 2.0 * law.rho) ** j * law.rho ** (2 * (k - j)) * signal**2)
            support += g / self.total
            variance += np.maximum(square - g, 0.0) / self.total**2
        return support, np.sqrt(variance)

    def _counts_by_subset_size(self, itemsets: Codes) -> Floats:
        """[itemset, j, group]: the sum of c_S over the subsets S of j items."""
        rows, k = itemsets.shape
        sums = np.zeros((rows, k + 1, len(self.bitmaps.groups)))
        sums[:, 0] = self.bitmaps.people
        for j in range(1, k + 1):
            keys, counts = self._levels[j - 1]
            for columns in combinations(range(k), j):
                sums[:, j] += counts[np.searchsorted(keys, self._keys(itemsets[:, columns]))]
        return sums

    def _keys(self, itemsets: Codes) -> NDArray[np.int64]:
        """One number an itemset, rising in lexicographic order."""
        items = len(self.bitmaps.columns)
        if items ** itemsets.shape[1] >= 1 << 63:
            raise ValueError(f"itemsets of {itemsets.shape[1]} out of {items} items are beyond reach; lower max_len")
        keys = np.zeros(len(itemsets), dtype=np.int64)
        for column in range(itemsets.shape[1]):
            keys = keys * items + itemsets[:, column]
        return keys


class LevelsCounter:
    """Counts itemsets in every group of people who chose the same design, and averages the groups."""

    def __init__(self, counters: Sequence[SupportCounter]) -> None:
        self.counters = list(counters)
        self.bitmaps = self.counters[0].bitmaps

    def count(self, itemsets: Codes) -> Level:
        found = [counter.count(itemsets) for counter in self.counters]
        weight = np.array([precision(counter, itemsets.shape[1]) for counter in self.counters])
        weight = weight / weight.sum()
        support = np.asarray(sum(w * one.support for w, one in zip(weight, found, strict=True)))
        variance = np.asarray(sum(w**2 * one.stderr**2 for w, one in zip(weight, found, strict=True)))
        counts = np.hstack([one.counts for one in found])
        return Level(itemsets, counts, support, np.sqrt(variance))


def precision(counter: SupportCounter, k: int) -> float:
    """w_g of itemsets of k items."""
    assert counter.laws is not None
    people: Floats = counter.bitmaps.people.astype(float)
    laws = [counter.laws[size] for size in counter.bitmaps.groups]
    terms = [n * law.noise_power(k) for n, law in zip(people, laws, strict=True) if law.size >= k]
    return float(people.sum() ** 2 / sum(terms)) if terms else 0.0
