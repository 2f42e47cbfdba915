"""Means and variances within classes, with the noise taken off (LKT08 §6), also where people chose their own noise.

    E[w] = E[x] at every level,   Var[w | level g] = Var[x] + σ_g²

A report of variance V_g = Var[x] + σ_g² tells 1/V_g about the mean and 1/(2 V_g²) about the variance; with these
weights, found again a few times, the estimates are those of maximum likelihood for normal values.
"""

from __future__ import annotations

import numpy as np

from sfumato.channels.additive import AdditiveNoise
from sfumato.channels.base import Channel
from sfumato.counts import Column
from sfumato.domain import Floats

LEAST_VARIANCE_SHARE = 0.01
ROUNDS = 8


def noise_variance(channel: Channel) -> float:
    """Var(w) − Var(x) of a channel: the additive noise's own, else the mean spread of reports around a value."""
    if isinstance(channel, AdditiveNoise):
        return channel.noise_variance
    law, values = channel.law(), np.asarray(channel.outputs.values)  # type: ignore[union-attr]
    mean = values @ law
    return float(np.mean(values**2 @ law - mean**2))


def code_values(column: Column) -> Floats:
    """The number that each base code of a noisy column stands for."""
    values = [np.asarray(channel.outputs.values) for channel in column.levels.values()]  # type: ignore[union-attr]
    return np.concatenate(values)


def code_noise(column: Column) -> Floats:
    """The noise variance of a report with each base code: that of its level."""
    parts = [np.full(channel.outputs.size, noise_variance(channel)) for channel in column.levels.values()]
    return np.concatenate(parts)


def mean_noise(column: Column) -> float:
    """The mean noise variance of a column's reports; 0 where they are clear."""
    if not column.levels:
        return 0.0
    noise = [noise_variance(channel) for channel in column.levels.values()]
    return float(np.average(noise, weights=column.people))


def moments(values: Floats, mass: Floats, noise: float | Floats = 0.0) -> tuple[Floats, Floats]:
    """Mean and variance of the true values within each class; `mass[i, y]` is how much value i counts for class y.

    `noise` is the noise variance behind each value, or the one behind all of them.
    """
    known = ~np.isnan(values)
    x, m = values[known, None], mass[known]
    taken_off = np.broadcast_to(np.asarray(noise, float), values.shape)[known, None]
    mean = _average(x, m)
    variance = _less_noise(x - mean, taken_off, m)
    if taken_off.size and np.ptp(taken_off) > 0:
        for _ in range(ROUNDS):
            spread = variance + taken_off
            mean = _average(x, m / spread)
            variance = _less_noise(x - mean, taken_off, m / spread**2)
    return mean, variance


def _less_noise(deviation: Floats, noise: Floats, weight: Floats) -> Floats:
    """The mean square without the noise's part, kept above zero."""
    raw = _average(deviation**2, weight)
    if not noise.any():
        return np.maximum(raw, 0.0)
    return np.asarray(np.maximum(raw - _average(noise, weight), LEAST_VARIANCE_SHARE * np.maximum(raw, 1e-300)))


def _average(values: Floats, weight: Floats) -> Floats:
    total = weight.sum(axis=0)
    return np.asarray((values * weight).sum(axis=0) / np.where(np.abs(total) < 1e-300, 1e-300, total))
