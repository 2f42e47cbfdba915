"""How sure an average of fits is: each one's posterior, the spread between them, and detail that the noise hides.

Everything is a covariance of the true cells, people at atoms counted in theirs; intervals and means follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solve_triangular

from sfumato.evidence import Evidence
from sfumato.reconstruction.density.atoms import AtomPlace
from sfumato.reconstruction.density.curves import FEW_NUMBERS
from sfumato.reconstruction.density.fit import TINY, Codes, DensityFit, Matrix, Vector

SURE_ATOM = 0.005  # share of people from which on an atom counts in the roughness factor
CLUMPS = 20.0  # clumps of people: an interval of share π may stray from a smooth picture by √(π/20); decision 20
SLACK = 0.3  # empty intervals stray as if they had this part of an even share
BARE = 1e-3  # inside an interval people are spread as the fit has it, with this part of them even
ROUGHNESS = (0.75, 0.1, 1.5, 0.25, 3)
"""`roughness_factor` = .75 + .1·min(numbers decided / intervals, 1.5) + .25·min(atoms, 3), calibrated by coverage
(decision 20)."""
KEPT = 1e-4  # directions of the fine covariance with less than this part of its largest variance are left out


def stray(probabilities: Vector) -> Vector:
    """Return by how much each interval may stray from a smooth picture beforehand, √(π̃/CLUMPS)."""
    r = probabilities.size
    return np.asarray(np.sqrt((probabilities + SLACK / r) / (1 + SLACK) / CLUMPS))


def inside_intervals(cells: Vector, widths: Vector, to_intervals: Matrix) -> Matrix:
    """Return how the people of each interval are spread over its cells, (cells × intervals), columns of sum 1."""
    spread = (to_intervals * (cells + BARE * widths)).T
    return np.asarray(spread / np.maximum(spread.sum(0), TINY))


@dataclass(frozen=True)
class AtomCells:
    """In which cells atoms may be: ``chances`` (cells × atoms)."""

    chances: Matrix

    @classmethod
    def of(cls, cells: int, cell_of: Codes, atoms: Sequence[AtomPlace]) -> AtomCells:
        """Average each atom's cell over the candidate values that it may have, which are in the cells ``cell_of``."""
        chances = np.zeros((cells, len(atoms)))
        for j, atom in enumerate(atoms):
            np.add.at(chances[:, j], cell_of[atom.points], atom.chances)
        return cls(chances)

    def at_atoms(self, fit: DensityFit) -> Vector:
        """Return the share of all people in each cell who are at an atom."""
        return np.asarray(self.chances[:, : fit.atoms.size] @ fit.atoms / (fit.cells.sum() + fit.atoms.sum()))

    def shares(self, fit: DensityFit) -> Vector:
        """Return the share of all people in each cell, π = (p + P a) / (Σp + Σa)."""
        return np.asarray(fit.cells / (fit.cells.sum() + fit.atoms.sum()) + self.at_atoms(fit))

    def covariance(self, fit: DensityFit) -> Matrix:
        """Return the covariance of π: J (F + S)⁻¹ J', J = dπ/d(u, a), what the prior leaves to coordinates that the
        reports do not show, and misplaced atoms."""
        total, shares = fit.cells.sum() + fit.atoms.sum(), self.shares(fit)
        seen = np.hstack([fit.slope[:, None] * fit.basis, self.chances[:, : fit.atoms.size]])
        change = (seen - np.outer(shares, seen.sum(0))) / total
        unseen = fit.slope[:, None] * fit.unseen
        unseen = (unseen - np.outer(shares, unseen.sum(0))) / total
        root = solve_triangular(fit.factor, change.T, lower=True, check_finite=False) if change.size else change.T
        covariance = root.T @ root + unseen @ unseen.T
        for chance, mass in zip(self.chances.T, fit.atoms / total, strict=False):
            covariance += mass**2 * (np.diag(chance) - np.outer(chance, chance))
        return np.asarray(covariance)


def averaged(
    fits: Sequence[DensityFit], weights: Vector, atom_cells: AtomCells, factors: Sequence[float]
) -> tuple[Vector, Matrix]:
    """Return mean and covariance of the mixture of posteriors: Σw(f_i·C_i + (π_i − π)(π_i − π)').

    factors: f, by which each fit's own covariance is scaled (`roughness_factor`).
    """
    shares = np.array([atom_cells.shares(fit) for fit in fits])
    mean = weights @ shares
    spread = (shares - mean) * np.sqrt(weights)[:, None]
    covariance = spread.T @ spread
    for fit, weight in zip(fits, weights * np.array(factors), strict=True):
        covariance += weight * atom_cells.covariance(fit)
    return mean / mean.sum(), covariance


def hidden_detail(
    evidence: Evidence, widths: Vector, expected: Vector, cells: Vector, to_intervals: Matrix, spread: Vector,
    power: int,
) -> tuple[Matrix, float]:
    """Return detail that the reports would not have shown, as a root of its covariance; and directions they do show.

    Detail of the intervals z ~ N(0, diag s²), Σz = 0. In a direction v of its information s·G·s, with information g,
    the reports leave it a variance of 1/(1+g) (``power`` 1); but detail with g > 1 would have shown itself and changed
    the fits, so it counts with (1+g)⁻² (``power`` 2): Σ s·v·(1+g)^−power·v'·s. Directions shown: Σ g/(1+g).

    widths: of the cells. expected: share of reports in each report cell. cells: the density. spread: s.
    """
    inside = inside_intervals(cells, widths, to_intervals)
    reported = evidence.table.dense() @ inside
    reported = reported * np.sqrt(evidence.total / np.maximum(expected, 1e-12))[:, None] * spread
    direction = spread / np.linalg.norm(spread)
    reported -= np.outer(reported @ direction, direction)
    information, axes = np.linalg.eigh(reported.T @ reported)
    information = np.maximum(information, 0.0)
    root = (axes - np.outer(direction, direction @ axes)) * spread[:, None] / (1.0 + information) ** (power / 2)
    return np.asarray(inside @ root), float(np.sum(information / (1.0 + information)))


def roughness_factor(fit: DensityFit, freedom: float, intervals: int) -> float:
    """Return by how much to scale the covariance of a fit.

    It is 1 for a few numbers that mean something; a posterior that assumes smoothness is a little wide while the
    density is smooth, and narrow beside atoms: there may be others, too small or too near to be told apart.

    freedom: how many numbers the reports decided.
    """
    if not np.isfinite(fit.weight) or fit.family == FEW_NUMBERS.name:
        return 1.0
    start, by_freedom, most_freedom, by_atom, most_atoms = ROUGHNESS
    atoms = int(np.count_nonzero(fit.atoms > SURE_ATOM))
    return start + by_freedom * min(freedom / intervals, most_freedom) + by_atom * min(atoms, most_atoms)


def interval_variances(root: Matrix, to_intervals: Matrix) -> Vector:
    """Return the diagonal of T·root·root'·T'."""
    return np.asarray(((to_intervals @ root) ** 2).sum(1) + TINY)


def root_of(covariance: Matrix) -> Matrix:
    """Return R of few columns with R·R' about the covariance: Cholesky's factor with pivots."""
    factor, pivots, rank, _ = lapack.dpstrf(covariance, tol=KEPT * float(np.diag(covariance).max()), lower=1)
    root = np.zeros((len(covariance), rank), dtype=np.float32)
    root[pivots - 1] = np.tril(factor)[:, :rank]
    return root
