"""The covariance of an average of fits: each fit's posterior, the spread between fits, and detail that the noise hides.

All of it is a covariance of the true cells, with people at atoms counted in their cells; the errors of intervals and
means follow from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solve_triangular

from sfumato.evidence import Evidence
from sfumato.reconstruction.density.atoms import AtomPosition
from sfumato.reconstruction.density.curves import FEW_NUMBERS
from sfumato.reconstruction.density.fit import TINY, Codes, DensityFit, Matrix, Vector

SURE_ATOM = 0.005
"""Share of people from which an atom counts in the roughness factor. By judgement: smaller ones are mostly chance, and
each would widen all bars."""
CLUMPS = 20.0
"""Prior of detail: shares vary as if people came in so many clumps, so an interval of share π by √(π/20). It only sets
the unit of `average.HIDDEN_DETAIL` (docs/mathematics.md), which was chosen by coverage."""
SLACK = 0.3
"""Part of an even share that is added to every interval's share in `prior_deviations`, so that empty intervals have an
error. By judgement; larger widens the bars of empty intervals."""
BARE = 1e-3
"""Part of people that are even inside an interval, the others being spread as the fit has them. By judgement: it only
keeps intervals without people from dividing by zero."""
ROUGHNESS = (0.75, 0.1, 1.5, 0.25, 3)
"""`roughness_factor` = .75 + .1·min(numbers decided / intervals, 1.5) + .25·min(atoms, 3). Chosen by coverage (decision
20, bench/reconstruction_coverage.py): smaller covers less than 86 % more often, larger makes bars wider."""
KEPT = 1e-4
"""Part of the largest variance of a cell below which directions of the covariance are left out of its root. By
judgement: errors change by a hundredth of the largest at most; smaller makes roots and estimates larger."""


def prior_deviations(probabilities: Vector) -> Vector:
    """Return the prior standard deviation of each interval's share from a smooth density: √(π̃/CLUMPS).

    π̃ are the shares with SLACK of an even share added.
    """
    r = probabilities.size
    return np.asarray(np.sqrt((probabilities + SLACK / r) / (1 + SLACK) / CLUMPS))


def inside_intervals(cells: Vector, widths: Vector, to_intervals: Matrix) -> Matrix:
    """Return the share of each interval's people in each of its cells, (cells × intervals), columns of sum 1.

    cells: the density. widths: of the cells.
    """
    spread = (to_intervals * (cells + BARE * widths)).T
    return np.asarray(spread / np.maximum(spread.sum(0), TINY))


@dataclass(frozen=True)
class AtomCells:
    """The cells in which atoms may be: ``chances[cell, atom]`` are probabilities, columns of sum 1."""

    chances: Matrix

    @classmethod
    def of(cls, cells: int, cell_of: Codes, atoms: Sequence[AtomPosition]) -> AtomCells:
        """Return the probability that each atom is in each cell, from the posteriors of the atoms' positions.

        cells: how many there are. cell_of: the cell of each candidate value.
        """
        chances = np.zeros((cells, len(atoms)))
        for j, atom in enumerate(atoms):
            np.add.at(chances[:, j], cell_of[atom.points], atom.chances)
        return cls(chances)

    def at_atoms(self, fit: DensityFit) -> Vector:
        """Return, for each cell, the share of all people who are at an atom in it."""
        return np.asarray(self.chances[:, : fit.atoms.size] @ fit.atoms / (fit.cells.sum() + fit.atoms.sum()))

    def shares(self, fit: DensityFit) -> Vector:
        """Return, for each cell, the share of all people, π = (p + P a) / (Σp + Σa), P the ``chances``."""
        return np.asarray(fit.cells / (fit.cells.sum() + fit.atoms.sum()) + self.at_atoms(fit))

    def covariance(self, fit: DensityFit) -> Matrix:
        """Return the covariance of π: J (F + S)⁻¹ J', J = dπ/d(u, a), F + S the information of reports and prior.

        To it are added the prior variance of coordinates that the reports do not show, and that of the atoms' cells.
        """
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
    """Return the mean and the covariance of the mixture of the fits' posteriors.

    The mean is π = Σ w_i π_i, the covariance Σ w_i (f_i·C_i + (π_i − π)(π_i − π)').

    weights: w. atom_cells: the cells in which the fits' atoms may be. factors: f, by which each fit's own covariance is
    scaled (`roughness_factor`).
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
    """Return (a root of the covariance of detail that the reports hide, how many directions of detail they show).

    Detail of the intervals is z ~ N(0, diag s²), Σz = 0. In a direction v of its information s·G·s, with information g,
    the reports leave it a variance of 1/(1+g) (``power`` 1). But detail with g > 1 would have shown itself and changed
    the fits, so it counts with (1+g)⁻² (``power`` 2). The covariance is Σ s·v·(1+g)^−power·v'·s, in each interval
    spread over its cells; the number of directions shown is Σ g/(1+g).

    widths: of the cells. expected: share of reports in each report cell. cells: the density. to_intervals: sums cells
    to intervals. spread: s.
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
    """Return the factor by which the covariance of a fit is scaled, see ROUGHNESS; 1 for families without smoothing.

    The posterior of a smooth curve is a little too wide while the density is smooth, and too narrow next to atoms:
    there may be others, too small or too near to be distinguished.

    freedom: how many numbers the reports decided. intervals: how many are wanted.
    """
    if not np.isfinite(fit.weight) or fit.family == FEW_NUMBERS.name:
        return 1.0
    start, by_freedom, most_freedom, by_atom, most_atoms = ROUGHNESS
    atoms = int(np.count_nonzero(fit.atoms > SURE_ATOM))
    return start + by_freedom * min(freedom / intervals, most_freedom) + by_atom * min(atoms, most_atoms)


def interval_variances(root: Matrix, to_intervals: Matrix) -> Vector:
    """Return the variance of each interval, the diagonal of T·root·root'·T' (T sums cells to intervals)."""
    return np.asarray(((to_intervals @ root) ** 2).sum(1) + TINY)


def root_of(covariance: Matrix) -> Matrix:
    """Return a matrix R with few columns whose product R·R' is nearly the covariance (Cholesky's factor with pivots).

    Directions with less than KEPT of the largest variance are left out.
    """
    factor, pivots, rank, _ = lapack.dpstrf(covariance, tol=KEPT * float(np.diag(covariance).max()), lower=1)
    root = np.zeros((len(covariance), rank), dtype=np.float32)
    root[pivots - 1] = np.tril(factor)[:, :rank]
    return root
