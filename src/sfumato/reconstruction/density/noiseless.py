"""The smooth reconstruction of reports without noise, which gives the data back.

Every column of the table is a single 1. Each report cell keeps its share of the reports; only the shape inside it is
smoothed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.evidence import Evidence
from sfumato.reconstruction.density.average import HYPOTHESES, SmoothFit, density_and_atoms, fit_hypotheses, leading
from sfumato.reconstruction.density.errors import AtomCells
from sfumato.reconstruction.density.fit import DensityFit, Matrix, Vector


def is_deterministic(table: Matrix) -> bool:
    """Say whether each true cell leads to one report cell only, as without noise or with value classes."""
    return bool(np.all(table.max(0) > 1.0 - 1e-9))


def is_one_to_one(table: Matrix) -> bool:
    """Say whether each true cell leads to a report cell of its own, so that no shape inside one is to be estimated."""
    return is_deterministic(table) and bool(np.all(np.count_nonzero(table > 1e-9, axis=1) <= 1))


def smooth_noiseless(evidence: Evidence, to_intervals: Matrix) -> SmoothFit:
    """Return the smooth reconstruction of reports without noise; to_intervals: sums cells to the wanted intervals."""
    table = evidence.table.dense()
    fits, weights = leading(fit_hypotheses(evidence, (), () if is_one_to_one(table) else HYPOTHESES))
    shape, _ = density_and_atoms(fits, weights)
    density = class_shares(evidence, shape)
    covariance = class_covariance(evidence, shape, fits, weights, to_intervals)
    return SmoothFit(to_intervals @ density, covariance, density, (), float(len(table)), "direct", ())


def class_shares(evidence: Evidence, cells: Vector) -> Vector:
    """Return the density scaled so that each report cell has its share of the reports: one step of EM, exact here.

    cells: the density before, probabilities of the true cells.
    """
    table = evidence.table.dense()
    expected = np.maximum(table @ cells, 1e-300)
    return np.asarray(cells * (table.T @ (evidence.counts[0] / expected)) / evidence.total)


def class_covariance(
    evidence: Evidence, cells: Vector, fits: Sequence[DensityFit], weights: Vector, to_intervals: Matrix
) -> Matrix:
    """Return the covariance of the intervals: multinomial between report cells, by the fits' posteriors inside them.

    cells: the density. fits, weights: of the shape.
    """
    table = evidence.table.dense()
    inside = cells / np.maximum(table.T @ (table @ cells), 1e-300)
    split = (to_intervals * inside) @ table.T
    share = evidence.counts[0] / evidence.total
    covariance = split @ ((np.diag(share) - np.outer(share, share)) / evidence.total) @ split.T
    shape_only, no_atoms = to_intervals - split @ table, AtomCells(np.zeros((cells.size, 0)))
    for fit, weight in zip(fits, weights, strict=True):
        covariance += weight * shape_only @ no_atoms.covariance(fit) @ shape_only.T
    return np.asarray(covariance)
