"""How sure the averaged estimate is: each fit's posterior, the spread between fits, and detail the noise hides."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from .families import Matrix, Vector
from .penalised import Fit


def interval_probabilities(fit: Fit, to_intervals: Matrix, points_to_intervals: Matrix) -> Vector:
    """π = (T p + T_atoms a) / (Σp + Σa)."""
    inside = to_intervals @ fit.cells + points_to_intervals[:, list(fit.places)] @ fit.atoms
    return np.asarray(inside / (fit.cells.sum() + fit.atoms.sum()))


def posterior_covariance(fit: Fit, to_intervals: Matrix, points_to_intervals: Matrix) -> Matrix:
    """J (F + S)⁻¹ J' for J = dπ/d(u, a), plus the prior's part for the waves that the reports do not see."""
    total = fit.cells.sum() + fit.atoms.sum()
    shares = interval_probabilities(fit, to_intervals, points_to_intervals)
    places = list(fit.places)
    seen = np.hstack([(to_intervals * fit.slope) @ fit.basis, points_to_intervals[:, places]])
    mass = np.concatenate([fit.slope @ fit.basis, np.ones(len(places))])
    seen = (seen - np.outer(shares, mass)) / total
    unseen = ((to_intervals * fit.slope) @ fit.unseen - np.outer(shares, fit.slope @ fit.unseen)) / total
    root = solve_triangular(fit.factor, seen.T, lower=True, check_finite=False) if mass.size else seen.T
    return np.asarray(root.T @ root + unseen @ unseen.T)


def averaged(
    fits: list[Fit], weights: Vector, to_intervals: Matrix, points_to_intervals: Matrix
) -> tuple[Vector, Matrix]:
    """Mean and covariance of the mixture of posteriors: Σw(C_i + (π_i − π)(π_i − π)')."""
    each = np.array([interval_probabilities(fit, to_intervals, points_to_intervals) for fit in fits])
    mean = weights @ each
    spread = (each - mean) * np.sqrt(weights)[:, None]
    covariance = spread.T @ spread
    for fit, weight in zip(fits, weights, strict=True):
        covariance += weight * posterior_covariance(fit, to_intervals, points_to_intervals)
    return mean, covariance
