"""Drawing select-a-size reports from uniform words.

The law p is a mixture: with chance c = min_j p[j]/p0[j] the report is pure insertion noise on all items, the basket's
own included (which keeps j of them with chance p0[j]); otherwise j follows the excess p[j] - c p0[j] and j random items
are kept. The excess is rounded down to whole numbers of 2^-64 and the rest goes to noise, so rounding only hides more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.program import WORD
from sfumato.channels.baskets.gf2 import Words
from sfumato.channels.baskets.law import SizeLaw, kept_by_noise
from sfumato.channels.baskets.reports import bitmap_width, item_mask
from sfumato.channels.baskets.seeds import SeedGenerator, dyadic
from sfumato.domain import Codes

PURE_NOISE = -1


@dataclass(frozen=True)
class SizeSampler:
    """Reports of baskets of one size over `items` items."""

    law: SizeLaw
    items: int

    @cached_property
    def _excess_bounds(self) -> Words:
        """Cumulative integer weights of the excess; words beyond the last bound mean pure noise."""
        shared = float(self.law.lift.min())
        excess = np.array(self.law.kept) - shared * kept_by_noise(self.law.size, self.law.rho)
        excess[self.law.lift <= shared * (1.0 + 1e-9)] = 0.0
        total = np.cumsum([int(max(x, 0.0) * WORD) for x in excess.tolist()], dtype=object)
        return np.array([min(int(bound), WORD - 1) for bound in total], dtype=np.uint64)

    def kept_counts(self, words: Words) -> Codes:
        """j for each word, or PURE_NOISE."""
        j = np.searchsorted(self._excess_bounds, words, side="right")
        return np.where(j > self.law.size, PURE_NOISE, j)

    # --- plain reports: the words are one for j, one an item of the basket, then `depth` bit planes ------------------

    @property
    def words_per_bitmap(self) -> int:
        return 1 + self.law.size + dyadic(self.law.rho)[1] * bitmap_width(self.items)

    def bitmaps(self, members: Codes, words: Words) -> Words:
        kept = self.kept_counts(words[:, 0])
        order = shuffled(members, words[:, 1 : self.law.size + 1])
        bitmaps = coins(self.law.rho, words[:, self.law.size + 1 :]) & item_mask(self.items)
        show_exactly(bitmaps, order, kept)
        return bitmaps

    # --- seeds: one word for j, two an item of the basket, then the uniform seed -----------------------------------

    def words_per_seed(self, generator: SeedGenerator) -> int:
        return 1 + 2 * self.law.size + generator.words

    def seeds(self, members: Codes, words: Words, generator: SeedGenerator) -> Words:
        size = self.law.size
        kept = self.kept_counts(words[:, 0])
        seeds = generator.trim(words[:, 2 * size + 1 :])
        told = np.flatnonzero(kept != PURE_NOISE)
        order = shuffled(members[told], words[told, 1 : size + 1])
        shows = np.arange(size) < kept[told, None]
        seeds[told] = generator.steer(
            seeds[told], order, _numbers(shows, words[told, size + 1 : 2 * size + 1], generator)
        )
        return seeds


def _numbers(shows: NDArray[np.bool_], words: Words, generator: SeedGenerator) -> Codes:
    """Uniform below the threshold for items that show, uniform from it on for the others."""
    inside = below(words, np.uint64(generator.threshold))
    outside = below(words, np.uint64((1 << generator.depth) - generator.threshold))
    return np.where(shows, inside, outside.astype(np.int64) + generator.threshold).astype(np.int64)


def below(words: Words, bound: np.uint64) -> Words:
    """floor(word * bound / 2^64): a number below `bound`, uniform to within 2^-64."""
    half = np.uint64(32)
    high, low = words >> half, words & np.uint64(0xFFFFFFFF)
    return np.asarray((high * bound + ((low * bound) >> half)) >> half)


def shuffled(members: Codes, words: Words) -> Codes:
    """Each row in random order (Fisher and Yates, all rows at once)."""
    order = members.copy()
    rows = np.arange(len(order))
    for place in range(order.shape[1] - 1):
        other = place + below(words[:, place], np.uint64(order.shape[1] - place)).astype(np.int64)
        order[rows, place], order[rows, other] = order[rows, other], order[rows, place]
    return order


def coins(rho: float, words: Words) -> Words:
    """Bits that are 1 with chance rho = 0.b1 b2 .. bd: from the last digit on, `or` a fair bit for 1, `and` for 0."""
    numerator, depth = dyadic(rho)
    planes = words.reshape(len(words), depth, words.shape[1] // depth)
    bits = planes[:, 0].copy()
    for digit in range(1, depth):
        if (numerator >> digit) & 1:
            bits |= planes[:, digit]
        else:
            bits &= planes[:, digit]
    return bits


def show_exactly(bitmaps: Words, order: Codes, kept: Codes) -> None:
    """Of each told basket show the first `kept` items of its order and hide the others."""
    told = np.flatnonzero(kept != PURE_NOISE)
    for place in range(order.shape[1]):
        codes = order[told, place]
        word, bit = codes >> 6, np.uint64(1) << (codes & 63).astype(np.uint64)
        shown = place < kept[told]
        bitmaps[told, word] = np.where(shown, bitmaps[told, word] | bit, bitmaps[told, word] & ~bit)
