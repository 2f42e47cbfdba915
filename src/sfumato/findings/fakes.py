"""What made-up reports can do to estimates, and the signs that they leave.

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
from sfumato.findings.means import straight
from sfumato.prose import finite
from sfumato.reconstruction.misfit import FALSE_ALARM
from sfumato.reconstruction.unbiased import left_inverse

FAKES = (0.01, 0.05)
MOST_INVERTED = 500  # categories whose table is inverted
FAR, FEWEST_DAYS = 5.0, 5
MOST_HEAPS = 5


def table_and_inverse(counts: Counts) -> tuple[Floats, Floats] | None:
    """Return (T, B): the table of all levels that people chose, weighted by them, and its left inverse; None where it
    has none."""
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
    """Return what one report adds to the variance of the least certain share: the largest of
    diag(B diag(T p) Bᵀ) − p²."""
    return float((undo**2 @ (table @ p) - p**2).max())


def worst_of_shares(undo: Floats, p: Floats) -> dict[str, float]:
    """Return by how much all reports made up would move a share, at worst, and all answers, sent as the channel
    says."""
    return {"made_up": float(np.abs(undo - p[:, None]).max()), "lies": float(np.maximum(p, 1 - p).max())}


def worst_of_mean(counts: Counts | None, mean: float, domain: Interval) -> dict[str, float]:
    """Return the same for a mean of numbers; without counts of a blur a report is the answer."""
    ends = {"lies": max(float(domain.high) - mean, mean - float(domain.low))}
    lines = [straight(tally.channel) for tally in counts.levels.values()] if counts else []
    farthest = max((float(np.abs(g - mean).max()) for g in lines if g is not None), default=ends["lies"])
    return {"made_up": farthest, **ends}


def moved(worst: Mapping[str, float]) -> list[dict[str, float | None]]:
    """Return what 1 % and 5 % of fakes do at worst."""
    return [{"share": part, **{how: finite(part * whole) for how, whole in worst.items()}} for part in FAKES]


@lru_cache(maxsize=64)
def most_likely(channel: Channel) -> Floats:
    """Return max_x P[s | x] of every report code s."""
    law = channel.balanced()
    if law is not None:
        return np.full(channel.outputs.size, max(law.inside, law.outside))
    return np.asarray(channel.matrix().max(axis=1))


def heaps(counts: Counts) -> list[dict[str, Any]]:
    """Return the reports that came more often than any answers can explain, the most surprising first; none of weighted
    reports, whose number the counts do not say."""
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
    """Return the days with far more reports, or withdrawals, than the others have: above the median by five times the
    usual spread, max(1.48·median |count − median|, √median, 1). Fewer than five days are not judged."""
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
