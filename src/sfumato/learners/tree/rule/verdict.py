"""Whether a rule foretells the classes of reports that it was not fitted on better than a joint distribution does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.counts import Fold
from sfumato.domain import Floats
from sfumato.evidence import fit_family
from sfumato.evidence.grids import fit_grid, joint_given, spread_steps
from sfumato.evidence.held_out import THIRDS, label_loss, mean_and_z
from sfumato.evidence.tables import Array
from sfumato.learners.tree.rule.boxes import BoxFamily, spread
from sfumato.learners.tree.rule.fitting import FittedRule, RuleForm, RuleSearch, form_of, on_other_cells
from sfumato.learners.tree.rule.moves import SCREENING_STEPS

OPTIMISM, MOST_OPTIMISM = 0.5, 5.0
"""Nats that a rule's lead is charged for each split, and for all: its structure was found with the held-out people
too. By judgement; more prefers the joint distribution, which makes deeper trees."""


def lead_of_rule(search: RuleSearch, fitted: FittedRule, chosen: Sequence[int]) -> float:
    """Return by how many standard errors a rule foretells classes better than a free joint distribution does.

    Both foretell the classes of held-out reports, each third of the people by the others, and both with free P(t), so
    that columns which only tell about the rule's own favour neither. It is infinite where there is no column.

    chosen: the columns of the joint distribution, besides those of the rule.
    """
    columns = (*fitted.form.columns, *(j for j in chosen if j not in fitted.form.columns))
    if not columns:
        return np.inf
    everything = form_of(search.reports, search.axes, columns, search.classes)
    search.reports.prepare(everything.evidence.questions(None, *THIRDS, *(~held for held in THIRDS)))
    leads = []
    for held in THIRDS:
        rule, joint = losses_of(fitted, everything, ~held)
        leads.append(mean_and_z(everything.evidence.of_fold(held), joint - rule))
    mean, z = np.array(leads).T
    error = np.sqrt(((mean / np.where(z == 0, 1.0, z)) ** 2).sum()) / len(leads)
    charged = min(OPTIMISM * fitted.state.tree.inner, MOST_OPTIMISM) / search.reports.people
    return float((mean.mean() - charged) / max(error, 1e-300))


def losses_of(fitted: FittedRule, everything: RuleForm, fold: Fold) -> tuple[Array, Array]:
    """Return −log P(y' | s) in every cell of the reports, by the rule and by a joint distribution, as a fold tells.

    everything: the columns of both, those of the rule first.
    """
    evidence, steps = everything.evidence.of_fold(fold), spread_steps(everything.cells)
    ruled = joint_given(evidence, refitted_classes(fitted, everything, fold), steps)
    return label_loss(evidence, ruled), label_loss(evidence, fit_grid(evidence, steps))


def refitted_classes(fitted: FittedRule, form: RuleForm, fold: Fold) -> Floats:
    """Return P(y | t) over another form's cells, by the rule as the reports of a fold tell it."""
    family = BoxFamily(fitted.state.rule, fitted.moves.density)
    top = fit_family(fitted.form.evidence.of_fold(fold), family, family.rule.theta, SCREENING_STEPS)
    rule = family.rule.at(top.theta)
    parts, types = on_other_cells(rule, fitted.form.cells, form)
    weighed = np.exp(rule.weights).reshape(-1, *(1,) * len(parts)) * spread(rule.p_class[types], parts)
    return np.asarray(weighed / weighed.sum(axis=0))
