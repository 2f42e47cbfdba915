"""A search for atoms, point masses of people at exactly one value, next to a smooth density, by a score test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from sfumato.reconstruction.density.curves import SOFT_DENSITY, AtomColumns, PenalisedCurve
from sfumato.reconstruction.density.fit import TINY, Codes, DensityFit, Matrix, Vector, best

MOST_ATOMS = 12
"""Atoms that a fit has at most. By judgement: more are people who round, or a density; each costs a round of fits."""
COARSE = 128
"""Candidate values that are tried first, before all around the best one are. By judgement: through noise the promise of
an atom is smooth over candidates; fewer may miss a peak of it, more take time."""
HOPELESS = 6.0
"""Nats of log evidence by which a fit with one more atom may promise to end below the best fit and is made all the
same. By judgement: the score test underrates an atom where the curve has bent towards it; larger costs fits."""
OUT_OF_REACH = 50.0
"""Nats of log-likelihood below its best value at which a refit with a moved atom is broken off. By judgement: so far
below, the atom is not there, and how far exactly makes no difference."""
SMOOTHER = 1.1e2
"""Factor on the best smoothing weight up to which weights are tried next to known atoms: two decades and a margin for
rounding. By judgement: with atoms taken out the rest may be smoother than the curve without them."""
LEAST_DEVIATION = 0.3
"""Standard deviation of an atom's position, in candidate values, towards a side where it cannot move. By judgement,
about that of a uniform position within one candidate's width, √(1/12)."""
NEIGHBOURHOOD = 4.0
"""Standard deviations around an atom's best position outside which it is taken not to be: 6 in 100,000 of a normal."""
FAR_ENOUGH = 1.0
"""Nats by which the log evidence has to fall for its curvature to be computed there; else the distance is doubled. By
judgement: a smaller fall is near the climb's own precision, a larger one leaves the parabola."""
DOUBLINGS = 4
"""Distances that are tried, each twice the one before. By judgement; more cost a refit each."""
LEAST_FALL = 0.1
"""Nats that a fall counts as at least, so that the standard deviation of a position stays finite; by judgement."""


@dataclass(frozen=True)
class AtomPosition:
    """The posterior of an atom's position: indices of candidate values, and the probability of each."""

    points: Codes
    chances: Vector


