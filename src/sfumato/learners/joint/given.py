"""How well a classifier foretells reports, whatever the true values are spread like.

A classifier says P(y | t). What it makes of reports depends on P(t) besides, which nobody knows: it is fitted to the
reports, freely, with P(y | t) held fixed. What is then said about the classes of held-out people,

    P(y' | s) ∝ Σ_{y,t} C[(s, y'), (y, t)]·P(y | t)·P(t),

tells classifiers apart, and none is favoured for what its columns tell about others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from sfumato.domain import Floats
from sfumato.learners.joint.grid import Array, GridProblem
from sfumato.reconstruction import ColumnCells, ProductTable

STEPS_WITHOUT_NOISE, MOST_STEPS = 12.0, 150  # of EM; noise that leaves less of a correlation needs more of them


class GivenClasses(ProductTable):
    """From P(t) to reports, P(y | t) being known: C'[(s, y'), t] = Σ_y C[(s, y'), (y, t)]·P(y | t)."""

    def __init__(self, table: ProductTable, p_class: Floats) -> None:
        super().__init__(table.factors, table.label, table.report_shape[-1], table.dtype)
        self.table, self.p_class = table, p_class.astype(table.dtype)
        self.true_shape = p_class.shape[1:]
        self.shape = (table.shape[0], prod(self.true_shape))

    def apply(self, p: Floats) -> Floats:
        return self.table.apply((p.reshape(-1, 1, *self.true_shape) * self.p_class).reshape(*p.shape[:-1], -1))

    def adjoint(self, r: Floats) -> Floats:
        told = self.table.adjoint(r).reshape(-1, *self.p_class.shape) * self.p_class
        return np.asarray(told.sum(axis=1).reshape(*r.shape[:-1], -1))

    def dense(self) -> Floats:
        return self.apply(np.eye(self.shape[1])).T


def joint_given(problem: GridProblem, p_class: Floats, counts: Array, steps: int) -> Array:
    """P(y, t) with P(t) fitted to these reports and P(y | t) as it is given, [class, t₁..t_D]."""
    people = replace(problem, table=GivenClasses(problem.table, p_class)).fit(counts, steps)
    return np.asarray(people * p_class, np.float32)


def steps_for(cells: Sequence[ColumnCells]) -> int:
    """How many steps of EM spread the people of these cells as far as reports tell."""
    told = float(np.mean([told_part(cut) for cut in cells]))
    return min(round(STEPS_WITHOUT_NOISE / told**2), MOST_STEPS)


def told_part(cut: ColumnCells) -> float:
    """The squared correlation that noise leaves between a column's reports and its values, if they are spread evenly.

    It is the second squared singular value of P(s, t) / √(P(s)·P(t)).
    """
    joint = cut.table / cut.table.sum()
    scaled = joint / np.sqrt(np.maximum(np.outer(joint.sum(axis=1), joint.sum(axis=0)), 1e-300))
    return float(np.linalg.svd(scaled, compute_uv=False)[1] ** 2) if cut.size > 1 else 1.0
