"""A logistic regression of a blurred answer on clear columns, by maximum likelihood.

    P(report = s | z) = Σ_t P[s, t]·σ_t(z),   σ_t = e^{zᵀβ_t} / Σ_u e^{zᵀβ_u},   β = 0 for the first category.

With τ_t = P[s, t]·σ_t / Σ_u P[s, u]·σ_u, the chance of t once the report is known, the slope of log P in zᵀβ_t is
τ_t − σ_t, and its expected square, Fisher's information of one report, is

    Jᵀ Pᵀ diag(1/π) P J,   π = P σ,   J = diag(σ) − σσᵀ.

Fisher scoring, with shorter steps where the likelihood would fall. The covariance is the inverse information H⁻¹; where
people have different weights w, the sandwich H⁻¹ Σ w² ssᵀ H⁻¹ of their slopes s. Without noise this is what every
logistic regression finds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.domain import Floats
from sfumato.regression.design import Answer

MOST_STEPS = 60
SHORTEST, FURTHEST = 20, 5.0  # halvings of a step, and by how much it moves log odds at most
ENOUGH = 1e-10  # of log-likelihood that another step promises
RUN_OFF = 15.0  # log odds that no one has: e^15 is three million to one


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """β[category but the first, column] as one row after the other, and its covariance: infinite where the reports do
    not bound β."""

    coef: Floats
    covariance: Floats
    log_likelihood: float
    bounded: bool


def fit_logistic(numbers: Floats, answer: Answer, weights: Floats, *, robust: bool) -> LogisticFit:
    """``numbers[person, column]`` and ``weights`` of those whose answer is known; ``robust``: the sandwich."""
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
    z: Floats
    answer: Answer
    weights: Floats

    def at(self, beta: Floats) -> _State:
        odds = np.hstack([np.zeros((len(self.z), 1)), self.z @ beta.T])
        sigma = np.exp(odds - odds.max(axis=1, keepdims=True))
        sigma /= sigma.sum(axis=1, keepdims=True)
        both = self.answer.chances * sigma
        seen = np.maximum(both.sum(axis=1), 1e-300)
        return _State(beta, float(self.weights @ np.log(seen)), (both / seen[:, None] - sigma)[:, 1:], sigma)

    def uphill(self, state: _State) -> _State | None:
        """One step of Fisher scoring, made shorter until the likelihood does not fall; None at the top."""
        gradient = (state.slope.T @ (self.weights[:, None] * self.z)).ravel()
        step = np.linalg.lstsq(self.information(state), gradient, rcond=1e-12)[0]
        if float(step @ gradient) < ENOUGH:
            return None
        step = step.reshape(state.beta.shape)
        longest = min(1.0, FURTHEST / float(np.abs(self.z @ step.T).max()))
        trials = (self.at(state.beta + longest * 0.5**halved * step) for halved in range(SHORTEST))
        return next((trial for trial in trials if trial.value >= state.value), None)

    def run_off(self, state: _State) -> bool:
        """Whether most people have log odds that no one has."""
        return float(np.median(np.abs(self.z @ state.beta.T))) > RUN_OFF

    def information(self, state: _State) -> Floats:
        """Σ w·(information of one report) ⊗ z zᵀ."""
        others, columns = state.beta.shape
        each = np.zeros((len(self.z), others + 1, others + 1))
        for place, law in enumerate(self.answer.laws):
            own = self.answer.level == place
            pairs = (law[:, :, None] * law[:, None, :]).reshape(len(law), -1)
            inverse = 1 / np.maximum(state.sigma[own] @ law.T, 1e-300)
            each[own] = (inverse @ pairs).reshape(-1, others + 1, others + 1)
        moves = state.sigma[:, :, None] * (np.eye(others + 1)[:, 1:] - state.sigma[:, None, 1:])  # J from β₁ on
        each = self.weights[:, None, None] * (np.swapaxes(moves, 1, 2) @ each @ moves)
        found = np.einsum("nab,ni,nj->aibj", each, self.z, self.z, optimize=True)
        return np.asarray(found.reshape(others * columns, others * columns))

    def covariance(self, state: _State, robust: bool) -> Floats:
        inverse = np.asarray(np.linalg.inv(self.information(state)), dtype=np.float64)
        if not robust:
            return inverse
        scores = (state.slope[:, :, None] * self.z[:, None, :]).reshape(len(self.z), -1) * self.weights[:, None]
        return np.asarray(inverse @ (scores.T @ scores) @ inverse)
