"""How sure an average of fits is: each one's posterior, the spread between them, and detail that the noise hides.

Everything is a covariance of the fine cells, people at single values counted in theirs; intervals and means follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from .penalised import FEW_NUMBERS, TINY, Codes, Fit, Matrix, Seen, Vector
from .single_values import Whereabouts

SURE_ATOM = 0.005
CLUMPS = 20.0
SLACK = 0.3  # empty intervals stray as if they held this part of an even share
BARE = 1e-3  # inside an interval people are spread as the fit has it, with this part of them even


def stray(probabilities: Vector) -> Vector:
    """s of each interval."""
    r = probabilities.size
    return np.asarray(np.sqrt((probabilities + SLACK / r) / (1 + SLACK) / CLUMPS))


def inside_intervals(cells: Vector, widths: Vector, to_intervals: Matrix) -> Matrix:
    """(k, r) how the people of each interval are spread over its cells."""
    spread = (to_intervals * (cells + BARE * widths)).T
    return np.asarray(spread / np.maximum(spread.sum(0), TINY))


# --- an average of fits ---


@dataclass(frozen=True)
class Places:
    """Where atoms lie: ``chances`` (k, j) that atom j lies in each cell."""

    chances: Matrix

    @classmethod
    def of(cls, cells: int, cell_of: Codes, atoms: list[Whereabouts]) -> Places:
        """Each atom's cell, averaged over the places it may have."""
        chances = np.zeros((cells, len(atoms)))
        for j, atom in enumerate(atoms):
            np.add.at(chances[:, j], cell_of[atom.points], atom.chances)
        return cls(chances)

    def atoms(self, fit: Fit) -> Vector:
        """The share of people in each cell who are at single values."""
        return np.asarray(self.chances[:, : fit.atoms.size] @ fit.atoms / (fit.cells.sum() + fit.atoms.sum()))

    def shares(self, fit: Fit) -> Vector:
        """π = (p + P a) / (Σp + Σa)."""
        return np.asarray(fit.cells / (fit.cells.sum() + fit.atoms.sum()) + self.atoms(fit))

    def change(self, fit: Fit) -> Matrix:
        """J = dπ/d(u, a)."""
        seen = np.hstack([fit.slope[:, None] * fit.basis, self.chances[:, : fit.atoms.size]])
        return np.asarray((seen - np.outer(self.shares(fit), seen.sum(0))) / (fit.cells.sum() + fit.atoms.sum()))

    def covariance(self, fit: Fit) -> Matrix:
        """J (F + S)⁻¹ J', the prior's part for waves the reports do not see, and misplaced atoms."""
        total, change = fit.cells.sum() + fit.atoms.sum(), self.change(fit)
        unseen = fit.slope[:, None] * fit.unseen
        unseen = (unseen - np.outer(self.shares(fit), unseen.sum(0))) / total
        root = solve_triangular(fit.factor, change.T, lower=True, check_finite=False) if change.size else change.T
        covariance = root.T @ root + unseen @ unseen.T
        for chance, mass in zip(self.chances.T, fit.atoms / total, strict=False):
            covariance += mass**2 * (np.diag(chance) - np.outer(chance, chance))
        return np.asarray(covariance)


def averaged(
    fits: list[Fit], weights: Vector, places: Places, factors: list[float]
) -> tuple[Vector, Matrix]:
    """Mean and covariance of the mixture of posteriors: Σw(f_i·C_i + (π_i − π)(π_i − π)')."""
    each = np.array([places.shares(fit) for fit in fits])
    mean = weights @ each
    spread = (each - mean) * np.sqrt(weights)[:, None]
    covariance = spread.T @ spread
    for fit, weight in zip(fits, weights * np.array(factors), strict=True):
        covariance += weight * places.covariance(fit)
    return mean / mean.sum(), covariance


def hidden_detail(
    reports: Seen, expected: Vector, cells: Vector, to_intervals: Matrix, spread: Vector, power: int
) -> tuple[Matrix, float]:
    """Detail that the reports would not have shown, as a root of its covariance over cells; directions they do show.

    Detail of the intervals z ~ N(0, diag s²), Σz = 0. In a direction v of its information s·G·s, with information g,
    the reports leave it a variance of 1/(1+g) (``power`` 1); but detail with g > 1 would have shown itself and changed
    the fits, so it counts with (1+g)⁻² (``power`` 2): Σ s·v·(1+g)^−power·v'·s. Directions shown: Σ g/(1+g).
    """
    inside = inside_intervals(cells, reports.widths, to_intervals)
    seen = (reports.table @ inside) * np.sqrt(reports.total / np.maximum(expected, 1e-12))[:, None] * spread
    direction = spread / np.linalg.norm(spread)
    seen -= np.outer(seen @ direction, direction)
    information, axes = np.linalg.eigh(seen.T @ seen)
    information = np.maximum(information, 0.0)
    root = (axes - np.outer(direction, direction @ axes)) * spread[:, None] / (1.0 + information) ** (power / 2)
    return np.asarray(inside @ root), float(np.sum(information / (1.0 + information)))


def roughness_factor(fit: Fit, freedom: float, intervals: int) -> float:
    """By how much to scale the covariance of a fit: 1 for a few numbers that mean something; a posterior that assumes
    smoothness is a little wide while the density is smooth, and narrow beside atoms: there may be others, too small or
    too near to be told apart. Calibrated by coverage (docs/decisions/0020).
    """
    if not np.isfinite(fit.weight) or fit.family == FEW_NUMBERS.name:
        return 1.0
    atoms = int(np.count_nonzero(fit.atoms > SURE_ATOM))
    return 0.75 + 0.1 * min(freedom / intervals, 1.5) + 0.25 * min(atoms, 3)


def interval_variances(root: Matrix, to_intervals: Matrix) -> Vector:
    """The diagonal of T·root·root'·T'."""
    return np.asarray(((to_intervals @ root) ** 2).sum(1) + TINY)
