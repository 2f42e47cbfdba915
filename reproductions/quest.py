"""Quest-like baskets: the generator of Agrawal and Srikant's "Fast algorithms for mining association rules" (1994).

A list of maximal patterns is drawn first: lengths are Poisson, a share of each pattern's items comes from the one
before it, weights are exponential and sum to 1, and each pattern has a corruption level. A basket draws a size, then
patterns by weight, dropping items of a pattern while a coin says so, until it is full. A basket that `per_basket`
patterns do not fill is topped up with random items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.baskets import Baskets
from sfumato.domain import Items

Codes = NDArray[np.int64]


PEOPLE_AT_ONCE = 1 << 15


@dataclass(frozen=True)
class Quest:
    """|L| = `patterns` of mean length |I| = `pattern_length`, correlation, mean corruption, patterns a basket.

    The defaults make a few strong habits among many one-off items: itemsets of three that reach 4 % of people exist,
    which 2,000 patterns, the usual setting, cannot give.
    """

    items: int = 1000
    smallest: int = 5
    largest: int = 10
    patterns: int = 10
    pattern_length: float = 4.0
    correlation: float = 0.5
    corruption: float = 0.1
    per_basket: int = 1

    def baskets(self, people: int, rng: np.random.Generator | int) -> Baskets:
        """Baskets whose sizes are uniform from `smallest` to `largest`."""
        generator = np.random.default_rng(rng)
        patterns = self._patterns(generator)
        weights = generator.exponential(size=self.patterns)
        weights /= weights.sum()
        keep = 1.0 - np.clip(generator.normal(self.corruption, 0.1, size=self.patterns), 0.0, 1.0)
        sizes = generator.integers(self.smallest, self.largest + 1, size=people)
        return self._fill(sizes, patterns, weights, keep, generator)

    def _patterns(self, generator: np.random.Generator) -> list[Codes]:
        patterns: list[Codes] = []
        for _ in range(self.patterns):
            length = min(max(1, int(generator.poisson(self.pattern_length - 1)) + 1), self.smallest)
            shared = np.empty(0, dtype=np.int64)
            if patterns:
                share = min(1.0, float(generator.exponential(self.correlation)))
                shared = generator.permutation(patterns[-1])[: round(share * length)]
            fresh = np.setdiff1d(np.arange(self.items), shared)
            patterns.append(np.concatenate([shared, generator.choice(fresh, length - shared.size, replace=False)]))
        return patterns

    def _fill(
        self, sizes: Codes, patterns: list[Codes], weights: NDArray[np.float64], keep: NDArray[np.float64],
        generator: np.random.Generator,
    ) -> Baskets:
        """All baskets at once: `slots` holds pattern items in the order of their coming, then noise; -1 is dropped."""
        longest = max(pattern.size for pattern in patterns)
        table = np.full((len(patterns), longest), -1)
        for row, pattern in enumerate(patterns):
            table[row, : pattern.size] = pattern
        parts = []
        for low in range(0, sizes.size, PEOPLE_AT_ONCE):
            wanted = sizes[low : low + PEOPLE_AT_ONCE]
            drawn = generator.choice(len(patterns), size=(wanted.size, self.per_basket), p=weights)
            slots = table[drawn]
            slots[generator.random(slots.shape) > keep[drawn][:, :, None]] = -1
            noise = generator.integers(0, self.items, size=(wanted.size, 2 * self.largest))
            slots = np.concatenate([slots.reshape(wanted.size, -1), noise], axis=1)
            codes = np.sort(np.where(_first_distinct(slots, wanted), slots, self.items), axis=1)
            parts.append(codes[codes < self.items])
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Baskets(Items(self.items), starts, np.concatenate(parts))


def _first_distinct(slots: Codes, sizes: Codes) -> NDArray[np.bool_]:
    """Marks each row's first `size` distinct entries that are not -1."""
    order = np.argsort(slots, axis=1, kind="stable")
    ranked = np.take_along_axis(slots, order, axis=1)
    first = np.ones(slots.shape, dtype=bool)
    first[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    fresh = np.empty(slots.shape, dtype=bool)
    np.put_along_axis(fresh, order, first & (ranked >= 0), axis=1)
    return fresh & (np.cumsum(fresh, axis=1) <= sizes[:, None])
