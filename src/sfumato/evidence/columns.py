"""The choice of the columns that a joint model of the class needs, from reports alone.

Forward: add the column that lowers the held-out loss −log P(y' | s) most, while the mean gain is large enough and at
least two standard errors; if no single column helps at the start, the best pair. Then prune: drop the columns that the
others make superfluous. The loss depends on a record's cells only, so the mean gain of a larger set of columns over a
smaller one, and its standard error, follow exactly from the larger set's counts of held-out people.
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
"""Nats a person by which a further column has to lower the held-out loss. By judgement: larger leaves out columns that
tell little, smaller takes columns that tell nothing but by chance."""
LEAST_Z = 2.0
"""Standard errors that the gain has to be above zero besides: one chance in 44 for a column that tells nothing. By
judgement; larger leaves out columns where there are few people."""
SELECTION_STEPS = 40
"""Steps of EM for a set of columns that is only judged. By judgement: most of the way on the coarse cells of a
selection; more take time in proportion."""
MOST_REPORT_CELLS = 100_000
"""Combinations of report cells with two classes, at most; more classes share them. By judgement: a step of EM goes
through all of them and takes milliseconds."""
MOST_TRUE_CELLS = 120_000
"""Combinations of true cells and classes that a set of columns may have. By judgement, as for the report cells."""
MOST_CANDIDATES = 16
"""Columns that are judged again in the next round, the best of the last one. By judgement: more take time in
proportion, fewer may drop a column that helps beside others only."""
MOST_PAIRS = 100
"""Pairs of columns that are tried where no single one helps. By judgement: nearly all 120 pairs of MOST_CANDIDATES."""
HELPER_SHARE = 0.15
"""Part of the largest I(y; t_j | the other columns) below which a column is a *helper*, for which few cells are enough.
By judgement: larger makes columns of importance coarse, smaller saves nothing."""
HELPER_CELLS = 12
"""True cells of a helper, at most. By judgement: its detail matters as far as it tells about other columns."""

Chosen = tuple[int, ...]


class ColumnSelector:
    """A search for the columns that predict the class best, by held-out gains of sets of columns.

    axes: all columns. most_dimensions: the largest `effective_dimension` of a set.
    """

    def __init__(self, reports: Reports, axes: Sequence[Axis], most_dimensions: float) -> None:
        self.reports, self.axes, self.most_dimensions = reports, axes, most_dimensions
        self.people, self.classes = reports.people, max(len(reports.classes or ()), 2)
        self._losses: dict[tuple[Chosen, Resolution], Array] = {}

    def loss(self, chosen: Chosen, resolution: Resolution) -> Array:
        """Return −log P(y' | s) in every cell of (s, y') by a joint model of these columns, fitted without the first
        third of the people."""
        if (chosen, resolution) not in self._losses:
            fitted = self._evidence(chosen, resolution).of_fold(~THIRDS[0])
            self._losses[chosen, resolution] = label_loss(fitted, fit_grid(fitted, SELECTION_STEPS))
        return self._losses[chosen, resolution]

    def _evidence(self, chosen: Chosen, resolution: Resolution) -> Evidence:
        """Return the evidence of these columns and the class, cut at a resolution; chosen: the columns' indices."""
        return Evidence.of_columns(self.reports, [self.axes[j] for j in chosen], resolution)

    def gain(self, smaller: Chosen, larger: Chosen) -> tuple[float, float]:
        """Return the mean held-out gain of a larger set of columns over a smaller one, in nats and in standard errors.

        Both are cut as coarsely as the larger one.
        """
        smaller, larger = tuple(sorted(smaller)), tuple(sorted(larger))
        resolution = self._resolution(larger)
        new = tuple(axis for axis, j in enumerate(larger) if j not in smaller)
        before = np.expand_dims(self.loss(smaller, resolution), new)
        held_out = self._evidence(larger, resolution).of_fold(THIRDS[0])
        return mean_and_z(held_out, before - self.loss(larger, resolution))

    def _resolution(self, chosen: Chosen) -> Resolution:
        """Return the cells in which a set of columns is judged."""
        return selection_resolution(self.reports, [self.axes[j] for j in chosen])

    def prepare(self, pairs: Sequence[tuple[Chosen, Chosen]]) -> None:
        """Count in one pass what is needed to judge these pairs of a smaller and a larger set."""
        questions = []
        for smaller, larger in ((tuple(sorted(a)), tuple(sorted(b))) for a, b in pairs):
            resolution = self._resolution(larger)
            questions += self._evidence(larger, resolution).questions(THIRDS[0], ~THIRDS[0])
            if (smaller, resolution) not in self._losses:
                questions += self._evidence(smaller, resolution).questions(~THIRDS[0])
        self.reports.prepare(questions)

    def ranked(self, chosen: Chosen, additions: Sequence[Chosen]) -> tuple[bool, list[Chosen]]:
        """Rank columns by what they add to the chosen ones, and say whether the best one gains enough.

        chosen: columns by their indices. additions: sets of one or two columns that may join them; those with which the
        grid of cells would be too large are left out. Returns (enough, the others from the best to the worst).
        """
        fitting = [extra for extra in additions if self._fits(chosen + extra)]
        self.prepare([(chosen, chosen + extra) for extra in fitting])
        judged = sorted(((self.gain(chosen, chosen + extra), extra) for extra in fitting), reverse=True)
        enough = bool(judged) and judged[0][0][0] >= LEAST_GAIN and judged[0][0][1] >= LEAST_Z
        return enough, [extra for _, extra in judged]

    def _fits(self, chosen: Chosen) -> bool:
        """Say whether a set of columns is small enough to be modelled together."""
        subset = [self.axes[j] for j in chosen]
        resolution = self._resolution(tuple(sorted(chosen)))
        cells = prod(resolution.cut(axis).size for axis in subset) * self.classes
        return effective_dimension(subset) <= self.most_dimensions and (len(chosen) < 2 or cells <= MOST_TRUE_CELLS)

    def forward(self) -> Chosen:
        """Return columns added one by one while they gain enough; only the best of a round are tried in the next."""
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
        """Return the columns without those whose loss costs less than LEAST_GAIN, dropped one at a time."""
        while len(chosen) > 1:
            without = {j: tuple(k for k in chosen if k != j) for j in chosen}
            self.prepare([(others, chosen) for others in without.values()])
            costs = [(self.gain(others, chosen)[0], j) for j, others in without.items()]
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
    """Return the axes, with few cells for columns that tell little about the class given the others (HELPER_SHARE)."""
    if len(chosen) < 3 or len(reports.classes or ()) < 2 or not all(axis.noisy for axis in chosen):
        return chosen
    joint = fit_grid(Evidence.of_columns(reports, chosen, selection_resolution(reports, chosen)), SELECTION_STEPS)
    information = [entropy_of_class(joint.sum(axis=1 + j)) - entropy_of_class(joint) for j in range(len(chosen))]
    least = HELPER_SHARE * max(information)
    return [
        axis if share >= least else Axis(axis.column, HELPER_CELLS)
        for axis, share in zip(chosen, information, strict=True)
    ]
