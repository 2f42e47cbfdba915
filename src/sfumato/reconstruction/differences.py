"""The coordinates in which a penalty is diagonal: Demmler and Reinsch's for differences, steps for intervals."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg import eig_banded

from .families import Matrix, Vector

MOST_WAVES = 300


@lru_cache(maxsize=64)
def wave_basis(cells: int, order: int) -> tuple[Matrix, Vector]:
    """Orthonormal V (cells × waves) and roughness e ≥ 0, ascending, with D'D·V = V·diag(e), D the order-th difference.

    The first ``order`` waves are the polynomials that D does not see.
    """
    order = min(order, cells - 1) if cells > 1 else 0
    line = np.linspace(-1.0, 1.0, cells)
    free, _ = np.linalg.qr(np.vander(line, max(order, 1), increasing=True))
    if cells - order < 1 or order == 0:
        return free, np.zeros(free.shape[1])
    differences = np.diff(np.eye(cells), order, axis=0)
    if cells <= MOST_WAVES:
        _, stretch, waves = np.linalg.svd(differences, full_matrices=False)
        roughness, vectors = stretch[::-1] ** 2, waves[::-1].T
    else:
        gram = differences @ differences.T
        bands = np.array([np.pad(np.diagonal(gram, -b), (0, b)) for b in range(order + 1)])
        roughness, left = eig_banded(bands, lower=True, select="i", select_range=(0, MOST_WAVES - 1))
        vectors = differences.T @ left / np.sqrt(roughness)
    return np.hstack([free, vectors]), np.concatenate([np.zeros(order), roughness])


def step_basis(to_intervals: Matrix) -> tuple[Matrix, Vector] | None:
    """Orthonormal step functions, constant in each interval, the constant first; roughness is distance from it.

    None where the intervals cut through cells or are about as fine as these.
    """
    intervals, cells = to_intervals.shape
    if not 4 <= intervals <= cells / 2 or not np.isin(to_intervals, (0.0, 1.0)).all():
        return None
    steps, _ = np.linalg.qr(np.column_stack([np.ones(cells), to_intervals.T[:, :-1]]))
    return steps, np.concatenate([[0.0], np.full(intervals - 1, intervals / cells)])
