"""The exact grid: the joint distribution of class and true cells, by EM through each column's table in turn.

    P(y, t₁..t_D) ← P · Σ_{y',s} N(y', s)/M(y', s) · L[y', y] · Π_j C_j[s_j, t_j] / n,
    M(y', s) = Σ_{y,t} L[y', y] · Π_j C_j[s_j, t_j] · P(y, t).

From the uniform start early steps are smooth, so the number of steps is the amount of smoothing. A missing report is a
row of ones: it integrates out.

True cells shrink in number as columns are added, so that the grid stays small; report cells widen with them, measured
in noise deviations (a report cell of half a deviation loses about 2 % of the information in a mean). Members of one
model use different counts and shifts: their edges never coincide, and neither do they line up with cut points of the
truth by luck.

Which columns a grid needs is told by the reports alone. Forward: add the column that lowers the held-out log-loss of
y' | w most, while the mean gain is at least `LEAST_GAIN` and at least two standard errors; if no single one helps at
the start, the best pair. Then prune: drop what the others make superfluous. The loss depends on a record's cells only,
so the mean gain of a larger set of columns over a smaller one and its standard error follow from the larger set's
counts of held-out people, exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.counts import Fold, Question, Reports
from sfumato.domain import Codes, Floats
from sfumato.reconstruction import Axis, ColumnCells, OverRelaxed, ProductTable, Steps, maximise_likelihood

Array = npt.NDArray[np.float32]
TINY = 1e-30
DIMENSIONS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
TRUE_CELLS = (97.0, 97.0, 37.0, 23.0, 15.0, 10.0, 7.0, 5.0)
COARSENESS = (0.05, 0.05, 0.1, 0.25, 0.5, 0.8, 1.0, 1.3)
SELECTION_CELLS = (29.0, 29.0, 16.0, 11.0, 8.0, 6.0, 5.0, 4.0)
SELECTION_COARSENESS = (0.2, 0.2, 0.35, 0.5, 0.65, 0.9, 1.1, 1.5)
FULL_AXIS = 25.0
CLEAR_SMOOTHING = 0.5
RELAXATION, PLAIN_STEPS = 1.8, 5
LEAST_GAIN = 3e-4
LEAST_Z = 2.0
SELECTION_STEPS = 40
HELD_OUT = Fold(0, 3, salt=1)
MOST_PAIRS = 100
HELPER_SHARE = 0.15
HELPER_CELLS = 12
MOST_REPORT_CELLS, MOST_TRUE_CELLS = 100_000, 120_000
MOST_CANDIDATES = 16  # columns that are judged again after the first round
Chosen = tuple[int, ...]


@dataclass(frozen=True)
class Resolution:
    """Cells per column, width of report cells in noise deviations, shift of the edges in cells."""

    cells: int
    coarseness: float
    shift: float = 0.0

    def cut(self, axis: Axis) -> ColumnCells:
        return axis.at(self.cells, self.coarseness, self.shift)

    def coarsened(self, axes: Sequence[Axis], most: int) -> Resolution:
        """With report cells widened until there are at most `most` combinations of them."""
        found = self
        for _ in range(20):
            if np.prod([float(found.cut(axis).reported) for axis in axes]) <= most:
                break
            found = replace(found, coarseness=1.15 * found.coarseness)
        return found


def effective_dimension(axes: Sequence[Axis]) -> float:
    """How many full axes the columns amount to: one of few values counts as a part of an axis."""
    return float(sum(min(1.0, np.log(max(axis.natural_size, 1)) / np.log(FULL_AXIS)) for axis in axes))


def resolution_for(axes: Sequence[Axis], people: float, member: int = 0, *, selecting: bool = False) -> Resolution:
    """The resolution for these columns together; clear columns need people in their cells."""
    dimension = effective_dimension(axes)
    table, widths = (SELECTION_CELLS, SELECTION_COARSENESS) if selecting else (TRUE_CELLS, COARSENESS)
    cells = float(np.interp(dimension, DIMENSIONS, table))
    if any(not axis.noisy for axis in axes):
        cells = min(cells, max(3.0, (people / 8.0) ** (1.0 / max(dimension, 1.0))))
    coarseness = float(np.interp(dimension, DIMENSIONS, widths))
    return Resolution(max(2, round(cells * spread_of(member))), coarseness, shift_of(member))


def spread_of(member: int) -> float:
    """How many times the cells of the first member another one has."""
    return 1.0 + 0.3 * (golden(member) - 0.5) if member else 1.0


def shift_of(member: int) -> float:
    """How far a member's edges are shifted, in cells."""
    return 0.6 * (golden(2 * member + 1) - 0.5)


