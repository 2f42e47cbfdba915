"""`DensityFit`: one fit of a hypothesis about the density, with Laplace's approximation of its posterior.

A hypothesis is a family of densities with a prior over its parameters. Its fit is the top of the posterior and the
width there, from which follows how likely the hypothesis makes the reports:

    log evidence = log-likelihood + log prior density at the top + log volume of the posterior

The estimate averages fits by their evidence (`average`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sfumato.evidence import Evidence

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]

TINY = 1e-14
"""The least predicted share of reports that is divided by: below the rounding of sums of probabilities."""
NEGLIGIBLE = 12.0
"""Nats of log evidence below the best fit from which a fit does not count: it has less than e^−12 of its weight. By
judgement: smaller stops descents before a second rise, larger makes fits that nobody sees."""
RIDGE = 0.01
"""Prior precision of every coordinate of a curve, and of the total mass that every family leaves free: a standard
deviation of 10 on a log density, next to nothing. By judgement; larger draws steep densities towards the uniform."""
LOWEST_EIGENVALUE = 1e-12
"""Part of the trace added to the diagonal where rounding makes an information matrix indefinite, 100 times more while
it still is. By judgement: near the rounding of a sum of some hundred products."""


@dataclass(frozen=True)
class DensityFit:
    """One fit of a hypothesis, with Laplace's approximation over its whitened coordinates u and the atoms' masses."""

    family: str
    weight: float  # of smoothing; infinite where the family has none
    waves: Vector  # coordinates of the curve before whitening, to start other fits from
    cells: Vector  # probability of each true cell, atoms excluded
    slope: Vector  # d cells / dθ
    atoms: Vector  # share of people at each atom
    value: float  # log-likelihood plus log prior density, up to constants
    log_evidence: float
    basis: Matrix  # θ = uniform + basis @ u with the prior u ~ N(0, I)
    unseen: Matrix  # the basis of the coordinates that the reports say nothing about
    factor: Matrix  # Cholesky factor of Fisher's information + prior precision
    atom_indices: tuple[int, ...] = ()  # of the atoms' values among the candidate values

    @property
    def degrees_of_freedom(self) -> float:
        """How many numbers the reports decided: tr F(F+S)⁻¹ over the curve's coordinates, S the prior precision."""
        r = self.basis.shape[1]
        if r == 0:
            return 0.0
        inverse = lapack.dtrtri(self.factor, lower=1)[0]
        return float(r - np.sum(inverse[:, :r] ** 2))


class Hypothesis(Protocol):
    """A family of densities with a prior, which can be fitted to evidence."""

    def fits(self, evidence: Evidence, before: Sequence[DensityFit]) -> list[DensityFit]:
        """Return the fits of this family to the evidence.

        before: fits of other families, and of this one, to start from.
        """


def widths_of(evidence: Evidence) -> Vector:
    """Return the widths of the true cells of a numeric column, as fractions of them all."""
    edges = evidence.cells[0].edges
    assert edges is not None
    return np.asarray(np.diff(edges) / (edges[-1] - edges[0]))


def likelihood_with_mass(evidence: Evidence, expected: Vector, mass: float) -> float:
    """Return Σ_s N_s·log μ_s − n·m for expected reports μ of total mass m, largest where the mass is 1."""
    return float(evidence.counts[0] @ np.log(np.maximum(expected, 1e-300)) - evidence.total * mass)


def price_of_mass(evidence: Evidence) -> float:
    """Return the log evidence that a free total mass costs, to be subtracted where a family has none.

    Log evidences of all families then compare.
    """
    return 0.5 * float(np.log1p(evidence.total / (RIDGE * evidence.table.shape[1])))


def best(fits: Sequence[DensityFit]) -> DensityFit:
    """Return the fit with the largest log evidence."""
    return max(fits, key=lambda fit: fit.log_evidence)


def posterior_weights(log_evidence: Vector) -> Vector:
    """Return w_i ∝ exp(log evidence_i), of sum 1."""
    weight = np.exp(log_evidence - log_evidence.max())
    return np.asarray(weight / weight.sum())


def cholesky(matrix: Matrix) -> Matrix:
    """Return the lower Cholesky factor; a ridge is added where rounding spoils positive definiteness."""
    factor, failed = lapack.dpotrf(matrix, lower=1, clean=1)
    jitter = LOWEST_EIGENVALUE * float(np.trace(matrix))
    while failed:
        factor, failed = lapack.dpotrf(matrix + jitter * np.eye(len(matrix)), lower=1, clean=1)
        jitter *= 100.0
    return np.asarray(factor)
