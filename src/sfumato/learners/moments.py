"""Means and variances within classes, with the noise taken off (LKT08 §6), also where people chose their own noise.

    E[w] = E[x] at every level,   Var[w | level g] = Var[x] + σ_g²

Reports whose mean is another line, E[w | x] = a + b·x, as those of a square wave, are read as u = (w − a)/b; and where
their noise depends on the value, E[w² | x] = c + d·x + e·x², squares are read as q = (w² − c − d·u)/e:

    E[u | x] = x,   E[q | x] = x²,   Var[x] = E[q] − E[u]²,   u² − q is what the noise adds to a square

A report of variance V_g = Var[x] + σ_g² tells 1/V_g about the mean and 1/(2 V_g²) about the variance; with these
weights, found again a few times, the estimates are those of maximum likelihood for normal values.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr

from sfumato.channels.additive import AdditiveNoise
from sfumato.channels.base import Channel
from sfumato.counts import Column, Reports
from sfumato.domain import Floats, as_numbers

LEAST_VARIANCE_SHARE = 0.01
LEAST_VARIANCE = 1e-9  # in units of a column: scikit-learn's too, for what classes without any leave
ROUNDING = 1e-12  # of the size of a column's numbers: what sums of equal ones may leave of a deviation
LEAST_KEPT = 0.1
LEAST_SUM = 0.01  # of the noise, in the mean of all directions
LEAST_SLOPE = 1e-6
TINY = 1e-300
FAR = 40.0  # deviations from the mean where the normal density is 0 in a double
PROBED_RUNS = 400  # of report codes, for the mean of reports by value
ROUNDS = 8


@lru_cache(maxsize=1024)
def unbiased_readings(channel: Channel) -> tuple[Floats, Floats]:
    """(u, u² − q) of each report code: an unbiased number, and by how much its square is too large.

    Both are read from the middle of the domain, which the difference does not notice on average.
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
    bend, tilt, rest = np.polyfit(true, square, 2) if true.size > 2 else (0.0, 0.0, 0.0)
    if bend < LEAST_SLOPE**2:
        return numbers + middle, noise / slope**2
    return numbers + middle, numbers**2 - (values**2 - rest - tilt * numbers) / bend


