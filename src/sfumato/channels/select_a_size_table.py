"""The whole table of select-a-size for a tiny set of items: what tests and teaching need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.select_a_size_law import SizeLaw
from sfumato.domain import MISSING, Codes, Floats, Items, is_missing


@dataclass(frozen=True)
class BasketSpace:
    """Baskets with codes: all subsets in the order of their bit patterns, or only those of one size."""

    LARGEST: ClassVar[int] = 12
    items: Items
    patterns: tuple[int, ...]

    @classmethod
    def all(cls, items: Items) -> BasketSpace:
        return cls(items, tuple(range(1 << items.size)))

    @classmethod
    def of_sizes(cls, items: Items, size: int) -> BasketSpace:
        return cls(items, tuple(pattern for pattern in range(1 << items.size) if pattern.bit_count() == size))

    @property
    def size(self) -> int:
        return len(self.patterns)

    @property
    def labels(self) -> tuple[frozenset[Any], ...]:
        return tuple(self.decode(np.arange(self.size)).tolist())

    @cached_property
    def _code_of(self) -> dict[int, int]:
        return {pattern: code for code, pattern in enumerate(self.patterns)}

    def encode(self, values: Any) -> Codes:
        """Codes of baskets; a missing basket is -1."""
        place = {label: code for code, label in enumerate(self.items.labels)}
        codes = []
        for basket in values:
            if is_missing(basket):
                codes.append(MISSING)
                continue
            pattern = sum(1 << place[label] for label in set(basket))
            if pattern not in self._code_of:
                raise ValueError(f"basket {sorted(basket)} has no design: use baskets of the designed size")
            codes.append(self._code_of[pattern])
        return np.array(codes, dtype=np.int64)

    def decode(self, codes: Codes) -> NDArray[Any]:
        labels = self.items.labels
        found = np.empty(np.shape(codes), dtype=object)
        for place, code in np.ndenumerate(codes):
            pattern = self.patterns[code]
            found[place] = (
                None if code < 0 else frozenset(labels[i] for i in range(self.items.size) if pattern >> i & 1)
            )
        return found

    def members(self, codes: Codes) -> Codes:
        """Item codes of baskets of one size, one row a basket."""
        return np.array(
            [[i for i in range(self.items.size) if self.patterns[code] >> i & 1] for code in codes.tolist()]
        )


def table(law: SizeLaw, items: int) -> Floats:
    """P[t', t] over all subsets t' and all baskets t of the law's size."""
    reported = np.arange(1 << items)
    true = np.array([pattern for pattern in reported.tolist() if int(pattern).bit_count() == law.size])
    overlap = np.bitwise_count(reported[:, None] & true[None, :])
    shown = np.bitwise_count(reported)
    by_noise = law.rho**shown * (1.0 - law.rho) ** (items - shown)
    return np.asarray(law.lift[overlap] * by_noise[:, None])
