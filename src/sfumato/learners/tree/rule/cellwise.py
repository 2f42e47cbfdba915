"""Between a rule and a free joint distribution: P(y | t) free in every cell, over the stiff density of a rule.

    joint(t, y) = g(t) · w_y · p(y | t),      p(y | t) ← p(y | t)·A(t, y) / Σ_y,      A = Cᵀ(N/R)

Every cell is a leaf. That the density is known and that shares stay between 0 and 1 tells P(y | t) in more detail than
two free distributions do, and no structure has to be paid for. From the uniform start early steps are smooth: the
number of steps is the amount of smoothing. Grids of different cells are averaged.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.counts import Fold
from sfumato.domain import Floats
from sfumato.evidence.acceleration import em_factor
from sfumato.evidence.grids import PLAIN_STEPS, RELAXATION, spread_steps
from sfumato.learners.joint import JointModel
from sfumato.learners.joint.model import GridMember
from sfumato.learners.tree.rule.boxes import people_of
from sfumato.learners.tree.rule.fitting import FittedRule, RuleForm, RuleSearch, form_of

MEMBERS = 5
"""Grids that are averaged. By judgement, as for a joint model of five columns."""
STEPS_OF_SPREAD, MOST_STEPS = 150.0, 3_000
"""Steps of EM without noise, and at most (see `spread_steps`): shares of classes are found more slowly than P(t)."""
TINY = 1e-300  # the least share, near the smallest double, so that none is lost for ever


def cellwise_model(search: RuleSearch, fitted: FittedRule) -> JointModel:
    """Return P(y, t) over the columns of a rule as an average of grids; it can answer, and draw these columns."""
    old = fitted.form
    forms = [
        replace(
            form_of(search.reports, search.axes, old.columns, search.classes, member=member),
            terms=old.terms, pairs=old.pairs,
        )
        for member in range(MEMBERS)
    ]
    search.reports.prepare([question for form in forms for question in form.evidence.questions()])
    members = [GridMember(form.cells, cellwise(fitted, form).astype(np.float32)) for form in forms]
    return JointModel.of_members(old.columns, members, np.arange(search.classes))


def cellwise(fitted: FittedRule, form: RuleForm, fold: Fold | None = None) -> Floats:
    """Return P(y, t) as [y, t₁..t_D] over the cells of a form of the rule's columns, by the reports of a fold."""
    evidence = form.evidence.of_fold(fold)
    people = people_of(fitted.state.rule, form.density())
    weights, g = np.exp(fitted.state.rule.weights), people[0].ravel() / people[0].sum()
    p = np.full((weights.size, g.size), 1.0 / weights.size)
    for step in range(spread_steps(form.cells, STEPS_OF_SPREAD, MOST_STEPS)):
        joint = weights[:, None] * g * p
        joint /= joint.sum()
        factor = em_factor(evidence, evidence.surprise(joint.reshape(1, -1))).reshape(joint.shape)
        p = np.maximum(p * factor ** (RELAXATION if step >= PLAIN_STEPS else 1.0), TINY)
        p /= p.sum(axis=0)
        weights = (joint * factor).sum(axis=1) / np.maximum(p @ g, TINY)
    joint = weights[:, None] * g * p
    return np.asarray(joint / joint.sum()).reshape(people.shape)
