"""Turn uniform 64-bit words into codes by whole numbers alone: evenly below a bound, or by a law as Walker's table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Floats

WORD = 1 << 64  # how many words there are: a chance is a whole number over this
HALF = 1 << 63  # a chance of 1 for windows and slices, which compare 63 bits of a word: so 1 fits into 64 bits
LOW = 0xFFFFFFFF  # the lower 32 bits of a word
WIDEST = 1 << 32  # ``below`` multiplies halves of 32 bits in 64, so that bounds and codes stay below this
MOST_ENTRIES = 100_000_000
"""Entries of a law at most, 800 MB of floats. By judgement: what a common machine holds beside the work on it; a plan
from a stranger must not ask for more."""
EXACT_PRODUCT = 3_000_000
"""Multiplications up to which the γ of a chain is computed in whole numbers. By judgement: about a second of work; with
less, more γ are rounded up, by a billionth of themselves."""
Words = NDArray[np.uint64]
Numbers = Any  # one whole number, or an array of them


def below(word: Numbers, bound: Numbers) -> Numbers:
    """Turn a random word into a number 0..bound−1, each equally likely: ⌊word · bound / 2^64⌋.

    Each number has ⌊2^64/bound⌋ words, or one more; the bound is below 2^32.
    """
    return ((word >> 32) * bound + (((word & LOW) * bound) >> 32)) >> 32


def words_below(number: int, bound: int) -> int:
    """Count the words for which ``below(word, bound)`` is this number."""
    return -(-(number + 1) * WORD // bound) + (number * -WORD // bound)


def choose(condition: Numbers, yes: Numbers, no: Numbers) -> Numbers:
    """Return ``yes`` where the condition (0 or 1) holds, else ``no``, without a branch."""
    return no + (yes - no) * condition


@dataclass(frozen=True, eq=False)
class Alias:
    """A law over codes as Walker's alias table, from which one word draws a code.

    An entry is threshold << bits | alias, and there are 2^bits entries. The top ``bits`` bits of a word choose one; if
    the other bits are below its threshold the drawn code is the entry's own index, else its alias. P(code) is a whole
    number over 2^64. Several tables of equal size may stand one after the other in ``entries``.
    """

    entries: Words
    bits: int

    @classmethod
    def of(cls, weights: Sequence[int]) -> Alias:
        """Build the table that draws code i with chance weights[i]/2^64; the weights are whole and sum to 2^64."""
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
        """The table's entries in 32 bits, for drawing with upper halves of words; thresholds lose their lower bits."""
        thresholds = self.entries >> np.uint64(32 + self.bits) << np.uint64(self.bits)
        return (thresholds | self.entries & np.uint64((1 << self.bits) - 1)).astype(np.uint32)

    @cached_property
    def listed(self) -> list[int]:
        """The entries as a list of Python's whole numbers, which draw a single code faster than an array."""
        return [int(entry) for entry in self.entries.ravel()]

    def draw(self, word: Numbers, column: Numbers = 0) -> Numbers:
        """Return the code that a word draws, from the table number ``column`` where there are several."""
        own = word >> (64 - self.bits)
        index = (column << self.bits) + own
        entry = self.listed[index] if isinstance(word, int) else self.entries[index.view(np.int64)]
        alias = entry & ((1 << self.bits) - 1)
        return choose((word & ((1 << (64 - self.bits)) - 1)) < (entry >> self.bits), own, alias)

    def weights(self, column: int = 0) -> list[int]:
        """Count how many of the 2^64 words draw each code, from the table number ``column``."""
        size, capacity = 1 << self.bits, WORD >> self.bits
        counts = [0] * size
        for own, entry in enumerate(self.listed[column * size : (column + 1) * size]):
            threshold, alias = entry >> self.bits, entry & (size - 1)
            counts[own] += threshold
            counts[alias] += capacity - threshold
        return counts

    def to_list(self) -> list[str]:
        """Return the entries as texts of sixteen hexadecimal digits."""
        return [hex_word(entry) for entry in self.listed]

    @classmethod
    def from_list(cls, entries: Sequence[str], columns: int = 1) -> Alias:
        """Read the entries of one or several tables (``columns``) that ``to_list`` wrote; other text is an error."""
        size = len(entries) // columns if columns else 0
        if size < 2 or size & (size - 1) or len(entries) != size * columns:
            raise ValueError(f"{len(entries):,} entries are not {columns:,} tables of 2, 4, 8, … each; write it again")
        return cls(np.array([word_of(entry) for entry in entries], dtype=np.uint64), size.bit_length() - 1)


def integer_weights(probabilities: Floats) -> list[int]:
    """Return probabilities as a list of whole-number weights that sum to exactly 2^64, so that laws are exact.

    The largest takes what rounding leaves.
    """
    weights = [int(p * float(WORD)) for p in probabilities.tolist()]
    weights[int(np.argmax(probabilities))] += WORD - sum(weights)
    return weights


def hex_word(word: int) -> str:
    """Return a word as text of sixteen hexadecimal digits, because JSON's numbers do not hold 64 bits everywhere."""
    return f"{word:016x}"


def word_of(text: Any) -> int:
    """Read a 64-bit word from text of sixteen hexadecimal digits; anything else is an error."""
    if not isinstance(text, str) or not re.fullmatch("[0-9a-f]{16}", text):
        raise ValueError("a word is not sixteen hexadecimal digits; write the program again")
    return int(text, 16)
