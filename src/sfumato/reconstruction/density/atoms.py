"""People at exactly one value: point masses (atoms) beside the smooth density, found by a score test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from sfumato.reconstruction.density.curves import SOFT_DENSITY, AtomColumns, PenalisedCurve
from sfumato.reconstruction.density.fit import TINY, Codes, DensityFit, Matrix, Vector, best

MOST_ATOMS = 12  # by judgement: more are heaps or a density
COARSE = 128  # candidate values tried first; the neighbourhood of the best one is then searched in full
HOPELESS = 6.0  # nats that one more atom may promise to end below the best fit and is tried all the same
OUT_OF_REACH = 50.0  # nats of log-likelihood: where moving an atom costs more, the refit is broken off
SMOOTHER = 1.1e2  # beside known atoms, smoothing weights up to this many times the best one are tried: two decades
SURE_PLACE = 0.3  # candidate values: standard deviation of an atom's place towards a side where it cannot move
NEIGHBOURHOOD = 4.0  # standard deviations from an atom's best place that are looked at
FAR_ENOUGH = 1.0  # nats by which the log evidence has to fall for its curvature to be read off; else twice as far
DOUBLINGS = 4  # how often that distance is doubled
LEAST_FALL = 0.1  # nats that a fall counts as at least, so that the place of an atom is not everywhere
MASSES = (1e-6, 0.5)  # between which the first guess of an atom's mass is kept


@dataclass(frozen=True)
class AtomPlace:
    """Where an atom may really be: candidate values and their posterior probabilities."""

    points: Codes
    chances: Vector


class AtomSearch:
    """A greedy search for atoms beside a smooth curve.

    Beforehand a mass is uniform on [0, 1] and its value uniform over the q candidates. A score test at each promises

        log evidence = g²/2I − ½·log(I/2π) − log q,

    g the score of a mass there and I its information after the smooth curve has adapted.

    points: P[report cell, candidate value].
    """

    def __init__(self, problem: PenalisedCurve, points: Matrix) -> None:
        self.problem, self.points = problem, points
        self.price = float(np.log(max(points.shape[1], 1)))
        self.stride = max(1, points.shape[1] // COARSE)
        self.coarse = np.arange(self.stride // 2, points.shape[1], self.stride)

    def grow(self, path: Sequence[DensityFit]) -> DensityFit | None:
        """Return the best fit with atoms, each of which raised the log evidence; None if no atom does.

        path: fits without atoms, from smooth to rough, to start from.
        """
        top = best(path)
        starts = [fit for fit in path if fit.weight >= top.weight][::-2]
        for _ in range(MOST_ATOMS):
            trials = [self._with_one_more(fit) for fit in self._promising(starts, top.log_evidence)]
            trial = best([top, *trials])
            if trial is top:
                break
            top = self._settled(trial)
            starts = [top]
        return top if top.places else None

    def place_of(self, fit: DensityFit, which: int, interval_of: Codes) -> AtomPlace:
        """Return the posterior over one atom's value: its log evidence is a parabola, measured once on either side.

        interval_of: the wanted interval of each candidate value; it is measured in the next one.
        """
        place = fit.places[which]
        spread = [self._spread(fit, which, side, interval_of) for side in (-1, 1)]
        offset = np.arange(len(interval_of)) - place
        scaled = offset / np.where(offset < 0, spread[0], spread[1])
        near = np.flatnonzero(np.abs(scaled) < NEIGHBOURHOOD)
        chance = np.exp(-0.5 * scaled[near] ** 2)
        return AtomPlace(near, chance / chance.sum())

    def _spread(self, fit: DensityFit, which: int, side: int, interval_of: Codes) -> float:
        """Return the standard deviation of an atom's place towards one side."""
        place, last = fit.places[which], len(interval_of) - 1
        beyond = np.flatnonzero(interval_of[place::side] != interval_of[place])
        distance = int(beyond[0]) if beyond.size else last
        for _ in range(DOUBLINGS):
            there = min(max(place + side * distance, 0), last)
            if there == place or there in fit.places:
                return SURE_PLACE
            fall = fit.log_evidence - self._moved(fit, which, there).log_evidence
            if fall > FAR_ENOUGH or there in (0, last):
                break
            distance *= 2
        return abs(there - place) / float(np.sqrt(2.0 * max(fall, LEAST_FALL)))

    def _moved(self, fit: DensityFit, which: int, place: int) -> DensityFit:
        """Refit with one atom at another place, as far as that may be of interest."""
        places = (*fit.places[:which], place, *fit.places[which + 1 :])
        return self._priced(self.at(places).fit(fit.weight, fit, hoped=fit.value - OUT_OF_REACH))

    def _promising(self, starts: Sequence[DensityFit], highest: float) -> list[DensityFit]:
        """Choose starts from which one more atom may beat the best fit: the most promising, and the roughest."""
        hopes = [fit.log_evidence + float(self._promise(fit, self.coarse)[0].max()) for fit in starts]
        chosen = dict.fromkeys([int(np.argmax(hopes)), 0])
        return [starts[i] for i in chosen if hopes[i] > highest - HOPELESS]

    def _with_one_more(self, fit: DensityFit) -> DensityFit:
        place, mass, _ = self.best_place(fit)
        if place in fit.places:
            return fit
        return self.tuned((*fit.places, place), replace(fit, atoms=np.append(fit.atoms, mass)))

    def _settled(self, fit: DensityFit) -> DensityFit:
        """Move the newest atom while a place nearby explains more, in ever smaller steps."""
        which, step = len(fit.places) - 1, self.stride
        while step:
            here = fit.places[which]
            nearby = [x for x in (here - step, here + step) if 0 <= x < self.points.shape[1] and x not in fit.places]
            trial = best([fit, *(self._moved(fit, which, x) for x in nearby)])
            step = step // 3 if trial is fit else step
            fit = trial
        return self.tuned(fit.places, fit)

    def tuned(self, places: tuple[int, ...], start: DensityFit) -> DensityFit:
        """Fit with atoms at these places; then with larger, or else smaller, smoothing weights while they help."""
        problem = self.at(places)
        first = top = self._priced(problem.fit(start.weight, start))
        for factor in (10.0, 0.1):
            while True:
                weight = min(max(top.weight * factor, SOFT_DENSITY.weights[-1]), SOFT_DENSITY.weights[0])
                trial = top if weight == top.weight else self._priced(problem.fit(weight, top))
                if trial.log_evidence <= top.log_evidence:
                    break
                top = trial
            if top is not first:
                break
        return top

    def every_smoothness(self, problem: PenalisedCurve, top: DensityFit) -> list[DensityFit]:
        """Return the fits of a family of curves, from smooth to rough, beside the atoms of the best fit."""
        beside = problem.beside(self._columns(top.places))
        fits = beside.descend(beside.started(top), below=SMOOTHER * top.weight)
        return [self._priced(fit) for fit in fits]

    def on(self, problem: PenalisedCurve) -> AtomSearch:
        """Return the same search beside another curve, or on other evidence."""
        return AtomSearch(problem, self.points)

    def at(self, places: tuple[int, ...]) -> PenalisedCurve:
        """Return the curve beside atoms at these candidates."""
        return self.problem.beside(self._columns(places))

    def _columns(self, places: tuple[int, ...]) -> AtomColumns:
        return AtomColumns(places, self.points[:, list(places)])

    def _priced(self, fit: DensityFit) -> DensityFit:
        """Pay log q for every atom's freedom to be anywhere."""
        return replace(fit, log_evidence=fit.log_evidence - len(fit.places) * self.price)

    def best_place(self, fit: DensityFit) -> tuple[int, float, float]:
        """Return the most promising candidate, the mass that a Newton step would give it, and what it promises."""
        promise, _ = self._promise(fit, self.coarse)
        middle, reach = int(self.coarse[np.argmax(promise)]), 2 * self.stride
        local = np.arange(max(0, middle - reach), min(self.points.shape[1], middle + reach + 1))
        promise, mass = self._promise(fit, local)
        i = int(np.argmax(promise))
        return int(local[i]), float(np.clip(mass[i], *MASSES)), float(promise[i])

    def _promise(self, fit: DensityFit, candidates: Codes) -> tuple[Vector, Vector]:
        """Return the log evidence promised by an atom at each candidate, and its mass."""
        evidence, table = self.problem.evidence, self.problem.table
        points, columns = self.points[:, candidates], self.points[:, list(fit.places)]
        expected = table @ fit.cells + columns @ fit.atoms
        root = np.sqrt(evidence.total / np.maximum(expected, TINY))
        score = points.T @ (evidence.counts[0] * root**2 / evidence.total - evidence.total)
        scaled = points * root[:, None]
        design = np.hstack([table @ (fit.slope[:, None] * fit.basis), columns]) * root[:, None]
        explained = solve_triangular(fit.factor, design.T @ scaled, lower=True, check_finite=False)
        alone = _squares(scaled)
        information = np.maximum(alone - _squares(explained), 1e-9 * alone + TINY)
        promise = 0.5 * np.maximum(score, 0.0) ** 2 / information - 0.5 * np.log(information / (2 * np.pi)) - self.price
        return promise, score / information


def _squares(matrix: Matrix) -> Vector:
    return np.asarray(np.einsum("ij,ij->j", matrix, matrix))
