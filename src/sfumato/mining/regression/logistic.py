"""A logistic regression of a blurred answer on clear columns, by maximum likelihood.

    P(report = s | z) = Σ_t P[s, t]·σ_t(z),   σ_t = e^{zᵀβ_t} / Σ_u e^{zᵀβ_u},   β = 0 for the first category.

With τ_t = P[s, t]·σ_t / Σ_u P[s, u]·σ_u, the chance of t once the report is known, the slope of log P in zᵀβ_t is
τ_t − σ_t, and its expected square, Fisher's information of one report, is

    Jᵀ Pᵀ diag(1/π) P J,   π = P σ,   J = diag(σ) − σσᵀ.

Fisher scoring, with shorter steps where the likelihood would fall. The covariance is the inverse information H⁻¹; where
people have different weights w, the sandwich H⁻¹ Σ w² ss ᵀ H⁻¹ of their slopes s. Without noise this is what every
logistic regression finds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.domain import Floats
from sfumato.mining.regression.design import Answer

MOST_STEPS, SHORTEST = 60, 1e-6
ENOUGH = 1e-10  # of log-likelihood that another step promises
RUN_OFF = 15.0  # log odds that no one has: e^15 is three million to one


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """β[category but the first, column] as one row after the other, and its covariance."""

    coef: Floats
    covariance: Floats
    log_likelihood: float
    bounded: bool


def fit_logistic(numbers: Floats, answer: Answer, weights: Floats, *, robust: bool) -> LogisticFit:
    """``numbers[person, column]`` and ``weights`` of those whose answer is known; ``robust``: the sandwich."""
    scale = np.maximum(np.sqrt(np.mean(numbers**2, axis=0)), 1e-300)
    z, others = numbers / scale, len(answer.labels) - 1
    beta = np.zeros((others, z.shape[1]))
    value, slope, sigma = _likelihood(beta, z, answer, weights)
    for _ in range(MOST_STEPS):
        information = _information(sigma, z, answer, weights)
        step = np.linalg.lstsq(information, (slope.T @ (weights[:, None] * z)).ravel(), rcond=1e-12)[0]
        promise = float(step @ (slope.T @ (weights[:, None] * z)).ravel())
        if promise < ENOUGH:
            break
        length = 1.0
        while length > SHORTEST:
            trial = beta + length * step.reshape(beta.shape)
            found = _likelihood(trial, z, answer, weights)
            if found[0] >= value:
                beta, (value, slope, sigma) = trial, found
                break
            length /= 2
        else:
            break
    information = _information(sigma, z, answer, weights)
    inverse = np.linalg.pinv(information, rcond=1e-12, hermitian=True)
    if robust:
        moments = (slope[:, :, None] * z[:, None, :]).reshape(len(z), -1) * weights[:, None]
        inverse = inverse @ (moments.T @ moments) @ inverse
    by = np.tile(scale, others)
    bounded = bool(np.quantile(np.abs(z @ beta.T), 0.5) < RUN_OFF)
    return LogisticFit(beta.ravel() / by, inverse / np.outer(by, by), value, bounded)


def _likelihood(beta: Floats, z: Floats, answer: Answer, weights: Floats) -> tuple[float, Floats, Floats]:
    """(Σ w log P, the slope in each zᵀβ_t, σ)."""
    odds = np.hstack([np.zeros((len(z), 1)), z @ beta.T])
    odds -= odds.max(axis=1, keepdims=True)
    sigma = np.exp(odds)
    sigma /= sigma.sum(axis=1, keepdims=True)
    both = answer.chances * sigma
    seen = np.maximum(both.sum(axis=1), 1e-300)
    slope = (both / seen[:, None] - sigma)[:, 1:]
    return float(weights @ np.log(seen)), slope, sigma


def _information(sigma: Floats, z: Floats, answer: Answer, weights: Floats) -> Floats:
    """Σ w·(information of one report) ⊗ z zᵀ."""
    n, k = sigma.shape
    each = np.zeros((n, k, k))
    for place, law in enumerate(answer.laws):
        own = answer.level == place
        pairs = (law[:, :, None] * law[:, None, :]).reshape(len(law), -1)
        each[own] = ((1 / np.maximum(sigma[own] @ law.T, 1e-300)) @ pairs).reshape(-1, k, k)
    moves = sigma[:, :, None] * (np.eye(k)[:, 1:] - sigma[:, None, 1:])  # J without the first category
    each = np.swapaxes(moves, 1, 2) @ each @ moves
    whole = np.empty((k - 1, z.shape[1], k - 1, z.shape[1]))
    for a in range(k - 1):
        for b in range(k - 1):
            whole[a, :, b, :] = z.T @ ((weights * each[:, a, b])[:, None] * z)
    size = (k - 1) * z.shape[1]
    return whole.reshape(size, size)
