"""People who round: some name the nearest multiple of 5, or of 10, instead of their value.

    told = H p,   H = (1 − Σh)·I + Σ h_m·R_m,   R_m the table of rounding to a multiple of m,

with the shares h_m found by Newton's method on their scores, the smooth p adapting. A heaped fit is written down as a
fit of the told cells, with h among its parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from .penalised import TINY, Fit, Matrix, PenalisedLikelihood, Seen, Vector, _cholesky

WORTH = 2.0  # log likelihood that rounding must promise before it is tried
MOST = 0.95
ROUNDS = 8


@dataclass(frozen=True)
class Heaps:
    """Shares of people who round in each of some ways."""

    roundings: tuple[Matrix, ...]
    shares: Vector

    @property
    def told(self) -> Matrix:
        """H."""
        k = len(self.roundings[0])
        rounded = sum((h * r for h, r in zip(self.shares, self.roundings, strict=True)), np.zeros((k, k)))
        return (1.0 - self.shares.sum()) * np.eye(k) + rounded

    def problem(self, problem: PenalisedLikelihood) -> PenalisedLikelihood:
        """The same problem for the values that people have before they round."""
        return problem.of(replace(problem.reports, table=problem.reports.table @ self.told))

    def directions(self, cells: Vector) -> Matrix:
        """(k, j): dp_told/dh."""
        return np.stack([rounding @ cells - cells for rounding in self.roundings], axis=1)

    def fit(self, reports: Seen, columns: Matrix, fit: Fit) -> Fit:
        """A fit of the values before rounding as one of the values told, h among its parameters."""
        told, r, j = self.told, fit.basis.shape[1], len(self.roundings)
        basis = np.hstack([told @ (fit.slope[:, None] * fit.basis), self.directions(fit.cells)])
        cells = told @ fit.cells
        root = np.sqrt(reports.total / np.maximum(reports.table @ cells + columns @ fit.atoms, TINY))
        design = np.hstack([reports.table @ basis, columns]) * root[:, None]
        information = design.T @ design
        information[np.arange(r), np.arange(r)] += 1.0
        information[np.arange(r, r + j), np.arange(r, r + j)] += 1.0
        factor = _cholesky(information)
        without = np.delete(np.delete(information, slice(r, r + j), 0), slice(r, r + j), 1)
        price = np.log(np.diag(factor)).sum() - np.log(np.diag(_cholesky(without))).sum() - 0.5 * j * np.log(2 * np.pi)
        return replace(
            fit, cells=cells, slope=np.ones(cells.size), basis=basis, factor=factor, evidence=fit.evidence - float(price),
            unseen=told @ (fit.slope[:, None] * fit.unseen),
        )  # fmt: skip


def find_heaps(
    problem: PenalisedLikelihood, roundings: tuple[Matrix, ...], fit: Fit, columns: Matrix, start: Heaps | None = None
) -> tuple[Heaps, Fit] | None:
    """The shares of people who round, and the fit of their values before; None if rounding explains nothing."""
    heaps = start or Heaps(roundings, np.zeros(len(roundings)))
    beside = problem.beside(columns, fit.places)
    for _ in range(ROUNDS):
        score, information = _scores(problem.reports, columns, heaps, fit)
        free = (heaps.shares > 0) | (score > 0)
        step = np.zeros(score.size)
        step[free] = np.linalg.solve(information[np.ix_(free, free)] + TINY * np.eye(free.sum()), score[free])
        promise = 0.5 * float(score @ step)
        if promise < (0.02 if heaps.shares.any() else WORTH):
            break
        shares = np.maximum(heaps.shares + np.clip(step, -0.3, 0.3), 0.0)
        heaps = Heaps(roundings, shares * min(1.0, MOST / max(float(shares.sum()), TINY)))
        fit = heaps.problem(beside).fit(fit.weight, fit)
    used = heaps.shares > 0
    if not used.any():
        return None
    return Heaps(tuple(r for r, u in zip(heaps.roundings, used, strict=True) if u), heaps.shares[used]), fit


def _scores(reports: Seen, columns: Matrix, heaps: Heaps, fit: Fit) -> tuple[Vector, Matrix]:
    """Scores of h, and their information after the smooth part and the atoms have adapted."""
    told = heaps.told
    expected = np.maximum(reports.table @ (told @ fit.cells) + columns @ fit.atoms, TINY)
    root = np.sqrt(reports.total / expected)
    moved = (reports.table @ heaps.directions(fit.cells)) * root[:, None]
    design = np.hstack([reports.table @ (told @ (fit.slope[:, None] * fit.basis)), columns]) * root[:, None]
    explained = solve_triangular(fit.factor, design.T @ moved, lower=True, check_finite=False)
    residual = root * (reports.counts / reports.total - expected)
    return moved.T @ residual, moved.T @ moved - explained.T @ explained
