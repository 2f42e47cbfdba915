"""Laws that several tests start from."""

from __future__ import annotations

import numpy as np

from sfumato.channels.baskets import SizeLaw, kept_by_noise


def boosted(size: int, rho: float, gamma: float, counts: np.ndarray) -> SizeLaw:
    """p[j] = c p0[j] γ^(j is boosted), c making the sum 1."""
    weights = kept_by_noise(size, rho) * np.where(counts, gamma, 1.0)
    return SizeLaw(size, float(rho), tuple(float(x) for x in weights / weights.sum()))


def two_level(size: int, rho: float, gamma: float, threshold: int) -> SizeLaw:
    """p[j] = c p0[j] (γ if j ≥ threshold else 1): EGS03's statement 2."""
    return boosted(size, rho, gamma, np.arange(size + 1) >= threshold)
