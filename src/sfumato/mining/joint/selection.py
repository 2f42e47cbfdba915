"""Which columns to model together with the class, judged on the randomized reports alone.

Forward: add the column that lowers the held-out log-loss of y' | w most, while the mean gain is at least `LEAST_GAIN`
and at least two standard errors; if no single one helps at the start, the best pair. Then prune: drop what the others
make superfluous. The loss depends on a record's cells only, so the mean gain of a larger set of columns over a smaller
one and its standard error follow from the larger set's counts of held-out people, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from sfumato.counts import Fold, Reports
from sfumato.mining.joint.grid import Array, GridProblem, Resolution, effective_dimension, people_in, resolution_for
from sfumato.reconstruction import Axis

LEAST_GAIN = 3e-4
LEAST_Z = 2.0
STEPS = 40
HELD_OUT = Fold(0, 3, salt=1)
MOST_PAIRS = 100
HELPER_SHARE = 0.15
HELPER_CELLS = 12
MOST_REPORT_CELLS = 100_000
Chosen = tuple[int, ...]


class Selector:
    """Held-out gains of sets of columns; losses are remembered."""

    def __init__(self, reports: Reports, axes: Sequence[Axis], most_dimensions: float) -> None:
        self.reports, self.axes, self.most_dimensions = reports, axes, most_dimensions
        self.people = people_in(reports)
        self._losses: dict[tuple[Chosen, Resolution], Array] = {}

    def loss(self, chosen: Chosen, resolution: Resolution) -> Array:
        """−log P(y' | s) in every cell of (s, y') when these columns are modelled."""
        if (chosen, resolution) not in self._losses:
            problem = self._problem(chosen, resolution)
            joint = problem.fit(problem.counts(~HELD_OUT), STEPS)
            self._losses[chosen, resolution] = problem.loss_of_label(joint)
        return self._losses[chosen, resolution]

    def _problem(self, chosen: Chosen, resolution: Resolution) -> GridProblem:
        return GridProblem.of(self.reports, [self.axes[j] for j in chosen], resolution)

    def gain(self, smaller: Chosen, larger: Chosen) -> tuple[float, float]:
        """Mean gain of the larger set over the smaller, cut equally coarsely, and that mean in standard errors."""
        smaller, larger = tuple(sorted(smaller)), tuple(sorted(larger))
        subset = [self.axes[j] for j in larger]
        resolution = resolution_for(subset, self.people, selecting=True).coarsened(subset, MOST_REPORT_CELLS)
        added = tuple(place for place, j in enumerate(larger) if j not in smaller)
        before = np.expand_dims(self.loss(smaller, resolution), added)
        return mean_and_z(before - self.loss(larger, resolution), self._problem(larger, resolution), HELD_OUT)

    def best(self, chosen: Chosen, additions: Sequence[Chosen]) -> Chosen | None:
        """The addition that gains most, if it gains enough."""
        judged = [(self.gain(chosen, chosen + extra), extra) for extra in additions if self._fits(chosen + extra)]
        if not judged:
            return None
        (mean, z), extra = max(judged)
        return extra if mean >= LEAST_GAIN and z >= LEAST_Z else None

    def _fits(self, chosen: Chosen) -> bool:
        return effective_dimension([self.axes[j] for j in chosen]) <= self.most_dimensions

    def forward(self) -> Chosen:
        chosen: Chosen = ()
        while True:
            left = [j for j in range(len(self.axes)) if j not in chosen]
            extra = self.best(chosen, [(j,) for j in left])
            if extra is None and not chosen:
                extra = self.best(chosen, list(combinations(left, 2))[:MOST_PAIRS])
            if extra is None:
                return chosen
            chosen += extra

    def prune(self, chosen: Chosen) -> Chosen:
        """Drop, one at a time, the column whose loss costs least, while it costs less than the least gain."""
        while len(chosen) > 1:
            costs = [(self.gain(tuple(k for k in chosen if k != j), chosen)[0], j) for j in chosen]
            cost, least = min(costs)
            if cost >= LEAST_GAIN:
                break
            chosen = tuple(k for k in chosen if k != least)
        return chosen


def mean_and_z(gains: Array, problem: GridProblem, fold: Fold) -> tuple[float, float]:
    """The mean of what every cell gains over the people of a fold, and that mean in standard errors."""
    counts = problem.counts(fold)
    squares = counts if problem.reports.weights is None else problem.counts(fold, squared=True)
    seen = counts > 0
    gains, people = gains[seen].astype(np.float64), counts[seen].astype(np.float64)
    total = max(float(people.sum()), 1e-12)
    mean = float(people @ gains) / total
    error = np.sqrt(max(float(squares[seen].astype(np.float64) @ (gains - mean) ** 2), 1e-300)) / total
    return mean, mean / error


def class_entropy(joint: Array) -> float:
    """H(y | t) of a joint distribution P(y, t)."""
    p_class = joint / np.maximum(joint.sum(axis=0), 1e-30)
    return -float(np.sum(joint * np.log(np.maximum(p_class, 1e-30))))


def cap_helpers(reports: Reports, chosen: list[Axis]) -> list[Axis]:
    """Columns with a small I(y; t_j | the others) help mostly by telling about other columns: few cells do."""
    if len(chosen) < 3 or len(reports.classes or ()) < 2 or not all(axis.noisy for axis in chosen):
        return chosen
    resolution = resolution_for(chosen, people_in(reports), selecting=True).coarsened(chosen, MOST_REPORT_CELLS)
    problem = GridProblem.of(reports, chosen, resolution)
    joint = problem.fit(problem.counts(), STEPS)
    information = [class_entropy(joint.sum(axis=1 + j)) - class_entropy(joint) for j in range(len(chosen))]
    least = HELPER_SHARE * max(information)
    return [
        axis if told >= least else axis.capped(HELPER_CELLS) for axis, told in zip(chosen, information, strict=True)
    ]


def select_columns(reports: Reports, axes: Sequence[Axis], most_dimensions: float) -> Chosen:
    """Places of the columns to model together, in the order in which they were found."""
    selector = Selector(reports, axes, most_dimensions)
    return selector.prune(selector.forward())
