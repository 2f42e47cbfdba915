"""Noise on values inside their intervals (LINAPT and LIAPT of IB04), and on classes inside their leaves.

Two laws for values, both with standard deviation ``amount``:

    "rank"      u = relative rank of the value among its leaf's values, in (0, 1);  u' = reflect(u + amount·N(0, 1));
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

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.table.fields import Field, Mask

STEPS = ("rpt", "ppt", "alpt", "none")  # how classes move, see above
FEWEST_RECORDS = 5
"""The fewest records of a leaf for rank noise; smaller leaves get additive noise. Chosen by judgement: among so few
values a rank hides little."""


# --- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Room:
    """The intervals in which one field's values must stay when noise moves them.

    For each record a lower and an upper bound, and the ``group`` (leaf of the tree) among whose values it moves.
    """

    field: Field
    lower: Floats
    upper: Floats
    group: Codes


def blur(values: Floats, amount: float, room: Room, ranked: Mask, draws: Draws, score: Floats | None = None) -> Floats:
    """Return one field's values with noise, inside the intervals where they must stay; missing ones stay missing.

    ``amount``: the standard deviation, as a share of the ranks or of the interval. ``room``: the intervals. ``ranked``:
    the records whose values move to neighbouring ranks of their group; others get additive noise. ``score``: one number
    a record, in the order of which those get the group's values instead of by noise (None: by noise).
    """
    present, released, field = ~np.isnan(values), values.copy(), room.field
    ranked, additive = present & ranked, present & ~ranked
    if ranked.any():
        wish = None if score is None else score[ranked]
        smooth = field.kind != "category"
        released[ranked] = rank_noise(values[ranked], room.group[ranked], amount, draws, smooth=smooth, score=wish)
    lower, upper = room.lower[additive], room.upper[additive]
    released[additive] = additive_noise(values[additive], lower, upper, amount, field, draws)
    released[present] = field.snap(released[present], room.lower[present], room.upper[present])
    return released


def crowded(values: Floats, group: Codes) -> Mask:
    """Return which records are in a group with enough values for noise on ranks, as truth values."""
    return np.asarray(np.bincount(group, ~np.isnan(values))[group] >= FEWEST_RECORDS)


def rank_noise(
    values: Floats, group: Codes, amount: float, draws: Draws, *, smooth: bool, score: Floats | None = None
) -> Floats:
    """Move values to neighbouring ranks of their group: add noise to ranks, and deal the group's values in that order.

    Returns the new values, one for each given one. ``group``: that of each value, such as a leaf. ``amount``: the
    standard deviation of the noise, as a share of the ranks. ``smooth``: values between the group's own are dealt too.
    ``score``: a number for each value, by which the new order is given, without noise; None: by noisy ranks.
    """
    order, start, size = ranked_within(values, group, draws)
    if score is None:
        index = (np.arange(values.size) - start + draws.uniform(values.size)) / size
        moved = reflect(index + amount * draws.normal(values.size), 0.0, 1.0)
    else:
        moved = score[order]
    released = np.empty_like(values)
    released[order] = deal_quantiles(values[order], group[order], moved, start, size, draws, smooth=smooth)
    return released


def ranked_within(values: Floats, group: Codes, draws: Draws) -> tuple[Codes, Codes, Codes]:
    """Sort records by group and value, ties at random; return three arrays with one entry a position of the order.

    The record there, the position where its group starts, and how many records the group has.
    """
    order, count = order_within(values, group, draws), np.bincount(group)
    start = (np.cumsum(count) - count)[group[order]]
    return order, start, count[group[order]]


def order_within(values: Floats, group: Codes, draws: Draws) -> Codes:
    """Sort records by group and value, ties at random; return the records' indices in that order."""
    rank = np.unique(values, return_inverse=True)[1]
    return by_group(np.argsort(rank + draws.uniform(values.size)), group)