def golden(place: int) -> float:
    """A low-discrepancy sequence in [0, 1)."""
    return float((place * 0.6180339887498949) % 1.0)


@dataclass(frozen=True)
class GridProblem:
    """Some columns at one resolution: counts of reports in cells of (s₁..s_D, y'), and the tables that lead to them."""

    reports: Reports
    cells: tuple[ColumnCells, ...]
    table: ProductTable
    by_class: bool

    @classmethod
    def of(
        cls, reports: Reports, axes: Sequence[Axis], resolution: Resolution, *, by_class: bool | None = None,
        dtype: npt.DTypeLike = np.float32,
    ) -> GridProblem:
        """`by_class`: whether the class is an axis of the grid; None: if there is one."""
        by_class = reports.classes is not None if by_class is None else by_class
        cells = tuple(resolution.cut(axis) for axis in axes)
        factors = [cut.table_with_missing(axis.column.has_missing) for axis, cut in zip(axes, cells, strict=True)]
        label = reports.label_channel.matrix() if by_class and reports.label_channel is not None else None
        classes = len(reports.classes or ()) if by_class else 1
        return cls(reports, cells, ProductTable(factors, label=label, classes=classes, dtype=dtype), by_class)

    @property
    def all_clear(self) -> bool:
        clear_label = not self.by_class or self.reports.label_channel is None
        return clear_label and all(cut.identity for cut in self.cells)

    def counts(self, fold: Fold | None = None, *, squared: bool = False) -> Array:
        """N(s₁..s_D, y') of all people or of those in a fold."""
        found: Floats = self.reports.ask([self.question(fold, squared=squared)])[0]
        return found.astype(np.float32)

    def question(self, fold: Fold | None = None, *, squared: bool = False) -> Question:
        """What `counts` asks."""
        names = [cut.name for cut in self.cells]
        return self.reports.counting(names, self.cells, by_class=self.by_class, fold=fold, squared=squared)

    def fit(self, counts: Array, steps: int, joint: Array | None = None) -> Array:
        """P(y, t) after so many EM steps, over-relaxed once under way; a clear histogram is exact after one."""
        total = float(counts.sum(dtype=np.float64))
        smoothing = CLEAR_SMOOTHING * np.sqrt(total) if any(cut.identity for cut in self.cells) else 0.0
        further = OverRelaxed(RELAXATION, after=PLAIN_STEPS if joint is None else 0)
        found = maximise_likelihood(
            self.table, counts, start=joint, stop=Steps(1 if self.all_clear else steps),
            acceleration=None if self.all_clear else further, smoothing=smoothing,
        )
        return found.probabilities.reshape(self.table.true_shape)

    def expected(self, joint: Array) -> Array:
        """M(s₁..s_D, y')."""
        return self.table.apply(joint.reshape(-1)).reshape(self.table.report_shape)

    def fit_until_held_out_falls(
        self, counts: Array, held: Array, block: int, limit: int, tolerance: float
    ) -> tuple[Array, int]:
        """EM in blocks, until the likelihood of the held-out reports gains less than `tolerance` a block."""
        joint = self.fit(counts, block)
        done, last = block, self.likelihood(joint, held)
        while done < limit and not self.all_clear:
            joint = self.fit(counts, block, joint)
            done += block
            likelihood = self.likelihood(joint, held)
            if likelihood - last < tolerance:
                break
            last = likelihood
        return joint, done

    def likelihood(self, joint: Array, counts: Array) -> float:
        """Σ N(y', s)·log M(y', s) / ΣN."""
        seen = counts > 0
        logs = np.log(np.maximum(self.expected(joint)[seen], TINY))
        return float(np.sum(counts[seen] * logs, dtype=np.float64) / counts.sum(dtype=np.float64))

    def loss_of_label(self, joint: Array, people: float) -> Array:
        """Return −log P(y' | s) in every cell, by a joint distribution that was fitted on so many people:

            P(y' | s) = (n · M(y', s)/M(s) + P(y')) / (n + 1)

        One more person may have any class. Where noise is bounded a report can exclude a class that few people have;
        a single held-out person of it would cost as much as hundreds of others gain.
        """
        expected = self.expected(joint).astype(np.float64) + TINY
        shares = expected.reshape(-1, expected.shape[-1]).sum(axis=0)
        given = expected / expected.sum(axis=-1, keepdims=True)
        return np.asarray(-np.log((people * given + shares / shares.sum()) / (people + 1)))


