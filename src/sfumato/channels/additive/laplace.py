"""Laplace noise on a grid."""

from __future__ import annotations

import math

import numpy as np

from sfumato.channels.additive.noise import LARGEST_NOISE, ScaledNoise
from sfumato.channels.portable import exponential, logarithm
from sfumato.domain import Floats, Interval, check_codes

BOUND_SLACK = tuple(10.0**-digits for digits in range(9, 1, -1))


class Laplace(ScaledNoise):
    """w = x + Laplace(scale), gathered at the ends once it is far outside the domain.

    Domain: an Interval.
    Law: q[k] = F((k+½)·step) − F((k−½)·step), F(t) = ½·e^(t/scale) for t ≤ 0.
    γ: e^(range/scale), read off the table (∞ when the law's 64 bits cannot hold the far tail). With ``gamma=`` or
    ``epsilon=`` the scale is the least, to nine digits, at which the table's γ is at most that.
    Interval width at confidence c: −2·scale·ln(1−c).

    >>> import sfumato as sf
    >>> noise = sf.Laplace(sf.Interval(20, 80), gamma=19)
    >>> round(noise.scale, 2), noise.guarantee().gamma <= 19
    (20.38, True)
    """

    kind = "laplace"
    symmetric_reach, unit_deviation = 40.0, math.sqrt(2)
    gathered_beyond = 10.0

    def __init__(
        self, domain: Interval, scale: float | None = None, *, privacy: float | None = None,
        confidence: float = 0.95, snr: float | None = None, data_deviation: float | None = None,
        gamma: float | None = None, epsilon: float | None = None, step: float | None = None, missing: str = "pass",
        outside: str = "refuse",
    ) -> None:  # fmt: skip
        bound = {"gamma": gamma, "epsilon": epsilon}
        super().__init__(domain, scale, privacy=privacy, confidence=confidence, snr=snr, data_deviation=data_deviation,
                         step=step, missing=missing, outside=outside, **bound)  # fmt: skip

    def _size_of_bound(self, gamma: float, step: float | None) -> float:
        least = self.domain.width / logarithm(gamma)
        if self.unit_deviation * least > LARGEST_NOISE / 2 * self.domain.width:
            raise ValueError(f"gamma={gamma:g} takes noise too wide to read any crowd through; use 1.06 or more")
        for slack in BOUND_SLACK:
            found = Laplace(self.domain, least * (1 + slack), step=step).exact_gamma
            if found is not None and found <= gamma:
                return least * (1 + slack)
        raise ValueError(f"gamma={gamma:g} is more than laplace noise in 64 bits can state; use square-wave, or less")

    def tail(self, distance: Floats) -> Floats:
        return 0.5 * exponential(-distance / self.scale)

    def density(self, noise: Floats) -> Floats:
        return np.exp(-np.abs(noise) / self.scale) / (2 * self.scale)

    def _width_of_unit(self, confidence: float) -> float:
        return -2 * logarithm(1 - confidence)

    def _report_reach(self) -> int:
        check_codes(2 * self.gathered_beyond * self.scale / self.step)
        return math.ceil(self.gathered_beyond * self.scale / self.step)

    def _reach(self, steps: int) -> int:
        wanted = self.symmetric_reach * self.size_of_noise / self.step
        return math.ceil(min(wanted, steps + self._report_reach()))
