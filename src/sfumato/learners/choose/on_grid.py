"""Classifiers that read few columns, judged on a grid of these: finer than draws of true values can.

Both foretell the classes of held-out people with a free P(t) of all columns that one of them reads
(`learners.joint.given`). The difference is known to a few nats where draws from a density leave dozens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sfumato.counts import Fold, Reports
from sfumato.domain import Floats
from sfumato.evidence import Axis, Evidence
from sfumato.evidence.grids import joint_given, spread_steps
from sfumato.evidence.held_out import label_loss, mean_and_z
from sfumato.evidence.resolution import effective_dimension, resolution_for
from sfumato.learners.choose.judging import ABOUT
from sfumato.learners.estimator import Learner

MOST_DIMENSIONS = 6.5
MOST_REPORT_CELLS = 80_000
ASKED, FEWEST, MOST = 200_000, 4, 256  # points in all cells together at which a classifier is asked; in each
FLOOR = 0.01  # part of the classes' shares in every answer, so that one report does not rule a classifier out


@dataclass(frozen=True)
class OnGrid:
    """Held-out loss of every model, and by how much each is behind each other one, a person, with its error."""

    loss: Floats
    behind: Floats
    error: Floats

    def first_as_good(self, about: float = ABOUT) -> int:
        """The first model that is within so many standard errors of the best."""
        best = int(np.argmin(self.loss))
        return int(np.argmax(self.behind[:, best] <= about * self.error[:, best]))


def judged_on_grid(parts: Sequence[tuple[Fold, Sequence[Learner]]], reports: Reports, shares: Floats) -> OnGrid | None:
    """Models that learned from all people but a fold, judged on it; None where they read no column, or too many."""
    axes = [Axis(reports.column(name)) for name in reports.names]
    each = [on_one_fold(models, reports, axes, fold, shares) for fold, models in parts]
    known = [found for found in each if found is not None]
    if len(known) < len(parts):
        return None
    folds = len(known)
    loss, behind = (np.mean([getattr(one, what) for one in known], axis=0) for what in ("loss", "behind"))
    return OnGrid(loss, behind, np.sqrt(np.sum([one.error**2 for one in known], axis=0)) / folds)


def on_one_fold(
    models: Sequence[Learner], reports: Reports, axes: Sequence[Axis], held: Fold, shares: Floats
) -> OnGrid | None:
    columns = sorted(set().union(*(model.columns_read() for model in models)))
    chosen = [axes[j] for j in columns]
    if not columns or effective_dimension(chosen) > MOST_DIMENSIONS:
        return None
    resolution = resolution_for(chosen, reports.people).coarsened(chosen, MOST_REPORT_CELLS // shares.size)
    evidence = Evidence.of_columns(reports, chosen, resolution)
    fitted, judged, steps = evidence.of_fold(~held), evidence.of_fold(held), spread_steps(evidence.cells)
    losses = []
    for model in models:
        answers = np.moveaxis(mean_answers(model, evidence, axes, columns), -1, 0)
        losses.append(label_loss(fitted, joint_given(fitted, floored(answers, shares), steps)))
    size = len(models)
    behind, error = np.zeros((size, size)), np.zeros((size, size))
    for i, j in combinations(range(size), 2):
        mean, z = mean_and_z(judged, losses[i] - losses[j])
        behind[i, j], behind[j, i] = mean, -mean
        error[i, j] = error[j, i] = mean / z if z else 0.0
    return OnGrid(np.array([mean_and_z(judged, loss)[0] for loss in losses]), behind, error)


def mean_answers(model: Learner, evidence: Evidence, axes: Sequence[Axis], columns: Sequence[int]) -> Floats:
    """P(y | t) of every combination of cells: the mean of the answers at points spread evenly in it."""
    shape = evidence.product.true_shape[1:]
    places = np.indices(shape).reshape(len(shape), -1)
    rng, total = np.random.default_rng(0), np.zeros(())
    points = int(np.clip(ASKED // places.shape[1], FEWEST, MOST))
    for _ in range(points):
        values = [axis.at(2).draw(np.zeros(places.shape[1], np.int64), rng) for axis in axes]
        for place, cut, column in zip(places, evidence.cells, columns, strict=True):
            values[column] = cut.draw(place, rng)
        total = total + model._probabilities(values)
    return np.asarray(total / points).reshape(*shape, -1)


def floored(p_class: Floats, shares: Floats) -> Floats:
    """Answers, classes along the first axis, with a part of the classes' shares in each."""
    return np.asarray((1.0 - FLOOR) * p_class + FLOOR * shares.reshape(-1, *(1,) * (p_class.ndim - 1)))