# --- which columns ----------------------------------------------------------------------------------------------------


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
            counts = problem.counts(~HELD_OUT)
            joint = problem.fit(counts, SELECTION_STEPS)
            self._losses[chosen, resolution] = problem.loss_of_label(joint, float(counts.sum()))
        return self._losses[chosen, resolution]

    def _problem(self, chosen: Chosen, resolution: Resolution) -> GridProblem:
        return GridProblem.of(self.reports, [self.axes[j] for j in chosen], resolution)

    def gain(self, smaller: Chosen, larger: Chosen) -> tuple[float, float]:
        """Mean gain of the larger set over the smaller, cut equally coarsely, and that mean in standard errors."""
        smaller, larger = tuple(sorted(smaller)), tuple(sorted(larger))
        resolution = self._resolution(larger)
        new = tuple(place for place, j in enumerate(larger) if j not in smaller)
        before = np.expand_dims(self.loss(smaller, resolution), new)
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
        left: list[Chosen] = [(j,) for j, axis in enumerate(self.axes) if axis.answered]
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


def select_columns(reports: Reports, axes: Sequence[Axis], most_dimensions: float) -> Chosen:
    """Places of the columns to model together, in the order in which they were found."""
    selector = Selector(reports, axes, most_dimensions)
    return selector.prune(selector.forward())


def cap_helpers(reports: Reports, chosen: list[Axis]) -> list[Axis]:
    """Columns with a small I(y; t_j | the others) help mostly by telling about other columns: few cells do."""
    if len(chosen) < 3 or len(reports.classes or ()) < 2 or not all(axis.noisy for axis in chosen):
        return chosen
    finest = resolution_for(chosen, reports.people, selecting=True)
    resolution = finest.coarsened(chosen, shared_by_classes(MOST_REPORT_CELLS, reports))
    problem = GridProblem.of(reports, chosen, resolution)
    joint = problem.fit(problem.counts(), SELECTION_STEPS)
    information = [class_entropy(joint.sum(axis=1 + j)) - class_entropy(joint) for j in range(len(chosen))]
    least = HELPER_SHARE * max(information)
    return [
        axis if told >= least else axis.capped(HELPER_CELLS) for axis, told in zip(chosen, information, strict=True)
    ]


def class_entropy(joint: Array) -> float:
    """H(y | t) of a joint distribution P(y, t)."""
    p_class = joint / np.maximum(joint.sum(axis=0), 1e-30)
    return -float(np.sum(joint * np.log(np.maximum(p_class, 1e-30))))


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


def shared_by_classes(most: int, reports: Reports) -> int:
    """How many cells each class may have, where each of two may have ``most``."""
    return 2 * most // max(len(reports.classes or ()), 2)


# --- arrays of probabilities ------------------------------------------------------------------------------------------


def added(parts: Iterable[Floats]) -> Floats:
    """The sum of arrays, from the first to the last: NumPy's own sums run in an order that no other language knows."""
    return np.asarray(sum(parts))


def rescaled(masses: Floats) -> Floats:
    """Columns divided by their largest number, so that products of many probabilities stay within doubles."""
    largest = masses.max(axis=0)
    return np.asarray(masses / np.where(largest > 0, largest, 1.0))


def draw_columns(table: npt.NDArray[Any], columns: Codes, rng: np.random.Generator) -> Codes:
    """A row for each wanted column, with the probabilities of that column."""
    cumulative = np.cumsum(table, axis=0, dtype=np.float64)
    cumulative = (cumulative / cumulative[-1]).T
    offset = np.arange(cumulative.shape[0])[:, None]
    flat = (cumulative + offset).ravel()
    drawn = np.searchsorted(flat, rng.random(columns.size) + columns, side="right") - columns * table.shape[0]
    return np.asarray(np.clip(drawn, 0, table.shape[0] - 1), np.int64)
