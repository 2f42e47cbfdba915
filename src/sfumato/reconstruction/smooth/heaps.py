"""People who round: some name the nearest multiple of 5, or of 10, instead of their value.

    told = H p,   H = (1 − Σh)·I + Σ h_m·R_m,   R_m the table of rounding to a multiple of m,

with the shares h_m found by Newton's method on their scores, the smooth p adapting. A heaped fit is written down as a
fit of what is told, with h among its parameters: of the cells, and where numbers are not whole of the round numbers
after them (I is then as much higher).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from .atoms import AtomSearch
from .penalised import TINY, Codes, Fit, Matrix, PenalisedLikelihood, Seen, Vector, cholesky

WORTH = 1.5  # log likelihood that rounding must promise before it is tried
CLEAR = 1 / 0.2**2  # information about a share of people who round, below which nobody can see it
MOST, LONGEST = 0.995, 0.3  # of all shares together, and of one step
ROUNDS, SETTLED = 20, 0.02
USUAL = 0.3  # the share of people who round, where nobody can see it
FIRST_ATOMS, SURE = 8, 10.0  # so many atoms at first, each of which promises more evidence than this


@dataclass(frozen=True)
class Heaps:
    """Shares of people who round in each of some ways."""

    roundings: tuple[Matrix, ...]
    shares: Vector
    table: Matrix  # (m, t) P(report cell | told)
    first: Fit | None = None  # of the values before rounding, beside the atoms that promise more than rounding
    promise: float = 0.0  # by how much rounding raises its log likelihood

    @cached_property
    def told(self) -> Matrix:
        """H."""
        rounded = sum(h * r for h, r in zip(self.shares, self.roundings, strict=True))
        return np.asarray((1.0 - self.shares.sum()) * np.eye(*self.roundings[0].shape) + rounded)

    @cached_property
    def rounded(self) -> tuple[Matrix, ...]:
        """(m, k) P(report cell | true cell) of those who round, by way."""
        return tuple(self.table @ rounding for rounding in self.roundings)

    @cached_property
    def seen(self) -> Matrix:
        """(m, k) P(report cell | true cell) of all."""
        k = self.roundings[0].shape[1]
        rounded = sum(h * table for h, table in zip(self.shares, self.rounded, strict=True))
        return np.asarray((1.0 - self.shares.sum()) * self.table[:, :k] + rounded)

    def with_shares(self, shares: Vector) -> Heaps:
        other = replace(self, shares=shares)
        other.__dict__["rounded"] = self.rounded  # the same tables
        return other

    def problem(self, problem: PenalisedLikelihood) -> PenalisedLikelihood:
        """The same problem for the values that people have before they round."""
        return problem.of(replace(problem.reports, table=self.seen))

    def heaped(self, cells: Vector) -> Vector:
        """The part of the told cells that people rounded to."""
        return np.asarray(sum(h * (r @ cells) for h, r in zip(self.shares, self.roundings, strict=True)))

    def directions(self, cells: Vector) -> Matrix:
        """(t, j): dp_told/dh."""
        own = np.eye(*self.roundings[0].shape) @ cells
        return np.stack([rounding @ cells - own for rounding in self.roundings], axis=1)

    def told_fit(self, total: float, columns: Matrix, fit: Fit) -> Fit:
        """A fit of the values before rounding as one of the values told, h among its parameters."""
        r, j = fit.basis.shape[1], self.shares.size
        basis = np.hstack([self.told @ (fit.slope[:, None] * fit.basis), self.directions(fit.cells)])
        cells = self.told @ fit.cells
        root = np.sqrt(total / np.maximum(self.table @ cells + columns @ fit.atoms, TINY))
        design = np.hstack([self.table @ basis, columns]) * root[:, None]
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


def told_table(reports: Seen, points: Matrix, places: Codes) -> Matrix:
    """(m, t): the table of the cells, and after it that of the round numbers."""
    return np.hstack([reports.table, points[:, places]]) if places.size else reports.table


def padded(fit: Fit, told: int) -> Fit:
    """A fit of cells as one of what is told, with nobody at a round number."""
    more = told - fit.cells.size
    if not more:
        return fit
    cells, slope = (np.append(each, np.zeros(more)) for each in (fit.cells, fit.slope))
    basis, unseen = (np.vstack([each, np.zeros((more, each.shape[1]))]) for each in (fit.basis, fit.unseen))
    return replace(fit, cells=cells, slope=slope, basis=basis, unseen=unseen)


def find_heaps(
    search: AtomSearch, roundings: tuple[Matrix, ...], fit: Fit, table: Matrix | None = None
) -> Heaps | None:
    """The shares of people who round, from a first fit; None if rounding explains nothing or nobody could see it.

    ``table`` (m, t): of what is told, where that is more than the cells.

    Atoms that promise more than rounding come first: a pile of people at one round number is no heap.
    """
    heaps = Heaps(roundings, np.zeros(len(roundings)), search.reports.table if table is None else table)
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
        heaps = heaps.with_shares(shares * min(1.0, MOST / max(float(shares.sum()), TINY)))
        fit = heaps.problem(search.at(fit.places)).fit(fit.weight, fit)
    used = np.flatnonzero(heaps.shares)
    if not used.size:
        return None
    without = search.at(fit.places).fit(fit.weight, fit)
    ways = tuple(roundings[i] for i in used)
    return Heaps(ways, heaps.shares[used], heaps.table, fit, fit.value - without.value)


def unseen_rounding(reports: Seen, roundings: tuple[Matrix, ...], table: Matrix, fit: Fit) -> Vector:
    """√E h² of each way to round by itself, beside a fit without it: h ~ N(0, USUAL²) before there were reports."""
    score, information = _scores(reports, Heaps(roundings, np.zeros(len(roundings)), table), fit)
    variance = 1.0 / (np.maximum(np.diag(information), 0.0) + USUAL**-2)
    return np.asarray(np.sqrt(np.clip(score * variance, 0.0, 1.0) ** 2 + variance))


def _step(search: AtomSearch, heaps: Heaps, fit: Fit) -> tuple[Vector, float]:
    """Newton's step of the shares that can be seen, and the log likelihood that it promises."""
    score, information = _scores(search.at(fit.places).reports, heaps, fit)
    free = (np.diag(information) > CLEAR) & ((heaps.shares > 0) | (score > 0))
    step = np.zeros(score.size)
    step[free] = np.linalg.solve(information[np.ix_(free, free)], score[free])
    return step, 0.5 * float(score @ step)


def _scores(reports: Seen, heaps: Heaps, fit: Fit) -> tuple[Vector, Matrix]:
    """Scores of h, and their information after the smooth part and the atoms have adapted."""
    expected = np.maximum(heaps.seen @ fit.cells + reports.columns @ fit.atoms, TINY)
    root = np.sqrt(reports.total / expected)
    moved = (heaps.table @ heaps.directions(fit.cells)) * root[:, None]
    design = np.hstack([heaps.seen @ (fit.slope[:, None] * fit.basis), reports.columns]) * root[:, None]
    explained = solve_triangular(fit.factor, design.T @ moved, lower=True, check_finite=False)
    residual = root * (reports.counts / reports.total - expected)
    return moved.T @ residual, moved.T @ moved - explained.T @ explained
