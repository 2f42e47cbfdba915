"""Detail that the noise hides: how far interval probabilities may stray from any smooth curve without being noticed."""

from __future__ import annotations

import numpy as np

from .families import Matrix, Vector
from .penalised import TINY, Reports

STRAY = 0.65  # beforehand, an interval's probability may stray from the smooth one by this part of itself
SLACK = 0.3  # and by this part of an even share, so that empty intervals have error bars too


def hidden_detail(
    reports: Reports, expected: Vector, density: Vector, to_intervals: Matrix, probabilities: Vector
) -> tuple[Matrix, float]:
    """Covariance of the detail that the reports would not have shown, and how many directions they do show.

    Detail z ~ N(0, diag s²), Σz = 0, s = τ·(π + floor). In a direction v of its information s·G·s, with information
    g, the reports leave detail a variance of 1/(1+g); but detail with g > 1 would have shown itself and made the fits
    rougher, so it counts with (1+g)⁻³: Σ s·v·(1+g)⁻³·v'·s. Directions shown: Σ g/(1+g).
    """
    r = probabilities.size
    spread = STRAY * (probabilities + SLACK / r)
    inside = (to_intervals * (density + TINY)).T
    inside /= np.maximum(inside.sum(0), TINY)
    seen = (reports.table @ inside) * np.sqrt(reports.total / np.maximum(expected, 1e-12))[:, None] * spread
    direction = spread / np.linalg.norm(spread)
    seen -= np.outer(seen @ direction, direction)
    information, axes = np.linalg.eigh(seen.T @ seen)
    information = np.maximum(information, 0.0)
    root = (axes - np.outer(direction, direction @ axes)) * spread[:, None] / (1.0 + information) ** 1.5
    return np.asarray(root @ root.T), float(np.sum(information / (1.0 + information)))


def roughness_factor(freedom: float, atoms: int, shown: float) -> float:
    """By how much to widen a posterior that assumes smoothness: more, the less smooth the density turned out to be.

    q compares the degrees of freedom that the fit uses (an atom counts as three: place, mass and a jump) with those the
    reports show. Near q = 1 the fit is as rough as it can be, and the truth is likely rougher. Calibrated by coverage.
    """
    q = (freedom + 3.0 * atoms) / (1.0 + shown)
    return 0.4 + 0.6 * min(q, 1.5) ** 2
