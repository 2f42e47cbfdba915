"""How a smooth curve becomes a density: f = e^θ, or f = s·log(1 + e^(θ/s)) which can also come close to zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]

LOWEST = -25.0  # e^-25: a density below this is zero to any number of reports
SOFTNESS = 0.2  # density (uniform = 1) below which the softplus curve bends towards zero


@dataclass(frozen=True)
class Family:
    """A prior over densities: f(θ) with differences of order d of θ penalised by λ·‖Dθ‖²/2.

    ``curve(θ)`` gives f, f', f''; ``rest`` is the θ of the uniform density; ``weights`` the λ to try, largest first
    (for 100 cells; other grids scale them); ``log_prior`` the family's standing before any data.
    """

    name: str
    order: int
    curve: Callable[[Vector], tuple[Vector, Vector, Vector]]
    rest: float
    weights: tuple[float, ...]
    log_prior: float


def exponential(theta: Vector) -> tuple[Vector, Vector, Vector]:
    """f = f' = f'' = e^θ."""
    density = np.exp(np.clip(theta, LOWEST, -LOWEST))
    return density, density, density


def softplus(theta: Vector) -> tuple[Vector, Vector, Vector]:
    """f = s·log(1 + e^(θ/s)), f' = 1/(1 + e^(−θ/s)), f'' = f'(1 − f')/s."""
    z = np.maximum(theta / SOFTNESS, LOWEST)
    small = np.exp(-np.abs(z))
    slope = np.where(z > 0, 1.0, small) / (1.0 + small)
    return SOFTNESS * (np.maximum(z, 0.0) + np.log1p(small)), slope, slope * (1.0 - slope) / SOFTNESS


def _descending(top: float, bottom: float, step: float) -> tuple[float, ...]:
    return tuple(10.0 ** np.arange(top, bottom, -step))


SOFT_REST = SOFTNESS * float(np.log(np.expm1(1 / SOFTNESS)))
SMOOTHNESS = _descending(8.5, -2.6, 2 / 3)
LOG_DENSITY = Family("log density", 2, exponential, 0.0, _descending(8.5, -2.6, 1), -2.6)
SOFT_DENSITY = Family("softplus density", 2, softplus, SOFT_REST, SMOOTHNESS, 0.0)
STEP_DENSITY = Family("even in each interval", 0, softplus, SOFT_REST, _descending(2, -2.1, 1), -3.0)
