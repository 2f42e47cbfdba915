"""What estimates can tell and what they cannot: bars, noise, differences between groups, reports needed, fakes.

Rules, for an estimate with standard error s and z = 1.645 (a 90 % bar reaches z·s to both sides):

    a share p is within noise            if p ≤ z·s: it cannot be told from zero
    a difference d is within noise       if |d| ≤ z·s_d: no difference is shown; where there is none, one comparison in
                                         ten stands out all the same
    reports needed for a bar of ±h       n = z²·v / h², v the variance that one report adds (n·s² for n reports)

Groups. Where the group that people name is blurred by a table R of its own, q_g is the estimate among those who report
group g, w_g their share, and U = R⁻¹, the groups themselves have

    π_y = Σ_g U_yg w_g,    p_y = Σ_g U_yg w_g q_g / π_y,

and a contrast Σ_y k_y p_y has variance Σ_g (Σ_y k_y U_yg w_g/π_y)² Var q_g + J Cov(w) Jᵀ, with
J_g = Σ_y k_y U_yg (q_g − p_y)/π_y and Cov(w) = (diag w − wwᵀ)/n. Without a blur U = 1 and J = 0.

Fakes. An estimate that is a mean of g(report) moves, when a share φ of the reports is made up, by

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
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any

import numpy as np
from scipy.special import bdtrc

from sfumato.channels import Channel
from sfumato.counts import Counts
from sfumato.domain import Categories, Floats, Interval
from sfumato.pages.charts import NINETY_PERCENT
from sfumato.prose import finite
from sfumato.reconstruction import intervals_for
from sfumato.reconstruction.cells import interval_edges
from sfumato.reconstruction.estimate import WithError
from sfumato.reconstruction.methods import FALSE_ALARM, left_inverse

POINTS = (0.05, 0.02, 0.01)
FAKES = (0.01, 0.05)
MOST_INVERTED = 500  # categories whose table is turned around
STRAIGHT = 0.01  # of the range: so far E[report | x] may lie off a straight line
FAR, FEWEST_DAYS = 5.0, 5
MOST_HEAPS = 5


# --- numbers with their bars ----------------------------------------------------------------------------------------


def bar(value: float, variance: float) -> dict[str, float | None]:
    """A number with its standard error and the ends of its 90 % bar."""
    error = math.sqrt(max(variance, 0.0))
    reach = NINETY_PERCENT * error
    found = {"value": value, "stderr": error, "from": value - reach, "to": value + reach}
    return {name: finite(number) for name, number in found.items()}


def share(value: float, variance: float) -> dict[str, Any]:
    """The same of a share, whose bar stays within 0..1, and whether it is within noise."""
    found = bar(value, variance)
    ends = {end: None if found[end] is None else min(max(found[end], 0.0), 1.0) for end in ("from", "to")}  # type: ignore[type-var]
    return {**found, **ends, "within_noise": not value > NINETY_PERCENT * math.sqrt(max(variance, 0.0))}


def difference(value: float, variance: float) -> dict[str, Any]:
    """The same of a difference, and whether it is within noise."""
    return {**bar(value, variance), "within_noise": not abs(value) > NINETY_PERCENT * math.sqrt(max(variance, 0.0))}


def half_widths(variances: Floats) -> dict[str, float]:
    """The usual and the largest half of a 90 % bar."""
    widths = NINETY_PERCENT * np.sqrt(np.maximum(variances, 0.0))
    return {"typical": float(np.median(widths)), "worst": float(widths.max())}


def needed(variance: float, unit: float = 1.0) -> dict[str, int]:
    """How many reports make a bar of ±5, ±2 and ±1 points (of ``unit``), one report adding this variance."""
    return {f"{100 * h:g}": math.ceil(NINETY_PERCENT**2 * max(variance, 0.0) / (h * unit) ** 2) for h in POINTS}


# --- groups ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Groups:
    """What was estimated in each reported group: ``values[group, what]``, their variances, how many people; ``undo``:
    the inverse of the table that blurs the group itself."""

    labels: Sequence[Any]
    values: Floats
    variances: Floats
    people: Floats
    undo: Floats

    @property
    def shares(self) -> Floats:
        """π, the share of each true group."""
        return np.asarray(self.undo @ (self.people / self.people.sum()))

    @property
    def known(self) -> list[int]:
        """The groups that are there at all, beyond what chance makes of their blur."""
        people = self.people / self.people.sum()
        spread = (self.undo**2 @ people - (self.undo @ people) ** 2) / self.people.sum()
        blurred = not np.array_equal(self.undo, np.eye(len(people)))
        least = NINETY_PERCENT * np.sqrt(np.maximum(spread, 0.0)) * blurred
        return np.flatnonzero(self.shares > least).tolist()

    def contrast(self, weights: Mapping[int, float]) -> tuple[Floats, Floats]:
        """Σ_y k_y p_y and its variance, for weights k of true groups."""
        places, k = list(weights), np.array(list(weights.values()))
        people = self.people / self.people.sum()
        parts = self.undo[places] / self.shares[places, None]
        found = (parts * people) @ self.values
        drift = (k @ parts)[:, None] * self.values - (k[:, None] * parts).T @ found
        spread = (np.diag(people) - np.outer(people, people)) / self.people.sum()
        own = (k @ (parts * people)) ** 2 @ self.variances
        return k @ found, own + np.einsum("gk,gh,hk->k", drift, spread, drift)

    def against_others(self, place: int) -> dict[int, float]:
        """The weights of one group less everybody else."""
        others = {other: float(self.shares[other]) for other in self.known if other != place}
        total = sum(others.values())
        return {place: 1.0, **{other: -part / total for other, part in others.items()}}


def compare(groups: Groups, cells: int) -> dict[str, Any]:
    """Every group's shares (the first ``cells`` values) and mean (what follows), and each group against the others."""

    def spoken(found: tuple[Floats, Floats], speak: Any) -> dict[str, Any]:
        pairs = [tuple(map(float, pair)) for pair in zip(*found, strict=True)]
        mean = [(difference if speak is difference else bar)(*pair) for pair in pairs[cells:]]
        return {"rows": [speak(*pair) for pair in pairs[:cells]], "mean": mean[0] if mean else None}

    known = groups.known
    shown = [
        {
            "label": groups.labels[y],
            "share": finite(float(groups.shares[y])),
            **spoken(groups.contrast({y: 1.0}), share),
        }
        for y in known
    ]
    differences = []
    for y in known[:1] if len(known) == 2 else known if len(known) > 2 else []:
        against = groups.labels[known[1]] if len(known) == 2 else None
        found = spoken(groups.contrast(groups.against_others(y)), difference)
        differences.append({"label": groups.labels[y], "against": against, **found})
    rows = [row for each in differences for row in each["rows"]]
    return {
        "groups": shown,
        "differences": differences,
        "compared": len(rows),
        "stand_out": sum(not row["within_noise"] for row in rows),
        "smallest": median(NINETY_PERCENT * row["stderr"] for row in rows) if rows else None,
    }


