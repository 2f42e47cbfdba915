"""What moves in a release: values inside their intervals (LINAPT and LIAPT of IB04), classes inside their leaves.

Two laws for values, both with standard deviation ``amount``:

    "rank"      u = place of the value among its leaf's values, in (0, 1);  u' = reflect(u + amount·N(0, 1));
                the released values are the leaf's smoothed quantiles, dealt out in the order of u'.
                Mean, variance and shape of the field in the leaf stay as they were.
    "additive"  y = reflect(x + amount·(upper − lower)·N(0, 1)) inside [lower, upper], IB04's own law: rounded for
                integers; a category is replaced, with probability ``amount``, by one of those allowed.

Three steps for classes:

    "rpt"   minority records take the majority's class, then as many random records of the leaf take theirs: a random
            permutation of the labels inside each leaf. Class counts are kept exactly.
    "ppt"   every record of a leaf with several classes draws its class from the leaf's shares.
    "alpt"  so do the records of pure leaves, which borrow the average minority share of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from sfumato.channels.program.random_words import SecureWords
from sfumato.domain import Codes, Floats
from sfumato.microdata.table.fields import Field, Mask

OWN_STREAM = 2004
"""Mixed into a seed, so that data simulated from the same seed do not share their randomness with the noise."""
LAWS = ("donors", "rank", "additive", "paper")
STEPS = ("rpt", "ppt", "alpt", "none")
FEWEST_RECORDS = 5
"""Leaves with fewer records get the additive law: among so few values a rank hides nothing."""
Size = int | tuple[int, ...]


class Draws:
    """``rng=None`` draws cryptographic words; a NumPy ``Generator`` or a seed is for simulations."""

    def __init__(self, rng: np.random.Generator | int | None = None) -> None:
        if isinstance(rng, (int, np.integer)):
            rng = np.random.default_rng([int(rng), OWN_STREAM])
        if rng is not None and not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng={rng!r} is no generator; pass numpy.random.default_rng(seed), or None to be secure")
        self._rng: Any = rng
        self._words = SecureWords()

    def uniform(self, size: Size) -> Floats:
        """Uniform on (0, 1), both ends excluded."""
        if self._rng is not None:
            return np.asarray(np.maximum(self._rng.random(size), 2.0**-54))
        words = self._words.draw(int(np.prod(size)))
        return (((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53).reshape(size)

    def normal(self, size: Size) -> Floats:
        return np.asarray(self._rng.standard_normal(size) if self._rng is not None else ndtri(self.uniform(size)))


# --- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Room:
    """The intervals in which one field's noise must stay: one lower and upper bound and one group a record."""

    field: Field
    lower: Floats
    upper: Floats
    group: Codes


def blur(values: Floats, amount: float, room: Room, ranked: Mask, draws: Draws, score: Floats | None = None) -> Floats:
    """One field's values with noise: rank noise where ``ranked`` (or dealt out in the order of a given score), else
    additive; missing values stay missing."""
    known, released, field = ~np.isnan(values), values.copy(), room.field
    ranked, rest = known & ranked, known & ~ranked
    if ranked.any():
        wish = None if score is None else score[ranked]
        smooth = field.kind != "category"
        released[ranked] = rank_noise(values[ranked], room.group[ranked], amount, draws, smooth=smooth, score=wish)
    released[rest] = additive_noise(values[rest], room.lower[rest], room.upper[rest], amount, field, draws)
    released[known] = field.snap(released[known], room.lower[known], room.upper[known])
    return released


def crowded(values: Floats, group: Codes) -> Mask:
    """Where a group holds enough known values for rank noise."""
    return np.asarray(np.bincount(group, ~np.isnan(values))[group] >= FEWEST_RECORDS)


