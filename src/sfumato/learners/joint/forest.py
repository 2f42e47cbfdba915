"""The columns that the class does not need, hung on those that they depend on most (Chow and Liu's forest).

P(x_child | x_parent) comes from the reconstructed joint distribution of the pair. A pair counts as dependent when, over
people who were left out, log M(s, s') exceeds log M(s) + log M(s') by two standard errors.
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
from sfumato.evidence.tables import Array
from sfumato.learners.probabilities import draw_columns

SCREENING, FINAL = Resolution(9, 0.5), Resolution(19, 0.3, 0.2)
SCREENING_STEPS, FINAL_STEPS = 20, 60
SCREENING_RECORDS = 40_000


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
        self.held, self.fitted = Fold(0, folds, salt=PAIR_SALT), Fold((1, 2), folds, salt=PAIR_SALT)
        self.alone = cache(lambda j: self._log_predicted(self._evidence(j)))

    def _evidence(self, *chosen: int) -> Evidence:
        return Evidence.of_columns(self.reports, [self.axes[j] for j in chosen], SCREENING, by_class=False)

    def _log_predicted(self, evidence: Evidence) -> Array:
        """Return log M(s), M the share of reports in each cell by a fit to the other fold."""
        fitted = evidence.of_fold(self.fitted)
        return np.log(predicted_cells(fitted, fit_grid(fitted, SCREENING_STEPS))[..., 0])

    def prepare(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Ask in one pass for the counts that judging these pairs needs."""
        alone = [self._evidence(j).questions(self.fitted) for j in sorted({j for pair in pairs for j in pair})]
        together = [self._evidence(*pair).questions(self.fitted, self.held) for pair in pairs]
        self.reports.prepare([question for questions in (*alone, *together) for question in questions])

    def gain(self, first: int, second: int) -> float:
        """Mean held-out gain of the pair, 0 unless it is clear."""
        evidence = self._evidence(first, second)
        apart = self.alone(first)[:, None] + self.alone(second)
        gains = (self._log_predicted(evidence) - apart)[..., None]
        mean, z = mean_and_z(evidence.of_fold(self.held), gains)
        return mean if z > LEAST_Z else 0.0


def grow_forest(reports: Reports, axes: Sequence[Axis], placed: Sequence[int]) -> list[Branch]:
    """Branches for all columns with answers that are not placed yet, in an order in which they can be drawn."""
    rest = [j for j, axis in enumerate(axes) if axis.answered and j not in placed]
    dependence = Dependence(reports, axes)
    known, parents = list(placed), dict[int, int | None]()
    pairs = [(min(i, j), max(i, j)) for j in rest for i in (*placed, *rest) if i in placed or i < j]
    dependence.prepare(pairs)
    gains = {pair: dependence.gain(*pair) for pair in pairs}
    while rest:
        judged = [(gains[min(i, j), max(i, j)], i, j) for j in rest for i in known]
        best, parent, child = max(judged, default=(0.0, None, rest[0]))
        parents[child] = parent if best > 0 else None
        known.append(child)
        rest.remove(child)
    evidence = {child: branch_evidence(reports, axes, child, parent) for child, parent in parents.items()}
    reports.prepare([question for each in evidence.values() for question in each.questions()])
    return [make_branch(evidence[child], child, parent) for child, parent in parents.items()]


def branch_evidence(reports: Reports, axes: Sequence[Axis], child: int, parent: int | None) -> Evidence:
    """Return what reports tell about a column together with the one that it depends on."""
    chosen = [axes[child]] if parent is None else [axes[child], axes[parent]]
    return Evidence.of_columns(reports, chosen, FINAL, by_class=False)


def make_branch(evidence: Evidence, child: int, parent: int | None) -> Branch:
    """Fit P(child | parent)."""
    joint = fit_grid(evidence, FINAL_STEPS)[0]
    table = np.maximum(joint.reshape(joint.shape[0], -1), 1e-12)
    parent_cells = None if parent is None else evidence.cells[1]
    return Branch(child, parent, evidence.cells[0], parent_cells, np.asarray(table / table.sum(axis=0), np.float32))