# --- means, tables and fakes ------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def straight(channel: Channel) -> Floats | None:
    """g(report) for every report code, with E[g | x] = x; None where reports do not follow x along a straight line."""
    if not isinstance(channel.domain, Interval) or isinstance(channel.outputs, Categories):
        return None
    edges = interval_edges(channel.domain, intervals_for(channel.domain))
    middle = (edges[:-1] + edges[1:]) / 2
    if middle.size < 2:
        return None
    reports = np.asarray(channel.outputs.values, dtype=float)
    expected = reports @ channel.matrix(true=edges)
    slope, start = np.polyfit(middle, expected, 1)
    off = np.abs(expected - start - slope * middle).max()
    return (reports - start) / slope if off <= STRAIGHT * slope * channel.domain.width else None


def mean_of(counts: Counts) -> WithError | None:
    """The mean of g over the reports of all levels, which has no bias; with its standard error."""
    total = first = second = 0.0
    for tally in counts.levels.values():
        seen = tally.histogram.sum(axis=0)
        if not seen.any():
            continue
        g = straight(tally.channel)
        if g is None:
            return None
        total, first, second = total + seen.sum(), first + seen @ g, second + seen @ g**2
    return mean_with_error(total, first, second)


def mean_with_error(total: float, first: float, second: float) -> WithError | None:
    """The mean and its standard error from a number of values, their sum and the sum of their squares; None of fewer
    than two, which show no spread."""
    if total < 2:
        return None
    mean = first / total
    return WithError(float(mean), math.sqrt(max(second / total - mean**2, 0.0) / (total - 1)))


