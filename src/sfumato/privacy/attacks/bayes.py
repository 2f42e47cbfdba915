"""The multivariate Bayes estimate (Huang, Du and Chen 2005): all reports of a person used for each of their values.

For x ~ N(μ, Σ) and y = x + e, e ~ N(0, N):

    E[x|y] = μ + Σ(Σ + N)⁻¹(y − μ),   Cov[x|y] = Σ − Σ(Σ + N)⁻¹Σ.

No linear guess has a smaller squared error, whatever the distribution of x. With noise that follows the data, N = κΣ,
every value has the error κ/(1 + κ)·Σ_jj that its own report alone gives: the other reports add nothing.
"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats
from sfumato.privacy.attacks.covariance import check_records, true_covariance


def bayes_estimate(reports: Floats, noise: Floats, covariance: Floats | None = None) -> Floats:
    """The adversary's guess of every true value; the covariance of the true values is estimated unless known."""
    rows, spread = check_records(reports, noise)
    center = rows.mean(axis=0)
    believed = true_covariance(rows, spread) if covariance is None else np.asarray(covariance)
    return np.asarray(center + (rows - center) @ bayes_weights(believed, spread).T)


def bayes_error(covariance: Floats, noise: Floats) -> Floats:
    """The variance of each true value given all reports."""
    spread = np.diag(noise) if np.ndim(noise) == 1 else np.asarray(noise)
    return np.asarray(np.diag(covariance - bayes_weights(covariance, spread) @ covariance))


def alone_error(covariance: Floats, noise: Floats) -> Floats:
    """The variance of each true value given its own report only: σ²n/(σ² + n)."""
    own, spread = np.diag(covariance), np.diag(noise) if np.ndim(noise) == 2 else np.asarray(noise)
    return np.asarray(own * spread / (own + spread))


def bayes_weights(covariance: Floats, noise: Floats) -> Floats:
    """Σ(Σ + N)⁻¹."""
    return np.asarray(np.linalg.solve(covariance + noise, covariance).T)
