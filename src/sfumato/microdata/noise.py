"""Noise for one attribute that stays inside each record's interval: LINAPT and LIAPT of IB04.

Two laws, both with standard deviation ``amount``:

    "rank"      u = place of the value among its leaf's values, in (0, 1);  u' = reflect(u + amount·N(0, 1));
                the released values are the leaf's smoothed quantiles, dealt out in the order of u'.
                Mean, variance and shape of the attribute in the leaf stay as they were.
    "additive"  y = reflect(x + amount·(upper − lower)·N(0, 1)) inside [lower, upper], IB04's own law: rounded for
                integers; a category is replaced, with probability ``amount``, by one of those allowed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.table import Attribute

FEWEST_RECORDS = 5
"""Leaves with fewer records get the additive law: among so few values a rank hides nothing."""


@dataclass(frozen=True)
class Spread:
    """The intervals in which one attribute's noise must stay: one lower and upper bound and one group a record."""

    attribute: Attribute
    lower: Floats
    upper: Floats
    group: Codes


def blur(values: Floats, amount: Floats, spread: Spread, law: str, draws: Draws) -> Floats:
    """One attribute's values with noise; missing values stay missing."""
    known = ~np.isnan(values)
    if law == "rank":
        crowd = np.bincount(spread.group[known], minlength=int(spread.group.max()) + 1)
        ranked = known & (crowd[spread.group] >= FEWEST_RECORDS)
    else:
        ranked = np.zeros_like(known)
    released = values.copy()
    if ranked.any():
        smooth = spread.attribute.kind != "category"
        released[ranked] = rank_noise(values[ranked], spread.group[ranked], amount[ranked], draws, smooth=smooth)
    rest = known & ~ranked
    if rest.any():
        bounds = spread.lower[rest], spread.upper[rest]
        released[rest] = additive_noise(values[rest], *bounds, amount[rest], spread.attribute, draws)
    released[known] = spread.attribute.snap(released[known], spread.lower[known], spread.upper[known])
    return released


def rank_noise(values: Floats, group: Codes, amount: Floats, draws: Draws, *, smooth: bool) -> Floats:
    """Noise on the ranks inside each group; the group's quantile function is kept."""
    order, start, size = ranked_within(values, group, draws)
    place = (np.arange(values.size) - start + draws.uniform(values.size)) / size
    moved = reflect(place + amount[order] * draws.normal(values.size), 0.0, 1.0)
    released = np.empty_like(values)
    released[order] = deal_quantiles(values[order], group[order], moved, start, size, draws, smooth=smooth)
    return released


def ranked_within(values: Floats, group: Codes, draws: Draws) -> tuple[Codes, Codes, Codes]:
    """Records ordered by group and value, ties at random; with each place's group start and group size."""
    order = np.argsort(draws.uniform(values.size))
    order = order[np.argsort(values[order], kind="stable")]
    order = order[np.argsort(_small(group)[order], kind="stable")]
    count = np.bincount(group)
    start = (np.cumsum(count) - count)[group[order]]
    return order, start, count[group[order]]


def deal_quantiles(
    ordered: Floats, group: Codes, score: Floats, start: Codes, size: Codes, draws: Draws, *, smooth: bool
) -> Floats:
    """The group's quantiles, one from each 1/size of it, dealt out in the order of the scores.

    ``ordered`` holds the groups' values in ascending order, ``score`` the wish of the record at the same place.
    """
    by_score = np.argsort(score, kind="stable")
    by_score = by_score[np.argsort(_small(group)[by_score], kind="stable")]
    quantiles = ordered
    if smooth:
        place = np.clip(np.arange(ordered.size) - start + draws.uniform(ordered.size) - 0.5, 0, size - 1)
        below = place.astype(np.int64)
        above = np.minimum(below + 1, size - 1)
        quantiles = ordered[start + below] * (1 - (place - below)) + ordered[start + above] * (place - below)
    dealt = np.empty_like(ordered)
    dealt[by_score] = quantiles
    return dealt


def additive_noise(
    values: Floats, lower: Floats, upper: Floats, amount: Floats, attribute: Attribute, draws: Draws
) -> Floats:
    """Noise in units of the interval's width, reflected at its ends."""
    if attribute.kind == "category":
        other = np.floor(lower + (upper - lower + 1) * draws.uniform(values.size))
        return np.where(draws.uniform(values.size) < amount, np.minimum(other, upper), values)
    half = attribute.step / 2
    noisy = values + amount * (upper - lower) * draws.normal(values.size)
    return reflect(noisy, lower - half, upper + half)


def reflect(values: Floats, lower: Floats | float, upper: Floats | float) -> Floats:
    """Fold the line into [lower, upper] at its ends."""
    width = np.asarray(upper - lower, dtype=float)
    safe = np.where(width > 0, width, 1.0)
    folded = np.mod(values - lower, 2 * safe)
    inside = (values >= lower) & (values <= upper)
    return np.where(inside, values, np.where(width > 0, lower + np.minimum(folded, 2 * safe - folded), lower))


def _small(group: Codes) -> Codes:
    """Narrow integers, which NumPy sorts by radix."""
    return group.astype(np.int16) if group.size and group.max() < 2**15 else group
