"""Penalised maximum likelihood: the smoothest density that still explains the reports, with people at single values.

A smooth curve θ becomes a density f = e^θ, or f = s·log(1 + e^(θ/s)) which can also come close to zero. Differences of
θ are penalised in the coordinates in which the penalty is diagonal: Demmler and Reinsch's waves, or steps.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig_banded, lapack
from scipy.special import xlogy

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]

LOWEST = -25.0  # e^-25: a density below this is zero to any number of reports
SOFTNESS = 0.2  # density (uniform = 1) below which the softplus curve bends towards zero
MOST_WAVES = 300
RIDGE = 0.01  # prior precision of every coordinate of θ: sd 10 on a log density, next to nothing
TINY = 1e-14
STEP_CAP = 3.0
MOST_STEPS = 40
NEGLIGIBLE = 12.0  # e^-12: a fit this far below the best one no longer counts


@dataclass(frozen=True)
class Family:
    """A prior over densities: f(θ) with differences of order d of θ penalised by λ·‖Dθ‖²/2.

    ``curve(θ)`` gives f, f', f''; ``rest`` is the θ of the uniform density; ``weights`` the λ to try, largest first
    (for 100 cells; other grids scale them); ``log_prior`` the family's standing before any data.
    """

    name: str
    order: int
    curve: Callable[[Vector], tuple[Vector, Vector, Vector]]
    rest: float
    weights: tuple[float, ...]
    log_prior: float


def exponential(theta: Vector) -> tuple[Vector, Vector, Vector]:
    """f = f' = f'' = e^θ."""
    density = np.exp(np.clip(theta, LOWEST, -LOWEST))
    return density, density, density


def softplus(theta: Vector) -> tuple[Vector, Vector, Vector]:
    """f = s·log(1 + e^(θ/s)), f' = 1/(1 + e^(−θ/s)), f'' = f'(1 − f')/s."""
    z = np.maximum(theta / SOFTNESS, LOWEST)
    small = np.exp(-np.abs(z))
    slope = np.where(z > 0, 1.0, small) / (1.0 + small)
    return SOFTNESS * (np.maximum(z, 0.0) + np.log1p(small)), slope, slope * (1.0 - slope) / SOFTNESS


def _descending(top: float, bottom: float, step: float) -> tuple[float, ...]:
    return tuple(10.0 ** np.arange(top, bottom, -step))


SOFT_REST = SOFTNESS * float(np.log(np.expm1(1 / SOFTNESS)))
SMOOTHNESS = _descending(8.5, -2.6, 2 / 3)
LOG_DENSITY = Family("log density", 2, exponential, 0.0, _descending(8.5, -2.6, 1), -2.6)
SOFT_DENSITY = Family("softplus density", 2, softplus, SOFT_REST, SMOOTHNESS, 0.0)
FEW_NUMBERS = Family("few numbers", 0, exponential, 0.0, (1.0, 0.1, 0.01), -2.0)


@lru_cache(maxsize=64)
def wave_basis(cells: int, order: int) -> tuple[Matrix, Vector]:
    """Orthonormal V (cells × waves) and roughness e ≥ 0, ascending, with D'D·V = V·diag(e), D the order-th difference.

    The first ``order`` waves are the polynomials that D does not see.
    """
    order = min(order, max(cells - 1, 0))
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


def few_basis(widths: Vector) -> tuple[Matrix, Vector]:
    """Orthonormal 1, x, x², log x, log(1 − x) of cells: densities that are normal, beta, exponential or straight."""
    edges = np.concatenate([[0.0], np.cumsum(widths)])
    integrals = [edges, edges**2 / 2, edges**3 / 3, xlogy(edges, edges) - edges]
    integrals.append(-xlogy(np.maximum(1 - edges, 0.0), np.maximum(1 - edges, 0.0)) - edges)
    functions, _ = np.linalg.qr(np.diff(integrals, axis=1).T / widths[:, None])
    return functions, np.where(np.arange(functions.shape[1]) > 0, 1.0 / widths.size, 0.0)


