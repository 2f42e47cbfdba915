"""People who round: some name the nearest multiple of 5, or of 10, instead of their value.

    told = H p,   H = (1 − Σh)·I + Σ h_m·R_m,   R_m the table of rounding to a multiple of m,

with the shares h_m found by Newton's method on their scores, the smooth p adapting. A heaped fit is written down as a
fit of the told cells, with h among its parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from .atoms import AtomSearch
from .penalised import TINY, Fit, Matrix, PenalisedLikelihood, Seen, Vector, cholesky

WORTH = 1.5  # log likelihood that rounding must promise before it is tried
CLEAR = 1 / 0.2**2  # information about a share of people who round, below which nobody can see it
MOST, LONGEST = 0.95, 0.3  # of all shares together, and of one step
ROUNDS, SETTLED = 20, 0.02
FIRST_ATOMS, SURE = 8, 10.0  # so many atoms at first, each of which promises more evidence than this


@dataclass(frozen=True)
class Heaps:
    """Shares of people who round in each of some ways."""

    roundings: tuple[Matrix, ...]
    shares: Vector
    first: Fit | None = None  # of the values before rounding, beside the atoms that promise more than rounding
    promise: float = 0.0  # by how much rounding raises its log likelihood

    @property
    def told(self) -> Matrix:
        """H."""
        k = len(self.roundings[0])
        rounded = sum((h * r for h, r in zip(self.shares, self.roundings, strict=True)), np.zeros((k, k)))
        return np.asarray((1.0 - self.shares.sum()) * np.eye(k) + rounded)

    def problem(self, problem: PenalisedLikelihood) -> PenalisedLikelihood:
        """The same problem for the values that people have before they round."""
        return problem.of(replace(problem.reports, table=problem.reports.table @ self.told))

    def heaped(self, cells: Vector) -> Vector:
        """The part of the told cells that people rounded to."""
        return sum((h * (r @ cells) for h, r in zip(self.shares, self.roundings, strict=True)), np.zeros(cells.size))

    def directions(self, cells: Vector) -> Matrix:
        """(k, j): dp_told/dh."""
        return np.stack([rounding @ cells - cells for rounding in self.roundings], axis=1)

    def told_fit(self, reports: Seen, columns: Matrix, fit: Fit) -> Fit:
        """A fit of the values before rounding as one of the values told, h among its parameters."""
        r, j = fit.basis.shape[1], self.shares.size
        basis = np.hstack([self.told @ (fit.slope[:, None] * fit.basis), self.directions(fit.cells)])
        cells = self.told @ fit.cells
        root = np.sqrt(reports.total / np.maximum(reports.table @ cells + columns @ fit.atoms, TINY))
        design = np.hstack([reports.table @ basis, columns]) * root[:, None]
        information = design.T @ design
        information[np.arange(r + j), np.arange(r + j)] += 1.0
        others = np.delete(np.arange(len(information)), np.arange(r, r + j))
        factor, without = cholesky(information), cholesky(information[np.ix_(others, others)])
        price = np.log(np.diag(factor)).sum() - np.log(np.diag(without)).sum() - 0.5 * j * np.log(2 * np.pi)
        unseen = self.told @ (fit.slope[:, None] * fit.unseen)
        return replace(
            fit, cells=cells, slope=np.ones(cells.size), basis=basis, unseen=unseen, factor=factor,
            evidence=fit.evidence - float(price),
        )  # fmt: skip


def find_heaps(search: AtomSearch, roundings: tuple[Matrix, ...], fit: Fit) -> Heaps | None:
    """The shares of people who round, from a first fit; None if rounding explains nothing or nobody could see it.

    Atoms that promise more than rounding come first: a pile of people at one round number is no heap.
    """
    heaps = Heaps(roundings, np.zeros(len(roundings)))
    for _ in range(ROUNDS if roundings else 0):
        inner = search.of(heaps.problem(search.problem))
        step, promise = _step(search, heaps, fit)
        place, mass, atom = inner.best_place(fit)
        if atom > max(promise, SURE) and len(fit.places) < FIRST_ATOMS and place not in fit.places:
            fit = inner.at((*fit.places, place)).fit(fit.weight, replace(fit, atoms=np.append(fit.atoms, mass)))
            continue
        if promise < (SETTLED if heaps.shares.any() else WORTH):
            break
        shares = np.maximum(heaps.shares + np.clip(step, -LONGEST, LONGEST), 0.0)
        heaps = Heaps(roundings, shares * min(1.0, MOST / max(float(shares.sum()), TINY)))
        fit = heaps.problem(search.at(fit.places)).fit(fit.weight, fit)
    used = np.flatnonzero(heaps.shares)
    if not used.size:
        return None
    without = search.at(fit.places).fit(fit.weight, fit)
    return Heaps(tuple(roundings[i] for i in used), heaps.shares[used], fit, fit.value - without.value)


def _step(search: AtomSearch, heaps: Heaps, fit: Fit) -> tuple[Vector, float]:
    """Newton's step of the shares that can be seen, and the log likelihood that it promises."""
    score, information = _scores(search.at(fit.places).reports, heaps, fit)
    free = (np.diag(information) > CLEAR) & ((heaps.shares > 0) | (score > 0))
    step = np.zeros(score.size)
    step[free] = np.linalg.solve(information[np.ix_(free, free)], score[free])
    return step, 0.5 * float(score @ step)


def _scores(reports: Seen, heaps: Heaps, fit: Fit) -> tuple[Vector, Matrix]:
    """Scores of h, and their information after the smooth part and the atoms have adapted."""
    told = heaps.told
    expected = np.maximum(reports.table @ (told @ fit.cells) + reports.columns @ fit.atoms, TINY)
    root = np.sqrt(reports.total / expected)
    moved = (reports.table @ heaps.directions(fit.cells)) * root[:, None]
    design = np.hstack([reports.table @ (told @ (fit.slope[:, None] * fit.basis)), reports.columns]) * root[:, None]
    explained = solve_triangular(fit.factor, design.T @ moved, lower=True, check_finite=False)
    residual = root * (reports.counts / reports.total - expected)
    return moved.T @ residual, moved.T @ moved - explained.T @ explained
