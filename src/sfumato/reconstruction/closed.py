"""Many categories in closed form: no table, memory as many numbers as there are categories or reports.

Where every report stands for a set (`channels.balanced`), the share of sets that hold a category gives its own:

    p̂_x = (c_x/n − ρ)/(p − ρ) + δ,   δ the same for all, so that Σ p̂ = 1.

It is unbiased whatever the truth is, and so is every sum of it. Levels are averaged by what a report of each tells. The
covariance of a sum Σ w_x p̂_x needs no table either: a report adds s_y = Σ_{x in set y} (w_x − w̄)/(p − ρ), so it is the
variance of s over the reports, over n − 1.

Below zero an estimate is no share. The nearest point of the simplex takes what is below zero from *all* the others, and
where most categories are rarer than the noise that adds up: it put a true 61 % of twenty categories at 56 %. Here those
that stand out from the noise stay as they are, and the others are the nearest that share what those leave. Among the
others noise decides who gets more, so their sums are not told by these: sums are always read from the unbiased shares
(``Estimate.share``).
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


def by_sets(counts: Counts, method: str) -> list[Estimate]:
    """One estimate a class: unbiased ("inverse"), or also without negative shares ("smooth")."""
    tallies = tuple(tally for tally in counts.levels.values() if tally.histogram.any())
    check_counts(counts, tallies)
    laws = [_law(tally) for tally in tallies]
    told = [(float(reports), float(missing)) for reports, missing in zip(*reports_in(counts), strict=True)]
    return [_estimate(tallies, laws, row, each, counts.weighted, method) for row, each in enumerate(told)]


def _law(tally: Tally) -> Balanced:
    law = tally.channel.balanced()
    assert law is not None
    if law.kept == law.stray:
        raise ValueError("the channel gives all categories the same reports, so nothing can be read; change its keep=")
    return law


def _estimate(
    tallies: tuple[Tally, ...], laws: list[Balanced], row: int, told: tuple[float, float], weighted: bool, method: str
) -> Estimate:
    seen = [
        Seen(law, tally.histogram[row].astype(float), tally.told.squares[row].astype(float))
        for law, tally in zip(laws, tallies, strict=True)
    ]
    seen = [each for each in seen if each.reports]
    covariance = SumCovariance([each.not_all_alike() for each in seen])
    unbiased = np.sum([share * each.shares for share, each in zip(covariance.weights, seen, strict=True)], axis=0)
    unbiased += (1 - unbiased.sum()) / unbiased.size
    stderr = np.sqrt(covariance.diagonal())
    found = unbiased if method == "inverse" else not_negative(unbiased, stderr)
    judged = not weighted and all(tally.histogram.dtype.kind != "f" for tally in tallies)
    fit = min(each.fit() for each in seen) if judged else 1.0
    said = tuple(filter(None, [misfit_in_words(fit), _within_noise(float(np.median(stderr)), found.size)]))
    likelihood = sum(each.log_likelihood(np.maximum(found, 0.0)) for each in seen)
    worth = sum(each.reports for each in seen) if weighted else None
    facts = Diagnostics(method, *told, 0, len(seen), likelihood, found.size - 1.0, said, fit, worth=worth)
    labels = tuple(tallies[0].channel.domain.labels)  # type: ignore[union-attr]
    return Estimate(None, labels, found, covariance, facts, unbiased=unbiased)


def _within_noise(stderr: float, categories: int) -> str | None:
    """Said where an average category does not stand out from the noise."""
    if 2 * stderr < 1 / categories:
        return None
    least = f"{100 * 2 * stderr:.2g} %" if stderr < 0.5 else "any size"
    return f"single categories of less than {least} are within the noise; read several together, with share([...])"


@dataclass(frozen=True, eq=False)
class Seen:
    """The reports of one level: what their law is, how often each was seen, and the squares of their weights (counts
    again where every report counts once)."""

    law: Balanced
    counts: Floats
    squares: Floats

    def not_all_alike(self) -> Seen:
        """Reports that are all the same would state no error: there half a report more of every kind says how others
        would have been."""
        if np.count_nonzero(self.counts) > 1:
            return self
        likely = (self.counts + 0.5) / (self.counts + 0.5).sum()
        return Seen(self.law, self.reports * likely, float(self.squares.sum()) * likely)

    @cached_property
    def reports(self) -> float:
        return float(self.counts.sum())

    @cached_property
    def held(self) -> Floats:
        """The share of sets that hold each category."""
        return np.asarray(np.clip(self.law.counts_by_code(self.counts) / self.reports, 0.0, 1.0))

    @property
    def shares(self) -> Floats:
        """The unbiased shares, which need not sum to 1."""
        return np.asarray((self.held - self.law.stray) / (self.law.kept - self.law.stray))

    def carry(self, weights: Floats) -> Floats:
        """The covariance of this level's shares times weights: Σ_y v_y (1[x in y] − c_x)(s_y − s̄)/(n² − Σ v)."""
        scale = self.law.kept - self.law.stray
        added = self.law.weights_by_report(weights) / scale
        off = self.squares * (added - float(self.counts @ added) / self.reports)
        carried = self.law.counts_by_code(off) - self.held * float(off.sum())
        return np.asarray(carried / scale / self._freedom)

    def variances(self) -> Floats:
        """The diagonal of that covariance."""
        held = self.law.counts_by_code(self.squares)
        spread = held * (1 - 2 * self.held) + self.held**2 * float(self.squares.sum())
        return np.asarray(spread / (self.law.kept - self.law.stray) ** 2 / self._freedom)

    @cached_property
    def _freedom(self) -> float:
        squares = float(self.squares.sum())
        return max(self.reports**2 - squares, squares)

    def log_likelihood(self, shares: Floats) -> float:
        return float(self.counts @ np.log(np.maximum(self.law.reports(shares / shares.sum()), 1e-300)))

    def fit(self) -> float:
        """How often sound reports would leave some category in so few sets, at most: even one that nobody has is in a
        share ``stray`` of them (where the truth is the likelier report)."""
        if self.law.kept < self.law.stray:
            return 1.0
        rarest = float(np.rint(self.held.min() * self.reports))
        return min(1.0, self.held.size * float(bdtr(rarest, round(self.reports), self.law.stray)))


