"""Detail beside a smooth fit: intervals that stray from it, as far as the reports show it or do not rule it out.

Beside the smooth π each interval strays by s·z, Σ s·z = 0, z ~ N(0, τ²·1), s² = π̃/20: as if people stood in clumps.
The amplitude τ is not known: beforehand it is zero or any of AMPLITUDES. In the directions v of the information that
reports hold about z once the smooth part has adapted, with scores y and informations g,

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
SHOWN = 1.0  # gain in log evidence from which on detail moves the estimate; below it widens the bars alone
BARE = 1e-3  # inside an interval people are spread as the fit has it, with this part of them even


@dataclass(frozen=True)
class Detail:
    """What detail does to one fit."""

    gain: float  # log evidence over that of the fit alone
    shift: Vector  # (k) of the cells' shares
    root: Matrix  # (k, ·) of the covariance that detail adds


def stray(probabilities: Vector) -> Vector:
    """s of each interval."""
    r = probabilities.size
    return np.asarray(np.sqrt((probabilities + SLACK / r) / (1 + SLACK) / CLUMPS))


def inside_intervals(cells: Vector, widths: Vector, to_intervals: Matrix) -> Matrix:
    """(k, r) how the people of each interval are spread over its cells."""
    spread = (to_intervals * (cells + BARE * widths)).T
    return np.asarray(spread / np.maximum(spread.sum(0), TINY))


def detail_beside(
    reports: Seen, columns: Matrix, fit: Fit, to_intervals: Matrix, shares: Vector, change: Matrix
) -> Detail:
    """Detail beside one fit, whose cells have these shares and change so with its waves and atoms."""
    scale = stray(to_intervals @ shares)
    direction = scale / np.linalg.norm(scale)
    strays = inside_intervals(fit.cells, reports.widths, to_intervals) * scale
    strays = strays - np.outer(strays @ direction, direction)  # Σ s·z = 0
    expected = np.maximum(reports.table @ fit.cells + columns @ fit.atoms, TINY)
    root = np.sqrt(reports.total / expected)
    shown = (reports.table @ strays) * root[:, None]
    design = np.hstack([reports.table @ (fit.slope[:, None] * fit.basis), columns]) * root[:, None]
    explained = _solved(fit.factor, design.T @ shown)
    g, axes = np.linalg.eigh(shown.T @ shown - explained.T @ explained)
    g, y = np.maximum(g, 0.0), axes.T @ (shown.T @ (root * (reports.counts / reports.total - expected)))
    adapted = _solved(fit.factor, explained, transposed=True) @ axes
    squares = AMPLITUDES[:, None] ** 2
    left = squares / (1 + squares * g)
    gains = 0.5 * (left @ y**2) - 0.5 * np.log1p(squares * g).sum(axis=1)
    gains = np.minimum(gains, _real_gains(reports, columns, fit, strays @ axes, adapted, left, y, g))
    chances = BEFOREHAND * np.exp(gains - gains.max())
    gain = float(gains.max() + np.log(chances.sum()))
    chances /= chances.sum()
    reach = strays @ axes - change @ adapted
    each = left * y
    middle = chances @ each if gain > SHOWN else np.zeros(g.size)
    away = ((each - middle) * np.sqrt(chances)[:, None]) @ reach.T
    return Detail(gain, reach @ middle, np.hstack([reach * np.sqrt(chances @ left), away.T]))


def _solved(factor: Matrix, right: Matrix, transposed: bool = False) -> Matrix:
    if not len(factor):
        return right
    return np.asarray(solve_triangular(factor, right, lower=True, trans=int(transposed), check_finite=False))


def _real_gains(
    reports: Seen, columns: Matrix, fit: Fit, strays: Matrix, adapted: Matrix, left: Vector, y: Vector, g: Vector
) -> Vector:
    """The same gains with the likelihood of what detail makes of the fit in place of its parabola."""
    r = fit.basis.shape[1]
    moves = left * y
    cells = fit.cells + moves @ (strays - (fit.slope[:, None] * fit.basis) @ adapted[:r]).T
    atoms = fit.atoms - moves @ adapted[r:].T
    cells, atoms = np.maximum(cells, 0.0), np.maximum(atoms, 0.0)
    expected = cells @ reports.table.T + atoms @ columns.T
    likelihood = np.log(np.maximum(expected, 1e-300)) @ reports.counts - reports.total * (cells.sum(1) + atoms.sum(1))
    prior = np.divide((moves**2).sum(1), AMPLITUDES**2, out=np.zeros(len(moves)), where=AMPLITUDES > 0)
    spread = np.log1p(AMPLITUDES[:, None] ** 2 * g).sum(axis=1)
    return np.asarray(likelihood - likelihood[0] - 0.5 * prior - 0.5 * spread)
