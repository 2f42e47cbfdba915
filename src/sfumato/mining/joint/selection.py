"""Which columns belong together, judged on the randomized reports alone: with the class, and with each other.

Forward: add the column that lowers the held-out log-loss of y' | w most, while the mean gain is at least `LEAST_GAIN`
and at least two standard errors; if no single one helps at the start, the best pair. Then prune: drop what the others
make superfluous. The loss depends on a record's cells only, so the mean gain of a larger set of columns over a smaller
one and its standard error follow from the larger set's counts of held-out people, exactly.

The columns that the class does not need hang on those that they depend on most (Chow and Liu's forest):
P(x_child | x_parent) comes from the reconstructed joint distribution of the pair. A pair counts as dependent when, over
people who were left out, log M(s, s') exceeds log M(s) + log M(s') by two standard errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.counts import Fold, Reports
from sfumato.domain import Codes
from sfumato.domain.checked import given, given_numbers, given_table, given_whole
from sfumato.mining.joint.grid import (
    TINY,
    Array,
    GridProblem,
    Resolution,
    draw_columns,
    effective_dimension,
    resolution_for,
)
from sfumato.reconstruction import Axis, ColumnCells

LEAST_GAIN = 3e-4
LEAST_Z = 2.0
STEPS = 40
HELD_OUT = Fold(0, 3, salt=1)
MOST_PAIRS = 100
HELPER_SHARE = 0.15
HELPER_CELLS = 12
MOST_REPORT_CELLS, MOST_TRUE_CELLS = 100_000, 120_000
MOST_CANDIDATES = 16  # columns that are judged again after the first round
SCREENING, FINAL = Resolution(9, 0.5), Resolution(19, 0.3, 0.2)
SCREENING_STEPS, FINAL_STEPS = 20, 60
SCREENING_RECORDS = 40_000
Chosen = tuple[int, ...]


class Selector:
    """Held-out gains of sets of columns; losses are remembered."""

    def __init__(self, reports: Reports, axes: Sequence[Axis], most_dimensions: float) -> None:
        self.reports, self.axes, self.most_dimensions = reports, axes, most_dimensions
        self.people, self.classes = reports.people, max(len(reports.classes or ()), 2)
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
        resolution = self._resolution(larger)
        added = tuple(place for place, j in enumerate(larger) if j not in smaller)
        before = np.expand_dims(self.loss(smaller, resolution), added)
        return mean_and_z(before - self.loss(larger, resolution), self._problem(larger, resolution), HELD_OUT)

    def _resolution(self, chosen: Chosen) -> Resolution:
        subset = [self.axes[j] for j in chosen]
        finest = resolution_for(subset, self.people, selecting=True)
        return finest.coarsened(subset, shared_by_classes(MOST_REPORT_CELLS, self.reports))

    def prepare(self, pairs: Sequence[tuple[Chosen, Chosen]]) -> None:
        """These smaller and larger sets are about to be judged: their counts are asked for together."""
        questions = []
        for smaller, larger in ((tuple(sorted(a)), tuple(sorted(b))) for a, b in pairs):
            resolution = self._resolution(larger)
            problem = self._problem(larger, resolution)
            questions += [problem.question(HELD_OUT), problem.question(~HELD_OUT)]
            if (smaller, resolution) not in self._losses:
                questions.append(self._problem(smaller, resolution).question(~HELD_OUT))
            if self.reports.weighted:
                questions.append(problem.question(HELD_OUT, squared=True))
        self.reports.prepare(questions)

    def ranked(self, chosen: Chosen, additions: Sequence[Chosen]) -> tuple[bool, list[Chosen]]:
        """Whether the addition that gains most gains enough; and all that fit, from the best to the worst."""
        fitting = [extra for extra in additions if self._fits(chosen + extra)]
        self.prepare([(chosen, chosen + extra) for extra in fitting])
        judged = sorted(((self.gain(chosen, chosen + extra), extra) for extra in fitting), reverse=True)
        enough = bool(judged) and judged[0][0][0] >= LEAST_GAIN and judged[0][0][1] >= LEAST_Z
        return enough, [extra for _, extra in judged]

    def _fits(self, chosen: Chosen) -> bool:
        subset = [self.axes[j] for j in chosen]
        resolution = self._resolution(tuple(sorted(chosen)))
        cells = prod(resolution.cut(axis).size for axis in subset) * self.classes
        return effective_dimension(subset) <= self.most_dimensions and (len(chosen) < 2 or cells <= MOST_TRUE_CELLS)

    def forward(self) -> Chosen:
        """Of many columns only those are tried again that were among the best of the round before."""
        chosen: Chosen = ()
        left: list[Chosen] = [(j,) for j in range(len(self.axes))]
        while True:
            found, ranking = self.ranked(chosen, left)
            left = ranking[:MOST_CANDIDATES]
            if not found and not chosen:
                pairs = [first + second for first, second in combinations(sorted(left), 2)]
                found, ranking = self.ranked(chosen, pairs[:MOST_PAIRS])
            if not found:
                return chosen
            chosen += ranking[0]
            left = [extra for extra in left if extra[0] not in chosen]

    def prune(self, chosen: Chosen) -> Chosen:
        """Drop, one at a time, the column whose loss costs least, while it costs less than the least gain."""
        while len(chosen) > 1:
            without = {j: tuple(k for k in chosen if k != j) for j in chosen}
            self.prepare([(rest, chosen) for rest in without.values()])
            costs = [(self.gain(rest, chosen)[0], j) for j, rest in without.items()]
            cost, least = min(costs)
            if cost >= LEAST_GAIN:
                break
            chosen = tuple(k for k in chosen if k != least)
        return chosen


def shared_by_classes(most: int, reports: Reports) -> int:
    """How many cells each class may have, where each of two may have ``most``."""
    return 2 * most // max(len(reports.classes or ()), 2)


def mean_and_z(gains: Array, problem: GridProblem, fold: Fold) -> tuple[float, float]:
    """The mean of what every cell gains over the people of a fold, and that mean in standard errors."""
    counts = problem.counts(fold)
    squares = problem.counts(fold, squared=True) if problem.reports.weighted else counts
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
    finest = resolution_for(chosen, reports.people, selecting=True)
    resolution = finest.coarsened(chosen, shared_by_classes(MOST_REPORT_CELLS, reports))
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


# --- the other columns -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Branch:
    """How one column is drawn: from P(child | parent), or on its own when the parent is None."""

    child: int
    parent: int | None
    child_cells: ColumnCells
    parent_cells: ColumnCells | None
    p_child_given_parent: Array

    def draw(self, parent_values: Any, n: int, rng: np.random.Generator) -> npt.NDArray[Any]:
        given: Codes = np.zeros(n, np.int64)
        if self.parent_cells is not None:
            given = np.maximum(self.parent_cells.true_cells(parent_values), 0)
        return self.child_cells.draw(draw_columns(self.p_child_given_parent, given, rng), rng)

    def to_dict(self) -> dict[str, Any]:
        return {
            "child": self.child,
            "parent": self.parent,
            "child_cells": self.child_cells.to_dict(),
            "parent_cells": None if self.parent_cells is None else self.parent_cells.to_dict(),
            "p_child_given_parent": self.p_child_given_parent.tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: int) -> Branch:
        alone = given(data, "parent") is None
        child_cells = ColumnCells.from_dict(given_table(data, "child_cells"))
        parent_cells = None if alone else ColumnCells.from_dict(given_table(data, "parent_cells"))
        shape = (child_cells.size, 1 if parent_cells is None else parent_cells.size)
        return cls(
            given_whole(data, "child", 0, columns - 1),
            None if alone else given_whole(data, "parent", 0, columns - 1),
            child_cells,
            parent_cells,
            given_numbers(data, "p_child_given_parent", shape, 0.0).astype(np.float32),
        )


def forest_from_dict(data: Sequence[Any], selected: Sequence[int], columns: int) -> list[Branch]:
    """Branches whose parents are drawn before them, each column once."""
    drawn, forest = set(selected), [Branch.from_dict(each, columns) for each in data]
    for branch in forest:
        if branch.child in drawn or (branch.parent is not None and branch.parent not in drawn):
            raise ValueError("a column of the forest is drawn twice, or before the one that it depends on")
        drawn.add(branch.child)
    return forest


class Dependence:
    """Held-out gain of modelling a pair together, on a sample of the records."""

    def __init__(self, reports: Reports, axes: Sequence[Axis]) -> None:
        self.reports, self.axes = reports, axes
        folds = 3 * -(-len(reports) // SCREENING_RECORDS)
        self.held, self.fitted = Fold(0, folds, salt=2), Fold((1, 2), folds, salt=2)
        self.alone = cache(lambda j: self._log_mass(self._problem(j)))

    def _problem(self, *chosen: int) -> GridProblem:
        return GridProblem.of(self.reports, [self.axes[j] for j in chosen], SCREENING, by_class=False)

    def _log_mass(self, problem: GridProblem) -> Array:
        """log M(s) in every cell."""
        joint = problem.fit(problem.counts(self.fitted), SCREENING_STEPS)
        return np.log(np.maximum(problem.expected(joint)[..., 0], TINY))

    def prepare(self, pairs: Sequence[tuple[int, int]]) -> None:
        """These pairs are about to be judged: their counts are asked for together."""
        problems = [self._problem(*pair) for pair in pairs]
        alone = [self._problem(j).question(self.fitted) for j in sorted({j for pair in pairs for j in pair})]
        squares = [each.question(self.held, squared=True) for each in problems if self.reports.weighted]
        together = [each.question(fold) for each in problems for fold in (self.fitted, self.held)]
        self.reports.prepare([*alone, *together, *squares])

    def gain(self, first: int, second: int) -> float:
        """Mean held-out gain of the pair, 0 unless it is clear."""
        problem = self._problem(first, second)
        apart = self.alone(first)[:, None] + self.alone(second)
        mean, z = mean_and_z(self._log_mass(problem) - apart, problem, self.held)
        return mean if z > LEAST_Z else 0.0


def grow_forest(reports: Reports, axes: Sequence[Axis], placed: Sequence[int]) -> list[Branch]:
    """Branches for all columns that are not placed yet, in an order in which they can be drawn."""
    rest = [j for j in range(len(axes)) if j not in placed]
    if not rest:
        return []
    dependence = Dependence(reports, axes)
    known, parents = list(placed), dict[int, int | None]()
    pairs = [(min(i, j), max(i, j)) for j in rest for i in range(len(axes)) if i != j and (i in placed or i < j)]
    dependence.prepare(pairs)
    gains = {pair: dependence.gain(*pair) for pair in pairs}
    while rest:
        judged = [(gains[min(i, j), max(i, j)], i, j) for j in rest for i in known]
        best, parent, child = max(judged, default=(0.0, None, rest[0]))
        parents[child] = parent if best > 0 else None
        known.append(child)
        rest.remove(child)
    problems = {child: branch_problem(reports, axes, child, parent) for child, parent in parents.items()}
    reports.prepare([problem.question() for problem in problems.values()])
    return [make_branch(problems[child], child, parent) for child, parent in parents.items()]


def branch_problem(reports: Reports, axes: Sequence[Axis], child: int, parent: int | None) -> GridProblem:
    chosen = [axes[child]] if parent is None else [axes[child], axes[parent]]
    return GridProblem.of(reports, chosen, FINAL, by_class=False)


def make_branch(problem: GridProblem, child: int, parent: int | None) -> Branch:
    joint = problem.fit(problem.counts(), FINAL_STEPS)[0]
    table = np.maximum(joint.reshape(joint.shape[0], -1), 1e-12)
    parent_cells = None if parent is None else problem.cells[1]
    return Branch(child, parent, problem.cells[0], parent_cells, np.asarray(table / table.sum(axis=0), np.float32))
