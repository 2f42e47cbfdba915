"""Means and variances of true values within classes, from reports less their noise (LKT08 §6).

People may have chosen different levels of noise σ_g:

    E[w] = E[x] at every level,   Var[w | level g] = Var[x] + σ_g²

Where the mean of reports is another line, E[w | x] = a + b·x, as with a square wave, a report w is read as
u = (w − a)/b; and where the noise depends on the value, E[w² | x] = c + d·x + e·x², its square is read as
q = (w² − c − d·u)/e:

    E[u | x] = x,   E[q | x] = x²,   Var[x] = E[q] − E[u]²,   u² − q is what the noise adds to a square

A report of variance V_g = Var[x] + σ_g² has the information 1/V_g about the mean and 1/(2 V_g²) about the variance;
with these weights, computed anew a few times, the estimates are those of maximum likelihood for normal values.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr

from sfumato.channels.additive import AdditiveNoise
from sfumato.channels.base import Channel
from sfumato.counts import Column, Reports
from sfumato.domain import Floats, as_numbers
from sfumato.evidence.observed import LEAST_DOUBLE

LEAST_VARIANCE_SHARE = 0.01
"""A variance within a class is at least this part of that of its reports, because after subtraction of the noise any
number may be left, also one below zero. By judgement: larger makes values that hardly vary look spread, smaller makes a
class whose difference chance drove to zero far too sure of its values."""
LEAST_VARIANCE = 1e-9
"""The least variance, in units of a column's own; `var_smoothing` of scikit-learn's GaussianNB."""
ROUNDING = 1e-12
"""A deviation of less than this part of a column's numbers is what rounding leaves of equal numbers: doubles round to
1e-16 of a number, and sums of many lose a few digits more."""
LEAST_KEPT = 0.1
"""Part of the noise's variance that remains in every direction of a covariance after subtraction. By judgement: larger
blunts narrow directions that exist, smaller leaves directions whose width is chance and which decide the class."""
LEAST_SUM = 0.01
"""The same for the mean of all directions, which has a far smaller error than each of them. By judgement."""
LEAST_SLOPE = 1e-6
"""Slope b of the mean report (and, squared, curvature e of the mean square) below which reports say nothing of the
value and are left as they are; only rounding lies below it."""
MOST_DEVIATIONS = 40.0
"""Deviations from the mean where the normal density e^(−z²/2) is below the smallest double."""
LAW_RUNS = 400
"""Runs of report codes in which the moments of a channel's reports are computed, so that a table of thousands of codes
is not needed whole. By judgement; a run is then a quarter of a per cent of the reports' range."""
ROUNDS = 8
"""How often the weights of reports with different noise are computed anew. By judgement; they settle after a few."""


@lru_cache(maxsize=1024)
def unbiased_readings(channel: Channel) -> tuple[Floats, Floats]:
    """Return (u, u² − q) of each report code: an unbiased number, and by how much its square is too large.

    E[u | x] = x and E[q | x] = x². Both are computed from the middle of the domain: u² − q stays unbiased.
    """
    values = np.asarray(channel.outputs.values, np.float64)  # type: ignore[union-attr]
    if isinstance(channel, AdditiveNoise):
        return values, np.full(values.size, channel.noise_variance)
    true = np.asarray(channel.inputs.values, np.float64)  # type: ignore[union-attr]
    middle = (true[0] + true[-1]) / 2
    true, values = true - middle, values - middle
    mean, square = report_moments(channel, values)
    slope, start = np.polyfit(true, mean, 1)
    noise = np.full(values.size, float(np.mean(square - mean**2)))
    if slope < LEAST_SLOPE:
        return values + middle, noise
    numbers = (values - start) / slope
    e, d, c = np.polyfit(true, square, 2) if true.size > 2 else (0.0, 0.0, 0.0)
    if e < LEAST_SLOPE**2:
        return numbers + middle, noise / slope**2
    return numbers + middle, numbers**2 - (values**2 - c - d * numbers) / e


