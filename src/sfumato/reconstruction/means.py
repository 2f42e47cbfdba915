"""`mean`: the average of the true values, without bias wherever a channel allows it.

Where the mean of a report is a line, E[w | x] = a + b·x, as for additive noise and the piecewise channel (a = 0, b = 1)
and for the square wave, u = (w − a)/b has the mean x, whatever the distribution of x is; the average of all u is
unbiased, and its error is that of any average, √(Σ(u − ū)²/(n(n − 1))), or where reports have weights w
√(Σw²(u − ū)²/((Σw)² − Σw²)), but no less than what the noise alone leaves. Other channels are read by `reconstruct`.
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
"""E[w | x] is a line if it is nowhere further from one than this share of the range."""


def mean(
    reports: Any, channel: Mechanism | None = None, *, level: Any = None, by: Any = None, weights: Any = None
) -> Any:
    """The mean of the true values behind reports, with its standard error; of counts by class one a class.

    ``reports``: a column of reports, or ``Counts``. ``channel``: the one that made them (counts know theirs), or the
    choice that people had, with the ``level`` of each report beside it. ``by``: the class of each report. ``weights``:
    how many people each report stands for.

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
        lost = "weighs nothing" if counts.reports else "is missing"
        raise ValueError(f"there is no report to take a mean of; every one {lost}")
    numbers = [unbiased_numbers(tally.channel) for tally in counts.levels.values()]
    if any(each is None for each in numbers):
        return reconstruct(counts).mean()
    tallies = list(counts.levels.values())
    people = [(tally.histogram[0], tally.told.squares[0]) for tally in tallies]
    noise = float(sum(tally.told.squares[0].sum() * least_noise(tally.channel) for tally in tallies))
    counted, squares = np.hstack(people).astype(np.float64)
    return _average(np.concatenate(numbers), counted, squares, noise)  # type: ignore[arg-type]


def _average(numbers: Floats, people: Floats, squares: Floats, noise: float) -> WithError:
    """``noise``: Σ w²·(the least variance of a report); reports that happen to agree are no surer than that."""
    total, freedom = people.sum(), people.sum() ** 2 - squares.sum()
    middle = float(people @ numbers / total)
    spread = max(float(squares @ (numbers - middle) ** 2), noise * float(freedom / total**2))
    return WithError(middle, float(np.sqrt(spread / freedom)) if freedom > 1e-9 * total else float("inf"))


@lru_cache(maxsize=256)
def least_noise(channel: Channel) -> float:
    """min_x Var[u | x], u the unbiased number of a report."""
    return float(_noise_variances(channel).min())


def _noise_variances(channel: Channel) -> Floats:
    """Var[u | x] of every true value."""
    numbers, law = unbiased_numbers(channel), channel.law()
    centred = numbers - numbers.mean()  # type: ignore[union-attr]
    return np.asarray(np.maximum(centred**2 @ law - (centred @ law) ** 2, 0.0))


def mean_error(channel: Channel, prior: Floats, people: int) -> float:
    """The standard error of `mean` from so many reports, by the noise alone: √(Σ_x P(x)·Var[u | x]/n); ∞ where reports
    have no unbiased numbers."""
    if unbiased_numbers(channel) is None:
        return float("inf")
    return float(np.sqrt(prior @ _noise_variances(channel) / people))


@lru_cache(maxsize=256)
def unbiased_numbers(channel: Channel) -> Floats | None:
    """(w − a)/b of each report code, where E[w | x] = a + b·x; None where it is no line."""
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
