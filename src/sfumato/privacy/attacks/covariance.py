"""What the reports of several numbers say about the covariance of the true values.

With y = x + e and noise of known covariance, Cov(x) = Cov(y) − Cov(e); sampling can push a small eigenvalue below zero,
and it is set to zero.
"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats


def true_covariance(reports: Floats, noise: Floats) -> Floats:
    """Cov(y) − Cov(e) without negative eigenvalues; ``reports`` has one row a person."""
    found = np.atleast_2d(np.cov(reports, rowvar=False)) - noise
    values, vectors = np.linalg.eigh((found + found.T) / 2)
    return np.asarray(vectors * np.maximum(values, 0.0) @ vectors.T)


def check_records(reports: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Reports as rows of numbers and a covariance that fits them; variances alone are taken as a diagonal."""
    rows = np.asarray(reports, dtype=float)
    covariance = np.asarray(noise, dtype=float)
    covariance = np.diag(covariance) if covariance.ndim == 1 else covariance
    if rows.ndim != 2 or rows.shape[0] < 2:
        raise ValueError(f"reports has shape {rows.shape}; give one row a person and one column an attribute")
    if covariance.shape != (rows.shape[1], rows.shape[1]):
        raise ValueError(f"noise has shape {covariance.shape} for {rows.shape[1]} attributes; give its covariance")
    return rows, covariance