def report_moments(channel: Channel, values: Floats) -> tuple[Floats, Floats]:
    """Return E[w | x] and E[w² | x] of every true value x; ``values`` are the reports w by code."""
    first, edges = np.arange(0, values.size, max(1, values.size // LAW_RUNS)), channel.outputs.edges  # type: ignore[union-attr]
    law = channel.matrix(reported=np.append(edges[first], edges[-1]))
    length = np.diff(np.append(first, values.size))
    mean, square = (np.add.reduceat(power, first) / length @ law for power in (values, values**2))
    return mean, square


def unbiased_values(channel: Channel) -> Floats:
    """Return u = (w − a)/b of each report w, where a + b·x is the line through E[w | x]; u = w for additive noise."""
    return unbiased_readings(channel)[0]


def code_values(column: Column, *, as_reported: bool = False) -> Floats:
    """Return the number that each base code of a noisy column stands for.

    Base codes are those of all levels that people chose, one level after the other. as_reported: the number that was
    sent, instead of the unbiased one.
    """
    channels = column.levels.values()
    return np.concatenate(
        [np.asarray(channel.outputs.values) if as_reported else unbiased_values(channel) for channel in channels]  # type: ignore[union-attr]
    )


def numbers_of(reports: Reports, name: str) -> Floats:
    """Return every record's report of a column as an unbiased number, NaN where it is missing."""
    column = reports.column(name)
    if not column.levels:
        return as_numbers(reports.values(name))
    return np.append(code_values(column), np.nan)[column.present]  # code −1: the last entry


def code_excess(column: Column) -> Floats:
    """Return, for each base code of a noisy column, by how much the square of its unbiased number is too large.

    That is u² − q, with E[u | x] = x and E[q | x] = x² (`unbiased_readings`).
    """
    return np.concatenate([unbiased_readings(channel)[1] for channel in column.levels.values()])


def code_noise(column: Column) -> Floats:
    """Return, for each base code of a noisy column, the noise variance of its level: the mean over its reports."""
    excess, people, starts = code_excess(column), column.histogram.astype(np.float64), column.starts
    if not excess.size:
        return excess
    people_of_level = np.add.reduceat(people, starts)
    sizes = np.diff(np.append(starts, excess.size))
    mean_of_codes = np.add.reduceat(excess, starts) / sizes
    mean_of_people = np.add.reduceat(excess * people, starts) / np.maximum(people_of_level, 1.0)
    return np.repeat(np.maximum(np.where(people_of_level > 0, mean_of_people, mean_of_codes), 0.0), sizes)


def mean_noise(column: Column) -> float:
    """Return the mean noise variance of a column's reports; 0 where they are clear."""
    if not column.levels:
        return 0.0
    return float(np.average(code_noise(column)[column.starts], weights=column.people))


def moments(
    values: Floats, mass: Floats, noise: float | Floats = 0.0, excess: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return the mean and the variance of the true values within each class.

    values: unbiased numbers, NaN where missing. mass: [i, y], how much value i counts for class y.
    noise: the noise variance of each value, or of all of them. excess: u² − q of each value, by how much its square is
        too large; None: the noise variance.
    """
    present = ~np.isnan(values)
    x, m = values[present, None], mass[present]
    noise = np.broadcast_to(np.asarray(noise, float), values.shape)[present, None]
    subtracted = noise if excess is None else excess[present, None]
    mean = _class_means(x, m)
    variance = _variance_without_noise(x - mean, subtracted, m)
    if noise.size and np.ptp(noise) > 0:
        for _ in range(ROUNDS):
            spread = np.maximum(variance + noise, ROUNDING * noise.max())
            mean = _class_means(x, m / spread)
            variance = _variance_without_noise(x - mean, subtracted, m / spread**2)
    return mean, variance


def units(centre: Floats, variance: Floats) -> Floats:
    """Return the number by which each column is divided before columns are compared: its standard deviation.

    Where the numbers of a column differ by rounding only, it is so large that the quotients are equal.
    centre, variance: mean and variance of each column.
    """
    size, deviation = np.abs(centre), np.sqrt(np.maximum(variance, 0.0))
    return np.where(deviation > ROUNDING * size, deviation, np.where(size > 0, size, 1.0) / ROUNDING)


def label_error(mass: Floats) -> Floats:
    """Return the standard error that blurred labels leave in the number of people of each class; 0 for clear labels.

    mass: [i, y], how much value i counts for class y; negative entries mark blurred labels.
    """
    return np.where((mass < 0).any(axis=0), np.sqrt((mass**2).sum(axis=0)), 0.0)


def shrink_variances(variance: Floats, mass: Floats, noise: float | Floats = 0.0) -> Floats:
    """Return variances within classes, drawn together as far as the noise hides their differences, and above zero.

        s² = 2/Σ_i mass_i/(v + noise_i)² − 2v²/Σ_i mass_i        the noise's part in the squared error of v
        v ← (τ²·v + s²·v̄)/(τ² + s²)                              τ² the spread of v over classes beyond s², v̄ their mean
        v ← E[v | v > 0] = v + s·φ(v/s)/Φ(v/s)

    Without noise they stay as they are. variance: v of each class. mass: [i, y], how much value i counts for class y.
    noise: the noise variance of each value, or of all of them.
    """
    if not np.any(noise):
        return variance
    unit = float(np.max(noise))
    variance, noise = variance / unit, np.asarray(noise, float).reshape(-1, 1) / unit
    people = np.maximum(np.maximum(mass.sum(axis=0), label_error(mass)), LEAST_DOUBLE)
    squared_precision = np.maximum(mass, 0.0) / np.maximum(variance + noise, ROUNDING) ** 2
    information = np.maximum(np.sum(squared_precision, axis=0), LEAST_DOUBLE)
    error, share = np.maximum(2 / information - 2 * variance**2 / people, LEAST_DOUBLE), people / people.sum()
    mean = float(share @ variance)
    beyond = max(float(share @ ((variance - mean) ** 2 - error)), 0.0)
    kept = beyond / (beyond + error)
    shrunk, deviation = kept * variance + (1 - kept) * mean, np.sqrt(kept * error + share**2 @ error)
    z = np.minimum(shrunk / deviation, MOST_DEVIATIONS)
    above = deviation * np.exp(-0.5 * (z**2 + np.log(2 * np.pi)) - log_ndtr(z))
    return np.asarray(unit * (shrunk + above))


def subtract_noise(
    covariance: Floats, noise: Floats, share: float = LEAST_KEPT, *, of: Floats | None = None, even: bool = False
) -> Floats:
    """Return covariances without the noise, each of their eigenvalues above a share of the noise's variance.

    After subtraction an eigenvalue may be any number, also below zero. covariance: of reports in `units`, along the
    last two axes. noise: the noise variance of each column. share: the share of the noise that every eigenvalue keeps,
    in units of the reports' deviations. of: the noise of which that is a share; None: ``noise``. even: what the smaller
    eigenvalues gain is taken from the larger ones, so that their sum, whose error is far smaller, stays.
    """
    scale = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), LEAST_VARIANCE))
    units = scale[..., :, None] * scale[..., None, :]
    part = np.minimum(noise / scale**2, 1.0)
    values, vectors = np.linalg.eigh(covariance / units - part[..., None] * np.eye(part.shape[-1]))
    largest = (part if of is None else np.minimum(of / scale**2, 1.0)).max(axis=-1, initial=0.0)
    least = np.maximum(share * largest, LEAST_VARIANCE)[..., None]
    kept = np.maximum(values, least)
    if even:
        mean = np.maximum(values.mean(axis=-1), np.maximum(LEAST_SUM * largest, LEAST_VARIANCE))[..., None]
        least = np.minimum(least, mean)
        above = np.maximum(values - least, 0.0)
        room = values.shape[-1] * (mean - least)
        kept = least + above * np.minimum(1.0, room / np.maximum(above.sum(axis=-1, keepdims=True), LEAST_DOUBLE))
    return np.asarray((vectors * kept[..., None, :]) @ np.swapaxes(vectors, -1, -2) * units)


def _variance_without_noise(deviation: Floats, noise: Floats, weight: Floats) -> Floats:
    """Return the mean square of deviations less the mean noise within each class, at least 1 % of the former.

    Where labels are blurred (weights below zero) the mean square is at least 1 % of that of all classes together.
    """
    raw = _class_means(deviation**2, weight)
    if (weight < 0).any():
        of_all = _class_means(deviation**2, np.maximum(weight.sum(axis=1, keepdims=True), 0.0))
        raw = np.maximum(raw, LEAST_VARIANCE_SHARE * of_all)
    if not noise.any():
        return raw
    return np.asarray(np.maximum(raw - _class_means(noise, weight), LEAST_VARIANCE_SHARE * raw))


def _class_means(values: Floats, weight: Floats) -> Floats:
    """Return the mean within each class, or of all classes where blurred labels hide whether it has any people."""
    total, everybody = weight.sum(axis=0), np.maximum(weight.sum(axis=1, keepdims=True), 0.0)
    enough = (total > 0) & (total >= label_error(weight))
    of_all = (values * everybody).sum(axis=0) / max(float(everybody.sum()), LEAST_DOUBLE)
    return np.asarray(np.where(enough, (values * weight).sum(axis=0) / np.where(enough, total, 1.0), of_all))
