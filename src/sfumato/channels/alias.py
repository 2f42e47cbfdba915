"""Draw from a known integer law with one table look-up.

A law over K codes is a list of whole-number weights that sum to 2^64, so that a uniform 64-bit word decides the code
*exactly*: P(code) = weight / 2^64. Walker's alias table makes that one comparison: the top b bits of the word choose a
bin, the other 64 − b bits are compared with the bin's threshold, and the answer is the bin itself or its alias.
Threshold and alias share one 64-bit entry, so a draw touches memory once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Floats

WORD = 1 << 64
Words = NDArray[np.uint64]


def integer_weights(probabilities: Floats) -> list[int]:
    """Whole-number weights nearest to the probabilities that sum to 2^64 exactly."""
    weights = [int(p * float(WORD)) for p in probabilities.tolist()]
    weights[int(np.argmax(probabilities))] += WORD - sum(weights)
    return weights


def alias_table(weights: list[int]) -> tuple[Words, int]:
    """The packed entries ``threshold << bits | alias`` and the number of bits that choose a bin."""
    bits = max(1, (len(weights) - 1).bit_length())
    capacity = WORD >> bits
    mass = weights + [0] * ((1 << bits) - len(weights))
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
    return np.array(packed, dtype=np.uint64), bits


def draw(table: Words, bits: int, words: Words) -> NDArray[np.int64]:
    """The codes that the words choose."""
    code = words >> np.uint64(64 - bits)
    entry = table[code]
    below = (words & np.uint64((1 << (64 - bits)) - 1)) < (entry >> np.uint64(bits))
    return np.where(below, code, entry & np.uint64((1 << bits) - 1)).astype(np.int64)


def halve(table: Words, bits: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The same law read 32 bits at a time: packed upper thresholds with aliases, and the thresholds' lower halves.

    The upper half of a word decides unless it equals the upper threshold (once in 2^(32−bits) draws); only then the
    lower half is drawn, so that the law stays exact to 2^−64 for half the randomness.
    """
    threshold = table >> np.uint64(bits)
    upper = (threshold >> np.uint64(32)).astype(np.uint32)
    alias = (table & np.uint64((1 << bits) - 1)).astype(np.uint32)
    return (upper << np.uint32(bits)) | alias, (threshold & np.uint64(0xFFFFFFFF)).astype(np.uint32)