@dataclass(frozen=True)
class Seen:
    """Counts of reports, the table of the fine cells, and the columns of the people who sit at single values."""

    counts: Vector
    table: Matrix
    widths: Vector  # (k) fractions of the domain
    columns: Matrix  # (m, j)
    places: tuple[int, ...] = ()

    @cached_property
    def total(self) -> float:
        return float(self.counts.sum())

    def log_likelihood(self, expected: Vector, mass: float) -> float:
        """Σ_s N_s·log μ_s − n·Σp, largest at Σp = 1."""
        return float(self.counts @ np.log(np.maximum(expected, 1e-300)) - self.total * mass)


@dataclass
class Fit:
    """One penalised fit and its Laplace approximation over the whitened waves and the atoms' masses."""

    family: str
    weight: float
    waves: Vector  # θ − rest in the wave basis
    cells: Vector
    slope: Vector  # dp/dθ
    atoms: Vector
    value: float
    evidence: float
    basis: Matrix  # θ = rest + basis @ u, u ~ N(0, I)
    unseen: Matrix  # whitened waves that the reports say nothing about
    factor: Matrix  # Cholesky factor of Fisher information + prior precision
    steps: int
    places: tuple[int, ...] = ()  # where the atoms sit, among the candidate points

    @property
    def degrees_of_freedom(self) -> float:
        """tr F(F+S)⁻¹ over the waves: how many numbers the reports decided."""
        r = self.basis.shape[1]
        if r == 0:
            return 0.0
        inverse = lapack.dtrtri(self.factor, lower=1)[0]
        return float(r - np.sum(inverse[:, :r] ** 2))


@dataclass
class _State:
    """Everything known at one point (u, atoms)."""

    u: Vector
    atoms: Vector
    cells: Vector
    slope: Vector
    bend: Vector
    expected: Vector
    value: float


