"""The coordinates in which a difference penalty is diagonal (Demmler and Reinsch's basis)."""

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
