"""Folds of records, and all other chance of a record: decided by a hash of its place under the seed.

    fold = mix(mix(mix(seed ⊕ salt·0x9E3779B9) ⊕ ⌊place/2³²⌋) ⊕ place mod 2³²) mod folds,    all modulo 2³²,
    mix(h): h ⊕= h >> 16; h = h·0x21F0AAAD mod 2³²; h ⊕= h >> 15; h = h·0x735A2D97 mod 2³²; h ⊕= h >> 15.

A record's place is its row, from 0, in the whole table, whoever reads which part of it. Both factors are below 2³¹, so
no product leaves a signed 64-bit integer: SQL repeats it with *, %, >> and xor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Fold:
    """Some of ``of`` folds: one number or a range of them; ``~Fold(…)`` are all others.

    Folds with different salts are drawn independently of each other.

    >>> len(Fold(range(0, 3), 10).numbers), (~Fold(0, 5)).numbers
    (3, (1, 2, 3, 4))
    """

    numbers: tuple[int, ...]
    of: int
    salt: int = 0

    def __init__(self, numbers: int | Sequence[int], of: int, salt: int = 0) -> None:
        chosen = (numbers,) if isinstance(numbers, int) else tuple(numbers)
        if of < 1 or any(not 0 <= number < of for number in chosen):
            raise ValueError(f"fold {numbers} of {of} does not exist; folds are numbered from 0 to {of - 1}")
        object.__setattr__(self, "numbers", chosen)
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "salt", salt)

    def __invert__(self) -> Fold:
        return Fold([number for number in range(self.of) if number not in self.numbers], self.of, self.salt)

    def holds(self, hashes: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Which records it holds, from the hashes of their places under its salt."""
        inside = np.zeros(self.of, dtype=bool)
        inside[list(self.numbers)] = True
        return np.asarray(inside[hashes % np.uint32(self.of)])


def fold_hash(seed: int, place: NDArray[Any], salt: int = 0) -> NDArray[np.uint32]:
    """The 32-bit hash of each place under the seed, as the head of this module says."""
    start = _mix(np.uint64((seed ^ (salt * 0x9E3779B9)) & 0xFFFFFFFF))
    places = np.asarray(place).astype(np.uint64)
    high = places >> np.uint64(32)
    begun = _mix(start ^ high) if high.any() else _mix(start)
    return np.asarray(_mix(begun ^ (places & np.uint64(0xFFFFFFFF))), dtype=np.uint32)


def _mix(h: Any) -> Any:
    low = np.uint64(0xFFFFFFFF)
    h = h ^ (h >> np.uint64(16))
    h = (h * np.uint64(0x21F0AAAD)) & low
    h = h ^ (h >> np.uint64(15))
    h = (h * np.uint64(0x735A2D97)) & low
    return h ^ (h >> np.uint64(15))
