"""A linear regression on blurred columns, by moments.

    y = xᵀβ + e,   E[e | x] = 0.

The normal equations Σ w x xᵀ β = Σ w x y need sums over true values. Of every blurred feature a report tells unbiased
numbers u with E[u | x] = x and, of its square, u² + d (`design`), so the same sums without bias are

    A = Σ w (u uᵀ + D),   b = Σ w u y,   β = A⁻¹ b,

D the excess d on the diagonal, and −u_t u_s between two categories of one column. A blurred y enters by its unbiased
numbers. Nothing is assumed of the noise in y nor of how the columns hang together. The covariance is the sandwich
A⁻¹ Σ w² ψψᵀ A⁻¹ with ψ = u(y − uᵀβ) − Dβ, times n/(n − k). Without noise this is least squares with White's errors.
"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats
from sfumato.mining.regression.design import Term


def fit_linear(terms: list[Term], y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """(β, its covariance)."""
    numbers = np.hstack([term.numbers for term in terms])
    n, k = numbers.shape
    if n <= k:
        raise ValueError(f"{n} people are too few for {k} coefficients; drop columns or collect more")
    scale = np.maximum(np.sqrt(np.mean(numbers**2, axis=0)), 1e-300)
    numbers, scaled = numbers / scale, [_scaled(term) for term in _placed(terms, scale)]
    gram = numbers.T @ (weights[:, None] * numbers)
    for place, excess, apart in scaled:
        block = gram[place, place]
        own = np.diag(block) + weights @ excess
        gram[place, place] = np.diag(own) if apart else block - np.diag(np.diag(block)) + np.diag(own)
    if not np.linalg.eigvalsh(gram / weights.sum())[0] > 1e-9:
        raise ValueError("the columns cannot be told apart: too few people for this noise, or one follows another")
    beta = np.linalg.solve(gram, numbers.T @ (weights * y))
    moments = numbers * (y - numbers @ beta)[:, None]
    for place, excess, apart in scaled:
        own, rest = numbers[:, place], beta[place]
        moments[:, place] -= excess * rest
        if apart:
            moments[:, place] += own * (own @ rest)[:, None] - own**2 * rest
    inverse = np.linalg.inv(gram)
    covariance = inverse @ (moments.T @ (weights[:, None] ** 2 * moments)) @ inverse * n / (n - k)
    return beta / scale, covariance / np.outer(scale, scale)


def _placed(terms: list[Term], scale: Floats) -> list[tuple[slice, Term, Floats]]:
    """Blurred terms with the place of their features."""
    found, start = [], 0
    for term in terms:
        place = slice(start, start + len(term.names))
        start += len(term.names)
        if term.excess is not None:
            found.append((place, term, scale[place]))
    return found


def _scaled(placed: tuple[slice, Term, Floats]) -> tuple[slice, Floats, bool]:
    place, term, scale = placed
    assert term.excess is not None
    return place, np.asarray(term.excess / scale**2), term.apart