def report_moments(channel: Channel, values: Floats) -> tuple[Floats, Floats]:
    """E[w | x] and E[w² | x] of every true value, from the law in runs of report codes."""
    first, edges = np.arange(0, values.size, max(1, values.size // PROBED_RUNS)), channel.outputs.edges  # type: ignore[union-attr]
    law = channel.matrix(reported=np.append(edges[first], edges[-1]))
    length = np.diff(np.append(first, values.size))
    mean, square = (np.add.reduceat(power, first) / length @ law for power in (values, values**2))
    return mean, square


def unbiased_values(channel: Channel) -> Floats:
    """(w − a)/b of each report w, where a + b·x is the line through E[w | x]; additive noise leaves w as it is."""
    return unbiased_readings(channel)[0]


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


def code_excess(column: Column) -> Floats:
    """u² − q of each base code: by how much the square of its number is too large."""
    return np.concatenate([unbiased_readings(channel)[1] for channel in column.levels.values()])


def code_noise(column: Column) -> Floats:
    """The noise variance of a report with each base code: the mean of its level's reports."""
    excess, people, starts = code_excess(column), column.histogram.astype(np.float64), column.starts
    if not excess.size:
        return excess
    summed = np.add.reduceat(people, starts)
    sizes = np.diff(np.append(starts, excess.size))
    plain = np.add.reduceat(excess, starts) / sizes
    found = np.add.reduceat(excess * people, starts) / np.maximum(summed, 1.0)
    return np.repeat(np.maximum(np.where(summed > 0, found, plain), 0.0), sizes)


def mean_noise(column: Column) -> float:
    """The mean noise variance of a column's reports; 0 where they are clear."""
    if not column.levels:
        return 0.0
    return float(np.average(code_noise(column)[column.starts], weights=column.people))


def moments(
    values: Floats, mass: Floats, noise: float | Floats = 0.0, excess: Floats | None = None
) -> tuple[Floats, Floats]:
    """Mean and variance of the true values within each class; `mass[i, y]` is how much value i counts for class y.

    `noise` is the noise variance behind each value, or the one behind all of them; `excess` is by how much the square
    of each value is too large, where that is not the noise variance itself.
    """
    known = ~np.isnan(values)
    x, m = values[known, None], mass[known]
    noise = np.broadcast_to(np.asarray(noise, float), values.shape)[known, None]
    taken_off = noise if excess is None else excess[known, None]
    mean = _average(x, m)
    variance = _less_noise(x - mean, taken_off, m)
    if noise.size and np.ptp(noise) > 0:
        for _ in range(ROUNDS):
            spread = np.maximum(variance + noise, ROUNDING * noise.max())
            mean = _average(x, m / spread)
            variance = _less_noise(x - mean, taken_off, m / spread**2)
    return mean, variance


def units(centre: Floats, variance: Floats) -> Floats:
    """What the numbers of each column are counted in: their deviation or, where they differ by no more than rounding,
    so large a number that whatever stands there is the same."""
    size, deviation = np.abs(centre), np.sqrt(np.maximum(variance, 0.0))
    return np.where(deviation > ROUNDING * size, deviation, np.where(size > 0, size, 1.0) / ROUNDING)


def label_error(mass: Floats) -> Floats:
    """The standard error that blurred labels leave in how many people each class has; `mass[i, y]` as for `moments`."""
    return np.where((mass < 0).any(axis=0), np.sqrt((mass**2).sum(axis=0)), 0.0)


def settled(variance: Floats, mass: Floats, noise: float | Floats = 0.0) -> Floats:
    """Variances v ± s within classes as far as they can be known, s being the noise's part in their error:

        s² = 2/Σ_i mass_i/(v + noise_i)² − 2v²/Σ_i mass_i

    Classes share what they cannot tell apart, v ← (τ²·v + s²·v̄)/(τ² + s²), τ² the spread of v beyond s; and because a
    variance is above zero, it is taken as E[v | v > 0] = v + s·φ(v/s)/Φ(v/s). Without noise they stay as they are.
    """
    if not np.any(noise):
        return variance
    unit = float(np.max(noise))
    variance, noise = variance / unit, np.asarray(noise, float).reshape(-1, 1) / unit
    people = np.maximum(np.maximum(mass.sum(axis=0), label_error(mass)), TINY)
    told = np.maximum(np.sum(np.maximum(mass, 0.0) / np.maximum(variance + noise, ROUNDING) ** 2, axis=0), TINY)
    error, share = np.maximum(2 / told - 2 * variance**2 / people, TINY), people / people.sum()
    mean = float(share @ variance)
    beyond = max(float(share @ ((variance - mean) ** 2 - error)), 0.0)
    kept = beyond / (beyond + error)
    found, deviation = kept * variance + (1 - kept) * mean, np.sqrt(kept * error + share**2 @ error)
    standard = np.minimum(found / deviation, FAR)
    above = deviation * np.exp(-0.5 * (standard**2 + np.log(2 * np.pi)) - log_ndtr(standard))
    return np.asarray(unit * (found + above))


def less_noise(
    covariance: Floats, noise: Floats, share: float = LEAST_KEPT, *, of: Floats | None = None, even: bool = False
) -> Floats:
    """Covariances (the last two axes, of numbers in `units`) without the noise's part: eigenvalues, in units of the
    reports' deviations, are kept above a share of the noise's part, because what is left after subtraction may be
    anything down to below zero.

    ``of``: the noise of which that is a share, where it is not the noise that is taken off. ``even``: what that adds is
    taken from the larger eigenvalues, so that their sum, which is known far better than each of them, stays.
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
        kept = least + above * np.minimum(1.0, room / np.maximum(above.sum(axis=-1, keepdims=True), TINY))
    return np.asarray((vectors * kept[..., None, :]) @ np.swapaxes(vectors, -1, -2) * units)


def _less_noise(deviation: Floats, noise: Floats, weight: Floats) -> Floats:
    """The mean square without the noise's part, kept above zero; of classes told by blurred labels, also above a part
    of everybody's, because what chance leaves of a difference may be anything down to below zero."""
    raw = _average(deviation**2, weight)
    if (weight < 0).any():
        everybody = _average(deviation**2, np.maximum(weight.sum(axis=1, keepdims=True), 0.0))
        raw = np.maximum(raw, LEAST_VARIANCE_SHARE * everybody)
    if not noise.any():
        return raw
    return np.asarray(np.maximum(raw - _average(noise, weight), LEAST_VARIANCE_SHARE * raw))


def _average(values: Floats, weight: Floats) -> Floats:
    """The mean within each class; everybody's, where a class has nobody, or fewer than its labels leave in doubt."""
    total, everybody = weight.sum(axis=0), np.maximum(weight.sum(axis=1, keepdims=True), 0.0)
    known = (total > 0) & (total >= label_error(weight))
    of_all = (values * everybody).sum(axis=0) / max(float(everybody.sum()), TINY)
    return np.asarray(np.where(known, (values * weight).sum(axis=0) / np.where(known, total, 1.0), of_all))
