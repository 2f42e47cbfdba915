"""The columns that the class does not need: each hangs on the one it depends on most (Chow and Liu's forest).

P(x_child | x_parent) comes from the reconstructed joint distribution of the pair. A pair counts as dependent when, over
people who were left out, log M(s, s') exceeds log M(s) + log M(s') by two standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.counts import Fold, Reports
from sfumato.domain import Codes
from sfumato.mining.joint.grid import TINY, Array, GridProblem, Resolution
from sfumato.mining.joint.members import draw_columns
from sfumato.mining.joint.selection import LEAST_Z, mean_and_z
from sfumato.reconstruction import Axis, ColumnCells

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
    def from_dict(cls, data: dict[str, Any]) -> Branch:
        parent = data["parent_cells"]
        return cls(
            data["child"],
            data["parent"],
            ColumnCells.from_dict(data["child_cells"]),
            None if parent is None else ColumnCells.from_dict(parent),
            np.array(data["p_child_given_parent"], np.float32),
        )


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
    known, branches = list(placed), []
    gains = {
        (min(i, j), max(i, j)): dependence.gain(min(i, j), max(i, j))
        for j in rest
        for i in range(len(axes))
        if i != j and (i in placed or i < j)
    }
    while rest:
        pairs = [(gains[min(i, j), max(i, j)], i, j) for j in rest for i in known]
        best, parent, child = max(pairs, default=(0.0, None, rest[0]))
        branches.append(make_branch(reports, axes, child, parent if best > 0 else None))
        known.append(child)
        rest.remove(child)
    return branches


def make_branch(reports: Reports, axes: Sequence[Axis], child: int, parent: int | None) -> Branch:
    chosen = [axes[child]] if parent is None else [axes[child], axes[parent]]
    problem = GridProblem.of(reports, chosen, FINAL, by_class=False)
    joint = problem.fit(problem.counts(), FINAL_STEPS)[0]
    table = np.maximum(joint.reshape(joint.shape[0], -1), 1e-12)
    parent_cells = None if parent is None else problem.cells[1]
    return Branch(child, parent, problem.cells[0], parent_cells, np.asarray(table / table.sum(axis=0), np.float32))
