"""People who round: some name the nearest multiple of 5, or of 10, instead of their value.

    told = H p,   H = (1 − Σh)·I + Σ h_m·R_m,   R_m the table of rounding to a multiple of m,

with the shares h_m found by Newton's method on their scores, the smooth p adapting. A heaped fit is written down as a
fit of the values that are told, with h among its parameters: of the cells, and where numbers are not whole of the round
numbers after them (I is then as much higher).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from sfumato.evidence import DenseTable, Evidence
from sfumato.reconstruction.density.atoms import AtomSearch
from sfumato.reconstruction.density.curves import PenalisedCurve
from sfumato.reconstruction.density.fit import TINY, Codes, DensityFit, Matrix, Vector, cholesky

WORTH = 3.0  # nats of log-likelihood that rounding must promise before it is tried: what two ways promise by chance
# once in twenty times
SETTLED = 0.02  # nats below which a further step of the shares is not taken
CLEAR = 1 / 0.2**2  # information about a share of people who round, below which it is known to ± .2 at best: not tried
MOST = 0.995  # of all shares together
LONGEST = 0.3  # of one step of a share
ROUNDS = 20  # steps at most
USUAL = 0.3  # the share of people who round where nobody can see it; decision 20
FIRST_ATOMS = 8  # so many atoms at first,
SURE = 10.0  # each of which promises more nats than this, and more than rounding does


@dataclass(frozen=True)
class Heaps:
    """Shares of people who round in each of some ways.

    roundings: R_m, one for each way. table: P[report cell, told value]. first: the fit of values before rounding,
    beside the atoms that promise more than rounding. promise: by how much rounding raises its log-likelihood.
    """

    roundings: tuple[Matrix, ...]
    shares: Vector
    table: Matrix
    first: DensityFit | None = None
    promise: float = 0.0

    @cached_property
    def told(self) -> Matrix:
        """H, as P[told value, true cell]."""
        rounded = sum(h * r for h, r in zip(self.shares, self.roundings, strict=True))
        return np.asarray((1.0 - self.shares.sum()) * np.eye(*self.roundings[0].shape) + rounded)

    @property
    def reported(self) -> Matrix:
        """P[report cell, true cell] of all people, those who round and those who do not."""
        return np.asarray(self.table @ self.told)

    def on(self, problem: PenalisedCurve) -> PenalisedCurve:
        """Return the same curve for the values that people have before they round."""
        evidence = problem.evidence
        return problem.of(replace(evidence, table=DenseTable(self.reported)))

    def heaped(self, cells: Vector) -> Vector:
        """Return the share of people who rounded, by the value that they tell."""
        return np.asarray(sum(h * (r @ cells) for h, r in zip(self.shares, self.roundings, strict=True)))

    def directions(self, cells: Vector) -> Matrix:
        """Return d told/dh, one column for each way."""
        own = np.eye(*self.roundings[0].shape) @ cells
        return np.stack([rounding @ cells - own for rounding in self.roundings], axis=1)

    def told_fit(self, total: float, atom_table: Matrix, fit: DensityFit) -> DensityFit:
        """Return a fit of values before rounding as one of the values told, h among its parameters.

        total: reports. atom_table: P[report cell, atom] of the fit's atoms.
        """
        r, j = fit.basis.shape[1], self.shares.size
        basis = np.hstack([self.told @ (fit.slope[:, None] * fit.basis), self.directions(fit.cells)])
        cells = self.told @ fit.cells
        root = np.sqrt(total / np.maximum(self.table @ cells + atom_table @ fit.atoms, TINY))
        design = np.hstack([self.table @ basis, atom_table]) * root[:, None]
        information = design.T @ design
        information[np.arange(r + j), np.arange(r + j)] += 1.0
        others = np.delete(np.arange(len(information)), np.arange(r, r + j))
        factor, without = cholesky(information), cholesky(information[np.ix_(others, others)])
        price = np.log(np.diag(factor)).sum() - np.log(np.diag(without)).sum() - 0.5 * j * np.log(2 * np.pi)
        unseen = self.told @ (fit.slope[:, None] * fit.unseen)
        return replace(
            fit, cells=cells, slope=np.ones(cells.size), basis=basis, unseen=unseen, factor=factor,
            log_evidence=fit.log_evidence - float(price),
        )  # fmt: skip


def told_table(table: Matrix, points: Matrix, places: Codes) -> Matrix:
    """Return P[report cell, told value]: the table of the cells, and after it that of the round numbers."""
    return np.hstack([table, points[:, places]]) if places.size else table


def padded(fit: DensityFit, told: int) -> DensityFit:
    """Return a fit of cells as one of so many told values, with nobody at a round number."""
    more = told - fit.cells.size
    if not more:
        return fit
    cells, slope = (np.append(part, np.zeros(more)) for part in (fit.cells, fit.slope))
    basis, unseen = (np.vstack([part, np.zeros((more, part.shape[1]))]) for part in (fit.basis, fit.unseen))
    return replace(fit, cells=cells, slope=slope, basis=basis, unseen=unseen)


def find_heaps(
    search: AtomSearch, roundings: tuple[Matrix, ...], fit: DensityFit, table: Matrix | None = None
) -> Heaps | None:
    """Find the shares of people who round; None if rounding explains nothing or nobody could see it.

    Atoms that promise more than rounding come first: a pile of people at one round number is no heap.

    roundings: the ways to round. fit: a first fit of the curve. table: P[report cell, told value], where more values
    are told than there are cells.
    """
    heaps = Heaps(roundings, np.zeros(len(roundings)), search.problem.table if table is None else table)
    for _ in range(ROUNDS if roundings else 0):
        inner = search.on(heaps.on(search.problem))
        step, promise = _step(search, heaps, fit)
        place, mass, atom = inner.best_place(fit)
        if atom > max(promise, SURE) and len(fit.places) < FIRST_ATOMS and place not in fit.places:
            fit = inner.at((*fit.places, place)).fit(fit.weight, replace(fit, atoms=np.append(fit.atoms, mass)))
            continue
        if promise < (SETTLED if heaps.shares.any() else WORTH):
            break
        shares = np.maximum(heaps.shares + np.clip(step, -LONGEST, LONGEST), 0.0)
        heaps = replace(heaps, shares=shares * min(1.0, MOST / max(float(shares.sum()), TINY)))
        fit = heaps.on(search.at(fit.places)).fit(fit.weight, fit)
    used = np.flatnonzero(heaps.shares)
    if not used.size:
        return None
    without = search.at(fit.places).fit(fit.weight, fit)
    ways = tuple(roundings[i] for i in used)
    return Heaps(ways, heaps.shares[used], heaps.table, fit, fit.value - without.value)


def unseen_rounding(
    evidence: Evidence, atom_table: Matrix, roundings: tuple[Matrix, ...], table: Matrix, fit: DensityFit
) -> Vector:
    """Return √E h² of each way to round by itself, beside a fit without it: h ~ N(0, USUAL²) beforehand."""
    heaps = Heaps(roundings, np.zeros(len(roundings)), table)
    score, information = _scores(evidence, atom_table, heaps, fit)
    variance = 1.0 / (np.maximum(np.diag(information), 0.0) + USUAL**-2)
    return np.asarray(np.sqrt(np.clip(score * variance, 0.0, 1.0) ** 2 + variance))


def _step(search: AtomSearch, heaps: Heaps, fit: DensityFit) -> tuple[Vector, float]:
    """Return Newton's step of the shares that can be seen, and the log-likelihood that it promises."""
    problem = search.at(fit.places)
    score, information = _scores(problem.evidence, problem.atom_table, heaps, fit)
    free = (np.diag(information) > CLEAR) & ((heaps.shares > 0) | (score > 0))
    step = np.zeros(score.size)
    step[free] = np.linalg.solve(information[np.ix_(free, free)], score[free])
    return step, 0.5 * float(score @ step)


def _scores(evidence: Evidence, atom_table: Matrix, heaps: Heaps, fit: DensityFit) -> tuple[Vector, Matrix]:
    """Return the scores of h, and their information after the smooth curve and the atoms have adapted."""
    table = heaps.reported
    expected = np.maximum(table @ fit.cells + atom_table @ fit.atoms, TINY)
    root = np.sqrt(evidence.total / expected)
    moved = (heaps.table @ heaps.directions(fit.cells)) * root[:, None]
    design = np.hstack([table @ (fit.slope[:, None] * fit.basis), atom_table]) * root[:, None]
    explained = solve_triangular(fit.factor, design.T @ moved, lower=True, check_finite=False)
    residual = root * (evidence.counts[0] / evidence.total - expected)
    return moved.T @ residual, moved.T @ moved - explained.T @ explained