def by_group(order: Codes, group: Codes) -> Codes:
    """Return the indices of records in an order sorted by group, inside each group as they stand in ``order``."""
    return order[np.argsort(_small(group)[order], kind="stable")]


def deal_quantiles(
    ordered: Floats, group: Codes, score: Floats, start: Codes, size: Codes, draws: Draws, *, smooth: bool
) -> Floats:
    """Give each group's values to its records anew: the smallest to the record with the smallest score, and so on.

    Returns the new values by position. One value is taken from each 1/size of the group.
    ``ordered``: the groups' values in ascending order; ``score``: of the record at the same position. ``start`` and
    ``size``: of each position's group. ``smooth``: interpolate between values.
    """
    by_score = by_group(np.argsort(score, kind="stable"), group)
    quantiles = ordered
    if smooth:
        index = np.clip(np.arange(ordered.size) - start + draws.uniform(ordered.size) - 0.5, 0, size - 1)
        below = index.astype(np.int64)
        above = np.minimum(below + 1, size - 1)
        quantiles = ordered[start + below] * (1 - (index - below)) + ordered[start + above] * (index - below)
    dealt = np.empty_like(ordered)
    dealt[by_score] = quantiles
    return dealt


def additive_noise(values: Floats, lower: Floats, upper: Floats, amount: float, field: Field, draws: Draws) -> Floats:
    """Return numbers with normal noise of deviation amount·(upper − lower), reflected at the ends of [lower, upper].

    A category is replaced, with probability ``amount``, by a random one of those allowed.
    """
    if field.kind == "category":
        other = np.floor(lower + (upper - lower + 1) * draws.uniform(values.size))
        return np.where(draws.uniform(values.size) < amount, np.minimum(other, upper), values)
    half = field.step / 2
    noisy = values + amount * (upper - lower) * draws.normal(values.size)
    return reflect(noisy, lower - half, upper + half)


def reflect(values: Floats, lower: Floats | float, upper: Floats | float) -> Floats:
    """Return values with those beyond an end of [lower, upper] folded back into it, as by a mirror."""
    width = np.asarray(upper - lower, dtype=float)
    safe = np.where(width > 0, width, 1.0)
    folded = np.mod(values - lower, 2 * safe)
    inside = (values >= lower) & (values <= upper)
    return np.where(inside, values, np.where(width > 0, lower + np.minimum(folded, 2 * safe - folded), lower))


def _small(group: Codes) -> Codes:
    """Return groups as 16-bit integers where they fit, which NumPy sorts faster (by radix)."""
    return group.astype(np.int16) if group.size and group.max() < 2**15 else group


# --- classes ----------------------------------------------------------------------------------------------------------


def blur_labels(y: Codes, leaf: Codes, step: str, draws: Draws) -> Codes:
    """Return the classes that are released, moved between records of one leaf of the tree so that they hide people's.

    ``step``: how: "rpt" permutes them, "ppt" draws them from the leaf's shares, "alpt" in leaves of one class too,
    "none" leaves them as they are.
    ``leaf``: a number that is equal for records of one leaf.
    """
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
    """Return the share of each class in each leaf of the tree, P[leaf, class], from which new classes are drawn.

    ``borrow``: leaves of one class give the others the average share that minorities have in mixed leaves.
    """
    counts = np.zeros((int(leaf.max()) + 1, int(y.max()) + 1))
    np.add.at(counts, (leaf, y), 1)
    total = counts.sum(axis=1)
    shares = counts / np.maximum(total, 1)[:, None]
    mixed = counts.max(axis=1) < total
    if borrow and mixed.any():
        minority = 1 - counts[mixed].max(axis=1).sum() / total[mixed].sum()
        overall = counts.sum(axis=0) / total.sum()
        for index in np.flatnonzero(~mixed & (total > 0)):
            own = counts[index].argmax()
            others = np.where(np.arange(overall.size) == own, 0, overall)
            shares[index] = minority * others / others.sum()
            shares[index, own] = 1 - minority
    return np.asarray(shares)
