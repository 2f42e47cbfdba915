"""Laplace noise on a grid."""

from __future__ import annotations

import math

import numpy as np

from sfumato.channels.additive.noise import LARGEST_NOISE, ScaledNoise
from sfumato.channels.portable import exponential, logarithm
from sfumato.domain import Floats, Interval, check_codes

BOUND_SLACK = tuple(10.0**-digits for digits in range(9, 1, -1))
"""By what share the scale for a bound is raised above width/ln γ, tried one after the other: rounding the law to whole
multiples of 2^-64 lifts its γ a little above the formula's. On the usual grid the first, 1e-9, is enough up to 1,000;
γ = 1e6 takes 1e-7 and 1e9 takes 1e-5. By judgement none above 1 %: that γ needs another channel."""


class Laplace(ScaledNoise):
    """A channel that adds Laplace noise to a number: w = x + Laplace(scale), rounded to a grid.

    Law: q[k] = F((k+½)·step) − F((k−½)·step) for k steps of noise, F(t) = ½·e^(t/scale) for t ≤ 0; reports further than
    ten scales outside the domain become its end reports.
    γ: e^(width/scale), read off the table (∞ when the law's 64 bits cannot hold the far tail).
    Interval width at confidence c: −2·scale·ln(1−c).

    ``domain``: the Interval of the true values. One of five says how much noise:
    ``gamma`` or ``epsilon``: the bound on the table's γ, or its logarithm; the scale is the least that keeps it.
    ``scale``: the mean absolute noise, in units of the domain.
    ``privacy``: the interval width at ``confidence``, as a share of the domain's width.
    ``snr``: Var(data)/Var(noise), where ``data_deviation`` is the standard deviation of the data; without it they are
    taken to fill the domain evenly.
    ``step``: the distance of grid points; None: at most 1/32 of the noise and 1/1000 of the domain's width.
    ``missing`` and ``outside`` are those of ``Channel``.

    >>> import sfumato as sf
    >>> noise = sf.Laplace(sf.Interval(20, 80), gamma=19)
    >>> round(noise.scale, 2), noise.guarantee().gamma <= 19
    (20.38, True)
    """

    kind = "laplace"
    symmetric_reach = 40.0  # 4e-18 of the noise is further out: near 2^-64, the smallest chance that a law holds
    unit_deviation = math.sqrt(2)
    gathered_beyond = 10.0
    """Scales past the domain where reports are gathered at the end codes. By judgement: at most 2e-5 of the reports are
    further out; fewer scales would blur the ends of the crowd, more would make the grid of reports larger."""

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
            reached = Laplace(self.domain, least * (1 + slack), step=step).exact_gamma
            if reached is not None and reached <= gamma:
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
