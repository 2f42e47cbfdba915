"""`mean`: the average of the true values behind reports, unbiased wherever a channel allows it.

Where the expected report is a line in the true value, E[r | x] = a + b·x, as for additive noise and the piecewise
channel (a = 0, b = 1) and for the square wave, the *unbiased number* u = (r − a)/b of a report has the mean x. So the
average of all u is unbiased whatever the distribution of x is. Its standard error is √(Σ(u − ū)²/(n(n − 1))), with
weights w √(Σw²(u − ū)²/((Σw)² − Σw²)), but no less than what the noise alone leaves. Where the expected report is no
line the mean is that of `reconstruct`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.channels import Channel, Mechanism
from sfumato.domain import Categories, Floats
from sfumato.reconstruction.estimate import WithError
from sfumato.reconstruction.reconstruct import counts_of, reconstruct

STRAIGHT = 1e-6
"""E[r | x] counts as a line if it is nowhere further from one than this part of the range of true values. By judgement:
such a bend moves a mean by about a millionth of the range; much smaller, rounding of the law would count as a bend."""


def mean(
    reports: Any, channel: Mechanism | None = None, *, level: Any = None, by: Any = None, weights: Any = None
) -> Any:
    """Return the mean of the true values behind reports, with its standard error; by class, a dictionary with one each.

    ``reports``: a column of reports, or `Counts`. ``channel``: the channel that made the reports, or the choice of
    levels that people had; None for counts, which know theirs. ``level``: the privacy level of each report, where
    people chose one. ``by``: the class of each report; None: no classes. ``weights``: how many people each report
    stands for; None: one.

    >>> import sfumato as sf
    >>> gain = sf.Piecewise(sf.Interval(0, 100), gamma=19)
    >>> reports = gain.randomize([0.0] * 900 + [50.0] * 100, rng=1)
    >>> print(sf.mean(reports, gain))
    4.2 ± 1.1
    """
    counts = counts_of(reports, channel, level, by, weights).effective()
    if counts.classes is not None:
        return {name: mean(counts.select(name)) for name in counts.classes}
    if not counts.total:
        reason = "weighs nothing" if counts.reports else "is missing"
        raise ValueError(f"there is no report to take a mean of; every one {reason}")
    numbers = [unbiased_numbers(tally.channel) for tally in counts.levels.values()]
    if any(of_level is None for of_level in numbers):
        return reconstruct(counts).mean()
    tallies = list(counts.levels.values())
    people = [(tally.histogram[0], tally.weight_sums.squares[0]) for tally in tallies]
    noise = float(sum(tally.weight_sums.squares[0].sum() * least_noise(tally.channel) for tally in tallies))
    counted, squares = np.hstack(people).astype(np.float64)
    return _average(np.concatenate(numbers), counted, squares, noise)  # type: ignore[arg-type]


def _average(numbers: Floats, people: Floats, squares: Floats, noise: float) -> WithError:
    """Return the weighted average of unbiased numbers, with its standard error.

    numbers: u of each report code. people, squares: Σw and Σw² of the reports with each code. noise: Σ w²·(least
    variance of u); the error is at least what it alone leaves, also where all reports happen to agree.
    """
    total, freedom = people.sum(), people.sum() ** 2 - squares.sum()
    middle = float(people @ numbers / total)
    spread = max(float(squares @ (numbers - middle) ** 2), noise * float(freedom / total**2))
    return WithError(middle, float(np.sqrt(spread / freedom)) if freedom > 1e-9 * total else float("inf"))


@lru_cache(maxsize=256)
def least_noise(channel: Channel) -> float:
    """Return min_x Var[u | x], the least variance that a channel leaves in a report's unbiased number u."""
    return float(_noise_variances(channel).min())


def _noise_variances(channel: Channel) -> Floats:
    """Return Var[u | x] for every true code x, u the unbiased number of a report."""
    numbers, law = unbiased_numbers(channel), channel.law()
    centred = numbers - numbers.mean()  # type: ignore[union-attr]
    return np.asarray(np.maximum(centred**2 @ law - (centred @ law) ** 2, 0.0))


def mean_error(channel: Channel, prior: Floats, people: int) -> float:
    """Return the standard error that noise alone gives `mean`: √(Σ_x P(x)·Var[u | x]/n).

    prior: P(x) of each true code. people: n. Infinite where the channel has no unbiased numbers.
    """
    if unbiased_numbers(channel) is None:
        return float("inf")
    return float(np.sqrt(prior @ _noise_variances(channel) / people))


@lru_cache(maxsize=256)
def unbiased_numbers(channel: Channel) -> Floats | None:
    """Return the unbiased number (r − a)/b of each report code, where E[r | x] = a + b·x; None where it is no line."""
    if isinstance(channel.domain, Categories) or isinstance(channel.outputs, Categories):
        raise ValueError("a mean needs numbers; these are categories, read the shares of sf.reconstruct")
    values = np.asarray(channel.outputs.values, dtype=np.float64)
    if channel.right_on_average:
        return values
    true, expected = np.asarray(channel.inputs.values, dtype=np.float64), values @ channel.law()  # type: ignore[union-attr]
    rise, run = expected[-1] - expected[0], true[-1] - true[0]
    bent = np.abs(expected - expected[0] - rise * (true - true[0]) / run).max() if run else np.inf
    if not bent <= STRAIGHT * run or rise < STRAIGHT * run:
        return None
    return np.asarray(true[0] + (values - expected[0]) * run / rise)