class SumCovariance:
    """The covariance of estimates that sum to 1, as a product with weights; ``np.asarray`` writes it out.

    ``w @ covariance @ w`` is the variance of Σ w_x p̂_x.
    """

    __array_ufunc__ = None  # so that w @ covariance comes here

    def __init__(self, seen: list[Seen]) -> None:
        self.seen = seen
        told = np.array([each.reports * each.law.precision for each in seen])
        self.weights = told / told.sum() if np.isfinite(told).all() else np.isinf(told) / np.isinf(told).sum()

    @property
    def shape(self) -> tuple[int, int]:
        size = int(self.seen[0].held.size)
        return size, size

    @cached_property
    def _scales(self) -> list[float]:
        return [float(share**2) for share in self.weights]

    def _free(self, weights: Floats) -> Floats:
        """The product before the estimates are made to sum to 1."""
        parts = zip(self._scales, self.seen, strict=True)
        return np.asarray(np.sum([scale * each.carry(weights) for scale, each in parts], axis=0))

    def __matmul__(self, weights: Any) -> Floats:
        given = np.asarray(weights, dtype=float)
        if given.ndim > 1:
            return np.stack([self @ column for column in given.T], axis=1)
        found = self._free(given - given.mean())
        return np.asarray(found - found.mean())

    __rmatmul__ = __matmul__  # it is symmetric

    def diagonal(self) -> Floats:
        parts = zip(self._scales, self.seen, strict=True)
        own = np.sum([scale * each.variances() for scale, each in parts], axis=0)
        of_sum = self._free(np.ones(own.size))
        return np.asarray(np.maximum(own - 2 * of_sum / own.size + of_sum.sum() / own.size**2, 0.0))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Floats:
        return (self @ np.eye(self.shape[0])).astype(float if dtype is None else dtype)

    def __getitem__(self, place: Any) -> Any:
        return np.asarray(self)[place]


def not_negative(shares: Floats, stderr: Floats) -> Floats:
    """Shares that stand out stay, and the others are the nearest to theirs that make 1 with them.

    Standing out: √(2 ln d) standard errors above 0, which about none of d categories do that nobody has.
    """
    clear = shares > np.sqrt(2 * np.log(shares.size)) * stderr
    left = 1 - float(shares[clear].sum())
    if left <= 0 or clear.all():
        return nearest(shares, 1.0)
    found = shares.copy()
    found[~clear] = nearest(shares[~clear], left)
    return found


def nearest(shares: Floats, total: float) -> Floats:
    """The nearest point, by least squares, with this total and nothing below 0: max(p − δ, 0)."""
    falling = -np.sort(-shares)
    excess = (np.cumsum(falling) - total) / np.arange(1, shares.size + 1)
    return np.asarray(np.maximum(shares - excess[np.flatnonzero(falling > excess)[-1]], 0.0))
