"""`Gadp`: general additive data perturbation (Muralidhar, Parsa, Sarathy 1999), inside the leaves of a tree.

With S the attributes left as they are, X the others and security κ, where Σ_YX = Σ_XS Σ_SS⁻¹ Σ_SX + κ·Σ_X|S:

    Y = M + κ·(X − M) + √(1 − κ²)·e,     M = E[X | S],     e ~ N(0, Σ_X|S),     Σ_X|S = Σ_XX − Σ_XS Σ_SS⁻¹ Σ_SX

so that means, Σ_YY = Σ_XX and Σ_YS = Σ_XS are kept. Inside a leaf the formula is applied to normal scores of the
leaf's ranks, and the leaf's own quantiles are dealt out in the order of Y: bounds hold by construction, variances and
shapes are kept, and correlations are those of the scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from sfumato.domain import Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.leafwise import pin_cuts
from sfumato.microdata.methods.method import InLeaves, LeafFit, Moved, Terms, check_amount
from sfumato.microdata.methods.noise import FEWEST_RECORDS, Room, blur, blur_labels, ranked_within
from sfumato.microdata.patterns.pattern import Leaves
from sfumato.microdata.patterns.rules import repair
from sfumato.microdata.table.fields import Mask, Microdata

RECORDS_PER_ATTRIBUTE = 10
"""Records per attribute below which a leaf's correlation matrix is mixed with the pooled one. A rule of thumb of
regression; larger draws more leaves towards the whole table's correlations."""

LEAST_EIGENVALUE = 1e-6
"""The smallest eigenvalue of a correlation matrix that counts as regular, and the ridge that is added below it: far
above rounding (1e−15), too small to change a correlation visibly."""

VARIED = (0.25, 0.5, 0.75, 1.0)
"""Shares of fresh variance that are compared by `find_frontier`."""


@dataclass(frozen=True)
class Gadp(InLeaves):
    """The method that moves all numbers of a tree's leaf together, so that their correlations stay; then classes.

    It is general additive data perturbation (Muralidhar, Parsa and Sarathy 1999), inside leaves.

    fresh    the share of variance that is new noise, 1 − κ²: from 0 (nothing moves) to 1 (values are drawn anew)
    leaves   the tree whose rules survive: None grows one on the table; or a number of leaves, "c45", options of
             scikit-learn's trees, or a fitted tree
    labels   how classes move inside leaves: "rpt" permutes them, "ppt" draws them from the leaf's shares, "alpt" in
    pure
             leaves too, "none" leaves them as they are

    >>> import sfumato as sf
    >>> ages = [20 + row % 30 for row in range(60)]
    >>> table = {"age": ages, "class": ["young" if age < 35 else "old" for age in ages]}
    >>> done = sf.release(table, "class", sf.microdata.Gadp(fresh=0.9), rng=1)
    >>> done.method.fresh
    0.9
    """

    name: ClassVar[str] = "gadp"
    fresh: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.fresh, Mapping):
            raise ValueError("gadp takes one share of fresh variance for all attributes; give a number")
        check_amount("fresh", self.fresh, 1.0)

    def amounts(self, data: Microdata) -> Floats:
        return np.full(len(data.fields), self.fresh, dtype=float)

    def varied(self) -> tuple[Gadp, ...]:
        return tuple(replace(self, fresh=fresh) for fresh in VARIED)

    def move(self, data: Microdata, terms: Terms, draws: Draws) -> Moved:
        rules, pattern, leaves = self.find_leaves(data, terms, search=False, finer=True)
        y = blur_labels(data.y, leaves.leaf, self.labels, draws)
        X, fits = gadp_in_leaves(data, leaves, float(np.sqrt(1 - self.fresh)), terms.kept, draws)
        repair(X, y, data, leaves, rules, terms.kept, draws)
        pin_cuts(X, np.flatnonzero(~terms.kept), leaves)
        return Moved(X, y, pattern, leaves, tuple(rules), tuple(fits))


