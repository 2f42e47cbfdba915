"""Between a rule and a free joint distribution: P(y | t) free in every cell, over the stiff density of a rule.

    joint(t, y) = g(t) · w_y · p(y | t),      p(y | t) ← p(y | t)·A(t, y) / Σ_y,      A = Cᵀ(N/R)

Every cell is a leaf. That the density is known and that shares stay between 0 and 1 tells P(y | t) in more detail than
two free distributions do, and no structure has to be paid for. From the uniform start early steps are smooth: the
number of steps is the amount of smoothing. Grids of different cells are averaged.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.counts import Fold
from sfumato.domain import Floats
from sfumato.learners.joint import JointModel
from sfumato.learners.joint.given import told_part
from sfumato.learners.joint.model import GridMember
from sfumato.learners.likelihood import Observed
from sfumato.learners.tree.rule.boxes import people_of
from sfumato.learners.tree.rule.fitting import Found, Ground, RuleSearch, ground_of
from sfumato.reconstruction import ColumnCells

MEMBERS = 5
STEPS_WITHOUT_NOISE, MOST_STEPS = 150.0, 3_000
PLAIN_STEPS, POWER = 5, 1.8  # a power of EM's factor goes further in a step, once under way
TINY = 1e-300


def cellwise_model(search: RuleSearch, found: Found) -> JointModel:
    """P(y, t) over the columns of a rule as an average of grids; it can answer, and draw these columns."""
    grounds = [
        ground_of(search.reports, search.axes, found.ground.columns, search.classes, member=member).formed(
            terms=found.ground.terms, pairs=found.ground.pairs
        )
        for member in range(MEMBERS)
    ]
    search.reports.prepare([ground.problem.question() for ground in grounds])
    model = JointModel()
    model.selected_, model.forest_ = found.ground.columns, []
    model.members_ = [GridMember(ground.cells, cellwise(found, ground).astype(np.float32)) for ground in grounds]
    model.classes_ = np.arange(search.classes)
    return model


def cellwise(found: Found, ground: Ground, fold: Fold | None = None) -> Floats:
    """P(y, t) as [y, t₁..t_D] over the cells of a ground of the rule's columns, by the reports of a fold."""
    observed = Observed.of(ground.problem, fold)
    people = people_of(found.state.rule, ground.density())
    shape = people.shape
    weights, g = np.exp(found.state.rule.weights), people[0].ravel() / people[0].sum()
    p = np.full((weights.size, g.size), 1.0 / weights.size)
    for step in range(steps_for(ground.cells)):
        joint = weights[:, None] * g * p
        joint /= joint.sum()
        reported = np.maximum(observed.table.apply(joint.ravel()), TINY)
        factor = observed.table.adjoint(observed.counts / reported).reshape(joint.shape) / max(observed.total, TINY)
        p = np.maximum(p * factor ** (POWER if step >= PLAIN_STEPS else 1.0), TINY)
        p /= p.sum(axis=0)
        weights = (joint * factor).sum(axis=1) / np.maximum(p @ g, TINY)
    joint = weights[:, None] * g * p
    return np.asarray(joint / joint.sum()).reshape(shape)


def steps_for(cells: Sequence[ColumnCells]) -> int:
    """Noise that leaves less of a correlation needs more of them."""
    told = float(np.mean([told_part(cut) for cut in cells]))
    return int(min(STEPS_WITHOUT_NOISE / told**2, MOST_STEPS))
