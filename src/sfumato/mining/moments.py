"""Means and variances within classes, with the noise taken off (LKT08 §6), also where people chose their own noise.

    E[w] = E[x] at every level,   Var[w | level g] = Var[x] + σ_g²

Reports whose mean is another line, E[w | x] = a + b·x, as those of a square wave, are read as (w − a)/b.

A report of variance V_g = Var[x] + σ_g² tells 1/V_g about the mean and 1/(2 V_g²) about the variance; with these
weights, found again a few times, the estimates are those of maximum likelihood for normal values.
"""

from __future__ import annotations

import numpy as np

from sfumato.channels.additive import AdditiveNoise
from sfumato.channels.base import Channel
from sfumato.counts import Column, Reports
from sfumato.domain import Floats, as_numbers

LEAST_VARIANCE_SHARE = 0.01
LEAST_KEPT = 0.1
LEAST_SUM = 0.01  # of the noise, in the mean of all directions
LEAST_SLOPE = 1e-6
ROUNDS = 8


def noise_variance(channel: Channel) -> float:
    """Var((w − a)/b) − Var(x): the additive noise's own, else the mean spread of reports around a value."""
    if isinstance(channel, AdditiveNoise):
        return channel.noise_variance
    law, values = channel.law(), unbiased_values(channel)
    mean = values @ law
    return float(np.mean(values**2 @ law - mean**2))


def unbiased_values(channel: Channel) -> Floats:
    """(w − a)/b of each report w, where a + b·x is the line through E[w | x]; additive noise leaves w as it is."""
    values = np.asarray(channel.outputs.values)  # type: ignore[union-attr]
    if isinstance(channel, AdditiveNoise):
        return values
    true, mean = np.asarray(channel.inputs.values), values @ channel.law()  # type: ignore[union-attr]
    slope = np.cov(true, mean, bias=True)[0, 1] / max(float(np.var(true)), 1e-300)
    if slope < LEAST_SLOPE:
        return values
    return np.asarray(true.mean() + (values - mean.mean()) / slope, np.float64)


def code_values(column: Column, *, as_reported: bool = False) -> Floats:
    """The number that each base code of a noisy column stands for, unbiased unless wanted as reported."""
    levels = column.levels.values()
    return np.concatenate(
        [np.asarray(each.outputs.values) if as_reported else unbiased_values(each) for each in levels]  # type: ignore[union-attr]
    )


def numbers_of(reports: Reports, name: str) -> Floats:
    """Every record's report of a column as an unbiased number, NaN where it is missing."""
    column = reports.column(name)
    if not column.levels:
        return as_numbers(reports.values(name))
    return np.append(code_values(column), np.nan)[column.present]  # code −1: the last entry


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


def less_noise(
    covariance: Floats, noise: Floats, share: float = LEAST_KEPT, *, of: Floats | None = None, even: bool = False
) -> Floats:
    """Covariances (the last two axes) without the noise's part: eigenvalues, in units of the reports' deviations, are
    kept above a share of the noise's part, because what is left after subtraction may be anything down to below zero.

    ``of``: the noise of which that is a share, where it is not the noise that is taken off. ``even``: what that adds is
    taken from the larger eigenvalues, so that their sum, which is known far better than each of them, stays.
    """
    scale = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 1e-300))
    units = scale[..., :, None] * scale[..., None, :]
    part = np.minimum(noise / scale**2, 1.0)
    values, vectors = np.linalg.eigh(covariance / units - part[..., None] * np.eye(part.shape[-1]))
    largest = (part if of is None else np.minimum(of / scale**2, 1.0)).max(axis=-1, initial=0.0)
    least = np.maximum(share * largest, 1e-9)[..., None]
    kept = np.maximum(values, least)
    if even:
        mean = np.maximum(values.mean(axis=-1), np.maximum(LEAST_SUM * largest, 1e-9))[..., None]
        least = np.minimum(least, mean)
        above = np.maximum(values - least, 0.0)
        room = values.shape[-1] * (mean - least)
        kept = least + above * np.minimum(1.0, room / np.maximum(above.sum(axis=-1, keepdims=True), 1e-300))
    return np.asarray((vectors * kept[..., None, :]) @ np.swapaxes(vectors, -1, -2) * units)


def _less_noise(deviation: Floats, noise: Floats, weight: Floats) -> Floats:
    """The mean square without the noise's part, kept above zero."""
    raw = _average(deviation**2, weight)
    if not noise.any():
        return np.maximum(raw, 0.0)
    return np.asarray(np.maximum(raw - _average(noise, weight), LEAST_VARIANCE_SHARE * np.maximum(raw, 1e-300)))


def _average(values: Floats, weight: Floats) -> Floats:
    total = weight.sum(axis=0)
    return np.asarray((values * weight).sum(axis=0) / np.where(np.abs(total) < 1e-300, 1e-300, total))
