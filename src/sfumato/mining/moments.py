"""Means and variances within classes when people chose their own noise.

    E[w] = E[x] at every level,   Var[w | level g] = Var[x] + σ_g²

A report of variance V_g = Var[x] + σ_g² tells 1/V_g about the mean and 1/(2 V_g²) about the variance; with these
weights, found again a few times, the estimates are those of maximum likelihood for normal values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.channels.additive import AdditiveNoise
from sfumato.channels.base import Channel
from sfumato.channels.choice import Choice
from sfumato.domain import Floats
from sfumato.mining.level_columns import levels_in
from sfumato.mining.levels import with_default

LEAST_VARIANCE_SHARE = 0.01
ROUNDS = 8


def noise_variance(channel: Channel) -> float:
    """Var(w) − Var(x) of a channel: the additive noise's own, else the mean spread of reports around a value."""
    if isinstance(channel, AdditiveNoise):
        return channel.noise_variance
    law, values = channel.law(), np.asarray(channel.outputs.values)  # type: ignore[union-attr]
    mean = values @ law
    return float(np.mean(values**2 @ law - mean**2))


def noise_variances(choice: Choice, column: npt.NDArray[Any]) -> Floats:
    """The noise variance of each report of a column that may carry levels."""
    names = choice.levels_of(with_default(choice, levels_in(column)), column.shape)
    known = {name: noise_variance(choice.level(name)) for name in set(names.tolist())}
    return np.array([known[name] for name in names.tolist()])


def moments_of_levels(reports: Floats, mass: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of the true values within each class; `mass[i, y]` is how much record i counts for class y."""
    known = ~np.isnan(reports)
    x, m, taken_off = reports[known, None], mass[known], noise[known, None]
    mean = _average(x, m)
    variance = _less_noise(x - mean, taken_off, m)
    for _ in range(ROUNDS):
        spread = variance + taken_off
        mean = _average(x, m / spread)
        variance = _less_noise(x - mean, taken_off, m / spread**2)
    return mean, variance


def _less_noise(deviation: Floats, noise: Floats, weight: Floats) -> Floats:
    """The mean square without the noise's part, kept above zero."""
    raw = _average(deviation**2, weight)
    return np.asarray(np.maximum(raw - _average(noise, weight), LEAST_VARIANCE_SHARE * np.maximum(raw, 1e-300)))


def _average(values: Floats, weight: Floats) -> Floats:
    total = weight.sum(axis=0)
    return np.asarray((values * weight).sum(axis=0) / np.where(np.abs(total) < 1e-300, 1e-300, total))