class AtomSearch:
    """A greedy search for atoms next to a smooth curve.

    The prior of an atom is uniform over its mass in [0, 1] and over its value among q candidates. A score test at each
    candidate promises a gain of

        log evidence = g²/2I − ½·log(I/2π) − log q,

    g the score of a mass there and I its information after the smooth curve has adapted.

    problem: the curve. points: P[report cell, candidate value].
    """

    def __init__(self, problem: PenalisedCurve, points: Matrix) -> None:
        self.problem, self.points = problem, points
        self.price = float(np.log(max(points.shape[1], 1)))
        self.stride = max(1, points.shape[1] // COARSE)
        self.coarse = np.arange(self.stride // 2, points.shape[1], self.stride)

    def grow(self, path: Sequence[DensityFit]) -> DensityFit | None:
        """Add atoms one by one while each raises the log evidence, and return the best fit; None if no atom does.

        path: fits without atoms, from smooth to rough, to start from.
        """
        top = best(path)
        starts = [fit for fit in path if fit.weight >= top.weight][::-2]
        for _ in range(MOST_ATOMS):
            trials = [self._with_one_more(fit) for fit in self._promising(starts, top.log_evidence)]
            trial = best([top, *trials])
            if trial is top:
                break
            top = self._settle(trial)
            starts = [top]
        return top if top.atom_indices else None

    def position_of(self, fit: DensityFit, atom: int, interval_of: Codes) -> AtomPosition:
        """Return the posterior of one atom's position among the candidate values.

        On either side of the best candidate it is a normal distribution, whose deviation follows from how far the log
        evidence falls when the atom is moved to the next interval.

        atom: its index among the fit's atoms. interval_of: the wanted interval of each candidate value.
        """
        index = fit.atom_indices[atom]
        spread = [self._deviation(fit, atom, side, interval_of) for side in (-1, 1)]
        offset = np.arange(len(interval_of)) - index
        scaled = offset / np.where(offset < 0, spread[0], spread[1])
        near = np.flatnonzero(np.abs(scaled) < NEIGHBOURHOOD)
        chance = np.exp(-0.5 * scaled[near] ** 2)
        return AtomPosition(near, chance / chance.sum())

    def _deviation(self, fit: DensityFit, atom: int, side: int, interval_of: Codes) -> float:
        """Return the standard deviation of an atom's position towards one side (−1 or 1), in candidate values."""
        index, last = fit.atom_indices[atom], len(interval_of) - 1
        beyond = np.flatnonzero(interval_of[index::side] != interval_of[index])
        distance = int(beyond[0]) if beyond.size else last
        for _ in range(DOUBLINGS):
            moved = min(max(index + side * distance, 0), last)
            if moved == index or moved in fit.atom_indices:
                return LEAST_DEVIATION
            fall = fit.log_evidence - self._move(fit, atom, moved).log_evidence
            if fall > FAR_ENOUGH or moved in (0, last):
                break
            distance *= 2
        return abs(moved - index) / float(np.sqrt(2.0 * max(fall, LEAST_FALL)))

    def _move(self, fit: DensityFit, atom: int, index: int) -> DensityFit:
        """Refit with one atom at another candidate value; broken off where that is OUT_OF_REACH."""
        indices = (*fit.atom_indices[:atom], index, *fit.atom_indices[atom + 1 :])
        return self._charge(self.curve_with(indices).fit(fit.weight, fit, hoped=fit.value - OUT_OF_REACH))

    def _promising(self, starts: Sequence[DensityFit], highest: float) -> list[DensityFit]:
        """Return the starts from which one more atom may beat the best fit: the most promising, and the roughest.

        highest: the best fit's log evidence.
        """
        hopes = [fit.log_evidence + float(self._promise(fit, self.coarse)[0].max()) for fit in starts]
        chosen = dict.fromkeys([int(np.argmax(hopes)), 0])
        return [starts[i] for i in chosen if hopes[i] > highest - HOPELESS]

    def _with_one_more(self, fit: DensityFit) -> DensityFit:
        """Refit with an atom at the most promising candidate value; the same fit where that one has an atom."""
        index, mass, _ = self.best_candidate(fit)
        if index in fit.atom_indices:
            return fit
        return self.tune((*fit.atom_indices, index), replace(fit, atoms=np.append(fit.atoms, mass)))

    def _settle(self, fit: DensityFit) -> DensityFit:
        """Move the newest atom while a candidate nearby explains more, in ever smaller steps, and return the fit."""
        atom, step = len(fit.atom_indices) - 1, self.stride
        while step:
            here, used = fit.atom_indices[atom], fit.atom_indices
            nearby = [x for x in (here - step, here + step) if 0 <= x < self.points.shape[1] and x not in used]
            trial = best([fit, *(self._move(fit, atom, x) for x in nearby)])
            step = step // 3 if trial is fit else step
            fit = trial
        return self.tune(fit.atom_indices, fit)

    def tune(self, indices: tuple[int, ...], start: DensityFit) -> DensityFit:
        """Fit with atoms at these candidate values, and then with larger, or else smaller, smoothing weights.

        Return the best fit. start: a fit with as many atoms.
        """
        problem = self.curve_with(indices)
        first = top = self._charge(problem.fit(start.weight, start))
        for factor in (10.0, 0.1):
            while True:
                weight = min(max(top.weight * factor, SOFT_DENSITY.weights[-1]), SOFT_DENSITY.weights[0])
                trial = top if weight == top.weight else self._charge(problem.fit(weight, top))
                if trial.log_evidence <= top.log_evidence:
                    break
                top = trial
            if top is not first:
                break
        return top

    def every_smoothness(self, problem: PenalisedCurve, top: DensityFit) -> list[DensityFit]:
        """Return fits of a curve with the atoms of the best fit, at smoothing weights from large to small.

        problem: the curve, of any family. top: the best fit.
        """
        curve = problem.with_atoms(self._columns(top.atom_indices))
        fits = curve.descend(curve.convert(top), below=SMOOTHER * top.weight)
        return [self._charge(fit) for fit in fits]

    def with_curve(self, problem: PenalisedCurve) -> AtomSearch:
        """Return a search with the same candidates next to another curve, or on other evidence."""
        return AtomSearch(problem, self.points)

    def curve_with(self, indices: tuple[int, ...]) -> PenalisedCurve:
        """Return the curve with atoms at these candidate values."""
        return self.problem.with_atoms(self._columns(indices))

    def _columns(self, indices: tuple[int, ...]) -> AtomColumns:
        """Return the atoms at these candidate values with their columns of the table."""
        return AtomColumns(indices, self.points[:, list(indices)])

    def _charge(self, fit: DensityFit) -> DensityFit:
        """Subtract log q from the log evidence for every atom, the price of its freedom to be at any candidate."""
        return replace(fit, log_evidence=fit.log_evidence - len(fit.atom_indices) * self.price)

    def best_candidate(self, fit: DensityFit) -> tuple[int, float, float]:
        """Return (index of the most promising candidate, mass that a Newton step gives it, log evidence promised)."""
        promise, _ = self._promise(fit, self.coarse)
        middle, reach = int(self.coarse[np.argmax(promise)]), 2 * self.stride
        local = np.arange(max(0, middle - reach), min(self.points.shape[1], middle + reach + 1))
        promise, mass = self._promise(fit, local)
        i = int(np.argmax(promise))
        return int(local[i]), max(float(mass[i]), 0.0), float(promise[i])

    def _promise(self, fit: DensityFit, candidates: Codes) -> tuple[Vector, Vector]:
        """Return the log evidence that an atom at each candidate promises, and the mass of a Newton step."""
        evidence, table = self.problem.evidence, self.problem.table
        points, columns = self.points[:, candidates], self.points[:, list(fit.atom_indices)]
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
    """Return the sum of squares of each column."""
    return np.asarray(np.einsum("ij,ij->j", matrix, matrix))
