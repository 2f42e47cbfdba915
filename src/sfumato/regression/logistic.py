"""Logistic regression of a clear or blurred outcome on clear columns, by maximum likelihood.

    P(report = s | z) = Σ_t P[s, t]·σ_t(z),   σ_t = e^{zᵀβ_t} / Σ_u e^{zᵀβ_u},   β = 0 for the first category.

With τ_t = P[s, t]·σ_t / Σ_u P[s, u]·σ_u, the chance of t given the report, the slope of log P in zᵀβ_t is τ_t − σ_t,
and its expected square, Fisher's information of one report, is

    Jᵀ Pᵀ diag(1/π) P J,   π = P σ,   J = diag(σ) − σσᵀ.

It is fitted by Fisher scoring, with shorter steps where the likelihood would fall. The covariance is the inverse
information H⁻¹; where people have different weights w, the sandwich H⁻¹ Σ w² ssᵀ H⁻¹ of their slopes s. Without noise
this is ordinary logistic regression.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from sfumato.domain import Floats
from sfumato.evidence import climb
from sfumato.evidence.fisher import scoring_step
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.regression.design import CategoricalOutcome

MOST_STEPS = 60
"""The most steps of Fisher scoring. Chosen by judgement: fits that have a maximum take about ten; one that takes all of
them counts as not bounded."""

FURTHEST = 5.0
"""The most by which one step may move anybody's log odds. Chosen by judgement: a longer step from far below the maximum
overshoots and is shortened."""

ENOUGH = 1e-10
"""The gain in log-likelihood, promised by the next step, below which the fit has arrived: far below the 1/2 that one
standard error makes."""

RUN_OFF = 15.0
"""Median log odds at which a coefficient grows without bound: e¹⁵ is three million to one, which no survey can show."""


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """The result of fitting a logistic regression: coefficients with their covariance.

    ``coef``: β[category but the first, column], row after row. ``covariance``: that of ``coef``, infinite where
    ``bounded`` is False: the likelihood has no maximum. ``log_likelihood``: Σ w log P at β.
    """

    coef: Floats
    covariance: Floats
    log_likelihood: float
    bounded: bool


def fit_logistic(numbers: Floats, answer: CategoricalOutcome, weights: Floats, *, robust: bool) -> LogisticFit:
    """Fit a logistic regression, by climbing to the largest likelihood (Fisher scoring).

    ``numbers[person, column]``: the columns. ``answer``: the outcome. ``weights``: one a person. ``robust``: compute
    the sandwich covariance, which weights need. Nothing may be missing.
    """
    scale = np.sqrt(np.mean(numbers**2, axis=0))
    start = LogisticPoint(numbers / scale, answer, weights, np.zeros((len(answer.labels) - 1, scale.size)))
    top = climb(start, steps=MOST_STEPS, enough=ENOUGH)
    score, information = top.slopes
    unit = np.tile(scale, len(answer.labels) - 1)
    arrived = float(score @ scoring_step(information, score)) < ENOUGH
    bounded = arrived and np.linalg.matrix_rank(information, hermitian=True) == unit.size
    covariance = top.covariance(robust) if bounded else np.full((unit.size, unit.size), np.inf)
    return LogisticFit(top.beta.ravel() / unit, covariance / np.outer(unit, unit), top.value, bool(bounded))


@dataclass(frozen=True, eq=False)
class LogisticPoint:
    """A point on the way to the largest likelihood: coefficients β, and the likelihood of the reports there.

    `climb` goes from point to point. ``z[person, column]``: the columns to explain by. ``answer``: the outcome.
    ``weights``: of each person. ``beta[category but the first, column]``: the coefficients.
    """

    z: Floats
    answer: CategoricalOutcome
    weights: Floats
    beta: Floats

    @cached_property
    def sigma(self) -> Floats:
        """P(category | columns) at these coefficients, as an array [person, category] with rows that sum to 1.

        Of the true outcome, without regard to the person's report.
        """
        odds = np.hstack([np.zeros((len(self.z), 1)), self.z @ self.beta.T])
        sigma = np.exp(odds - odds.max(axis=1, keepdims=True))
        return np.asarray(sigma / sigma.sum(axis=1, keepdims=True))

    @cached_property
    def _with_report(self) -> tuple[Floats, Floats]:
        """The chances of the person's report at these coefficients, as two arrays.

        P(category and report), [person, category], and P(report), [person].
        """
        both = self.answer.chances * self.sigma
        return both, np.maximum(both.sum(axis=1), LEAST_DOUBLE)

    @cached_property
    def value(self) -> float:
        """The log-likelihood of all reports at these coefficients: Σ w log P(report)."""
        return float(self.weights @ np.log(self._with_report[1]))

    @cached_property
    def slope(self) -> Floats:
        """How log P(report) changes with each zᵀβ_t, its slope, as an array [person, category but the first]."""
        both, p_report = self._with_report
        return np.asarray((both / p_report[:, None] - self.sigma)[:, 1:])

    @cached_property
    def slopes(self) -> tuple[Floats, Floats]:
        """First and expected second derivatives of the log-likelihood by the coefficients: (score, information).

        A vector and a matrix over the entries of β, row after row; the information is Σ w·(that of one report) ⊗ z zᵀ.
        """
        score = (self.slope.T @ (self.weights[:, None] * self.z)).ravel()
        others = len(self.beta)
        inner = np.zeros((len(self.z), others + 1, others + 1))
        for index, law in enumerate(self.answer.laws):
            own = self.answer.level == index
            pairs = (law[:, :, None] * law[:, None, :]).reshape(len(law), -1)
            inverse = 1 / np.maximum(self.sigma[own] @ law.T, LEAST_DOUBLE)
            inner[own] = (inverse @ pairs).reshape(-1, others + 1, others + 1)
        moves = self.sigma[:, :, None] * (np.eye(others + 1)[:, 1:] - self.sigma[:, None, 1:])  # J from β₁ on
        inner = self.weights[:, None, None] * (np.swapaxes(moves, 1, 2) @ inner @ moves)
        blocks = np.einsum("nab,ni,nj->aibj", inner, self.z, self.z, optimize=True)
        return score, np.asarray(blocks.reshape(self.beta.size, self.beta.size))

    def moved(self, step: Floats) -> Self | None:
        """Return the point that a step leads to, shortened so that nobody's log odds move by more than FURTHEST.

        ``step``: the change of β, row after row. None where the log odds grow without bound.
        """
        step = step.reshape(self.beta.shape)
        length = min(1.0, FURTHEST / max(float(np.abs(self.z @ step.T).max()), LEAST_DOUBLE))
        ahead = replace(self, beta=self.beta + length * step)
        return None if float(np.median(np.abs(self.z @ ahead.beta.T))) > RUN_OFF else ahead

    def covariance(self, robust: bool) -> Floats:
        """Return the covariance matrix of the coefficients: the inverse information, or with ``robust`` the sandwich.

        The sandwich holds where people have different weights.
        """
        inverse = np.asarray(np.linalg.inv(self.slopes[1]), dtype=np.float64)
        if not robust:
            return inverse
        scores = (self.slope[:, :, None] * self.z[:, None, :]).reshape(len(self.z), -1) * self.weights[:, None]
        return np.asarray(inverse @ (scores.T @ scores) @ inverse)
