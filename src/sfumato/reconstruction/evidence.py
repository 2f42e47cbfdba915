"""How well each amount of smoothing explains the reports, and the average over all of them."""

from __future__ import annotations

import numpy as np

from .families import Vector
from .penalised import Fit, PenalisedLikelihood

NEGLIGIBLE = 12.0  # e^-12: a fit this far below the best one no longer counts


def descend(problem: PenalisedLikelihood, atoms: Vector | None = None, below: float = np.inf) -> list[Fit]:
    """Warm-started fits from smooth (weights up to ``below``) to rough, until the evidence has fallen past recovery."""
    fits: list[Fit] = []
    best = -np.inf
    for weight in problem.family.weights:
        if weight > below:
            continue
        fits.append(problem.fit(weight, fits[-1] if fits else None, None if fits else atoms))
        best = max(best, fits[-1].evidence)
        if fits[-1].evidence < best - NEGLIGIBLE:
            break
    return fits


def posterior_weights(evidence: Vector) -> Vector:
    """w_i ∝ exp(evidence_i)."""
    weight = np.exp(evidence - evidence.max())
    return np.asarray(weight / weight.sum())
