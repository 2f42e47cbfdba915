"""Gaussian noise on a grid."""

from __future__ import annotations

import math

import numpy as np

from sfumato.channels.additive.noise import ScaledNoise
from sfumato.channels.portable import normal_quantile, normal_tail
from sfumato.domain import Floats


class Gaussian(ScaledNoise):
    """w = x + N(0, scale²).

    Domain: an Interval.
    Law: q[k] = Φ((k+½)·step/scale) − Φ((k−½)·step/scale).
    γ: ∞, the tails have no bound.
    Interval width at confidence c: 2·z((1+c)/2)·scale.

    >>> import sfumato as sf
    >>> round(sf.Gaussian(sf.Interval(20, 80), privacy=1.0).scale, 2)
    15.31
    >>> sf.Gaussian(sf.Interval(20, 80), snr=0.25, data_deviation=12.0).scale
    24.0
    """

    kind = "gaussian"
    unbounded = "its tails have no bound; use laplace or square-wave"
    symmetric_reach, unit_deviation = 7.0, 1.0

    def tail(self, distance: Floats) -> Floats:
        return normal_tail(distance / self.scale)

    def density(self, noise: Floats) -> Floats:
        return np.exp(-0.5 * (noise / self.scale) ** 2) / (self.scale * math.sqrt(2 * math.pi))

    def _width_of_unit(self, confidence: float) -> float:
        return 2 * normal_quantile((1 + confidence) / 2)
