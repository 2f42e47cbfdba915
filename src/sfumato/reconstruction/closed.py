"""Shares of many categories in closed form, without a table, so that memory grows with categories and reports only.

Where every report stands for a set of categories (`channels.balanced`), of n reports the c_x whose set contains the
category x give the unbiased share

    p̂_x = (c_x/n − ρ)/(p − ρ) + δ,   δ the same for all, so that Σ p̂ = 1.

p is the chance that the set contains the true category, ρ that it contains another one. Privacy levels are averaged by
their precision. A report with the set y adds s_y = Σ_{x in y} (w_x − w̄)/(p − ρ) to a sum Σ w_x p̂_x, so its variance is
the variance of s over the reports, divided by n − 1.

An unbiased share may be negative. The nearest point of the simplex takes what is negative from *all* other shares,
which adds up where most categories are rarer than the noise: one to ten points off the largest twenty
(docs/mathematics.md). Here the shares that stand out from the noise stay as they are, and the others become the nearest
that sum to the rest. Sums are always read from the unbiased shares (`Estimate.share`), because among rare categories
the noise decides which gets more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import bdtr

from sfumato.channels.balanced import Balanced
from sfumato.counts import Counts, Tally
from sfumato.domain import Floats
from sfumato.reconstruction.estimate import Diagnostics, Estimate
from sfumato.reconstruction.misfit import misfit_in_words
from sfumato.reconstruction.request import check_counts, reports_in


def estimate_by_sets(counts: Counts, method: str) -> list[Estimate]:
    """Return the estimate of each class from reports that stand for sets of categories.

    method: "inverse" for unbiased shares, "smooth" for shares that are besides not negative.
    """
    tallies = tuple(tally for tally in counts.levels.values() if tally.histogram.any())
    check_counts(counts, tallies)
    laws = [_law(tally) for tally in tallies]
    people = [(float(reports), float(missing)) for reports, missing in zip(*reports_in(counts), strict=True)]
    return [_estimate(tallies, laws, row, class_, counts.weighted, method) for row, class_ in enumerate(people)]


def _law(tally: Tally) -> Balanced:
    """Return the law of a tally's channel; raise ValueError where it does not depend on the true category."""
    law = tally.channel.balanced()
    assert law is not None
    if law.kept == law.stray:
        raise ValueError("the channel gives all categories the same reports, so nothing can be read; change its keep=")
    return law


def _estimate(
    tallies: tuple[Tally, ...], laws: list[Balanced], row: int, people: tuple[float, float], weighted: bool, method: str
) -> Estimate:
    """Return the estimate of one class.

    row: of the class in the histograms. people: how many reports the class has, and how many missing ones. weighted:
    whether reports have weights.
    """
    levels = [
        BalancedCounts(law, tally.histogram[row].astype(float), tally.weight_sums.squares[row].astype(float))
        for law, tally in zip(laws, tallies, strict=True)
    ]
    levels = [level for level in levels if level.reports]
    covariance = SumCovariance([level.with_variance() for level in levels])
    unbiased = np.sum([share * level.shares for share, level in zip(covariance.weights, levels, strict=True)], axis=0)
    unbiased += (1 - unbiased.sum()) / unbiased.size
    stderr = np.sqrt(covariance.diagonal())
    shares = unbiased if method == "inverse" else nonnegative(unbiased, stderr)
    tested = not weighted and all(tally.histogram.dtype.kind != "f" for tally in tallies)
    fit = min(level.fit() for level in levels) if tested else 1.0
    messages = tuple(filter(None, [misfit_in_words(fit), _within_noise(float(np.median(stderr)), shares.size)]))
    likelihood = sum(level.log_likelihood(np.maximum(shares, 0.0)) for level in levels)
    worth = sum(level.reports for level in levels) if weighted else None
    facts = Diagnostics(method, *people, 0, len(levels), likelihood, shares.size - 1.0, messages, fit, worth=worth)
    labels = tuple(tallies[0].channel.domain.labels)  # type: ignore[union-attr]
    return Estimate(None, labels, shares, covariance, facts, unbiased=unbiased)


def _within_noise(stderr: float, categories: int) -> str | None:
    """Say that a category of average size does not stand out from the noise by two standard errors; None if it does."""
    if 2 * stderr < 1 / categories:
        return None
    least = f"{100 * 2 * stderr:.2g} %" if stderr < 0.5 else "any size"
    return f"single categories of less than {least} are within the noise; read several together, with share([...])"


