"""Gaussian noise on a grid."""

from __future__ import annotations

import math

import numpy as np

from sfumato.channels.additive.noise import ScaledNoise
from sfumato.channels.portable import normal_quantile, normal_tail
from sfumato.domain import Floats


class Gaussian(ScaledNoise):
    """A channel that adds gaussian noise to a number: w = x + N(0, scale²), rounded to a grid.

    Law: q[k] = Φ((k+½)·step/scale) − Φ((k−½)·step/scale) for k steps of noise.
    γ: ∞, the tails have no bound.
    Interval width at confidence c: 2·z((1+c)/2)·scale.

    ``domain``: the Interval of the true values. One of three says how much noise:
    ``scale``: the standard deviation of the noise, in units of the domain.
    ``privacy``: the interval width at ``confidence`` (0.95 unless given), as a share of the domain's width.
    ``snr``: Var(data)/Var(noise), where ``data_deviation`` is the standard deviation of the data; without it they are
    taken to fill the domain evenly.
    ``step``: the distance of grid points; None: at most 1/32 of the noise and 1/1000 of the domain's width.
    ``missing`` and ``outside`` are those of ``Channel``. ``gamma`` and ``epsilon`` are refused: there is no bound.

    >>> import sfumato as sf
    >>> round(sf.Gaussian(sf.Interval(20, 80), privacy=1.0).scale, 2)
    15.31
    >>> sf.Gaussian(sf.Interval(20, 80), snr=0.25, data_deviation=12.0).scale
    24.0
    """

    kind = "gaussian"
    unbounded = "its tails have no bound; use laplace or square-wave"
    symmetric_reach = 7.0  # by judgement: 2.6e-12 of the noise is further out, and goes to the ends
    unit_deviation = 1.0

    def tail(self, distance: Floats) -> Floats:
        return normal_tail(distance / self.scale)

    def density(self, noise: Floats) -> Floats:
        return np.exp(-0.5 * (noise / self.scale) ** 2) / (self.scale * math.sqrt(2 * math.pi))

    def _width_of_unit(self, confidence: float) -> float:
        return 2 * normal_quantile((1 + confidence) / 2)
