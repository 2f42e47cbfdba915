"""Penalised maximum likelihood: the smoothest density that still explains the reports, with people at single values."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lapack

from .differences import wave_basis
from .families import Family, Matrix, Vector

RIDGE = 0.01  # prior precision of every coordinate of θ: sd 10 on a log density, next to nothing
TINY = 1e-14
STEP_CAP = 3.0
MOST_STEPS = 40


@dataclass(frozen=True)
class Reports:
    """Counts of reports, the table of the fine cells, and the columns of the people who sit at single values."""

    counts: Vector
    table: Matrix
    widths: Vector  # (k) fractions of the domain
    columns: Matrix  # (m, j)
    places: tuple[int, ...] = ()
    total: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", float(self.counts.sum()))

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

    def __init__(self, reports: Reports, family: Family, basis: tuple[Matrix, Vector] | None = None) -> None:
        self.reports, self.family = reports, family
        cells = reports.table.shape[1]
        self.waves, self.roughness = wave_basis(cells, family.order) if basis is None else basis
        self.scale = (cells / 100.0) ** (2 * family.order - 1) if basis is None else 1.0
        level = np.maximum(reports.table @ reports.widths, 1e-12)
        seen = reports.table @ (reports.widths[:, None] * self.waves)
        self.information = reports.total * np.einsum("mw,mw,m->w", seen, seen, 1.0 / level)

    def beside(self, columns: Matrix, places: tuple[int, ...]) -> PenalisedLikelihood:
        """The same problem with atoms at these places."""
        other = copy(self)
        other.reports = Reports(self.reports.counts, self.reports.table, self.reports.widths, columns, places)
        return other

    def fit(self, weight: float, start: Fit | None = None, atoms: Vector | None = None) -> Fit:
        """The maximum at smoothing weight λ, warm-started; waves that the reports cannot move stay at their prior."""
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
        state, factor, observed, steps = self._climb(self._state(u, atoms, basis), basis)
        log_det = 2.0 * float(np.log(np.diag(observed)).sum())
        evidence = state.value - 0.5 * log_det + 0.5 * float(np.log(2 * np.pi)) * state.atoms.size
        evidence += self.family.log_prior
        return Fit(
            self.family.name, weight, state.u * spread[:r], state.cells, state.slope, state.atoms, state.value,
            evidence, basis, self.waves[:, r:] * spread[r:], factor, steps,
            self.reports.places,
        )  # fmt: skip

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
        bent = basis * np.sqrt(np.maximum(-(reports.table.T @ residual) * state.bend, 0.0))[:, None]
        observed = fisher.copy()
        observed[:r, :r] += bent.T @ bent
        return gradient, fisher, observed

    def _climb(self, state: _State, basis: Matrix) -> tuple[_State, Matrix, Matrix, int]:
        begun, steps = state.value, 0
        while True:
            gradient, fisher, observed = self._curvature(state, basis)
            factor = _cholesky(observed)
            step = lapack.dpotrs(factor, gradient, lower=1)[0]
            promise = float(gradient @ step)
            enough = max(0.02, 2e-3 * (state.value - begun))
            if promise < enough or steps == MOST_STEPS:
                return state, _cholesky(fisher), factor, steps
            better = self._line_search(state, step, promise, basis)
            if better is None:
                return state, _cholesky(fisher), factor, steps
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


def _cholesky(matrix: Matrix) -> Matrix:
    """The lower factor; a ridge is added where rounding spoils positive definiteness."""
    factor, failed = lapack.dpotrf(matrix, lower=1, clean=1)
    jitter = 1e-12 * float(np.trace(matrix))
    while failed:
        factor, failed = lapack.dpotrf(matrix + jitter * np.eye(len(matrix)), lower=1, clean=1)
        jitter *= 100.0
    return np.asarray(factor)
