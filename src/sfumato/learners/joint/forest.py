"""Chow and Liu's forest: each column that does not tell about the class hangs on the column that it depends on most.

P(x_child | x_parent) comes from the reconstructed joint distribution of the pair. A pair counts as dependent when, in
the mean over held-out people, log M(s, s') exceeds log M(s) + log M(s') by two standard errors, M the distribution of
reports that a fit to the others predicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.counts import Fold, Reports
from sfumato.domain import Codes
from sfumato.domain.checked import given, given_numbers, given_table, given_whole
from sfumato.evidence import Axis, ColumnCells, Evidence, Resolution
from sfumato.evidence.columns import LEAST_Z
from sfumato.evidence.grids import fit_grid
from sfumato.evidence.held_out import PAIR_SALT, mean_and_z, predicted_cells
from sfumato.evidence.observed import LEAST_SINGLE
from sfumato.evidence.tables import Array
from sfumato.learners.probabilities import draw_columns

SCREENING = Resolution(9, 0.5)
"""Cells in which pairs are judged: few, because all pairs are. By judgement; fewer miss dependence that is not
monotone, more cost time."""
FINAL = Resolution(19, 0.3, 0.2)
"""Cells in which the pairs of the forest are fitted. By judgement; the distribution of each column by itself does not
depend on them (`joint.marginals`)."""
SCREENING_STEPS = 20
"""Steps of EM for a pair that is judged: enough to tell that it is dependent, by judgement; more cost time."""
FINAL_STEPS = 60
"""Steps of EM for a pair of the forest. By judgement; fewer understate dependence, more fit noise."""
SCREENING_RECORDS = 40_000
"""Records on which pairs are judged, about. By judgement; more records find weaker dependence and cost time."""


@dataclass(frozen=True)
class Branch:
    """The distribution P(child | parent) by which a column of synthetic records is drawn.

    child, parent: indices of columns; parent None: the child does not depend on another column.
    p_child_given_parent: [child cell, parent cell], with a single parent cell where there is no parent.
    """

    child: int
    parent: int | None
    child_cells: ColumnCells
    parent_cells: ColumnCells | None
    p_child_given_parent: Array

    def draw(self, parent_values: Any, n: int, rng: np.random.Generator) -> npt.NDArray[Any]:
        """Draw n values of the child; ``parent_values``: those of the parent, ignored where there is none."""
        parent: Codes = np.zeros(n, np.int64)
        if self.parent_cells is not None:
            parent = np.maximum(self.parent_cells.true_cells(parent_values), 0)
        return self.child_cells.draw(draw_columns(self.p_child_given_parent, parent, rng), rng)

    def to_dict(self) -> dict[str, Any]:
        """Return the branch as plain data for JSON."""
        return {
            "child": self.child,
            "parent": self.parent,
            "child_cells": self.child_cells.to_dict(),
            "parent_cells": None if self.parent_cells is None else self.parent_cells.to_dict(),
            "p_child_given_parent": self.p_child_given_parent.tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: int) -> Branch:
        """Return the branch that ``to_dict`` wrote; ``columns``: how many columns there are."""
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
    """Return the branches of a document; ValueError if a column is drawn twice, or before its parent.

    selected: indices of the columns that are drawn before the forest. columns: how many columns there are.
    """
    drawn, forest = set(selected), [Branch.from_dict(row, columns) for row in data]
    for branch in forest:
        if branch.child in drawn or (branch.parent is not None and branch.parent not in drawn):
            raise ValueError("a column of the forest is drawn twice, or before the one that it depends on")
        drawn.add(branch.child)
    return forest


class Dependence:
    """The held-out gain, in nats a person, of modelling two columns together, on a sample of the records."""

    def __init__(self, reports: Reports, axes: Sequence[Axis]) -> None:
        self.reports, self.axes = reports, axes
        folds = 3 * -(-len(reports) // SCREENING_RECORDS)
        self.test_fold, self.train_fold = Fold(0, folds, salt=PAIR_SALT), Fold((1, 2), folds, salt=PAIR_SALT)
        self.alone = cache(lambda j: self._log_predicted(self._evidence(j)))

    def _evidence(self, *chosen: int) -> Evidence:
        """Return the evidence about the columns with these indices, in cells for judging."""
        return Evidence.of_columns(self.reports, [self.axes[j] for j in chosen], SCREENING, by_class=False)

    def _log_predicted(self, evidence: Evidence) -> Array:
        """Return log M(s), M the distribution of reports over cells by a fit to the train fold."""
        fitted = evidence.of_fold(self.train_fold)
        return np.log(predicted_cells(fitted, fit_grid(fitted, SCREENING_STEPS))[..., 0])

    def prepare(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Count in one pass over the reports what `gain` needs for these pairs of columns."""
        alone = [self._evidence(j).questions(self.train_fold) for j in sorted({j for pair in pairs for j in pair})]
        together = [self._evidence(*pair).questions(self.train_fold, self.test_fold) for pair in pairs]
        self.reports.prepare([question for questions in (*alone, *together) for question in questions])

    def gain(self, first: int, second: int) -> float:
        """Return the mean held-out gain of modelling two columns together; 0 within two standard errors of zero."""
        evidence = self._evidence(first, second)
        apart = self.alone(first)[:, None] + self.alone(second)
        gains = (self._log_predicted(evidence) - apart)[..., None]
        mean, z = mean_and_z(evidence.of_fold(self.test_fold), gains)
        return mean if z > LEAST_Z else 0.0


def grow_forest(reports: Reports, axes: Sequence[Axis], selected: Sequence[int]) -> list[Branch]:
    """Return a branch for every column that is not selected and has answers, parents before their children."""
    left = [j for j, axis in enumerate(axes) if axis.answered and j not in selected]
    dependence = Dependence(reports, axes)
    drawn, parents = list(selected), dict[int, int | None]()
    pairs = [(min(i, j), max(i, j)) for j in left for i in (*selected, *left) if i in selected or i < j]
    dependence.prepare(pairs)
    gains = {pair: dependence.gain(*pair) for pair in pairs}
    while left:
        judged = [(gains[min(i, j), max(i, j)], i, j) for j in left for i in drawn]
        best, parent, child = max(judged, default=(0.0, None, left[0]))
        parents[child] = parent if best > 0 else None
        drawn.append(child)
        left.remove(child)
    evidence = {child: branch_evidence(reports, axes, child, parent) for child, parent in parents.items()}
    reports.prepare([question for of_branch in evidence.values() for question in of_branch.questions()])
    return [fit_branch(evidence[child], child, parent) for child, parent in parents.items()]


def branch_evidence(reports: Reports, axes: Sequence[Axis], child: int, parent: int | None) -> Evidence:
    """Return the evidence about a column together with its parent, or by itself where the parent is None."""
    chosen = [axes[child]] if parent is None else [axes[child], axes[parent]]
    return Evidence.of_columns(reports, chosen, FINAL, by_class=False)


def fit_branch(evidence: Evidence, child: int, parent: int | None) -> Branch:
    """Fit P(child | parent) to the evidence about the two columns, or P(child) where the parent is None."""
    joint = fit_grid(evidence, FINAL_STEPS)[0]
    table = np.maximum(joint.reshape(joint.shape[0], -1), LEAST_SINGLE)
    parent_cells = None if parent is None else evidence.cells[1]
    return Branch(child, parent, evidence.cells[0], parent_cells, np.asarray(table / table.sum(axis=0), np.float32))
