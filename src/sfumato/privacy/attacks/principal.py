"""PCA-based reconstruction (Huang, Du and Chen 2005): correlated people live near few directions, noise does not.

Cov(x) is estimated as Cov(y) − Cov(e); the reports are projected on its principal directions v. A direction is kept if
it holds more of the people than of the noise, vᵀCov(x)v > vᵀCov(e)v, unless a number of components is asked for.

    error covariance  ΠCov(e)Π + (I − Π)Cov(x)(I − Π);
    white noise σ², p of d directions kept:  σ²·p/d + Σ_{i>p} λ_i/d on average.
"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats
from sfumato.privacy.attacks.covariance import check_records, true_covariance


def principal_components(reports: Floats, noise: Floats, components: int | None = None) -> Floats:
    """The adversary's guess of every true value."""
    rows, covariance = check_records(reports, noise)
    center = rows.mean(axis=0)
    kept = principal_projector(true_covariance(rows, covariance), covariance, components)
    return np.asarray(center + (rows - center) @ kept)


def principal_error(covariance: Floats, noise: Floats, components: int | None = None) -> Floats:
    """The mean squared error of each attribute that the theory predicts."""
    spread = np.diag(noise) if np.ndim(noise) == 1 else np.asarray(noise)
    kept = principal_projector(covariance, spread, components)
    lost = np.eye(len(covariance)) - kept
    return np.asarray(np.diag(kept @ spread @ kept + lost @ covariance @ lost))


def principal_projector(covariance: Floats, noise: Floats, components: int | None) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    if components is None:
        chosen = values > np.einsum("ij,ik,kj->j", vectors, noise, vectors)
    else:
        chosen = np.arange(values.size) >= values.size - components
    signal = vectors[:, chosen]
    return np.asarray(signal @ signal.T)
