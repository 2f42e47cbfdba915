"""Smooth curves: the smoothest density that still explains the reports, at every amount of smoothing.

A curve θ becomes a density f = e^θ, or f = s·log(1 + e^(θ/s)) which can also come close to zero. Differences of θ are
penalised in the coordinates in which the penalty is diagonal: Demmler and Reinsch's waves. Few functions (1, x, x²,
log x, log(1 − x)) in their place are the usual named densities.

    maximise Σ_s N_s·log(A p + C a)_s − n·(Σp + Σa) − ½‖u‖²,   p = width·f(rest + B u), a ≥ 0 the masses of atoms
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from scipy.linalg import eig_banded
from scipy.special import xlogy

from sfumato.evidence import Evidence, climb
from sfumato.reconstruction.density.fit import (
    NEGLIGIBLE,
    RIDGE,
    TINY,
    DensityFit,
    Matrix,
    Vector,
    cholesky,
    likelihood_with_mass,
    widths_of,
)

LOWEST = -25.0  # e^−25: a density below this is zero to any number of reports
SOFTNESS = 0.2  # density (uniform = 1) below which the softplus curve bends towards zero; decision 20
MOST_WAVES = 300  # of a curve: no noise of interest lets finer ones through, and more cost cubically
LONGEST_STEP = 3.0  # of θ in one step: e³ times the density
MOST_STEPS = 40  # of a climb; from a warm start a handful are enough
WORTH_A_STEP = 0.02  # nats that a full step has to promise: next to nothing beside a log evidence
PART_OF_CLIMB = 2e-3  # of what a climb has gained, which a full step has to promise too: far up, fits differ by more
SEEN = 2e-3  # information times prior variance from which on a wave is fitted; below it stays at its prior


@dataclass(frozen=True)
class CurveFamily:
    """A prior over densities: f(θ) with differences of some order of θ penalised by λ·‖Dθ‖²/2.

    curve: gives f, f′ and f″ of θ. rest: the θ of the uniform density. weights: the λ to try, largest first (for 100
    cells; other grids scale them). log_prior: the log odds of each weight beforehand, against the softplus family's.
    order: of the differences; 0: few functions in the place of waves.
    """

    name: str
    order: int
    curve: Callable[[Vector], tuple[Vector, Vector, Vector]]
    rest: float
    weights: tuple[float, ...]
    log_prior: float


def exponential(theta: Vector) -> tuple[Vector, Vector, Vector]:
    """Return f = f′ = f″ = e^θ."""
    density = np.exp(np.clip(theta, LOWEST, -LOWEST))
    return density, density, density


def softplus(theta: Vector) -> tuple[Vector, Vector, Vector]:
    """Return f = s·log(1 + e^(θ/s)), f′ = 1/(1 + e^(−θ/s)), f″ = f′(1 − f′)/s."""
    z = np.maximum(theta / SOFTNESS, LOWEST)
    small = np.exp(-np.abs(z))
    slope = np.where(z > 0, 1.0, small) / (1.0 + small)
    return SOFTNESS * (np.maximum(z, 0.0) + np.log1p(small)), slope, slope * (1.0 - slope) / SOFTNESS


def _descending(top: float, bottom: float, step: float) -> tuple[float, ...]:
    return tuple(10.0 ** np.arange(top, bottom, -step))


SOFT_REST = SOFTNESS * float(np.log(np.expm1(1 / SOFTNESS)))
"""θ at which the softplus density is 1."""
SMOOTHNESS = _descending(8.5, -2.6, 2 / 3)
"""Smoothing weights from a straight line to finer than noise shows, in steps of 2/3 decade; by judgement, finer steps
only average more fits that are alike."""
SOFT_DENSITY = CurveFamily("softplus density", 2, softplus, SOFT_REST, SMOOTHNESS, 0.0)
LOG_DENSITY = CurveFamily("log density", 2, exponential, 0.0, _descending(8.5, -2.6, 1), -2.6)
FEW_NUMBERS = CurveFamily("few numbers", 0, exponential, 0.0, (1.0, 0.1, 0.01), -2.0)
"""The families, with their standing beforehand as decision 20 has it: chosen for coverage on shapes that
bench/reconstruction_coverage.py does not use."""


@lru_cache(maxsize=64)
def wave_basis(cells: int, order: int) -> tuple[Matrix, Vector]:
    """Return orthonormal V (cells × waves) and roughness e ≥ 0, ascending, with D'D·V = V·diag(e).

    D takes differences of the given order; the first waves are the polynomials that it does not see.
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
    """Return orthonormal 1, x, x², log x, log(1 − x) of cells and their roughness.

    With them densities are normal, beta, exponential or straight.
    """
    edges = np.concatenate([[0.0], np.cumsum(widths)])
    integrals = [edges, edges**2 / 2, edges**3 / 3, xlogy(edges, edges) - edges]
    integrals.append(-xlogy(np.maximum(1 - edges, 0.0), np.maximum(1 - edges, 0.0)) - edges)
    functions, _ = np.linalg.qr(np.diff(integrals, axis=1).T / widths[:, None])
    return functions, np.where(np.arange(functions.shape[1]) > 0, 1.0 / widths.size, 0.0)


