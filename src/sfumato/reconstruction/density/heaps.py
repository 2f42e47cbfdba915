"""People who round: some state the nearest multiple of 5, or of 10, instead of their value.

    stated = H p,   H = (1 − Σh)·I + Σ h_m·R_m,   R_m the table of rounding to a multiple of m.

The shares h_m are fitted by Newton's method on their scores, while the smooth p adapts. A fit with heaps is represented
as a fit of the *stated values*, with h among its parameters: these are the cells, and where numbers are not whole the
round numbers after them (I then has rows of zeros for these).
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

WORTH = 3.0
"""Nats of log-likelihood that rounding must promise before its shares are fitted: what two free shares promise by
chance once in twenty times, half the 95 % quantile of χ² with two degrees of freedom."""
SETTLED = 0.02
"""Nats that a further step of the shares must promise; by judgement as `curves.WORTH_A_STEP`."""
CLEAR = 1 / 0.2**2
"""Information about a share of people who round, below which the share is not fitted: its error would exceed ± .2. By
judgement; smaller lets chance make heaps where nobody could see them."""
MOST = 0.995
"""All shares of people who round together. By judgement: at 1 no report of another number would be possible."""
LONGEST = 0.3
"""Change of a share in one step. By judgement: longer ones overshoot, because p adapts to the shares."""
ROUNDS = 20
"""Steps of the shares, and of atoms before them, at most. By judgement; most searches end after a handful."""
UNSEEN_SHARE = 0.3
"""Prior standard deviation of a share of people who round, where the noise hides it. By judgement; bench/rounding.py
measures the errors of shares and quantiles with it. Larger makes these errors larger."""
FIRST_ATOMS = 8
"""Atoms that may be fitted before people who round. By judgement; more take longer, and a search for atoms follows."""
SURE = 10.0
"""Nats that each of these atoms must promise, besides more than rounding does. By judgement: smaller takes parts of a
heap for atoms, larger takes piles at one value for people who round."""


@dataclass(frozen=True)
class Heaps:
    """The shares of people who round to each multiple.

    roundings: R_m of each multiple. shares: h_m. table: P[report cell, stated value]. first: the fit of values before
    rounding, with the atoms that promise more than rounding. promise: by how many nats rounding raises its
    log-likelihood.
    """

    roundings: tuple[Matrix, ...]
    shares: Vector
    table: Matrix
    first: DensityFit | None = None
    promise: float = 0.0

    @cached_property
    def stated(self) -> Matrix:
        """The table H, P[stated value, true cell]."""
        rounded = sum(h * r for h, r in zip(self.shares, self.roundings, strict=True))
        return np.asarray((1.0 - self.shares.sum()) * np.eye(*self.roundings[0].shape) + rounded)

    @property
    def reported(self) -> Matrix:
        """The table P[report cell, true cell] of all people, those who round and those who do not."""
        return np.asarray(self.table @ self.stated)

    def before_rounding(self, problem: PenalisedCurve) -> PenalisedCurve:
        """Return the same curve for the values that people have before they round."""
        evidence = problem.evidence
        return problem.on_evidence(replace(evidence, table=DenseTable(self.reported)))

    def heaped(self, cells: Vector) -> Vector:
        """Return the share of all people who round and state each value; cells: the density before rounding."""
        return np.asarray(sum(h * (r @ cells) for h, r in zip(self.shares, self.roundings, strict=True)))

    def directions(self, cells: Vector) -> Matrix:
        """Return ∂(H p)/∂h, one column for each multiple; cells: p."""
        own = np.eye(*self.roundings[0].shape) @ cells
        return np.stack([rounding @ cells - own for rounding in self.roundings], axis=1)

    def stated_fit(self, total: float, atom_table: Matrix, fit: DensityFit) -> DensityFit:
        """Return a fit of values before rounding as a fit of the stated values, with h among its parameters.

        total: how many reports there are. atom_table: P[report cell, atom] of the fit's atoms.
        """
        r, j = fit.basis.shape[1], self.shares.size
        basis = np.hstack([self.stated @ (fit.slope[:, None] * fit.basis), self.directions(fit.cells)])
        cells = self.stated @ fit.cells
        root = np.sqrt(total / np.maximum(self.table @ cells + atom_table @ fit.atoms, TINY))
        design = np.hstack([self.table @ basis, atom_table]) * root[:, None]
        information = design.T @ design
        information[np.arange(r + j), np.arange(r + j)] += 1.0
        others = np.delete(np.arange(len(information)), np.arange(r, r + j))
        factor, without = cholesky(information), cholesky(information[np.ix_(others, others)])
        price = np.log(np.diag(factor)).sum() - np.log(np.diag(without)).sum() - 0.5 * j * np.log(2 * np.pi)
        unseen = self.stated @ (fit.slope[:, None] * fit.unseen)
        return replace(
            fit, cells=cells, slope=np.ones(cells.size), basis=basis, unseen=unseen, factor=factor,
            log_evidence=fit.log_evidence - float(price),
        )  # fmt: skip


def stated_table(table: Matrix, points: Matrix, indices: Codes) -> Matrix:
    """Return P[report cell, stated value]: the table of the cells, and after it that of the round numbers.

    points: P[report cell, candidate value]. indices: of the round numbers among the candidates; empty for none.
    """
    return np.hstack([table, points[:, indices]]) if indices.size else table


def padded(fit: DensityFit, stated: int) -> DensityFit:
    """Return a fit of cells as a fit of ``stated`` stated values, with nobody at the round numbers after the cells."""
    more = stated - fit.cells.size
    if not more:
        return fit
    cells, slope = (np.append(part, np.zeros(more)) for part in (fit.cells, fit.slope))
    basis, unseen = (np.vstack([part, np.zeros((more, part.shape[1]))]) for part in (fit.basis, fit.unseen))
    return replace(fit, cells=cells, slope=slope, basis=basis, unseen=unseen)


def find_heaps(
    search: AtomSearch, roundings: tuple[Matrix, ...], fit: DensityFit, table: Matrix | None = None
) -> Heaps | None:
    """Fit the shares of people who round; return None if rounding explains nothing or nobody could see it.

    Atoms that promise more than rounding are fitted first: a pile of people at one round number is no heap.

    search: of atoms, next to the curve. roundings: R_m of each multiple. fit: a first fit of the curve. table:
    P[report cell, stated value]; None: the stated values are the cells.
    """
    heaps = Heaps(roundings, np.zeros(len(roundings)), search.problem.table if table is None else table)
    for _ in range(ROUNDS if roundings else 0):
        inner = search.with_curve(heaps.before_rounding(search.problem))
        step, promise = _step(search, heaps, fit)
        index, mass, atom_promise = inner.best_candidate(fit)
        indices = fit.atom_indices
        if atom_promise > max(promise, SURE) and len(indices) < FIRST_ATOMS and index not in indices:
            start = replace(fit, atoms=np.append(fit.atoms, mass))
            fit = inner.curve_with((*indices, index)).fit(fit.weight, start)
            continue
        if promise < (SETTLED if heaps.shares.any() else WORTH):
            break
        shares = np.maximum(heaps.shares + np.clip(step, -LONGEST, LONGEST), 0.0)
        heaps = replace(heaps, shares=shares * min(1.0, MOST / max(float(shares.sum()), TINY)))
        fit = heaps.before_rounding(search.curve_with(fit.atom_indices)).fit(fit.weight, fit)
    used = np.flatnonzero(heaps.shares)
    if not used.size:
        return None
    without = search.curve_with(fit.atom_indices).fit(fit.weight, fit)
    fitted = tuple(roundings[i] for i in used)
    return Heaps(fitted, heaps.shares[used], heaps.table, fit, fit.value - without.value)


def unseen_rounding(
    evidence: Evidence, atom_table: Matrix, roundings: tuple[Matrix, ...], table: Matrix, fit: DensityFit
) -> Vector:
    """Return √E h² for each multiple by itself, h the share of people who round to it and are not in the fit.

    The prior of h is N(0, UNSEEN_SHARE²).

    atom_table: P[report cell, atom] of the fit's atoms. roundings: R_m of each multiple. table: P[report cell, stated
    value]. fit: one without people who round.
    """
    heaps = Heaps(roundings, np.zeros(len(roundings)), table)
    score, information = _scores(evidence, atom_table, heaps, fit)
    variance = 1.0 / (np.maximum(np.diag(information), 0.0) + UNSEEN_SHARE**-2)
    return np.asarray(np.sqrt(np.clip(score * variance, 0.0, 1.0) ** 2 + variance))


def _step(search: AtomSearch, heaps: Heaps, fit: DensityFit) -> tuple[Vector, float]:
    """Return Newton's step of the shares (0 for those that cannot be seen), and the log-likelihood that it promises."""
    problem = search.curve_with(fit.atom_indices)
    score, information = _scores(problem.evidence, problem.atom_table, heaps, fit)
    free = (np.diag(information) > CLEAR) & ((heaps.shares > 0) | (score > 0))
    step = np.zeros(score.size)
    step[free] = np.linalg.solve(information[np.ix_(free, free)], score[free])
    return step, 0.5 * float(score @ step)


def _scores(evidence: Evidence, atom_table: Matrix, heaps: Heaps, fit: DensityFit) -> tuple[Vector, Matrix]:
    """Return the scores of the shares h, and their information after the smooth curve and the atoms have adapted."""
    table = heaps.reported
    expected = np.maximum(table @ fit.cells + atom_table @ fit.atoms, TINY)
    root = np.sqrt(evidence.total / expected)
    moved = (heaps.table @ heaps.directions(fit.cells)) * root[:, None]
    design = np.hstack([table @ (fit.slope[:, None] * fit.basis), atom_table]) * root[:, None]
    explained = solve_triangular(fit.factor, design.T @ moved, lower=True, check_finite=False)
    residual = root * (evidence.counts[0] / evidence.total - expected)
    return moved.T @ residual, moved.T @ moved - explained.T @ explained
