"""Spectral filtering (Kargupta, Datta, Wang and Sivakumar 2003): noise alone has eigenvalues that theory knows.

In units of the noise (whitened: z = C⁻¹(y − mean), Cov(e) = CCᵀ) the covariance of n reports of d attributes that hold
nothing but noise has its eigenvalues below (1 + √(d/n))² (Marchenko and Pastur). Directions with larger ones carry the
people; the reports are projected on them, and the noise in all other directions is gone:

    x̂ − x = Πe − (I − Π)x,   error covariance C(Π + (I − Π)S(I − Π))Cᵀ,   S = C⁻¹ Cov(x) C⁻ᵀ.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.domain import Floats
from sfumato.privacy.attacks.covariance import check_records


def spectral_filter(reports: Floats, noise: Floats) -> Floats:
    """The adversary's guess of every true value; ``noise`` is the covariance of the noise (or its variances)."""
    rows, covariance = check_records(reports, noise)
    center = rows.mean(axis=0)
    factor = np.linalg.cholesky(covariance)
    whitened = np.linalg.solve(factor, (rows - center).T).T
    signal = signal_projector(np.atleast_2d(np.cov(whitened, rowvar=False)), rows.shape[0])
    return np.asarray(center + whitened @ signal @ factor.T)


def spectral_error(covariance: Floats, noise: Floats, people: int) -> Floats:
    """The mean squared error of each attribute that the theory predicts."""
    factor = np.linalg.cholesky(np.diag(noise) if np.ndim(noise) == 1 else noise)
    inverse = np.linalg.inv(factor)
    signal_covariance = inverse @ covariance @ inverse.T
    size = len(covariance)
    kept = signal_projector(signal_covariance + np.eye(size), people)
    lost = np.eye(size) - kept
    error = factor @ (kept + lost @ signal_covariance @ lost) @ factor.T
    return np.asarray(np.diag(error))


def signal_projector(covariance: Floats, people: int) -> Floats:
    """Π = VVᵀ over the directions whose eigenvalue noise alone does not reach."""
    values, vectors = np.linalg.eigh(covariance)
    beyond_noise = (1 + math.sqrt(len(covariance) / people)) ** 2
    signal = vectors[:, values > beyond_noise]
    return np.asarray(signal @ signal.T)
