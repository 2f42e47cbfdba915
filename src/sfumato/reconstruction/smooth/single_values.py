"""People at exactly one value: point masses beside the smooth density, found by a score test.

People who round: some name the nearest multiple of 5, or of 10, instead of their value.

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

from .penalised import SOFT_DENSITY, TINY, Codes, Fit, Matrix, PenalisedLikelihood, Seen, Vector, cholesky, descend

MOST_ATOMS = 12
COARSE = 128  # places tried first; the neighbourhood of the best one is then searched in full
HOPELESS = 6.0
OUT_OF_REACH = 50.0  # an atom whose move costs more log likelihood than this stays where it is
SMOOTHER = 1.1e2  # beside known atoms, smoothing weights up to this many times the best one are tried
WORTH = 1.5  # log likelihood that rounding must promise before it is tried
CLEAR = 1 / 0.2**2  # information about a share of people who round, below which nobody can see it
MOST, LONGEST = 0.995, 0.3  # of all shares together, and of one step
ROUNDS, SETTLED = 20, 0.02
USUAL = 0.3  # the share of people who round, where nobody can see it
FIRST_ATOMS, SURE = 8, 10.0  # so many atoms at first, each of which promises more evidence than this


@dataclass(frozen=True)
class Whereabouts:
    """An atom and the places it may really have: candidate points and their posterior probabilities."""

    points: Codes
    chances: Vector


class AtomSearch:
    """Greedy search for atoms. Beforehand a mass is uniform on [0, 1] and a place uniform over the q candidates.

    A score test at each place promises the evidence g²/2I − ½·log(I/2π) − log q, with g the score of a mass there and
    I its information after the smooth part has adapted.
    """

    def __init__(self, problem: PenalisedLikelihood, points: Matrix) -> None:
        self.problem, self.reports, self.points = problem, problem.reports, points
        self.price = float(np.log(max(points.shape[1], 1)))
        self.stride = max(1, points.shape[1] // COARSE)
        self.coarse = np.arange(self.stride // 2, points.shape[1], self.stride)

    def grow(self, path: list[Fit]) -> Fit | None:
        """The best fit with atoms, each of which raised the evidence; None if no atom does."""
        best = max(path, key=lambda fit: fit.evidence)
        starts = [fit for fit in path if fit.weight >= best.weight][::-2]
        for _ in range(MOST_ATOMS):
            trials = [self._add(fit) for fit in self._promising(starts, best.evidence)]
            trial = max(trials, key=lambda fit: fit.evidence, default=best)
            if trial.evidence <= best.evidence:
                break
            best = self._settle(trial)
            starts = [best]
        return best if best.places else None

    def whereabouts(self, fit: Fit, which: int, interval_of: Codes) -> Whereabouts:
        """The posterior over one atom's place: its evidence falls like a parabola, measured once on either side."""
        place = fit.places[which]
        spread = [self._spread(fit, which, side, interval_of) for side in (-1, 1)]
        offset = np.arange(len(interval_of)) - place
        scaled = offset / np.where(offset < 0, spread[0], spread[1])
        near = np.flatnonzero(np.abs(scaled) < 4.0)
        chance = np.exp(-0.5 * scaled[near] ** 2)
        return Whereabouts(near, chance / chance.sum())

    def _spread(self, fit: Fit, which: int, side: int, interval_of: Codes) -> float:
        """The posterior sd of a place towards one side, from the fall of the evidence in the next interval."""
        place, last = fit.places[which], len(interval_of) - 1
        beyond = np.flatnonzero(interval_of[place::side] != interval_of[place])
        distance = int(beyond[0]) if beyond.size else last
        for _ in range(4):
            there = min(max(place + side * distance, 0), last)
            if there == place or there in fit.places:
                return 0.3
            fall = fit.evidence - self._moved(fit, which, there).evidence
            if fall > 1.0 or there in (0, last):
                break
            distance *= 2
        return abs(there - place) / float(np.sqrt(2.0 * max(fall, 0.1)))

    def _moved(self, fit: Fit, which: int, place: int) -> Fit:
        """Refit with one atom at another place, as far as that may be of interest."""
        places = (*fit.places[:which], place, *fit.places[which + 1 :])
        return self._priced(self.at(places).fit(fit.weight, fit, hoped=fit.value - OUT_OF_REACH))

    def _promising(self, starts: list[Fit], best: float) -> list[Fit]:
        """Starts from which one more atom may beat the best fit: the best by evidence and promise, and the roughest."""
        hopes = [fit.evidence + float(self._promise(fit, self.coarse)[0].max()) for fit in starts]
        order = np.argsort(hopes)[::-1]
        chosen = dict.fromkeys([int(order[0]), 0])
        return [starts[i] for i in chosen if hopes[i] > best - HOPELESS]

    def _add(self, fit: Fit) -> Fit:
        place, mass, _ = self.best_place(fit)
        if place in fit.places:
            return fit
        return self.tuned((*fit.places, place), replace(fit, atoms=np.append(fit.atoms, mass)))

    def _settle(self, fit: Fit) -> Fit:
        """Move the newest atom while a place nearby explains more, in ever smaller steps."""
        which, step = len(fit.places) - 1, self.stride
        while step:
            here = fit.places[which]
            nearby = [x for x in (here - step, here + step) if 0 <= x < self.points.shape[1] and x not in fit.places]
            trial = max((self._moved(fit, which, x) for x in nearby), key=lambda each: each.evidence, default=fit)
            if trial.evidence > fit.evidence:
                fit = trial
            else:
                step //= 3
        return self.tuned(fit.places, fit)

    def tuned(self, places: tuple[int, ...], start: Fit) -> Fit:
        """Refit with atoms at these places; then larger, or else smaller, smoothing weights while they help."""
        problem = self.at(places)
        best = self._priced(problem.fit(start.weight, start))
        for factor in (10.0, 0.1):
            moved = False
            while SOFT_DENSITY.weights[-1] <= best.weight * factor <= SOFT_DENSITY.weights[0]:
                trial = self._priced(problem.fit(best.weight * factor, best))
                if trial.evidence <= best.evidence:
                    break
                best, moved = trial, True
            if moved:
                break
        return best

    def every_smoothness(self, problem: PenalisedLikelihood, best: Fit) -> list[Fit]:
        """A family's fits from smooth to rough beside the atoms of the best fit."""
        beside = problem.beside(self.points[:, list(best.places)], best.places)
        return [self._priced(fit) for fit in descend(beside, beside.started(best), SMOOTHER * best.weight)]

    def of(self, problem: PenalisedLikelihood) -> AtomSearch:
        """The same search in another problem."""
        return AtomSearch(problem, self.points)

    def at(self, places: tuple[int, ...]) -> PenalisedLikelihood:
        """The problem with atoms at these places."""
        return self.problem.beside(self.points[:, list(places)], places)

    def _priced(self, fit: Fit) -> Fit:
        """Pay log q for every atom's freedom to sit anywhere."""
        return replace(fit, evidence=fit.evidence - len(fit.places) * self.price)

    def _around(self, place: int) -> Codes:
        reach = 2 * self.stride
        return np.arange(max(0, place - reach), min(self.points.shape[1], place + reach + 1))

    def best_place(self, fit: Fit) -> tuple[int, float, float]:
        """The most promising place, the mass that a Newton step would give it, and the evidence that it promises."""
        promise, _ = self._promise(fit, self.coarse)
        local = self._around(int(self.coarse[np.argmax(promise)]))
        promise, mass = self._promise(fit, local)
        best = int(np.argmax(promise))
        return int(local[best]), float(np.clip(mass[best], 1e-6, 0.5)), float(promise[best])

    def _promise(self, fit: Fit, candidates: Codes) -> tuple[Vector, Vector]:
        """The evidence promised by an atom at each candidate, and its mass."""
        points, columns = self.points[:, candidates], self.points[:, list(fit.places)]
        expected = self.reports.table @ fit.cells + columns @ fit.atoms
        root = np.sqrt(self.reports.total / np.maximum(expected, TINY))
        score = points.T @ (self.reports.counts * root**2 / self.reports.total - self.reports.total)
        scaled = points * root[:, None]
        design = np.hstack([self.reports.table @ (fit.slope[:, None] * fit.basis), columns]) * root[:, None]
        explained = solve_triangular(fit.factor, design.T @ scaled, lower=True, check_finite=False)
        alone = _squares(scaled)
        information = np.maximum(alone - _squares(explained), 1e-9 * alone + TINY)
        promise = 0.5 * np.maximum(score, 0.0) ** 2 / information - 0.5 * np.log(information / (2 * np.pi)) - self.price
        return promise, score / information


def _squares(matrix: Matrix) -> Vector:
    return np.asarray(np.einsum("ij,ij->j", matrix, matrix))


# --- people who round ---


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