@dataclass(frozen=True)
class AtomColumns:
    """Where people are at exactly one value: candidate values, and P[report cell, value] of each."""

    places: tuple[int, ...]
    table: Matrix


@dataclass(frozen=True, eq=False)
class PenalisedCurve:
    """A family of curves on the true cells of some evidence, perhaps beside atoms."""

    evidence: Evidence
    family: CurveFamily
    atoms: AtomColumns | None = None

    @cached_property
    def table(self) -> Matrix:
        """P[report cell, true cell]."""
        return self.evidence.table.dense()

    @cached_property
    def widths(self) -> Vector:
        """Widths of the true cells, as fractions of them all."""
        return widths_of(self.evidence)

    @cached_property
    def atom_table(self) -> Matrix:
        """P[report cell, atom]."""
        return np.zeros((len(self.table), 0)) if self.atoms is None else self.atoms.table

    @cached_property
    def _waves(self) -> tuple[Matrix, Vector, float]:
        """Coordinates of the curve, their roughness, and what smoothing weights are multiplied by on these cells."""
        cells, order = self.widths.size, self.family.order
        if order == 0:
            return *few_basis(self.widths), 1.0
        return *wave_basis(cells, order), (cells / 100.0) ** (2 * order - 1)

    @cached_property
    def _information(self) -> Vector:
        """About each wave by itself, were the density uniform."""
        level = np.maximum(self.table @ self.widths, 1e-12)
        moved = self.table @ (self.widths[:, None] * self._waves[0])
        return np.asarray(self.evidence.total * np.einsum("mw,mw,m->w", moved, moved, 1.0 / level))

    def beside(self, atoms: AtomColumns) -> PenalisedCurve:
        """Return the same curve beside atoms."""
        return replace(self, atoms=atoms)

    def of(self, evidence: Evidence) -> PenalisedCurve:
        """Return the same curve and atoms on other evidence about the same cells."""
        return replace(self, evidence=evidence)

    def fit(
        self, weight: float, start: DensityFit | None = None, hoped: float = -np.inf
    ) -> DensityFit:
        """Fit the curve at one smoothing weight; waves that the reports cannot move stay at their prior.

        start: a fit to start from. hoped: a climb that will not reach this value is broken off.
        """
        waves, roughness, scale = self._waves
        spread = 1.0 / np.sqrt(weight * scale * roughness + RIDGE)
        shown = np.flatnonzero(self._information * spread**2 > SEEN)
        r = min(max(self.family.order, int(shown[-1]) + 1 if shown.size else 1), spread.size)
        u = np.zeros(r)
        if start is not None:
            common = min(r, start.waves.size)
            u[:common] = start.waves[:common] / spread[:common]
        atoms = np.zeros(self.atom_table.shape[1]) if start is None else start.atoms
        basis = waves[:, :r] * spread[:r]
        top = climb(
            CurvePoint(self, basis, u, atoms), steps=MOST_STEPS, enough=WORTH_A_STEP, part=PART_OF_CLIMB,
            hoped=lambda point: hoped,
        )
        log_det = 2.0 * float(np.log(np.diag(cholesky(top.slopes[1]))).sum())
        log_evidence = top.value - 0.5 * log_det + 0.5 * float(np.log(2 * np.pi)) * atoms.size + self.family.log_prior
        return DensityFit(
            self.family.name, weight, top.u * spread[:r], top.cells, top.slope, top.atoms, top.value, log_evidence,
            basis, waves[:, r:] * spread[r:], cholesky(top.information),
            () if self.atoms is None else self.atoms.places,
        )  # fmt: skip

    def started(self, fit: DensityFit) -> DensityFit:
        """Return a fit of another family as a start for this one."""
        if fit.family == self.family.name:
            return fit
        density = np.maximum(fit.cells / self.widths, np.exp(LOWEST / 3))
        return replace(fit, waves=self._waves[0].T @ np.log(density))

    def descend(
        self, start: DensityFit | None = None, below: float = np.inf, down_to: float = 0.0
    ) -> list[DensityFit]:
        """Fit from smooth (weights below ``below``) to rough (down to ``down_to``), each fit started from the last.

        It ends where the log evidence is NEGLIGIBLE nats below its best; it has one maximum along the path.
        """
        fits: list[DensityFit] = []
        highest = -np.inf
        for weight in self.family.weights:
            if not down_to <= weight < below:
                continue
            fits.append(self.fit(weight, fits[-1] if fits else start))
            highest = max(highest, fits[-1].log_evidence)
            if fits[-1].log_evidence < highest - NEGLIGIBLE:
                break
        return fits


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """A curve at whitened coordinates u, with masses of atoms, as `climb` moves it."""

    problem: PenalisedCurve
    basis: Matrix
    u: Vector
    atoms: Vector

    @cached_property
    def _curve(self) -> tuple[Vector, Vector, Vector]:
        family = self.problem.family
        cells, slope, bend = (self.problem.widths * part for part in family.curve(family.rest + self.basis @ self.u))
        return cells, slope, bend

    @property
    def cells(self) -> Vector:
        """Probability of each true cell."""
        return self._curve[0]

    @property
    def slope(self) -> Vector:
        """Its derivative by θ."""
        return self._curve[1]

    @cached_property
    def expected(self) -> Vector:
        """Expected share of reports in each report cell."""
        return np.asarray(self.problem.table @ self.cells + self.problem.atom_table @ self.atoms)

    @cached_property
    def value(self) -> float:
        """The log-likelihood less ½‖u‖²."""
        mass = float(self.cells.sum() + self.atoms.sum())
        return likelihood_with_mass(self.problem.evidence, self.expected, mass) - 0.5 * float(self.u @ self.u)

    @cached_property
    def _curvature(self) -> tuple[Vector, Matrix, Matrix]:
        """Gradient, Fisher's information + prior, and the observed information without its negative parts."""
        problem, r = self.problem, self.u.size
        inverse = 1.0 / np.maximum(self.expected, TINY)
        design = np.hstack([problem.table @ (self.slope[:, None] * self.basis), problem.atom_table])
        residual = problem.evidence.counts[0] * inverse - problem.evidence.total
        gradient = design.T @ residual
        gradient[:r] -= self.u
        design *= np.sqrt(problem.evidence.total * inverse)[:, None]
        fisher = design.T @ design
        fisher[np.arange(r), np.arange(r)] += 1.0
        curved = -(problem.table.T @ residual) * self._curve[2]
        cells = np.flatnonzero(curved > 0.0)
        bent = self.basis[cells] * np.sqrt(curved[cells])[:, None]
        observed = fisher.copy()
        observed[:r, :r] += bent.T @ bent
        return gradient, fisher, observed

    @property
    def slopes(self) -> tuple[Vector, Matrix]:
        """Gradient and observed information: with the curve's bend, steps are Newton's."""
        return self._curvature[0], self._curvature[2]

    @property
    def information(self) -> Matrix:
        """Fisher's information + prior precision."""
        return self._curvature[1]

    def moved(self, step: Vector) -> Self:
        """Return the point a step further, or as far as the curve may go at once; no mass falls below a tenth."""
        r = self.u.size
        length = min(1.0, LONGEST_STEP / max(float(np.abs(self.basis @ step[:r]).max()), TINY))
        atoms = np.maximum(self.atoms + length * step[r:], 0.1 * self.atoms)
        return replace(self, u=self.u + length * step[:r], atoms=atoms)


@dataclass(frozen=True)
class Curves:
    """The hypothesis that the density is a smooth curve of a family."""

    family: CurveFamily

    def fits(self, evidence: Evidence, before: Sequence[DensityFit]) -> list[DensityFit]:
        """Return the fits of all smoothing weights; those that are there already are gone on from."""
        problem = PenalisedCurve(evidence, self.family)
        mine = [fit for fit in before if fit.family == self.family.name]
        return problem.descend(mine[-1], below=mine[-1].weight) if mine else problem.descend()
