"""How sure an average of fits is: each one's posterior, the spread between them, and detail that the noise hides.

Everything is a covariance of the fine cells, people at single values counted in theirs; intervals and means follow.

Detail beside a smooth fit: intervals that stray from it, as far as the reports show it or do not rule it out.

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

from .penalised import FEW_NUMBERS, TINY, Codes, Fit, Matrix, Seen, Vector
from .single_values import Whereabouts

SURE_ATOM = 0.005
AMPLITUDES = np.array([0.0, 0.03, 0.1, 0.2, 0.4, 0.7, 1.1])
BEFOREHAND = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
CLUMPS = 20.0
SLACK = 0.3  # empty intervals stray as if they held this part of an even share
SHOWN = 1.0  # gain in log evidence from which on detail moves the estimate; below it widens the bars alone
BARE = 1e-3  # inside an interval people are spread as the fit has it, with this part of them even


# --- detail beside a fit ---


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


# --- an average of fits ---


@dataclass(frozen=True)
class Places:
    """Where atoms lie: ``chances`` (k, j) that atom j lies in each cell."""

    chances: Matrix

    @classmethod
    def of(cls, cells: int, cell_of: Codes, atoms: list[Whereabouts]) -> Places:
        """Each atom's cell, averaged over the places it may have."""
        chances = np.zeros((cells, len(atoms)))
        for j, atom in enumerate(atoms):
            np.add.at(chances[:, j], cell_of[atom.points], atom.chances)
        return cls(chances)

    def atoms(self, fit: Fit) -> Vector:
        """The share of people in each cell who are at single values."""
        return np.asarray(self.chances[:, : fit.atoms.size] @ fit.atoms / (fit.cells.sum() + fit.atoms.sum()))

    def shares(self, fit: Fit) -> Vector:
        """π = (p + P a) / (Σp + Σa)."""
        return np.asarray(fit.cells / (fit.cells.sum() + fit.atoms.sum()) + self.atoms(fit))

    def change(self, fit: Fit) -> Matrix:
        """J = dπ/d(u, a)."""
        seen = np.hstack([fit.slope[:, None] * fit.basis, self.chances[:, : fit.atoms.size]])
        return np.asarray((seen - np.outer(self.shares(fit), seen.sum(0))) / (fit.cells.sum() + fit.atoms.sum()))

    def covariance(self, fit: Fit) -> Matrix:
        """J (F + S)⁻¹ J', the prior's part for waves the reports do not see, and misplaced atoms."""
        total, change = fit.cells.sum() + fit.atoms.sum(), self.change(fit)
        unseen = fit.slope[:, None] * fit.unseen
        unseen = (unseen - np.outer(self.shares(fit), unseen.sum(0))) / total
        root = solve_triangular(fit.factor, change.T, lower=True, check_finite=False) if change.size else change.T
        covariance = root.T @ root + unseen @ unseen.T
        for chance, mass in zip(self.chances.T, fit.atoms / total, strict=False):
            covariance += mass**2 * (np.diag(chance) - np.outer(chance, chance))
        return np.asarray(covariance)


def averaged(
    fits: list[Fit], details: list[Detail], weights: Vector, places: Places, factors: list[float]
) -> tuple[Vector, Matrix]:
    """Mean and covariance of the mixture of posteriors: Σw(f_i·C_i + (π_i − π)(π_i − π)')."""
    each = np.array([places.shares(fit) + detail.shift for fit, detail in zip(fits, details, strict=True)])
    mean = weights @ each
    spread = (each - mean) * np.sqrt(weights)[:, None]
    covariance = spread.T @ spread
    for fit, detail, weight in zip(fits, details, weights * np.array(factors), strict=True):
        covariance += weight * (places.covariance(fit) + detail.root @ detail.root.T)
    mean = np.maximum(mean, 0.0)
    return mean / mean.sum(), covariance


def hidden_detail(
    reports: Seen, expected: Vector, cells: Vector, to_intervals: Matrix, spread: Vector, power: int
) -> tuple[Matrix, float]:
    """Detail that the reports would not have shown, as a root of its covariance over cells; directions they do show.

    Detail of the intervals z ~ N(0, diag s²), Σz = 0. In a direction v of its information s·G·s, with information g,
    the reports leave it a variance of 1/(1+g) (``power`` 1); but detail with g > 1 would have shown itself and changed
    the fits, so it counts with (1+g)⁻² (``power`` 2): Σ s·v·(1+g)^−power·v'·s. Directions shown: Σ g/(1+g).
    """
    inside = inside_intervals(cells, reports.widths, to_intervals)
    seen = (reports.table @ inside) * np.sqrt(reports.total / np.maximum(expected, 1e-12))[:, None] * spread
    direction = spread / np.linalg.norm(spread)
    seen -= np.outer(seen @ direction, direction)
    information, axes = np.linalg.eigh(seen.T @ seen)
    information = np.maximum(information, 0.0)
    root = (axes - np.outer(direction, direction @ axes)) * spread[:, None] / (1.0 + information) ** (power / 2)
    return np.asarray(inside @ root), float(np.sum(information / (1.0 + information)))


def roughness_factor(fit: Fit, freedom: float, intervals: int) -> float:
    """By how much to scale the covariance of a fit: 1 for a few numbers that mean something; a posterior that assumes
    smoothness is a little wide while the density is smooth, and narrow beside atoms: there may be others, too small or
    too near to be told apart. Calibrated by coverage (docs/decisions/0020).
    """
    if not np.isfinite(fit.weight) or fit.family == FEW_NUMBERS.name:
        return 1.0
    atoms = int(np.count_nonzero(fit.atoms > SURE_ATOM))
    return 0.75 + 0.1 * min(freedom / intervals, 1.5) + 0.25 * min(atoms, 3)


def interval_variances(root: Matrix, to_intervals: Matrix) -> Vector:
    """The diagonal of T·root·root'·T'."""
    return np.asarray(((to_intervals @ root) ** 2).sum(1) + TINY)
