"""Uniform words become codes by whole numbers alone: below a bound, or by a law over codes as Walker's table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Floats

WORD = 1 << 64
HALF = 1 << 63
LOW = 0xFFFFFFFF
WIDEST = 1 << 32  # codes below this are drawn without overflow
MOST_ENTRIES = 100_000_000
"""A law has at most so many entries: 800 MB of floats."""
EXACT_PRODUCT = 3_000_000  # multiplications up to which the γ of a chain is computed in whole numbers
Words = NDArray[np.uint64]
Numbers = Any  # one whole number, or an array of them


def below(word: Numbers, bound: Numbers) -> Numbers:
    """⌊word · bound / 2^64⌋: one of 0..bound−1, each for ⌊2^64/bound⌋ words or one more; bound is below 2^32."""
    return ((word >> 32) * bound + (((word & LOW) * bound) >> 32)) >> 32


def words_below(place: int, bound: int) -> int:
    """How many words lead ``below`` to this place."""
    return -(-(place + 1) * WORD // bound) + (place * -WORD // bound)


def choose(condition: Numbers, yes: Numbers, no: Numbers) -> Numbers:
    """``yes`` where the condition holds, else ``no``, without a branch."""
    return no + (yes - no) * condition


@dataclass(frozen=True, eq=False)
class Alias:
    """A law over codes as Walker's table: entry = threshold << bits | alias, 2^bits entries.

    The top ``bits`` bits of a word choose an entry; if the others are below its threshold the code is the entry's own
    place, else its alias. P(code) is a whole number over 2^64.
    """

    entries: Words
    bits: int

    @classmethod
    def of(cls, weights: Sequence[int]) -> Alias:
        """The table of whole-number weights that sum to 2^64."""
        bits = max(1, (len(weights) - 1).bit_length())
        capacity = WORD >> bits
        mass = [*weights, *[0] * ((1 << bits) - len(weights))]
        threshold, alias = [capacity - 1] * len(mass), list(range(len(mass)))
        small = [i for i, w in enumerate(mass) if w < capacity]
        large = [i for i, w in enumerate(mass) if w > capacity]
        while small:
            needy, giver = small.pop(), large[-1]
            threshold[needy], alias[needy] = mass[needy], giver
            mass[giver] -= capacity - mass[needy]
            if mass[giver] <= capacity:
                large.pop()
                if mass[giver] < capacity:
                    small.append(giver)
        packed = [(t << bits) | a for t, a in zip(threshold, alias, strict=True)]
        return cls(np.array(packed, dtype=np.uint64), bits)

    @cached_property
    def upper(self) -> Any:
        """The table for the upper halves of words: thresholds without their lower 32 bits."""
        thresholds = self.entries >> np.uint64(32 + self.bits) << np.uint64(self.bits)
        return (thresholds | self.entries & np.uint64((1 << self.bits) - 1)).astype(np.uint32)

    @cached_property
    def listed(self) -> list[int]:
        return [int(entry) for entry in self.entries.ravel()]

    def draw(self, word: Numbers, column: Numbers = 0) -> Numbers:
        """The code that a word chooses, from the table of ``column`` where there are several."""
        place = word >> (64 - self.bits)
        where = (column << self.bits) + place
        entry = self.listed[where] if isinstance(word, int) else self.entries[where.view(np.int64)]
        alias = entry & ((1 << self.bits) - 1)
        return choose((word & ((1 << (64 - self.bits)) - 1)) < (entry >> self.bits), place, alias)

    def weights(self, column: int = 0) -> list[int]:
        """How many of the 2^64 words choose each code."""
        size, capacity = 1 << self.bits, WORD >> self.bits
        found = [0] * size
        for place, entry in enumerate(self.listed[column * size : (column + 1) * size]):
            threshold, alias = entry >> self.bits, entry & (size - 1)
            found[place] += threshold
            found[alias] += capacity - threshold
        return found

    def to_list(self) -> list[str]:
        return [hex_word(entry) for entry in self.listed]

    @classmethod
    def from_list(cls, entries: Sequence[str], columns: int = 1) -> Alias:
        size = len(entries) // columns if columns else 0
        if size < 2 or size & (size - 1) or len(entries) != size * columns:
            raise ValueError(f"{len(entries):,} entries are not {columns:,} tables of 2, 4, 8, … each; write it again")
        return cls(np.array([word_of(entry) for entry in entries], dtype=np.uint64), size.bit_length() - 1)


def integer_weights(probabilities: Floats) -> list[int]:
    """Whole-number weights nearest to the probabilities that sum to 2^64 exactly."""
    weights = [int(p * float(WORD)) for p in probabilities.tolist()]
    weights[int(np.argmax(probabilities))] += WORD - sum(weights)
    return weights


def hex_word(word: int) -> str:
    """A word as JSON carries it unharmed."""
    return f"{word:016x}"


def word_of(text: Any) -> int:
    """The word that ``hex_word`` wrote."""
    if not isinstance(text, str) or not re.fullmatch("[0-9a-f]{16}", text):
        raise ValueError("a word is not sixteen hexadecimal digits; write the program again")
    return int(text, 16)
