"""`Draws`: the random numbers of releases, cryptographic ones or those of a generator for simulations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from sfumato.channels.program.random_words import SecureWords
from sfumato.domain import Floats

OWN_STREAM = 2004
"""A number mixed into a seed, so that data simulated from the same seed are independent of the noise. Any number will
do.
"""
Size = int | tuple[int, ...]


class Draws:
    """A source of the random numbers with which a release is made.

    ``rng``: None draws cryptographic random words; a NumPy generator or a seed is for simulations.
    """

    def __init__(self, rng: np.random.Generator | int | None = None) -> None:
        if isinstance(rng, (int, np.integer)):
            rng = np.random.default_rng([int(rng), OWN_STREAM])
        if rng is not None and not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng={rng!r} is no generator; pass numpy.random.default_rng(seed), or None to be secure")
        self._rng: Any = rng
        self._words = SecureWords()

    def uniform(self, size: Size) -> Floats:
        """Draw an array of uniform numbers in (0, 1), both ends excluded; ``size``: its size or shape."""
        if self._rng is not None:
            return np.asarray(np.maximum(self._rng.random(size), 2.0**-54))
        words = self._words.draw(int(np.prod(size)))
        return (((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53).reshape(size)

    def normal(self, size: Size) -> Floats:
        """Draw an array of standard normal numbers; ``size``: its size or shape."""
        return np.asarray(self._rng.standard_normal(size) if self._rng is not None else ndtri(self.uniform(size)))
