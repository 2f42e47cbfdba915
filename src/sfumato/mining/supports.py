"""Supports of itemsets from counts of reports, with their standard errors.

With counts c_S of the reports (of baskets of one size) that show all of S, for every subset S of A, |A| = k:

    g           = prod_{a in A} (1[a in t'] - rho) / lambda_k
    N mean(g)   = sum_S (-rho)^(k-|S|) c_S / lambda_k
    N mean(g^2) = sum_S (1-2 rho)^|S| (rho^2)^(k-|S|) c_S / lambda_k^2
    support = mean(g),  variance = (mean(g^2) - mean(g)) / N               given the people's true baskets
    all sizes: support = sum_m (N_m/N) support_m,  variance = sum_m (N_m/N)^2 variance_m

Baskets smaller than A add zero support and no variance. Clean baskets are the limit rho = 0, lambda = 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.baskets import SizeLaw
from sfumato.domain import Codes
from sfumato.mining.bitmaps import ColumnBitmaps, Counts

Floats = NDArray[np.float64]


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
            law, people = self.laws[size], int(self.bitmaps.people[group])
            j = np.arange(k + 1)
            signal = float(law.estimator(k)[k] / (1.0 - law.rho) ** k)  # 1 / lambda_k
            g = by_size[:, :, group] @ ((-law.rho) ** (k - j) * signal)
            square = by_size[:, :, group] @ ((1.0 - 2.0 * law.rho) ** j * law.rho ** (2 * (k - j)) * signal**2)
            support += g / self.total
            variance += np.maximum(square - g, 0.0) / self.total**2
            assert people > 0
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
            raise ValueError(f"itemsets of {itemsets.shape[1]} out of {items} items are beyond reach: lower max_len")
        keys = np.zeros(len(itemsets), dtype=np.int64)
        for column in range(itemsets.shape[1]):
            keys = keys * items + itemsets[:, column]
        return keys