def gadp(X: Floats, kept: Mask, kappa: float, mean: Floats, covariance: Floats, draws: Draws) -> Floats:
    """Return records X[record, column] with noise that keeps means and correlations, by the formula at the head.

    Columns marked in ``kept`` stay, and the others keep their correlations with them.
    ``kappa``: the security κ. ``mean`` and ``covariance``: μ and Σ of all columns.
    """
    released = X.copy()
    centred = np.nan_to_num(X - mean)
    expected, residual = conditional(centred, kept, covariance)
    fresh = draws.normal(expected.shape) @ root(residual).T
    moved = expected + kappa * (centred[:, ~kept] - expected) + np.sqrt(1 - kappa**2) * fresh
    released[:, ~kept] = np.where(np.isnan(X[:, ~kept]), np.nan, mean[~kept] + moved)
    return released


def conditional(centred: Floats, kept: Mask, covariance: Floats) -> tuple[Floats, Floats]:
    """Return what the columns that stay tell about the others: their expected values and their remaining covariance.

    E[X | S] − μ for each record, [record, column], and Σ_X|S. ``centred``: records less their mean. ``kept``: marks the
    columns S that stay.
    """
    cov_xx, cov_xs = covariance[np.ix_(~kept, ~kept)], covariance[np.ix_(~kept, kept)]
    if not kept.any():
        return np.zeros_like(centred), cov_xx
    slope = cov_xs @ np.linalg.pinv(covariance[np.ix_(kept, kept)])
    return centred[:, kept] @ slope.T, cov_xx - slope @ cov_xs.T


def root(matrix: Floats) -> Floats:
    """Return a matrix A with A Aᵀ = matrix, by which noise gets this covariance.

    Negative eigenvalues, which come from rounding, count as zero.
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


def gadp_in_leaves(
    data: Microdata, leaves: Leaves, kappa: float, kept: Mask, draws: Draws
) -> tuple[Floats, list[LeafFit]]:
    """Move the values of records leaf by leaf so that correlations stay; return (the values, repairs of matrices).

    Inside a leaf ranks become normal numbers, which get correlated noise.
    ``kappa``: the security κ. ``kept``: the fields that stay. Leaves of few records get additive noise.
    """
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
    for index in np.flatnonzero(~kept).tolist():
        room = Room(data.fields[index], *leaves.bounds(index), leaves.leaf)
        released[:, index] = blur(data.X[:, index], amount, room, ranked, draws, moved[:, index])
    return released, fits


def usable_correlation(scores: Floats, pooled: Floats, leaf: int) -> tuple[Floats, LeafFit]:
    """Return (a leaf's correlation matrix, repaired where it has too few records or is singular; what was done).

    ``scores[record, column]``: the leaf's values. ``pooled``: the matrix of all leaves. With R the leaf's own it is

    (1 − λ)·R + λ·pooled, λ = p/(n + p) where n < 10 p, else 0; plus a ridge where the result is singular.
    """
    n, p = scores.shape
    matrix, few = _correlation(scores), n < RECORDS_PER_ATTRIBUTE * p
    weight = p / (n + p) if few else 0.0
    mixed = (1 - weight) * matrix + weight * pooled
    reason = f"{n} records for {p} attributes" if few else ""
    if np.linalg.eigvalsh(mixed)[0] < LEAST_EIGENVALUE:
        mixed, reason = mixed + LEAST_EIGENVALUE * np.eye(p), f"{reason or n}: singular, ridge added".strip()
    return mixed, LeafFit(leaf, n, weight, reason)


def _scores(column: Floats, leaves: Leaves, draws: Draws) -> Floats:
    """Return a column with each value as a standard normal number of the same rank inside its leaf, ties at random.

    Missing values stay missing.
    """
    scores, present = np.full(column.shape, np.nan), np.flatnonzero(~np.isnan(column))
    if present.size:
        order, start, size = ranked_within(column[present], leaves.leaf[present], draws)
        scores[present[order]] = ndtri((np.arange(present.size) - start + 0.5) / size)
    return scores


def _correlation(scores: Floats) -> Floats:
    """Return the correlation matrix of centred scores, in which a missing value counts as 0."""
    filled = np.nan_to_num(scores)
    size = np.sqrt((filled**2).sum(axis=0))
    matrix = (filled.T @ filled) / np.maximum(np.outer(size, size), 1e-12)
    np.fill_diagonal(matrix, 1.0)
    return np.asarray(matrix)
