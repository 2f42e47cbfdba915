"""People at exactly one value: point masses beside the smooth density, found by a score test."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from .penalised import SOFT_DENSITY, TINY, Codes, Fit, Matrix, PenalisedLikelihood, Vector, descend

MOST_ATOMS = 12
COARSE = 128  # places tried first; the neighbourhood of the best one is then searched in full
HOPELESS = 6.0
OUT_OF_REACH = 50.0  # an atom whose move costs more log likelihood than this stays where it is
SMOOTHER = 1.1e2  # beside known atoms, smoothing weights up to this many times the best one are tried


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
