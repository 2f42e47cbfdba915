"""Rule or free joint distribution: which of them foretells the classes of reports that neither was fitted on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.counts import Fold
from sfumato.domain import Floats
from sfumato.mining.joint.given import joint_given, steps_for
from sfumato.mining.joint.grid import mean_and_z
from sfumato.mining.likelihood import Observed, maximise
from sfumato.mining.tree.boxes import BoxModel, spread
from sfumato.mining.tree.rule import Found, Ground, RuleSearch, ground_of, on_other_cells
from sfumato.mining.tree.search import SCREENING_STEPS

BETTER, CLEARLY_BETTER = 0.9, 2.0  # standard errors


def grid_is_better(search: RuleSearch, found: Found, chosen: Sequence[int]) -> bool:
    """Whether to prefer a free joint distribution of all chosen columns to the rule.

    Both foretell the classes of held-out reports, each third of the people by the others, and both with free P(t), so
    that columns which only tell about the rule's own favour neither. A wrong rule may foretell reports as well as a
    free distribution and still decide worse, so that a rule with cuts has to be better; to be preferred to no rule at
    all, the free distribution has to be.
    """
    columns = (*found.ground.columns, *(j for j in chosen if j not in found.ground.columns))
    if not columns:
        return False
    ground = ground_of(search.reports, search.axes, columns, search.classes)
    mean, z = np.array([lead_of_grid(found, ground, Fold(third, 3, salt=1)) for third in range(3)]).T
    error = float(np.sqrt(((mean / z) ** 2).sum()) / 3)
    return bool(mean.mean() > (-BETTER if found.ground.columns else CLEARLY_BETTER) * error)


def lead_of_grid(found: Found, ground: Ground, held: Fold) -> tuple[float, float]:
    """By how much the rule's −log P(y' | s) of the held-out people is larger, on average and in standard errors."""
    problem, counts = ground.problem, ground.problem.counts(~held)
    steps = steps_for(ground.cells)
    ruled = joint_given(problem, refitted_classes(found, ground, ~held), counts, steps)
    free = problem.fit(counts, steps)
    return mean_and_z(problem.loss_of_label(ruled) - problem.loss_of_label(free), problem, held)


def refitted_classes(found: Found, ground: Ground, fold: Fold) -> Floats:
    """P(y | t) over another ground's cells, by the rule as the reports of a fold tell it."""
    model = BoxModel(found.state.rule, found.search.density)
    fit = maximise(Observed.of(found.ground.problem, fold), model, model.rule.theta, SCREENING_STEPS)
    rule = model.rule.at(fit.theta)
    parts, types = on_other_cells(rule, found.ground.cells, ground)
    weighed = np.exp(rule.weights).reshape(-1, *(1,) * len(parts)) * spread(rule.p_class[types], parts)
    return np.asarray(weighed / weighed.sum(axis=0))
