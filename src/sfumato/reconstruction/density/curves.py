"""The hypothesis of smooth curves: penalised densities at every amount of smoothing, and the usual named densities.

A curve θ becomes a density f = e^θ, or f = s·log(1 + e^(θ/s)) which can also come close to zero. Differences of θ are
penalised in the coordinates in which the penalty is diagonal: Demmler and Reinsch's waves. With few functions instead
(1, x, x², log x, log(1 − x)) densities are normal, beta, exponential or straight.

    maximise Σ_s N_s·log(A p + C a)_s − n·(Σp + Σa) − ½‖u‖²,   p = width·f(θ₀ + B u),

with θ₀ that of the uniform density and a ≥ 0 the masses of atoms, whose columns of the table are C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
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

LOWEST = -25.0
"""The least θ: a density of e^−25 is zero to any number of reports, and far from the end of floating point."""
SOFTNESS = 0.2
"""s, the density (uniform = 1) below which the softplus curve bends towards zero. By judgement; decision 20 measures
the reconstruction with it. Larger, it is like a log density; smaller, it has a corner on which climbs are slow."""
LONGEST_STEP = 3.0
"""Change of θ in one step of the climb: e³ times the density. By judgement: longer steps fail and are damped, shorter
ones need more."""
MOST_STEPS = 40
"""Steps of a climb. By judgement: from a warm start 3 to 8 are enough (decision 20)."""
WORTH_A_STEP = 0.02
"""Nats that a full step has to promise for the climb to go on. By judgement: it changes the weight of a fit by 2 % at
most; smaller costs a step more for each fit."""
PART_OF_CLIMB = 2e-3
"""Part of what a climb has gained that a full step has to promise too. By judgement: after a long climb fits differ by
more than the last step; smaller costs a step or two more for each fit."""
SEEN = 2e-3
"""Information times prior variance from which a wave is fitted; below, it stays at its prior. By judgement: the reports
decide two thousandths of such a wave; larger drops waves that reports show, smaller costs time."""


@dataclass(frozen=True)
class CurveFamily:
    """A prior over densities f(θ): differences of θ of some order are penalised by λ·‖Dθ‖²/2.

    order: of the differences; 0: few functions instead of waves. curve: gives f, f′ and f″ of θ. uniform: the θ of the
    uniform density. weights: the λ to try, largest first (for 100 cells; other grids scale them). log_prior: the prior
    log odds of each weight, against those of the softplus family.
    """

    name: str
    order: int
    curve: Callable[[Vector], tuple[Vector, Vector, Vector]]
    uniform: float
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
    """Return 10^x for x from ``top`` down to above ``bottom``, in equal steps."""
    return tuple(10.0 ** np.arange(top, bottom, -step))


SOFT_UNIFORM = SOFTNESS * float(np.log(np.expm1(1 / SOFTNESS)))
"""θ at which the softplus density is 1."""
SMOOTHNESS = _descending(8.5, -2.6, 2 / 3)
"""Smoothing weights λ from a straight line to finer than noise shows, in steps of 2/3 decade: 17 of them (decision 20).
By judgement: finer steps average more fits that are alike."""
SOFT_DENSITY = CurveFamily("softplus density", 2, softplus, SOFT_UNIFORM, SMOOTHNESS, 0.0)
"""Curves that can come close to zero; all prior log odds are against one of its weights."""
LOG_DENSITY = CurveFamily("log density", 2, exponential, 0.0, _descending(8.5, -2.6, 1), -2.6)
"""Curves of the log density, at whole decades and with prior log odds of −2.6. By judgement; decision 20 measures the
reconstruction with them. Smaller odds leave smooth tails to the softplus family, which fits them less well."""
FEW_NUMBERS = CurveFamily("few numbers", 0, exponential, 0.0, (1.0, 0.1, 0.01), -2.0)
"""The usual named densities, at three prior precisions and with prior log odds of −2. By judgement; decision 20
measures the reconstruction with them. Larger odds make other shapes look like one of these."""


@lru_cache(maxsize=64)
def wave_basis(cells: int) -> tuple[Matrix, Vector]:
    """Return Demmler and Reinsch's waves: orthonormal V (cells × waves) and roughness e ≥ 0, with D'D·V = V·diag(e).

    D takes second differences; the first waves, of roughness 0, are the constant and the straight line.
    """
    order = min(2, cells - 1)
    free, _ = np.linalg.qr(np.vander(np.linspace(-1.0, 1.0, cells), max(order, 1), increasing=True))
    if order == 0:
        return free, np.zeros(1)
    _, stretch, waves = np.linalg.svd(np.diff(np.eye(cells), order, axis=0), full_matrices=False)
    return np.hstack([free, waves[::-1].T]), np.concatenate([np.zeros(order), stretch[::-1] ** 2])


def few_basis(widths: Vector) -> tuple[Matrix, Vector]:
    """Return 1, x, x², log x and log(1 − x), averaged over cells of these widths and made orthonormal, and their
    roughness."""
    edges = np.concatenate([[0.0], np.cumsum(widths)])
    integrals = [edges, edges**2 / 2, edges**3 / 3, xlogy(edges, edges) - edges]
    integrals.append(-xlogy(np.maximum(1 - edges, 0.0), np.maximum(1 - edges, 0.0)) - edges)
    functions, _ = np.linalg.qr(np.diff(integrals, axis=1).T / widths[:, None])
    return functions, np.where(np.arange(functions.shape[1]) > 0, 1.0 / widths.size, 0.0)


@dataclass(frozen=True)
class AtomColumns:
    """Atoms: the index of each among the candidate values, and its column P[report cell, value]."""

    indices: tuple[int, ...]
    table: Matrix


@dataclass(frozen=True, eq=False)
class PenalisedCurve:
    """A family of curves on the true cells of some evidence, to be fitted at any smoothing weight.

    atoms: those whose masses are fitted with the curve; None for none.
    """

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
        """The coordinates of the curve, their roughness, and the factor on smoothing weights for so many cells."""
        cells, order = self.widths.size, self.family.order
        if order == 0:
            return *few_basis(self.widths), 1.0
        return *wave_basis(cells), (cells / 100.0) ** (2 * order - 1)

    @cached_property
    def _information(self) -> Vector:
        """Fisher's information about each wave by itself, if the density were uniform."""
        level = np.maximum(self.table @ self.widths, 1e-12)
        moved = self.table @ (self.widths[:, None] * self._waves[0])
        return np.asarray(self.evidence.total * np.einsum("mw,mw,m->w", moved, moved, 1.0 / level))

    def with_atoms(self, atoms: AtomColumns) -> PenalisedCurve:
        """Return the same curve with other atoms."""
        return replace(self, atoms=atoms)

    def on_evidence(self, evidence: Evidence) -> PenalisedCurve:
        """Return the same curve and atoms on other evidence about the same cells."""
        return replace(self, evidence=evidence)

    def fit(
        self, weight: float, start: DensityFit | None = None, hoped: float = -np.inf
    ) -> DensityFit:
        """Fit the curve at one smoothing weight; waves that the reports cannot move stay at their prior.

        weight: λ. start: a fit to start from; None: the uniform density. hoped: a climb that will not reach this
        penalised log-likelihood is broken off.
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
            () if self.atoms is None else self.atoms.indices,
        )  # fmt: skip

    def convert(self, fit: DensityFit) -> DensityFit:
        """Return a fit of another family in this family's coordinates, to start from."""
        if fit.family == self.family.name:
            return fit
        density = np.maximum(fit.cells / self.widths, np.exp(LOWEST / 3))
        return replace(fit, waves=self._waves[0].T @ np.log(density))

    def descend(
        self, start: DensityFit | None = None, below: float = np.inf, down_to: float = 0.0
    ) -> list[DensityFit]:
        """Fit the curve at the family's smoothing weights from large to small, and return the fits.

        It ends where the log evidence is NEGLIGIBLE nats below its best, because it has one maximum along the path.

        start: where the first fit starts; the others start from the fit before. below, down_to: weights are below
        ``below`` and at least ``down_to``.
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
    """A point of the climb to a curve's best fit: whitened coordinates u and the masses of atoms.

    basis: θ = uniform + basis @ u.
    """

    problem: PenalisedCurve
    basis: Matrix
    u: Vector
    atoms: Vector

    @cached_property
    def _curve(self) -> tuple[Vector, Vector, Vector]:
        """The probability of each true cell, and its first and second derivative by θ."""
        family = self.problem.family
        cells, slope, bend = (self.problem.widths * part for part in family.curve(family.uniform + self.basis @ self.u))
        return cells, slope, bend

    @property
    def cells(self) -> Vector:
        """The probability of each true cell."""
        return self._curve[0]

    @property
    def slope(self) -> Vector:
        """The derivative of each cell's probability by θ."""
        return self._curve[1]

    @cached_property
    def expected(self) -> Vector:
        """The expected share of reports in each report cell."""
        return np.asarray(self.problem.table @ self.cells + self.problem.atom_table @ self.atoms)

    @cached_property
    def value(self) -> float:
        """The log-likelihood less ½‖u‖²."""
        mass = float(self.cells.sum() + self.atoms.sum())
        return likelihood_with_mass(self.problem.evidence, self.expected, mass) - 0.5 * float(self.u @ self.u)

    @cached_property
    def _curvature(self) -> tuple[Vector, Matrix, Matrix]:
        """The gradient, Fisher's information plus the prior's, and the observed one without its negative parts."""
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
        """The gradient and the observed information; with it, which includes the curve's bend, steps are Newton's."""
        return self._curvature[0], self._curvature[2]

    @property
    def information(self) -> Matrix:
        """Fisher's information plus the prior precision."""
        return self._curvature[1]

    def moved(self, step: Vector) -> Self:
        """Return the point a step further, shortened to LONGEST_STEP; no atom falls below a tenth of its mass."""
        r = self.u.size
        length = min(1.0, LONGEST_STEP / max(float(np.abs(self.basis @ step[:r]).max()), TINY))
        atoms = np.maximum(self.atoms + length * step[r:], 0.1 * self.atoms)
        return replace(self, u=self.u + length * step[:r], atoms=atoms)


@dataclass(frozen=True)
class Curves:
    """The hypothesis that the density is a smooth curve of a family."""

    family: CurveFamily

    def fits(self, evidence: Evidence, before: Sequence[DensityFit]) -> list[DensityFit]:
        """Return the fits at all smoothing weights, from smooth to rough; it goes on from this family's fits in
        ``before``."""
        problem = PenalisedCurve(evidence, self.family)
        mine = [fit for fit in before if fit.family == self.family.name]
        return problem.descend(mine[-1], below=mine[-1].weight) if mine else problem.descend()
