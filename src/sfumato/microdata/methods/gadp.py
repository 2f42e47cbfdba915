"""GADP (Muralidhar, Parsa, Sarathy 1999), inside the leaves of a tree and for a whole table, and other whole-table
methods to compare with.

With S the attributes left as they are, X the others and security κ, where Σ_YX = Σ_XS Σ_SS⁻¹ Σ_SX + κ·Σ_X|S:

    Y = M + κ·(X − M) + √(1 − κ²)·e,     M = E[X | S],     e ~ N(0, Σ_X|S),     Σ_X|S = Σ_XX − Σ_XS Σ_SS⁻¹ Σ_SX

so that means, Σ_YY = Σ_XX and Σ_YS = Σ_XS are kept. Inside a leaf the formula is applied to normal scores of the
leaf's ranks, and the leaf's own quantiles are dealt out in the order of Y: bounds hold by construction, variances and
shapes are kept, correlations are those of the scores.

The whole-table methods know nothing of the tree, and leave the class as it is; numbers are then rounded to the field's
type and clipped to its domain:

    "sadp"        y = x + amount·sd(x)·N(0, 1), each field alone (Kim 1986)
    "correlated"  y = μ + (x − μ + e)/√(1 + amount²), e ~ N(0, amount²·Σ) (Tendick and Matloff 1994)
    "gadp-table"  GADP with S the class and the fields kept, κ² = 1 − amount
    "swap"        values exchanged between records whose ranks lie within ``amount`` of each other
    "random"      IB04's noise on the records as they come: "additive", the whole domain as the interval
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.noise import FEWEST_RECORDS, Room, additive_noise, blur, ranked_within
from sfumato.microdata.patterns.pattern import Leaves
from sfumato.microdata.table.fields import Mask, Microdata

BASELINES = ("sadp", "correlated", "gadp-table", "swap", "random")
RECORDS_PER_ATTRIBUTE = 10
LEAST_EIGENVALUE = 1e-6


@dataclass(frozen=True)
class LeafFit:
    """How one leaf's correlation matrix was made usable: 0 keeps it, 1 replaces it by the pooled one."""

    leaf: int
    records: int
    shrinkage: float
    reason: str


def gadp(X: Floats, kept: Mask, kappa: float, mean: Floats, covariance: Floats, draws: Draws) -> Floats:
    """The formula above; columns marked in ``kept`` are S and come back as they are."""
    released = X.copy()
    centred = np.nan_to_num(X - mean)
    expected, residual = conditional(centred, kept, covariance)
    fresh = draws.normal(expected.shape) @ root(residual).T
    moved = expected + kappa * (centred[:, ~kept] - expected) + np.sqrt(1 - kappa**2) * fresh
    released[:, ~kept] = np.where(np.isnan(X[:, ~kept]), np.nan, mean[~kept] + moved)
    return released


def conditional(centred: Floats, kept: Mask, covariance: Floats) -> tuple[Floats, Floats]:
    """E[X | S] − μ for each record, and Σ_X|S."""
    cov_xx, cov_xs = covariance[np.ix_(~kept, ~kept)], covariance[np.ix_(~kept, kept)]
    if not kept.any():
        return np.zeros_like(centred), cov_xx
    slope = cov_xs @ np.linalg.pinv(covariance[np.ix_(kept, kept)])
    return centred[:, kept] @ slope.T, cov_xx - slope @ cov_xs.T


def root(matrix: Floats) -> Floats:
    """A with A Aᵀ = matrix; tiny negative eigenvalues of rounding count as zero."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


def gadp_in_leaves(
    data: Microdata, leaves: Leaves, kappa: float, kept: Mask, draws: Draws
) -> tuple[Floats, list[LeafFit]]:
    """GADP leaf by leaf on normal scores, and what had to be done to the leaves' correlation matrices."""
    scores = np.column_stack([_scores(column, leaves, draws) for column in data.X.T])
    full = np.flatnonzero(leaves.nodes.is_leaf & (leaves.size >= FEWEST_RECORDS))
    pooled = _correlation(scores[np.isin(leaves.leaf, full)]) if full.size else np.eye(scores.shape[1])
    moved, fits = scores.copy(), []
    for leaf in full:
        rows = leaves.records(int(leaf))
        matrix, fit = usable_correlation(scores[rows], pooled, int(leaf))
        moved[rows] = gadp(scores[rows], kept, kappa, np.zeros(scores.shape[1]), matrix, draws)
        fits.append(fit)
    few = np.flatnonzero(leaves.nodes.is_leaf & (leaves.size > 0) & (leaves.size < FEWEST_RECORDS))
    fits += [LeafFit(int(leaf), int(leaves.size[leaf]), 1.0, "too few records: additive noise") for leaf in few]
    ranked, released, amount = np.isin(leaves.leaf, full), data.X.copy(), float(np.sqrt(1 - kappa**2))
    for place in np.flatnonzero(~kept).tolist():
        room = Room(data.fields[place], *leaves.bounds(place), leaves.leaf)
        released[:, place] = blur(data.X[:, place], amount, room, ranked, draws, moved[:, place])
    return released, fits