def rank_noise(
    values: Floats, group: Codes, amount: float, draws: Draws, *, smooth: bool, score: Floats | None = None
) -> Floats:
    """Noise on the ranks inside each group, or a score in its stead; the group's quantile function is kept."""
    order, start, size = ranked_within(values, group, draws)
    if score is None:
        place = (np.arange(values.size) - start + draws.uniform(values.size)) / size
        moved = reflect(place + amount * draws.normal(values.size), 0.0, 1.0)
    else:
        moved = score[order]
    released = np.empty_like(values)
    released[order] = deal_quantiles(values[order], group[order], moved, start, size, draws, smooth=smooth)
    return released


def ranked_within(values: Floats, group: Codes, draws: Draws) -> tuple[Codes, Codes, Codes]:
    """Records ordered by group and value, ties at random; with each place's group start and group size."""
    order, count = order_within(values, group, draws), np.bincount(group)
    start = (np.cumsum(count) - count)[group[order]]
    return order, start, count[group[order]]


def order_within(values: Floats, group: Codes, draws: Draws) -> Codes:
    """Records ordered by group and value, ties at random."""
    rank = np.unique(values, return_inverse=True)[1]
    return by_group(np.argsort(rank + draws.uniform(values.size)), group)


def by_group(order: Codes, group: Codes) -> Codes:
    """Records in this order, those of one group after those of another."""
    return order[np.argsort(_small(group)[order], kind="stable")]


def deal_quantiles(
    ordered: Floats, group: Codes, score: Floats, start: Codes, size: Codes, draws: Draws, *, smooth: bool
) -> Floats:
    """The group's quantiles, one from each 1/size of it, dealt out in the order of the scores.

    ``ordered`` holds the groups' values in ascending order, ``score`` the wish of the record at the same place.
    """
    by_score = by_group(np.argsort(score, kind="stable"), group)
    quantiles = ordered
    if smooth:
        place = np.clip(np.arange(ordered.size) - start + draws.uniform(ordered.size) - 0.5, 0, size - 1)
        below = place.astype(np.int64)
        above = np.minimum(below + 1, size - 1)
        quantiles = ordered[start + below] * (1 - (place - below)) + ordered[start + above] * (place - below)
    dealt = np.empty_like(ordered)
    dealt[by_score] = quantiles
    return dealt


def additive_noise(values: Floats, lower: Floats, upper: Floats, amount: float, field: Field, draws: Draws) -> Floats:
    """Noise in units of the interval's width, reflected at its ends."""
    if field.kind == "category":
        other = np.floor(lower + (upper - lower + 1) * draws.uniform(values.size))
        return np.where(draws.uniform(values.size) < amount, np.minimum(other, upper), values)
    half = field.step / 2
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


# --- classes ----------------------------------------------------------------------------------------------------------


def blur_labels(y: Codes, leaf: Codes, step: str, draws: Draws) -> Codes:
    """The released classes; ``leaf`` is any number per leaf."""
    if step == "none":
        return y.copy()
    if step == "rpt":
        released = np.empty_like(y)
        released[np.argsort(leaf, kind="stable")] = y[np.lexsort((draws.uniform(y.size), leaf))]
        return released
    shares = _shares(y, leaf, borrow=step == "alpt")
    below = np.cumsum(shares, axis=1)[leaf]
    return np.asarray(np.minimum((draws.uniform(y.size)[:, None] > below).sum(axis=1), shares.shape[1] - 1))


def _shares(y: Codes, leaf: Codes, *, borrow: bool) -> Floats:
    """P(class | leaf); pure leaves give their minority classes the average minority share if asked."""
    counts = np.zeros((int(leaf.max()) + 1, int(y.max()) + 1))
    np.add.at(counts, (leaf, y), 1)
    total = counts.sum(axis=1)
    shares = counts / np.maximum(total, 1)[:, None]
    mixed = counts.max(axis=1) < total
    if borrow and mixed.any():
        minority = 1 - counts[mixed].max(axis=1).sum() / total[mixed].sum()
        overall = counts.sum(axis=0) / total.sum()
        for place in np.flatnonzero(~mixed & (total > 0)):
            own = counts[place].argmax()
            others = np.where(np.arange(overall.size) == own, 0, overall)
            shares[place] = minority * others / others.sum()
            shares[place, own] = 1 - minority
    return np.asarray(shares)
