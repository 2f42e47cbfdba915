"""Rotation and random projection of a table, and the attacks that undo them: to compare with, never to hand on.

Records are points Z (numbers in standard deviations, categories as indicators); what is released is

    rotation     Y = Z R           R orthogonal, p × p, uniform (Chen and Liu 2005): all distances are kept
    projection   Y = Z R / √k      R standard normal, p × k, k < p (Liu, Kargupta and Ryan 2006): distances on average

so classifiers that live on distances learn from Y as from Z, and no attribute is left to read a rule from. What an
intruder does who knows some people's records, and which released points are theirs (known pairs K), or only a sample
of the same population:

    rotation, pairs     R̂ = U Vᵀ, Z_KᵀY_K = U S Vᵀ (Procrustes): p independent pairs give R itself, and so everybody
    rotation, sample    R̂ = E D Fᵀ with the principal axes E of the sample and F of Y, each sign in D by the sign of the
                        third moment along the axis
    projection, pairs   R̂ = Z_K⁺ Y_K, exact from p independent pairs on; then the likeliest normal record that has this
                        image, ẑ = Σ R̂ (R̂ᵀ Σ R̂)⁺ y: exact where the records lie in k dimensions
"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.table.points import CLOSE


def random_rotation(dimensions: int, draws: Draws) -> Floats:
    """A uniform orthogonal matrix: the orthogonal factor of a normal one, its signs made free of the algorithm."""
    q, r = np.linalg.qr(draws.normal((dimensions, dimensions)))
    return np.asarray(q * np.sign(np.diag(r)))


def random_projection(dimensions: int, wanted: int, draws: Draws) -> Floats:
    if not 1 <= wanted < dimensions:
        most = dimensions - 1
        raise ValueError(f"a projection to {wanted} of {dimensions} dimensions hides nothing; take 1 to {most}")
    return np.asarray(draws.normal((dimensions, wanted)) / np.sqrt(wanted))


# --- attacks ----------------------------------------------------------------------------------------------------------


def undo_rotation(released: Floats, known: Floats, rows: Codes) -> Floats:
    """Everybody's points, guessed by one who knows the points ``known`` behind the released ``rows``."""
    u, _, vt = np.linalg.svd(known.T @ released[rows])
    return np.asarray(released @ (u @ vt).T)


def undo_rotation_by_sample(released: Floats, sample: Floats) -> Floats:
    """The same by one who knows other people's points, and nobody's released one."""
    theirs, seen = _principal_axes(sample), _principal_axes(released)
    centre, known = released - released.mean(axis=0), sample - sample.mean(axis=0)
    signs = np.sign(((known @ theirs) ** 3).mean(axis=0) * ((centre @ seen) ** 3).mean(axis=0))
    along = centre @ seen * np.where(signs == 0, 1, signs)
    return np.asarray(sample.mean(axis=0) + along @ theirs.T)


def undo_projection(released: Floats, known: Floats, rows: Codes, covariance: Floats) -> Floats:
    """Everybody's points of mean 0, guessed by one who knows pairs and the covariance of the population."""
    matrix = np.linalg.pinv(known) @ released[rows]
    shared = covariance @ matrix
    return np.asarray(released @ np.linalg.pinv(matrix.T @ shared) @ shared.T)


def _principal_axes(points: Floats) -> Floats:
    values, axes = np.linalg.eigh(np.cov(points.T))
    return np.asarray(axes[:, np.argsort(-values)])


def exposed(points: Floats, guess: Floats) -> float:
    """The share of values that a guess has within a tenth of a standard deviation."""
    return float((np.abs(points - guess) <= CLOSE).mean())
