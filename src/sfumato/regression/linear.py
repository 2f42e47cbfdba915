"""Linear regression of a clear or blurred outcome on clear and blurred columns, by moments.

    y = xᵀβ + e,   E[e | x] = 0.

The normal equations Σ w x xᵀ β = Σ w x y need sums over true values. A report gives, for every blurred feature x, an
unbiased number u, E[u | x] = x, and an unbiased square u² + d (`design`), so unbiased sums are

    A = Σ w (u uᵀ + D),   b = Σ w u y,   β = A⁻¹ b,

where D has the excess d on the diagonal, and −u_t u_s between two categories of one column. A blurred y enters by its
unbiased numbers. Nothing is assumed about the noise in y or about the dependence between columns. The covariance is the
sandwich A⁻¹ Σ w² ψψᵀ A⁻¹ with ψ = u(y − uᵀβ) − Dβ, times n/(n − k). Without noise this is least squares with White's
errors.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.domain import Floats
from sfumato.regression.design import RegressionTerm

ALIKE = 1e-9
"""The smallest eigenvalue of A/Σw, columns scaled to mean square 1, below which the columns count as dependent: far
above rounding (1e−15), far below what errors of coefficients could bear."""


def fit_linear(terms: list[RegressionTerm], y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Fit a linear regression; return (the coefficients, their covariance matrix).

    ``terms``: the columns. ``y``: the outcome, one number a person. ``weights``: one a person, of mean 1.
    """
    numbers = np.hstack([term.numbers for term in terms])
    n, k = numbers.shape
    if n <= k:
        raise ValueError(f"{n} people are too few for {k} coefficients; drop columns or collect more")
    size = np.sqrt(np.mean(numbers**2, axis=0))
    scale = np.where(size > 0, size, 1.0)  # zeros alone: a category that nobody has; its eigenvalue below is 0
    u, blurred = numbers / scale, list(_blurred(terms, scale))
    gram = u.T @ (weights[:, None] * u)
    for columns, excess, apart in blurred:
        squares = np.diag(gram)[columns] + weights @ excess
        gram[columns, columns] = np.diag(squares) if apart else squares  # a column of numbers is one by one
    if not np.linalg.eigvalsh(gram / weights.sum())[0] > ALIKE:
        raise ValueError("the columns cannot be told apart: too few people for this noise, or one follows another")
    beta = np.linalg.solve(gram, u.T @ (weights * y))
    psi = u * (y - u @ beta)[:, None]
    for columns, excess, apart in blurred:
        psi[:, columns] -= excess * beta[columns]
        if apart:
            own = u[:, columns]
            psi[:, columns] += own * (own @ beta[columns])[:, None] - own**2 * beta[columns]
    inverse = np.linalg.inv(gram)
    covariance = inverse @ (psi.T @ (weights[:, None] ** 2 * psi)) @ inverse * n / (n - k)
    return beta / scale, covariance / np.outer(scale, scale)


def _blurred(terms: list[RegressionTerm], scale: Floats) -> Iterator[tuple[slice, Floats, bool]]:
    """Yield for each blurred column what the fit must correct: (its features, their excess, whether categories).

    The features are a slice of all; the excess is that of `RegressionTerm`, in units of ``scale`` squared.
    """
    start = 0
    for term in terms:
        columns = slice(start, start + len(term.names))
        start = columns.stop
        if term.excess is not None:
            yield columns, np.asarray(term.excess / scale[columns] ** 2), term.apart
