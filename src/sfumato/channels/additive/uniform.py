"""Uniform noise on a grid."""

from __future__ import annotations

import math

import numpy as np

from sfumato.channels.additive.noise import AdditiveNoise
from sfumato.domain import Floats, Interval


class Uniform(AdditiveNoise):
    """A channel that adds uniform noise to a number: w = x + U(−halfwidth, halfwidth), rounded to a grid.

    Law: q[k] = the part of the step around k that lies within ±halfwidth, divided by 2·halfwidth.
    γ: ∞, a report rules out every value further away than halfwidth.
    Interval width at confidence c: c·2·halfwidth.

    ``domain``: the Interval of the true values. One of three says how much noise:
    ``halfwidth``: how far the noise reaches to each side, in units of the domain.
    ``privacy``: the interval width at ``confidence``, as a share of the domain's width.
    ``snr``: Var(data)/Var(noise), where ``data_deviation`` is the standard deviation of the data; without it they are
    taken to fill the domain evenly.
    ``step``: the distance of grid points; None: at most 1/32 of the noise and 1/1000 of the domain's width.
    ``missing`` and ``outside`` are those of ``Channel``. ``gamma`` and ``epsilon`` are refused: there is no bound.

    >>> import sfumato as sf
    >>> round(sf.Uniform(sf.Interval(20, 80), privacy=0.5).halfwidth, 2)
    15.79
    """

    kind = "uniform"
    unbounded = "a report rules out values that are far away; use laplace or square-wave"
    own_parameter = "halfwidth"
    symmetric_reach = 1.0
    unit_deviation = 1 / math.sqrt(3)

    def __init__(
        self, domain: Interval, halfwidth: float | None = None, *, privacy: float | None = None,
        confidence: float = 0.95, snr: float | None = None, data_deviation: float | None = None,
        step: float | None = None, missing: str = "pass", outside: str = "refuse", **bound: float | None,
    ) -> None:  # fmt: skip
        ways = {"halfwidth": halfwidth, "privacy": privacy, "snr": snr}
        super().__init__(domain, ways, bound, confidence=confidence, data_deviation=data_deviation, step=step,
                         missing=missing, outside=outside)  # fmt: skip

    @property
    def halfwidth(self) -> float:
        """How far the uniform noise reaches to each side of the true value, in units of the domain."""
        return self.size_of_noise

    def tail(self, distance: Floats) -> Floats:
        return np.maximum(self.halfwidth - distance, 0.0) / (2 * self.halfwidth)

    def density(self, noise: Floats) -> Floats:
        reach = self.halfwidth * (1 + 1e-9)  # midpoints one halfwidth apart must not differ by rounding
        return np.where(np.abs(noise) <= reach, 1 / (2 * self.halfwidth), 0.0)

    def _width_of_unit(self, confidence: float) -> float:
        return 2 * confidence
