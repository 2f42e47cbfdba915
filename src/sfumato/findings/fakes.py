"""The most that made-up reports (fakes) can move estimates, and the signs by which they show.

An estimate that is a mean of g(report) moves, when a share φ of the reports is made up, by

    φ·(g(fake) − estimate):   at worst φ·max_s |g(s) − estimate| over all reports s that can be sent,
                              and φ·max_x |x − estimate| where fakes obey the channel and lie about their answer x.

For shares of categories g(s) is column s of the table's left inverse B; for the mean of numbers it is (s − a)/b with
E[report | x] = a + b·x; for an item (1[shown] − ρ)/λ₁.

A heap of equal reports shows whatever the answers are. Each of n reports is s with chance max_x P[s | x] at most, so c
of them are with chance P(Binomial(n, max_x P[s | x]) ≥ c) at most; they are a heap where that, times the number of
possible reports, is below the rate of false alarms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import median
from typing import Any

import numpy as np
from scipy.special import bdtrc

from sfumato.channels import Channel
from sfumato.counts import Counts
from sfumato.domain import Categories, Floats, Interval
from sfumato.findings.means import linear_estimator
from sfumato.prose import finite
from sfumato.reconstruction.misfit import FALSE_ALARM
from sfumato.reconstruction.unbiased import left_inverse

FAKES = (0.01, 0.05)
"""The shares of made-up reports whose effect the page states (docs/how-to/read-the-dashboard.md); effects grow in
proportion to the share, so that two of them show any."""
MOST_INVERTED = 500
"""The most categories whose table is inverted. By judgement: that takes a tenth of a second; of more categories the
page says nothing about fakes."""
FAR = 5.0
"""How many usual spreads above the median a day is unusual (docs/how-to/read-the-dashboard.md). By judgement: five
standard deviations of a normal law come by chance once in three million days; fewer would name ordinary Mondays."""
FEWEST_DAYS = 5
"""The fewest days from which unusual ones are named (same page). By judgement: of fewer a median and a spread say
nothing."""
MOST_HEAPS = 5
"""The most heaps that are listed. By judgement: the page shows the first one of each question."""


def table_and_inverse(counts: Counts) -> tuple[Floats, Floats] | None:
    """Return (T, B) for reports of categories: T = P[report, answer] over all levels of blur, B its left inverse.

    T stacks the levels' tables, each weighted by the share of people who chose it. None for numbers, for more than
    MOST_INVERTED categories, and where T has no left inverse.
    """
    tallies = list(counts.levels.values())
    if not isinstance(tallies[0].channel.domain, Categories) or tallies[0].channel.domain.size > MOST_INVERTED:
        return None
    people = np.array([float(tally.histogram.sum()) for tally in tallies])
    weights = people / people.sum() if people.any() else np.full(len(tallies), 1 / len(tallies))
    table = np.vstack([w * tally.channel.matrix() for w, tally in zip(weights, tallies, strict=True) if w])
    try:
        return table, left_inverse(table)
    except ValueError:
        return None


def variance_of_one(table: Floats, undo: Floats, p: Floats) -> float:
    """Return the variance that one report adds to the least certain share of an answer.

        max(diag(B diag(T p) Bᵀ) − p²),   T = ``table`` P[report, answer], B = ``undo`` its left inverse, p the shares
    """
    return float((undo**2 @ (table @ p) - p**2).max())


def worst_of_shares(undo: Floats, p: Floats) -> dict[str, float]:
    """Return a dict with the most by which a share would move if all reports were made up.

    ``undo``: the left inverse of the table P[report, answer]; ``p``: the estimated shares. Keys: ``made_up``, by fakes
    who choose their report freely; ``lies``, by fakes who choose a false answer, which the channel blurs.
    """
    return {"made_up": float(np.abs(undo - p[:, None]).max()), "lies": float(np.maximum(p, 1 - p).max())}


def worst_of_mean(counts: Counts | None, mean: float, domain: Interval) -> dict[str, float]:
    """Return a dict with the most by which a mean of numbers would move if all reports were made up.

    Keys: ``made_up``, by fakes who choose their report freely; ``lies``, by fakes who choose a false answer, which the
    channel blurs. ``counts``: of blurred reports; None where answers are sent as they are. ``mean``: the estimate.
    """
    lies = max(float(domain.high) - mean, mean - float(domain.low))
    estimators = [linear_estimator(tally.channel) for tally in counts.levels.values()] if counts else []
    farthest = max((float(np.abs(g - mean).max()) for g in estimators if g is not None), default=lies)
    return {"made_up": farthest, "lies": lies}


def scale_to_fakes(worst: Mapping[str, float]) -> list[dict[str, float | None]]:
    """Scale effects of made-up reports to surveys in which only 1 % or 5 % of the reports are made up.

    ``worst``: by how much an estimate moves if all reports are made up, as `worst_of_shares` returns it. Returns a list
    with a dict for each part: ``share`` (.01 or .05) and the keys of ``worst``.
    """
    return [{"share": part, **{how: finite(part * whole) for how, whole in worst.items()}} for part in FAKES]


@lru_cache(maxsize=64)
def most_likely(channel: Channel) -> Floats:
    """Return an array with max_x P[s | x] for every report code s, its chance under the answer that suits it best."""
    law = channel.balanced()
    if law is not None:
        return np.full(channel.outputs.size, max(law.inside, law.outside))
    return np.asarray(channel.matrix().max(axis=1))


def heaps(counts: Counts) -> list[dict[str, Any]]:
    """Return up to MOST_HEAPS reports that came more often than any answers can explain, the most surprising first.

    Each is a dict: ``report``, ``level`` (of blur, which its senders chose), ``count`` (how often it came) and
    ``expected``: the most that is expected whatever people answer. The list is empty for weighted reports, whose number
    is not known.
    """
    surprising = []
    for level, tally in counts.levels.items() if not counts.weighted else ():
        reports, channel = tally.histogram.sum(axis=0), tally.channel
        most = most_likely(channel)
        chances = bdtrc(np.maximum(reports - 1, 0), int(reports.sum()), most) * most.size * len(counts.levels)
        for code in np.flatnonzero((reports > 1) & (chances < FALSE_ALARM)).tolist():
            heap = {"report": channel.outputs.decode(np.array(code)).item(), "level": level}
            heap |= {"count": int(reports[code]), "expected": float(reports.sum() * most[code])}
            surprising.append((chances[code], heap))
    return [heap for _, heap in sorted(surprising, key=lambda pair: pair[0])[:MOST_HEAPS]]


def unusual_days(days: Sequence[tuple[Any, int, int]]) -> list[dict[str, Any]]:
    """Return the days with far more reports, or withdrawals, than the others: a list of dicts.

    Their keys: ``day``, ``what`` ("accepted" or "withdrawn"), ``count`` and ``usual`` (the median). ``days``: (date,
    accepted, withdrawn); of fewer than FEWEST_DAYS none is returned. A day is unusual above the median by five times
    the usual spread,

        max(1.48·median |count − median|, √median, 1);   1.48 makes it the standard deviation of a normal law.
    """
    unusual: list[dict[str, Any]] = []
    if len(days) < FEWEST_DAYS:
        return unusual
    for column, what in ((1, "accepted"), (2, "withdrawn")):
        counts = [int(day[column]) for day in days]
        usual = float(median(counts))
        spread = max(1.4826 * float(median(abs(count - usual) for count in counts)), math.sqrt(usual), 1.0)
        unusual += [
            {"day": str(day[0]), "what": what, "count": count, "usual": usual}
            for day, count in zip(days, counts, strict=True)
            if count > usual + FAR * spread
        ]
    return unusual
