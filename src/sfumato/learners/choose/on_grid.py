"""Judge classifiers that read few columns on a grid of these, which is more exact than draws of true values.

Each classifier's P(y | t) is combined with a free distribution P(t) over the cells of all columns that any of them
reads (`evidence.grids.joint_given`), and predicts the reported classes of held-out people. The difference of two
classifiers is then known to a few nats, where draws from a density leave an error of dozens.
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
from sfumato.learners.choose.judging import ABOUT_AS_GOOD
from sfumato.learners.estimator import Learner

MOST_DIMENSIONS = 6.5
"""Effective dimensions that a grid may have: beyond, a column has fewer than seven cells (`evidence.resolution`)."""
MOST_REPORT_CELLS = 80_000
"""Combinations of report cells, shared among classes. By judgement: EM goes through them at each step; fewer widen the
cells of reports."""
POINTS = 200_000
"""Points of all cells together at which a classifier's probabilities are computed. By judgement, for time."""
FEWEST_POINTS = 4
"""Points of each cell at least. By judgement: a cut through the cell is then placed to a quarter of it."""
MOST_POINTS = 256
"""Points of each cell at most. By judgement; more tell nothing that reports could."""
FLOOR = 0.01
"""Part of the classes' shares in every probability, so that one report cannot exclude a classifier. By judgement; a
larger part blurs classifiers that are rightly sure."""


@dataclass(frozen=True)
class GridLosses:
    """Held-out losses −log P(reported class | other reports) of several models, a person.

    loss: of each model. behind: [i, j], the loss of model i less that of model j. error: the standard error of behind.
    """

    loss: Floats
    behind: Floats
    error: Floats

    def first_as_good(self, about: float = ABOUT_AS_GOOD) -> int:
        """Return the index of the first model that is at most ``about`` standard errors behind the best."""
        best = int(np.argmin(self.loss))
        return int(np.argmax(self.behind[:, best] <= about * self.error[:, best]))


def judge_on_grid(
    parts: Sequence[tuple[Fold, Sequence[Learner]]], reports: Reports, shares: Floats
) -> GridLosses | None:
    """Return the losses of models over folds; None where they read no column, or too many for a grid.

    parts: each fold with the models that learned from all other people. shares: of the true classes.
    """
    axes = [Axis(reports.column(name)) for name in reports.names]
    of_folds = [losses_on_fold(models, reports, axes, fold, shares) for fold, models in parts]
    losses = [of_fold for of_fold in of_folds if of_fold is not None]
    if len(losses) < len(parts):
        return None
    loss = np.mean([of_fold.loss for of_fold in losses], axis=0)
    behind = np.mean([of_fold.behind for of_fold in losses], axis=0)
    return GridLosses(loss, behind, np.sqrt(np.sum([of_fold.error**2 for of_fold in losses], axis=0)) / len(losses))


def losses_on_fold(
    models: Sequence[Learner], reports: Reports, axes: Sequence[Axis], test_fold: Fold, shares: Floats
) -> GridLosses | None:
    """Return the losses of models on the people of a fold; None where they read no column, or too many for a grid."""
    columns = sorted(set().union(*(model.columns_read() for model in models)))
    chosen = [axes[j] for j in columns]
    if not columns or effective_dimension(chosen) > MOST_DIMENSIONS:
        return None
    resolution = resolution_for(chosen, reports.people).coarsened(chosen, MOST_REPORT_CELLS // shares.size)
    evidence = Evidence.of_columns(reports, chosen, resolution)
    train, test, steps = evidence.of_fold(~test_fold), evidence.of_fold(test_fold), spread_steps(evidence.cells)
    losses = []
    for model in models:
        p_class = np.moveaxis(mean_probabilities(model, evidence, axes, columns), -1, 0)
        losses.append(label_loss(train, joint_given(train, mix_with_shares(p_class, shares), steps)))
    size = len(models)
    behind, error = np.zeros((size, size)), np.zeros((size, size))
    for i, j in combinations(range(size), 2):
        mean, z = mean_and_z(test, losses[i] - losses[j])
        behind[i, j], behind[j, i] = mean, -mean
        error[i, j] = error[j, i] = mean / z if z else 0.0
    return GridLosses(np.array([mean_and_z(test, loss)[0] for loss in losses]), behind, error)


def mean_probabilities(model: Learner, evidence: Evidence, axes: Sequence[Axis], columns: Sequence[int]) -> Floats:
    """Return a model's P(class | cells), the mean over random points in every combination of cells; class last.

    columns: indices of the columns behind the cells of the evidence. The other columns do not matter to the model.
    """
    shape = evidence.product.true_shape[1:]
    cells = np.indices(shape).reshape(len(shape), -1)
    rng, total = np.random.default_rng(0), np.zeros(())
    points = int(np.clip(POINTS // cells.shape[1], FEWEST_POINTS, MOST_POINTS))
    for _ in range(points):
        values = [axis.at(2).draw(np.zeros(cells.shape[1], np.int64), rng) for axis in axes]
        for codes, cut, column in zip(cells, evidence.cells, columns, strict=True):
            values[column] = cut.draw(codes, rng)
        total = total + model._probabilities(values)
    return np.asarray(total / points).reshape(*shape, -1)


def mix_with_shares(p_class: Floats, shares: Floats) -> Floats:
    """Return probabilities, classes along the first axis, with a small part of the classes' shares in each."""
    return np.asarray((1.0 - FLOOR) * p_class + FLOOR * shares.reshape(-1, *(1,) * (p_class.ndim - 1)))