class PenalisedLikelihood:
    """maximise Σ_s N_s·log(A p + C a)_s − n·(Σp + Σa) − ½‖u‖², p = width·f(rest + B u), a ≥ 0.

    Newton's method on Fisher's information plus the part of the observed curvature that is safely positive;
    the value never falls.
    """

    def __init__(self, reports: Seen, family: Family, basis: tuple[Matrix, Vector] | None = None) -> None:
        self.reports, self.family = reports, family
        cells = reports.table.shape[1]
        self.waves, self.roughness = wave_basis(cells, family.order) if basis is None else basis
        self.scale = (cells / 100.0) ** (2 * family.order - 1) if basis is None else 1.0
        level = np.maximum(reports.table @ reports.widths, 1e-12)
        seen = reports.table @ (reports.widths[:, None] * self.waves)
        self.information = reports.total * np.einsum("mw,mw,m->w", seen, seen, 1.0 / level)

    def beside(self, columns: Matrix, places: tuple[int, ...]) -> PenalisedLikelihood:
        """The same problem with atoms at these places."""
        return self.of(replace(self.reports, columns=columns, places=places))

    def of(self, reports: Seen) -> PenalisedLikelihood:
        """The same problem of other reports."""
        other = copy(self)
        other.reports = reports
        return other

    def fit(
        self, weight: float, start: Fit | None = None, atoms: Vector | None = None, hoped: float = -np.inf
    ) -> Fit:
        """The maximum at smoothing weight λ, warm-started; waves that the reports cannot move stay at their prior.

        ``hoped``: a climb that will not reach this value is broken off.
        """
        spread = 1.0 / np.sqrt(weight * self.scale * self.roughness + RIDGE)
        seen = np.flatnonzero(10.0 * self.information * spread**2 > 2e-2)
        r = max(self.family.order, int(seen[-1]) + 1 if seen.size else 1)
        r = min(r, spread.size)
        basis = self.waves[:, :r] * spread[:r]
        u = np.zeros(r)
        if start is not None:
            common = min(r, start.waves.size)
            u[:common] = start.waves[:common] / spread[:common]
        if atoms is None:
            atoms = start.atoms if start is not None else np.zeros(self.reports.columns.shape[1])
        state, factor, observed, steps = self._climb(self._state(u, atoms, basis), basis, hoped)
        log_det = 2.0 * float(np.log(np.diag(observed)).sum())
        evidence = state.value - 0.5 * log_det + 0.5 * float(np.log(2 * np.pi)) * state.atoms.size
        evidence += self.family.log_prior
        return Fit(
            self.family.name, weight, state.u * spread[:r], state.cells, state.slope, state.atoms, state.value,
            evidence, basis, self.waves[:, r:] * spread[r:], factor, steps,
            self.reports.places,
        )  # fmt: skip

    def started(self, fit: Fit) -> Fit:
        """A fit of another family as a start for this one."""
        if fit.family == self.family.name:
            return fit
        density = np.maximum(fit.cells / self.reports.widths, np.exp(LOWEST / 3))
        return replace(fit, waves=self.waves.T @ np.log(density))

    def _state(self, u: Vector, atoms: Vector, basis: Matrix) -> _State:
        cells, slope, bend = (self.reports.widths * each for each in self.family.curve(self.family.rest + basis @ u))
        expected = self.reports.table @ cells
        if atoms.size:
            expected = expected + self.reports.columns @ atoms
        value = self.reports.log_likelihood(expected, float(cells.sum() + atoms.sum())) - 0.5 * float(u @ u)
        return _State(u, atoms, cells, slope, bend, expected, value)

    def _curvature(self, state: _State, basis: Matrix) -> tuple[Vector, Matrix, Matrix]:
        """Gradient, Fisher's information + prior, and the observed information without its negative parts."""
        reports, r = self.reports, state.u.size
        inverse = 1.0 / np.maximum(state.expected, TINY)
        design = reports.table @ (state.slope[:, None] * basis)
        if state.atoms.size:
            design = np.hstack([design, reports.columns])
        residual = reports.counts * inverse - reports.total
        gradient = design.T @ residual
        gradient[:r] -= state.u
        design *= np.sqrt(reports.total * inverse)[:, None]
        fisher = design.T @ design
        diagonal = np.arange(r)
        fisher[diagonal, diagonal] += 1.0
        curved = -(reports.table.T @ residual) * state.bend
        cells = np.flatnonzero(curved > 0.0)
        bent = basis[cells] * np.sqrt(curved[cells])[:, None]
        observed = fisher.copy()
        observed[:r, :r] += bent.T @ bent
        return gradient, fisher, observed

    def _climb(self, state: _State, basis: Matrix, hoped: float) -> tuple[_State, Matrix, Matrix, int]:
        begun, steps = state.value, 0
        while True:
            gradient, fisher, observed = self._curvature(state, basis)
            factor = cholesky(observed)
            step = lapack.dpotrs(factor, gradient, lower=1)[0]
            promise = float(gradient @ step)
            enough = max(0.02, 2e-3 * (state.value - begun))
            hopeless = steps > 1 and state.value + promise < hoped
            if promise < enough or hopeless or steps == MOST_STEPS:
                return state, cholesky(fisher), factor, steps
            better = self._line_search(state, step, promise, basis)
            if better is None:
                return state, cholesky(fisher), factor, steps
            state, steps = better, steps + 1

    def _line_search(self, state: _State, step: Vector, promise: float, basis: Matrix) -> _State | None:
        """The first point along the step whose value rises; None when none does."""
        r = state.u.size
        move, shift = step[:r], step[r:]
        length = min(1.0, STEP_CAP / max(float(np.abs(basis @ move).max()), TINY))
        while length > 1e-4:
            atoms = np.maximum(state.atoms + length * shift, 0.1 * state.atoms)
            trial = self._state(state.u + length * move, atoms, basis)
            if trial.value >= state.value + 1e-4 * length * promise:
                return trial
            length /= 3.0
        return None


def cholesky(matrix: Matrix) -> Matrix:
    """The lower factor; a ridge is added where rounding spoils positive definiteness."""
    factor, failed = lapack.dpotrf(matrix, lower=1, clean=1)
    jitter = 1e-12 * float(np.trace(matrix))
    while failed:
        factor, failed = lapack.dpotrf(matrix + jitter * np.eye(len(matrix)), lower=1, clean=1)
        jitter *= 100.0
    return np.asarray(factor)


def descend(
    problem: PenalisedLikelihood, start: Fit | None = None, below: float = np.inf, down_to: float = 0.0
) -> list[Fit]:
    """Warm-started fits from smooth (weights below ``below``) to rough, until the evidence has fallen past recovery."""
    fits: list[Fit] = []
    best = -np.inf
    for weight in problem.family.weights:
        if not down_to <= weight < below:
            continue
        fits.append(problem.fit(weight, fits[-1] if fits else start))
        best = max(best, fits[-1].evidence)
        if fits[-1].evidence < best - NEGLIGIBLE:
            break
    return fits