def turned_around(counts: Counts) -> tuple[Floats, Floats] | None:
    """(T, B): the table of all levels that people chose, weighted by them, and its left inverse; None where it has
    none."""
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
    """What one report adds to the variance of the least certain share: the largest of diag(B diag(T p) Bᵀ) − p²."""
    return float((undo**2 @ (table @ p) - p**2).max())


def worst_of_shares(undo: Floats, p: Floats) -> dict[str, float]:
    """By how much all reports made up would move a share, at worst; and all answers, sent as the channel says."""
    return {"made_up": float(np.abs(undo - p[:, None]).max()), "lies": float(np.maximum(p, 1 - p).max())}


def worst_of_mean(counts: Counts | None, mean: float, domain: Interval) -> dict[str, float]:
    """The same for a mean of numbers; without counts of a blur a report is the answer."""
    ends = {"lies": max(float(domain.high) - mean, mean - float(domain.low))}
    found = [straight(tally.channel) for tally in counts.levels.values()] if counts else []
    farthest = max((float(np.abs(g - mean).max()) for g in found if g is not None), default=ends["lies"])
    return {"made_up": farthest, **ends}


def moved(worst: Mapping[str, float]) -> list[dict[str, float | None]]:
    """What 1 % and 5 % of fakes do at worst."""
    return [{"share": part, **{how: finite(part * whole) for how, whole in worst.items()}} for part in FAKES]


@lru_cache(maxsize=64)
def most_likely(channel: Channel) -> Floats:
    """max_x P[s | x] of every report code s."""
    law = channel.balanced()
    if law is not None:
        return np.full(channel.outputs.size, max(law.inside, law.outside))
    return np.asarray(channel.matrix().max(axis=1))


def heaps(counts: Counts) -> list[dict[str, Any]]:
    """The reports that came more often than any answers can explain, the most surprising first."""
    found = []
    for level, tally in counts.levels.items():
        seen, channel = tally.histogram.sum(axis=0), tally.channel
        most = most_likely(channel)
        chances = bdtrc(np.maximum(seen - 1, 0), int(seen.sum()), most) * most.size * len(counts.levels)
        for code in np.flatnonzero((seen > 1) & (chances < FALSE_ALARM)).tolist():
            told = {"report": channel.outputs.decode(np.array(code)).item(), "level": level, "count": int(seen[code])}
            found.append((chances[code], {**told, "expected": float(seen.sum() * most[code])}))
    return [told for _, told in sorted(found, key=lambda pair: pair[0])[:MOST_HEAPS]]


def unusual_days(days: Sequence[tuple[Any, int, int]]) -> list[dict[str, Any]]:
    """Days with far more reports, or withdrawals, than the others have: above the median by five times the usual
    spread, max(1.48·median |count − median|, √median, 1). Fewer than five days are not judged."""
    found: list[dict[str, Any]] = []
    if len(days) < FEWEST_DAYS:
        return found
    for place, what in ((1, "accepted"), (2, "withdrawn")):
        counts = [int(day[place]) for day in days]
        usual = float(median(counts))
        spread = max(1.4826 * float(median(abs(count - usual) for count in counts)), math.sqrt(usual), 1.0)
        found += [
            {"day": str(day[0]), "what": what, "count": count, "usual": usual}
            for day, count in zip(days, counts, strict=True)
            if count > usual + FAR * spread
        ]
    return found
