"""Detail that the noise hides: how far interval probabilities may stray from any smooth curve without being noticed."""

from __future__ import annotations

import numpy as np

from .families import Matrix, Vector
from .penalised import TINY, Reports

STRAY = 0.8  # beforehand, an interval's probability may stray from the smooth one by this part of itself
SLACK = 0.3  # and by this part of an even share, so that empty intervals have error bars too


def hidden_detail(
    reports: Reports, expected: Vector, density: Vector, to_intervals: Matrix, probabilities: Vector
) -> tuple[Matrix, float]:
    """Covariance of the detail that the reports would not have shown, and how many directions they do show.

    Detail z ~ N(0, diag s²), Σz = 0, s = τ·(π + floor). In the directions v_i of its information s·G·s, with
    information g_i, detail stays hidden as far as it is not contradicted (1/(1+g)) and, had it been there, would not
    have made the curve rougher by itself (another 1/(1+g)): Σ s·v_i·(1+g_i)⁻²·v_i'·s. Directions shown: Σ g/(1+g).
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
    root = (axes - np.outer(direction, direction @ axes)) * spread[:, None] / (1.0 + information)
    return np.asarray(root @ root.T), float(np.sum(information / (1.0 + information)))
