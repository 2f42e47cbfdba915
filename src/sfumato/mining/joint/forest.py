"""The attributes that the class does not need: each hangs on the one it depends on most (Chow and Liu's forest).

P(x_child | x_parent) comes from the reconstructed joint distribution of the pair. A pair counts as dependent when, on
reports that were left out, log M(s, s') exceeds log M(s) + log M(s') by two standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.domain import Codes
from sfumato.mining.columns import Axis, ColumnCells
from sfumato.mining.joint.grid_fit import GridProblem, Labels
from sfumato.mining.joint.members import Array, draw_columns
from sfumato.mining.joint.resolution import Resolution

SCREENING = Resolution(9, 0.5)
FINAL = Resolution(19, 0.3, 0.2)
SCREENING_STEPS, FINAL_STEPS = 20, 60
SCREENING_RECORDS = 40_000
LEAST_Z = 2.0


@dataclass(frozen=True)
class Branch:
    """How one attribute is drawn: from P(child | parent), or on its own when the parent is None."""

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

    def __init__(
        self, attributes: Sequence[Axis], weight: npt.NDArray[np.float32], rng: np.random.Generator
    ) -> None:
        self.attributes = attributes
        records = weight.size
        kept = rng.random(records) < SCREENING_RECORDS / max(records, 1)
        held = rng.random(records) < 1 / 3
        self.held, self.fitted = kept & held, kept & ~held
        self.labels = Labels(np.zeros(records, np.int64), weight, 1)
        self._alone = [self._log_mass((j,)) for j in range(len(attributes))]

    def _log_mass(self, chosen: tuple[int, ...]) -> npt.NDArray[np.float64]:
        problem = GridProblem.of([self.attributes[j] for j in chosen], self.labels, SCREENING)
        joint = problem.fit(problem.counts(self.fitted), SCREENING_STEPS)
        mass = problem.tables.forward(joint).ravel()[problem.flat[self.held]]
        return np.log(np.maximum(mass, 1e-30)).astype(np.float64)

    def gain(self, first: int, second: int) -> float:
        """Mean held-out gain of the pair, 0 unless it is clear."""
        together = self._log_mass((min(first, second), max(first, second)))
        gains = together - self._alone[first] - self._alone[second]
        if gains.size < 10:
            return 0.0
        error = float(gains.std()) / np.sqrt(gains.size)
        mean = float(gains.mean())
        return mean if mean > LEAST_Z * error else 0.0


def grow_forest(
    attributes: Sequence[Axis], placed: Sequence[int], weight: npt.NDArray[np.float32], rng: np.random.Generator
) -> list[Branch]:
    """Branches for all attributes that are not placed yet, in an order in which they can be drawn."""
    rest = [j for j in range(len(attributes)) if j not in placed]
    if not rest:
        return []
    dependence = Dependence(attributes, weight, rng)
    known, branches = list(placed), []
    gains = {
        (i, j): dependence.gain(i, j) for j in rest for i in range(len(attributes)) if i != j and (i in placed or i < j)
    }
    while rest:
        pairs = [(gains[(i, j) if (i, j) in gains else (j, i)], i, j) for j in rest for i in known]
        best, parent, child = max(pairs, default=(0.0, None, rest[0]))
        branches.append(make_branch(attributes, child, parent if best > 0 else None, weight))
        if best <= 0:
            child = branches[-1].child
        known.append(child)
        rest.remove(child)
    return branches


def make_branch(
    attributes: Sequence[Axis], child: int, parent: int | None, weight: npt.NDArray[np.float32]
) -> Branch:
    labels = Labels(np.zeros(weight.size, np.int64), weight, 1)
    chosen = [attributes[child]] if parent is None else [attributes[child], attributes[parent]]
    problem = GridProblem.of(chosen, labels, FINAL)
    joint = problem.fit(problem.counts(), FINAL_STEPS)[0]
    table = np.maximum(joint.reshape(joint.shape[0], -1), 1e-12)
    parent_cells = None if parent is None else problem.cells[1]
    return Branch(child, parent, problem.cells[0], parent_cells, np.asarray(table / table.sum(axis=0), np.float32))