def usable_correlation(scores: Floats, pooled: Floats, leaf: int) -> tuple[Floats, LeafFit]:
    """(1 − λ)·R + λ·pooled with λ = p/(n + p) where n < 10 p, and the smallest λ that is not singular otherwise."""
    n, p = scores.shape
    matrix, few = _correlation(scores), n < RECORDS_PER_ATTRIBUTE * p
    weight = p / (n + p) if few else 0.0
    mixed = (1 - weight) * matrix + weight * pooled
    reason = f"{n} records for {p} attributes" if few else ""
    if np.linalg.eigvalsh(mixed)[0] < LEAST_EIGENVALUE:
        mixed, reason = mixed + LEAST_EIGENVALUE * np.eye(p), f"{reason or n}: singular, ridge added".strip()
    return mixed, LeafFit(leaf, n, weight, reason)


def _scores(column: Floats, leaves: Leaves, draws: Draws) -> Floats:
    """Normal scores of the ranks inside the leaf, ties at random; missing values stay missing."""
    scores, known = np.full(column.shape, np.nan), np.flatnonzero(~np.isnan(column))
    if known.size:
        order, start, size = ranked_within(column[known], leaves.leaf[known], draws)
        scores[known[order]] = ndtri((np.arange(known.size) - start + 0.5) / size)
    return scores


def _correlation(scores: Floats) -> Floats:
    filled = np.nan_to_num(scores)
    size = np.sqrt((filled**2).sum(axis=0))
    matrix = (filled.T @ filled) / np.maximum(np.outer(size, size), 1e-12)
    np.fill_diagonal(matrix, 1.0)
    return np.asarray(matrix)


# --- whole-table methods ----------------------------------------------------------------------------------------------


def blur_whole_table(data: Microdata, method: str, amount: Floats, kept: Mask, draws: Draws) -> Floats:
    """One of the methods above on every field that is not kept."""
    methods = {"sadp": _simple, "correlated": _correlated, "gadp-table": _general, "swap": _swapped, "random": _random}
    blurred = methods[method]
    released = np.where(kept, data.X, blurred(data, amount, kept, draws))
    for place, field in enumerate(data.fields):
        released[:, place] = field.snap(released[:, place], field.low, field.high)
    return released


def _simple(data: Microdata, amount: Floats, kept: Mask, draws: Draws) -> Floats:
    return data.X + amount * np.sqrt(np.diag(moments(data.X)[1])) * draws.normal(data.X.shape)


def _correlated(data: Microdata, amount: Floats, kept: Mask, draws: Draws) -> Floats:
    mean, covariance = moments(data.X)
    noise = amount * (draws.normal(data.X.shape) @ root(covariance).T)
    return mean + (data.X - mean + noise) / np.sqrt(1 + amount**2)


def _general(data: Microdata, amount: Floats, kept: Mask, draws: Draws) -> Floats:
    classes = np.eye(len(data.classes))[data.y][:, 1:]
    both = np.column_stack([data.X, classes])
    mean, covariance = moments(both)
    held = np.concatenate([kept, np.ones(classes.shape[1], bool)])
    return gadp(both, held, float(np.sqrt(1 - amount[0])), mean, covariance, draws)[:, : data.X.shape[1]]


def _swapped(data: Microdata, amount: Floats, kept: Mask, draws: Draws) -> Floats:
    """Walk the ranks upwards; each record not yet swapped exchanges with a random later one inside its window."""
    released = data.X.copy()
    for place in np.flatnonzero(~kept):
        known = np.flatnonzero(~np.isnan(data.X[:, place]))
        if known.size:
            order = known[ranked_within(data.X[known, place], np.zeros(known.size, np.int64), draws)[0]]
            partner = _partners(known.size, max(1, round(amount[place] * known.size)), draws)
            released[order, place] = data.X[order[partner], place]
    return released


def _random(data: Microdata, amount: Floats, kept: Mask, draws: Draws) -> Floats:
    low, high = (np.tile([getattr(field, end) for field in data.fields], (len(data.y), 1)) for end in ("low", "high"))
    columns = [
        additive_noise(column, lower, upper, share, field, draws)
        for column, lower, upper, share, field in zip(data.X.T, low.T, high.T, amount, data.fields, strict=True)
    ]
    return np.column_stack(columns)


def _partners(n: int, window: int, draws: Draws) -> Codes:
    partner, free = np.arange(n), np.ones(n, dtype=bool)
    for place, u in enumerate(draws.uniform(n).tolist()):
        if free[place]:
            later = np.flatnonzero(free[place + 1 : place + 1 + window])
            if later.size:
                other = place + 1 + int(later[int(u * later.size)])
                partner[place], partner[other] = other, place
                free[other] = False
            free[place] = False
    return partner.astype(np.int64)


def moments(X: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance, missing values replaced by the mean."""
    known = ~np.isnan(X)
    mean = np.where(known, X, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, X - mean, 0)
    return mean, np.asarray(centred.T @ centred / max(len(X) - 1, 1))
