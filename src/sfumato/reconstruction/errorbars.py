"""How sure the averaged estimate is: each fit's posterior, the spread between fits, and detail the noise hides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from .atoms import Whereabouts
from .families import Matrix, Vector
from .penalised import Fit


@dataclass(frozen=True)
class Aggregation:
    """How fine cells and atoms make up the wanted intervals.

    ``cells`` (r, k); ``placement`` (r, j) the chance that atom j lies in each interval; ``misplacement`` (j, r, r) the
    covariance of that.
    """

    cells: Matrix
    placement: Matrix
    misplacement: Matrix

    @classmethod
    def of(cls, to_intervals: Matrix, points_to_intervals: Matrix, atoms: list[Whereabouts]) -> Aggregation:
        """Average each atom's interval over the places it may have."""
        r = len(to_intervals)
        placement, misplacement = np.zeros((r, len(atoms))), np.zeros((len(atoms), r, r))
        for j, atom in enumerate(atoms):
            inside = points_to_intervals[:, atom.points]
            placement[:, j] = inside @ atom.chances
            misplacement[j] = (inside * atom.chances) @ inside.T - np.outer(placement[:, j], placement[:, j])
        return cls(to_intervals, placement, misplacement)

    def probabilities(self, fit: Fit) -> Vector:
        """π = (T p + T_atoms a) / (Σp + Σa)."""
        inside = self.cells @ fit.cells + self.placement[:, : fit.atoms.size] @ fit.atoms
        return np.asarray(inside / (fit.cells.sum() + fit.atoms.sum()))

    def covariance(self, fit: Fit) -> Matrix:
        """J (F + S)⁻¹ J' for J = dπ/d(u, a), the prior's part for waves the reports do not see, and misplaced atoms."""
        j, total = fit.atoms.size, fit.cells.sum() + fit.atoms.sum()
        shares = self.probabilities(fit)
        seen = np.hstack([(self.cells * fit.slope) @ fit.basis, self.placement[:, :j]])
        mass = np.concatenate([fit.slope @ fit.basis, np.ones(j)])
        seen = (seen - np.outer(shares, mass)) / total
        unseen = ((self.cells * fit.slope) @ fit.unseen - np.outer(shares, fit.slope @ fit.unseen)) / total
        root = solve_triangular(fit.factor, seen.T, lower=True, check_finite=False) if mass.size else seen.T
        misplaced = np.einsum("j,jrs->rs", (fit.atoms / total) ** 2, self.misplacement[:j])
        return np.asarray(root.T @ root + unseen @ unseen.T + misplaced)


def averaged(fits: list[Fit], weights: Vector, aggregation: Aggregation) -> tuple[Vector, Matrix]:
    """Mean and covariance of the mixture of posteriors: Σw(C_i + (π_i − π)(π_i − π)')."""
    each = np.array([aggregation.probabilities(fit) for fit in fits])
    mean = weights @ each
    spread = (each - mean) * np.sqrt(weights)[:, None]
    covariance = spread.T @ spread
    for fit, weight in zip(fits, weights, strict=True):
        covariance += weight * aggregation.covariance(fit)
    return mean, covariance
