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

from collections.abc import Iterator

import numpy as np

from sfumato.domain import Floats
from sfumato.regression.design import Term

ALIKE = 1e-9  # of the columns' mean square: what is left where one follows from the others

def fit_linear(terms: list[Term], y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """(β, its covariance)."""
    numbers = np.hstack([term.numbers for term in terms])
    n, k = numbers.shape
    if n <= k:
        raise ValueError(f"{n} people are too few for {k} coefficients; drop columns or collect more")
    size = np.sqrt(np.mean(numbers**2, axis=0))
    scale = np.where(size > 0, size, 1.0)  # zeros alone: a category that nobody has, told by its eigenvalue below
    u, blurred = numbers / scale, list(_blurred(terms, scale))
    gram = u.T @ (weights[:, None] * u)
    for place, excess, apart in blurred:
        squares = np.diag(gram)[place] + weights @ excess
        gram[place, place] = np.diag(squares) if apart else squares  # a column of numbers is one by one
    if not np.linalg.eigvalsh(gram / weights.sum())[0] > ALIKE:
        raise ValueError("the columns cannot be told apart: too few people for this noise, or one follows another")
    beta = np.linalg.solve(gram, u.T @ (weights * y))
    psi = u * (y - u @ beta)[:, None]
    for place, excess, apart in blurred:
        psi[:, place] -= excess * beta[place]
        if apart:
            own = u[:, place]
            psi[:, place] += own * (own @ beta[place])[:, None] - own**2 * beta[place]
    inverse = np.linalg.inv(gram)
    covariance = inverse @ (psi.T @ (weights[:, None] ** 2 * psi)) @ inverse * n / (n - k)
    return beta / scale, covariance / np.outer(scale, scale)


def _blurred(terms: list[Term], scale: Floats) -> Iterator[tuple[slice, Floats, bool]]:
    """Of each blurred term the place of its features, their excess in these units, and whether they are apart."""
    start = 0
    for term in terms:
        place = slice(start, start + len(term.names))
        start = place.stop
        if term.excess is not None:
            yield place, np.asarray(term.excess / scale[place] ** 2), term.apart
