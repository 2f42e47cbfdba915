"""How sure the averaged estimate is: each fit's posterior, the spread between fits, and detail the noise hides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from .atoms import Whereabouts
from .penalised import TINY, Fit, Matrix, Seen, Vector

STRAY = 0.65  # beforehand, an interval's probability may stray from the smooth one by this part of itself
SLACK = 0.3  # and by this part of an even share, so that empty intervals have error bars too


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


def hidden_detail(
    reports: Seen, expected: Vector, density: Vector, to_intervals: Matrix, probabilities: Vector
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


def class_covariance(reports: Seen, cells: Vector, fits: list[Fit], weights: Vector, to_intervals: Matrix) -> Matrix:
    """The multinomial covariance of the classes, plus what the fits do not know of the shape inside a class."""
    inside = cells / np.maximum(reports.table.T @ (reports.table @ cells), 1e-300)
    split = (to_intervals * inside) @ reports.table.T
    share = reports.counts / reports.total
    covariance = split @ ((np.diag(share) - np.outer(share, share)) / reports.total) @ split.T
    shape_only = Aggregation.of(to_intervals - split @ reports.table, np.zeros((len(split), 0)), [])
    for fit, weight in zip(fits, weights, strict=True):
        covariance += weight * shape_only.covariance(fit)
    return np.asarray(covariance)
