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

from dataclasses import dataclass

import numpy as np

from sfumato.domain import Floats
from sfumato.regression.design import CategoricalOutcome

MOST_STEPS = 60
"""The most steps of Fisher scoring. Chosen by judgement: fits that have a maximum take about ten; one that takes all of
them counts as not bounded."""

SHORTEST = 20
"""The most halvings of a step, to a millionth of its length: below, the likelihood changes by rounding only."""

FURTHEST = 5.0
"""The most by which one step may move anybody's log odds. Chosen by judgement: a longer step from far below the maximum
overshoots and is halved."""

ENOUGH = 1e-10
"""The gain in log-likelihood, promised by the next step, below which the fit has arrived: far below the 1/2 that one
standard error makes."""

RUN_OFF = 15.0
"""Median log odds at which a coefficient grows without bound: e¹⁵ is three million to one, which no survey can show."""


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """The result of a logistic regression.

    ``coef``: β[category but the first, column], row after row. ``covariance``: that of ``coef``, infinite where
    ``bounded`` is False: the likelihood has no maximum. ``log_likelihood``: Σ w log P at β.
    """

    coef: Floats
    covariance: Floats
    log_likelihood: float
    bounded: bool


def fit_logistic(numbers: Floats, answer: CategoricalOutcome, weights: Floats, *, robust: bool) -> LogisticFit:
    """Fit a logistic regression by Fisher scoring.

    ``numbers[person, column]``: the columns. ``answer``: the outcome. ``weights``: one a person. ``robust``: compute
    the sandwich covariance, which weights need. Nothing may be missing.
    """
    scale = np.sqrt(np.mean(numbers**2, axis=0))
    model = _Model(numbers / scale, answer, weights)
    state, better = model.at(np.zeros((len(answer.labels) - 1, scale.size))), None
    for _ in range(MOST_STEPS):
        better = model.uphill(state)
        if better is None or model.run_off(better):
            break
        state = better
    unit = np.tile(scale, len(answer.labels) - 1)
    bounded = better is None and np.linalg.matrix_rank(model.information(state), hermitian=True) == unit.size
    covariance = model.covariance(state, robust) if bounded else np.full((unit.size, unit.size), np.inf)
    return LogisticFit(state.beta.ravel() / unit, covariance / np.outer(unit, unit), state.value, bool(bounded))


@dataclass(frozen=True, eq=False)
class _State:
    """β, its log-likelihood Σ w log P, the slope of log P in each zᵀβ_t, and σ."""

    beta: Floats
    value: float
    slope: Floats
    sigma: Floats


@dataclass(frozen=True, eq=False)
class _Model:
    """The likelihood of the reports as a function of β, for columns ``z[person, column]``."""

    z: Floats
    answer: CategoricalOutcome
    weights: Floats

    def at(self, beta: Floats) -> _State:
        """Return the log-likelihood at β with its slopes."""
        odds = np.hstack([np.zeros((len(self.z), 1)), self.z @ beta.T])
        sigma = np.exp(odds - odds.max(axis=1, keepdims=True))
        sigma /= sigma.sum(axis=1, keepdims=True)
        both = self.answer.chances * sigma
        p_report = np.maximum(both.sum(axis=1), 1e-300)
        return _State(beta, float(self.weights @ np.log(p_report)), (both / p_report[:, None] - sigma)[:, 1:], sigma)

    def uphill(self, state: _State) -> _State | None:
        """Make one step of Fisher scoring, halved until the likelihood does not fall; None at the maximum."""
        gradient = (state.slope.T @ (self.weights[:, None] * self.z)).ravel()
        step = np.linalg.lstsq(self.information(state), gradient, rcond=1e-12)[0]
        if float(step @ gradient) < ENOUGH:
            return None
        step = step.reshape(state.beta.shape)
        longest = min(1.0, FURTHEST / float(np.abs(self.z @ step.T).max()))
        trials = (self.at(state.beta + longest * 0.5**halved * step) for halved in range(SHORTEST))
        return next((trial for trial in trials if trial.value >= state.value), None)

    def run_off(self, state: _State) -> bool:
        """Return whether the median of the absolute log odds is beyond RUN_OFF: β grows without bound."""
        return float(np.median(np.abs(self.z @ state.beta.T))) > RUN_OFF

    def information(self, state: _State) -> Floats:
        """Return Fisher's information of β, Σ w·(information of one report) ⊗ z zᵀ."""
        others, columns = state.beta.shape
        inner = np.zeros((len(self.z), others + 1, others + 1))
        for index, law in enumerate(self.answer.laws):
            own = self.answer.level == index
            pairs = (law[:, :, None] * law[:, None, :]).reshape(len(law), -1)
            inverse = 1 / np.maximum(state.sigma[own] @ law.T, 1e-300)
            inner[own] = (inverse @ pairs).reshape(-1, others + 1, others + 1)
        moves = state.sigma[:, :, None] * (np.eye(others + 1)[:, 1:] - state.sigma[:, None, 1:])  # J from β₁ on
        inner = self.weights[:, None, None] * (np.swapaxes(moves, 1, 2) @ inner @ moves)
        blocks = np.einsum("nab,ni,nj->aibj", inner, self.z, self.z, optimize=True)
        return np.asarray(blocks.reshape(others * columns, others * columns))

    def covariance(self, state: _State, robust: bool) -> Floats:
        """Return the covariance of β: the inverse information, or with ``robust`` the sandwich."""
        inverse = np.asarray(np.linalg.inv(self.information(state)), dtype=np.float64)
        if not robust:
            return inverse
        scores = (state.slope[:, :, None] * self.z[:, None, :]).reshape(len(self.z), -1) * self.weights[:, None]
        return np.asarray(inverse @ (scores.T @ scores) @ inverse)
