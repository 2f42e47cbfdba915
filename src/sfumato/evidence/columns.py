"""Which columns a joint model of the class needs, told by the reports alone.

Forward: add the column that lowers the held-out loss −log P(y' | s) most, while the mean gain is large enough and at
least two standard errors; if no single one helps at the start, the best pair. Then prune: drop what the others make
superfluous. The loss depends on a record's cells only, so the mean gain of a larger set of columns over a smaller one
and its standard error follow from the larger set's counts of held-out people, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np

from sfumato.counts import Reports
from sfumato.evidence.cells import Axis
from sfumato.evidence.grids import entropy_of_class, fit_grid
from sfumato.evidence.held_out import THIRDS, label_loss, mean_and_z
from sfumato.evidence.observed import Evidence
from sfumato.evidence.resolution import Resolution, effective_dimension, resolution_for
from sfumato.evidence.tables import Array

LEAST_GAIN = 3e-4
"""Nats a person by which a further column has to lower the held-out loss. By judgement; a larger
one leaves out columns that tell little, a smaller one takes columns that tell nothing but by chance."""
LEAST_Z = 2.0
"""Standard errors from zero that the gain has to be besides."""
SELECTION_STEPS = 40
"""Steps of EM for a set of columns that is only judged: most of the way on the coarse cells of a selection."""
MOST_REPORT_CELLS = 100_000
"""Combinations of report cells, shared among classes, that EM goes through at each step."""
MOST_TRUE_CELLS = 120_000
"""Combinations of true cells and classes that a set of columns may have."""
MOST_CANDIDATES = 16
"""Columns that are judged again after the first round: the best of the round before."""
MOST_PAIRS = 100
"""Pairs that are tried where no single column helps; they are those of `MOST_CANDIDATES` columns at most."""
HELPER_SHARE = 0.15
"""A column with less than this part of the largest I(y; t_j | the others) is a helper: few cells do for it."""
HELPER_CELLS = 12
"""True cells of such a column."""

Chosen = tuple[int, ...]


class ColumnSelector:
    """Held-out gains of sets of columns; losses are remembered."""

    def __init__(self, reports: Reports, axes: Sequence[Axis], most_dimensions: float) -> None:
        self.reports, self.axes, self.most_dimensions = reports, axes, most_dimensions
        self.people, self.classes = reports.people, max(len(reports.classes or ()), 2)
        self._losses: dict[tuple[Chosen, Resolution], Array] = {}

    def loss(self, chosen: Chosen, resolution: Resolution) -> Array:
        """Return −log P(y' | s) in every cell of (s, y') when these columns are modelled."""
        if (chosen, resolution) not in self._losses:
            fitted = self._evidence(chosen, resolution).of_fold(~THIRDS[0])
            self._losses[chosen, resolution] = label_loss(fitted, fit_grid(fitted, SELECTION_STEPS))
        return self._losses[chosen, resolution]

    def _evidence(self, chosen: Chosen, resolution: Resolution) -> Evidence:
        return Evidence.of_columns(self.reports, [self.axes[j] for j in chosen], resolution)

    def gain(self, smaller: Chosen, larger: Chosen) -> tuple[float, float]:
        """Return the mean gain of the larger set over the smaller, cut equally coarsely, and it in standard errors."""
        smaller, larger = tuple(sorted(smaller)), tuple(sorted(larger))
        resolution = self._resolution(larger)
        new = tuple(axis for axis, j in enumerate(larger) if j not in smaller)
        before = np.expand_dims(self.loss(smaller, resolution), new)
        held = self._evidence(larger, resolution).of_fold(THIRDS[0])
        return mean_and_z(held, before - self.loss(larger, resolution))

    def _resolution(self, chosen: Chosen) -> Resolution:
        return selection_resolution(self.reports, [self.axes[j] for j in chosen])

    def prepare(self, pairs: Sequence[tuple[Chosen, Chosen]]) -> None:
        """Ask in one pass for the counts that judging these smaller against these larger sets needs."""
        questions = []
        for smaller, larger in ((tuple(sorted(a)), tuple(sorted(b))) for a, b in pairs):
            resolution = self._resolution(larger)
            questions += self._evidence(larger, resolution).questions(THIRDS[0], ~THIRDS[0])
            if (smaller, resolution) not in self._losses:
                questions += self._evidence(smaller, resolution).questions(~THIRDS[0])
        self.reports.prepare(questions)

    def ranked(self, chosen: Chosen, additions: Sequence[Chosen]) -> tuple[bool, list[Chosen]]:
        """Return whether the addition that gains most gains enough; and all that fit, from the best to the worst."""
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
        """Add columns one by one; of many only those are tried again that were among the best of the round before."""
        chosen: Chosen = ()
        left: list[Chosen] = [(j,) for j, axis in enumerate(self.axes) if axis.answered]
        while True:
            enough, ranking = self.ranked(chosen, left)
            left = ranking[:MOST_CANDIDATES]
            if not enough and not chosen:
                pairs = [first + second for first, second in combinations(sorted(left), 2)]
                enough, ranking = self.ranked(chosen, pairs[:MOST_PAIRS])
            if not enough:
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
    """Return the indices of the columns to model together, in the order in which they were chosen."""
    selector = ColumnSelector(reports, axes, most_dimensions)
    return selector.prune(selector.forward())


def selection_resolution(reports: Reports, axes: Sequence[Axis]) -> Resolution:
    """Return the cells in which sets of columns are judged."""
    finest = resolution_for(axes, reports.people, selecting=True)
    return finest.coarsened(axes, shared_by_classes(MOST_REPORT_CELLS, reports))


def shared_by_classes(most: int, reports: Reports) -> int:
    """Return how many cells each class may have, where each of two may have ``most``."""
    return 2 * most // max(len(reports.classes or ()), 2)


def cap_helpers(reports: Reports, chosen: list[Axis]) -> list[Axis]:
    """Cut columns coarsely that help mostly by telling about others: those with a small I(y; t_j | the others)."""
    if len(chosen) < 3 or len(reports.classes or ()) < 2 or not all(axis.noisy for axis in chosen):
        return chosen
    joint = fit_grid(Evidence.of_columns(reports, chosen, selection_resolution(reports, chosen)), SELECTION_STEPS)
    information = [entropy_of_class(joint.sum(axis=1 + j)) - entropy_of_class(joint) for j in range(len(chosen))]
    least = HELPER_SHARE * max(information)
    return [
        axis if share >= least else axis.capped(HELPER_CELLS) for axis, share in zip(chosen, information, strict=True)
    ]