@dataclass(frozen=True, eq=False)
class BalancedCounts:
    """The reports of one privacy level, each of which stands for a set of categories.

    law: the chances p (``kept``) and ρ (``stray``) of its sets. counts: reports with each code. squares: summed squares
    of their weights; the counts again where every report counts once.
    """

    law: Balanced
    counts: Floats
    squares: Floats

    def with_variance(self) -> BalancedCounts:
        """Return the counts; where all reports are equal, which would state no error, with half a report more of each
        code, scaled to the same number of reports."""
        if np.count_nonzero(self.counts) > 1:
            return self
        likely = (self.counts + 0.5) / (self.counts + 0.5).sum()
        return BalancedCounts(self.law, self.reports * likely, float(self.squares.sum()) * likely)

    @cached_property
    def reports(self) -> float:
        """The number of reports n."""
        return float(self.counts.sum())

    @cached_property
    def set_shares(self) -> Floats:
        """The share c_x/n of reports whose set contains each category."""
        return np.asarray(np.clip(self.law.counts_by_code(self.counts) / self.reports, 0.0, 1.0))

    @property
    def shares(self) -> Floats:
        """The unbiased share of each category, (c_x/n − ρ)/(p − ρ); they need not sum to 1."""
        return np.asarray((self.set_shares - self.law.stray) / (self.law.kept - self.law.stray))

    def times_covariance(self, weights: Floats) -> Floats:
        """Return the product of the covariance of the shares with weights w of the categories.

        Entry x is Σ_y v_y (1[x in y] − c_x/n)(s_y − s̄)/((p − ρ)(n² − Σ v)), v the squares.
        """
        scale = self.law.kept - self.law.stray
        added = self.law.weights_by_report(weights) / scale
        centred = self.squares * (added - float(self.counts @ added) / self.reports)
        product = self.law.counts_by_code(centred) - self.set_shares * float(centred.sum())
        return np.asarray(product / scale / self._freedom)

    def variances(self) -> Floats:
        """Return the variance of the share of each category."""
        in_sets = self.law.counts_by_code(self.squares)
        spread = in_sets * (1 - 2 * self.set_shares) + self.set_shares**2 * float(self.squares.sum())
        return np.asarray(spread / (self.law.kept - self.law.stray) ** 2 / self._freedom)

    @cached_property
    def _freedom(self) -> float:
        """n² − Σ v, by which sums of squares are divided; n(n − 1) where every report counts once."""
        squares = float(self.squares.sum())
        return max(self.reports**2 - squares, squares)

    def log_likelihood(self, shares: Floats) -> float:
        """Return the log-likelihood of the reports under these shares of the categories, scaled to sum 1."""
        return float(self.counts @ np.log(np.maximum(self.law.reports(shares / shares.sum()), 1e-300)))

    def fit(self) -> float:
        """Return the p-value of the channel: how often sound reports leave some category in as few sets, at most.

        Even a category that nobody has is in a share ρ of all sets, so the number of sets is compared with a binomial
        distribution. That holds if p ≥ ρ; 1 otherwise.
        """
        if self.law.kept < self.law.stray:
            return 1.0
        rarest = float(np.rint(self.set_shares.min() * self.reports))
        return min(1.0, self.set_shares.size * float(bdtr(rarest, round(self.reports), self.law.stray)))


class SumCovariance:
    """The covariance of unbiased shares that sum to 1, as a linear map; ``np.asarray`` computes the matrix.

    ``w @ covariance @ w`` is the variance of Σ w_x p̂_x. ``weights``: by how much each privacy level counts.
    """

    __array_ufunc__ = None  # so that w @ covariance comes here

    def __init__(self, levels: list[BalancedCounts]) -> None:
        self.levels = levels
        precision = np.array([level.reports * level.law.precision for level in levels])
        exact = np.isinf(precision)  # levels without noise count alone
        self.weights = exact / exact.sum() if exact.any() else precision / precision.sum()

    @property
    def shape(self) -> tuple[int, int]:
        """(categories, categories)."""
        size = int(self.levels[0].set_shares.size)
        return size, size

    def _before_scaling(self, weights: Floats) -> Floats:
        """Return the product with the covariance of the shares before they are made to sum to 1."""
        parts = zip(self.weights.tolist(), self.levels, strict=True)
        return np.asarray(np.sum([share**2 * level.times_covariance(weights) for share, level in parts], axis=0))

    def __matmul__(self, weights: Any) -> Floats:
        array = np.asarray(weights, dtype=float)
        if array.ndim > 1:
            return np.stack([self @ column for column in array.T], axis=1)
        product = self._before_scaling(array - array.mean())
        return np.asarray(product - product.mean())

    __rmatmul__ = __matmul__  # it is symmetric

    def diagonal(self) -> Floats:
        """Return the variance of each share."""
        parts = zip(self.weights.tolist(), self.levels, strict=True)
        own = np.sum([share**2 * level.variances() for share, level in parts], axis=0)
        of_sum = self._before_scaling(np.ones(own.size))
        return np.asarray(np.maximum(own - 2 * of_sum / own.size + of_sum.sum() / own.size**2, 0.0))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Floats:
        return (self @ np.eye(self.shape[0])).astype(float if dtype is None else dtype)

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index]


def nonnegative(shares: Floats, stderr: Floats) -> Floats:
    """Return shares of sum 1 without negative ones, which leave those that stand out from the noise as they are.

    A share stands out if it is more than √(2 ln d) standard errors above 0: about none of d empty categories is.
    """
    clear = shares > np.sqrt(2 * np.log(shares.size)) * stderr
    remainder = 1 - float(shares[clear].sum())
    if remainder <= 0 or clear.all():
        return project(shares, 1.0)
    projected = shares.copy()
    projected[~clear] = project(shares[~clear], remainder)
    return projected


def project(shares: Floats, total: float) -> Floats:
    """Return the nearest point, by least squares, that sums to ``total`` and has no negative entry: max(p − δ, 0)."""
    falling = -np.sort(-shares)
    excess = (np.cumsum(falling) - total) / np.arange(1, shares.size + 1)
    return np.asarray(np.maximum(shares - excess[np.flatnonzero(falling > excess)[-1]], 0.0))
