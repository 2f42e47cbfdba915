"""Detail beside a smooth fit: intervals that stray from it, as far as the reports show it, hide it or rule it out.

Beside the smooth probabilities π each interval strays by s·z, Σ s·z = 0, z ~ N(0, τ²·1), s² = π̃/20: as if people stood
in clumps. The amplitude τ is not known: beforehand it is zero or any of AMPLITUDES. In the directions v of the
information G that reports hold about z once the smooth part has adapted, with scores y and informations g,

    log evidence(τ) − log evidence(0) = Σ ½·τ²·y²/(1 + τ²g) − ½·log(1 + τ²g),
    E z = v·τ²·y/(1 + τ²g),   Var z = v·τ²/(1 + τ²g)·v'.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from .penalised import TINY, Fit, Matrix, Seen, Vector

AMPLITUDES = np.array([0.0, 0.03, 0.1, 0.2, 0.4, 0.7, 1.1])
BEFOREHAND = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
CLUMPS = 20.0
SLACK = 0.3  # empty intervals stray as if they held this part of an even share


@dataclass(frozen=True)
class Detail:
    """What detail does to one fit: its evidence, its intervals (mean and covariance) and its cells."""

    gain: float  # log evidence over that of the fit alone
    shift: Vector  # (r) of the interval probabilities
    covariance: Matrix  # (r, r) beside that of the fit
    cells: Vector  # (k) shift of the cells
    amplitude: float


def stray(probabilities: Vector) -> Vector:
    """s of each interval."""
    r = probabilities.size
    return np.asarray(np.sqrt((probabilities + SLACK / r) / (1 + SLACK) / CLUMPS))


def inside_intervals(cells: Vector, widths: Vector, to_intervals: Matrix) -> Matrix:
    """(k, r) how the people of each interval are spread over its cells: as the fit has it, evenly where it has none."""
    spread = (to_intervals * (cells + 1e-3 * widths)).T
    return np.asarray(spread / np.maximum(spread.sum(0), TINY))


def detail_beside(reports: Seen, columns: Matrix, fit: Fit, to_intervals: Matrix, shares: Vector, seen: Matrix) -> Detail:
    """Detail beside one fit, whose intervals have these shares and change by ``seen`` with its waves and atoms."""
    scale = stray(shares)
    direction = scale / np.linalg.norm(scale)
    inside = inside_intervals(fit.cells, reports.widths, to_intervals)
    expected = np.maximum(reports.table @ fit.cells + columns @ fit.atoms, TINY)
    root = np.sqrt(reports.total / expected)
    strays = inside * scale
    strays = strays - np.outer(strays @ direction, direction)  # Σ s·z = 0
    shown = (reports.table @ strays) * root[:, None]
    residual = reports.counts / reports.total * root - root * expected
    design = np.hstack([reports.table @ (fit.slope[:, None] * fit.basis), columns]) * root[:, None]
    explained = solve_triangular(fit.factor, design.T @ shown, lower=True, check_finite=False) if len(fit.factor) else np.zeros((0, scale.size))
    information = shown.T @ shown - explained.T @ explained
    g, axes = np.linalg.eigh(information)
    g, y = np.maximum(g, 0.0), axes.T @ (shown.T @ residual)
    left = AMPLITUDES[:, None] ** 2 / (1 + AMPLITUDES[:, None] ** 2 * g)
    gains = 0.5 * (left @ y**2) - 0.5 * np.log1p(AMPLITUDES[:, None] ** 2 * g).sum(axis=1)
    adapt = solve_triangular(fit.factor, explained, lower=True, trans=1, check_finite=False) if len(fit.factor) else explained
    to_cells = strays - (fit.slope[:, None] * fit.basis) @ adapt[: fit.basis.shape[1]]
    moves = (to_cells @ axes) @ (left * y).T  # (k, amplitudes)
    atoms = adapt[fit.basis.shape[1] :] @ axes @ (left * y).T
    for i in range(1, AMPLITUDES.size):
        moved = np.maximum(fit.cells + moves[:, i], 0.0)
        held = np.maximum(fit.atoms - atoms[:, i], 0.0)
        mass = moved.sum() + held.sum()
        value = reports.log_likelihood(reports.table @ moved + columns @ held, mass)
        before = reports.log_likelihood(expected, fit.cells.sum() + fit.atoms.sum())
        z2 = ((left[i] * y) ** 2).sum() / AMPLITUDES[i] ** 2
        gains[i] = min(gains[i], value - before - 0.5 * z2 - 0.5 * np.log1p(AMPLITUDES[i] ** 2 * g).sum())
    chances = BEFOREHAND * np.exp(gains - gains.max())
    gain = float(gains.max() + np.log(chances.sum()))
    chances /= chances.sum()
    reach = scale[:, None] * (np.eye(scale.size) - np.outer(direction, direction)) - seen @ adapt
    reach = reach @ axes
    each = (left * y) @ reach.T
    shift = chances @ each
    away = (each - shift) * np.sqrt(chances)[:, None]
    covariance = (reach * (chances @ left)) @ reach.T + away.T @ away
    return Detail(gain, shift, covariance, moves @ chances, float(np.sqrt(chances @ AMPLITUDES**2)))
