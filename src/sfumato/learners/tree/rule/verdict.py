"""Rule, free joint distribution, or that averaged with a rule whose every cell is a leaf: which of them foretells the
classes of reports that none was fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.counts import Fold
from sfumato.domain import Floats
from sfumato.learners.joint.given import joint_given, steps_for
from sfumato.learners.joint.grid import Array, class_entropy, mean_and_z
from sfumato.learners.likelihood import Observed, maximise
from sfumato.learners.tree.rule.boxes import BoxModel, spread
from sfumato.learners.tree.rule.cellwise import cellwise
from sfumato.learners.tree.rule.fitting import Found, Ground, RuleSearch, ground_of, on_other_cells
from sfumato.learners.tree.rule.search import SCREENING_STEPS
from sfumato.reconstruction import ProductTable

BETTER, SURELY_BETTER, CLEARLY_BETTER = 0.4, 0.5, 2.0  # standard errors
COVERED = 0.85  # part of what all columns tell about the class that those of a rule have to, to be averaged with them
OPTIMISM, MOST_OPTIMISM = 0.5, 5.0  # nats a split and of all: the structure was found with the held-out people too
RULE, AVERAGE, GRID = "rule", "average", "grid"


@dataclass(frozen=True)
class Verdict:
    """Which to prefer, and whether another rule over the same columns might change that."""

    preferred: str
    settled: bool = True


def verdict(search: RuleSearch, found: Found, chosen: Sequence[int]) -> Verdict:
    """Whether to prefer the rule, a free joint distribution of all chosen columns, or the average of that with
    P(y | t) free in every cell of the rule's columns.

    All foretell the classes of held-out reports, each third of the people by the others, and all with free P(t), so
    that columns which only tell about the rule's own favour none. A wrong rule may foretell reports as well as an
    average of many and still decide worse, so that a rule with cuts has to be better than what lies between the two
    others; to be preferred to no rule at all, or to the average, the free distribution has to be. The average is of
    no use where columns are missing in the rule that tell about the class. All is settled where the rule is clearly
    better, or where its columns do not tell enough, whatever the cuts.
    """
    columns = (*found.ground.columns, *(j for j in chosen if j not in found.ground.columns))
    if not columns:
        return Verdict(RULE)
    ground = ground_of(search.reports, search.axes, columns, search.classes)
    folds = [Fold(third, 3, salt=1) for third in range(3)]
    own = first_columns(ground, found)
    asked = [problem.question(~held) for problem in (ground.problem, own.problem) for held in folds]
    search.reports.prepare([*asked, *(ground.problem.question(held) for held in folds), ground.problem.question()])
    losses = [losses_of(found, ground, own, held) for held in folds]

    def lead(one: Sequence[str], other: Sequence[str], charged: float = 0.0) -> float:
        """By how much the losses of some models are smaller than those of others, on average, in standard errors."""
        gains = [np.mean([loss[k] for k in other], axis=0) - np.mean([loss[k] for k in one], axis=0) for loss in losses]
        each = [mean_and_z(gain, ground.problem, held) for gain, held in zip(gains, folds, strict=True)]
        mean, z = np.array(each).T
        error = np.sqrt(((mean / np.where(z == 0, 1.0, z)) ** 2).sum()) / len(folds)
        return float((mean.mean() - charged / search.reports.people) / max(error, 1e-300))

    if not found.ground.columns:
        return Verdict(GRID if lead([GRID], [RULE]) > CLEARLY_BETTER else RULE)
    partial, free = part_told(ground, len(found.ground.columns)) < COVERED, lead([GRID], [AVERAGE])
    softer = GRID if partial or free > SURELY_BETTER else AVERAGE
    charged = min(OPTIMISM * found.state.tree.inner, MOST_OPTIMISM)
    ruled = lead([RULE], [GRID] if softer == GRID else [GRID, AVERAGE], charged)
    settled = partial or free > CLEARLY_BETTER or ruled > CLEARLY_BETTER
    return Verdict(RULE if ruled > BETTER else softer, settled)


def part_told(ground: Ground, columns: int) -> float:
    """What part of the information about the class is in the first columns of a ground."""
    problem = ground.problem
    free = problem.fit(problem.counts(), steps_for(ground.cells))
    p_class, first = free.reshape(len(free), -1).sum(axis=1), free.sum(axis=tuple(range(1 + columns, free.ndim)))
    unknown = class_entropy(p_class)
    return (unknown - class_entropy(first)) / max(unknown - class_entropy(free), 1e-12)


def losses_of(found: Found, ground: Ground, own: Ground, held: Fold) -> dict[str, Array]:
    """−log P(y' | s) in every cell of the reports, by all people but the held-out ones."""
    problem, counts, steps = ground.problem, ground.problem.counts(~held), steps_for(ground.cells)
    free = problem.fit(counts, steps)
    ruled = joint_given(problem, refitted_classes(found, ground, ~held), counts, steps)
    models = {RULE: ruled, GRID: free}
    if found.ground.columns:
        softer = shares(cellwise(found, own, ~held))
        softer = softer.reshape(softer.shape + (1,) * (1 + len(ground.cells) - softer.ndim))
        models[AVERAGE] = joint_given(problem, (shares(free) + softer) / 2, counts, steps)
    return {name: problem.loss_of_label(joint, float(counts.sum())) for name, joint in models.items()}


def shares(joint: Floats | Array) -> Floats:
    """P(y | t) of P(y, t)."""
    known = np.maximum(np.asarray(joint, np.float64), 1e-300)
    return np.asarray(known / known.sum(axis=0))


def first_columns(ground: Ground, found: Found) -> Ground:
    """The rule's columns, which come first in a ground, in the same cells."""
    count, problem = len(found.ground.columns), ground.problem
    known = problem.table
    table = ProductTable(known.factors[:count], known.label, known.report_shape[-1], known.dtype)
    own = replace(problem, cells=problem.cells[:count], table=table)
    return Ground(found.ground.columns, own, found.ground.terms, found.ground.pairs)


def refitted_classes(found: Found, ground: Ground, fold: Fold) -> Floats:
    """P(y | t) over another ground's cells, by the rule as the reports of a fold tell it."""
    model = BoxModel(found.state.rule, found.search.density)
    fit = maximise(Observed.of(found.ground.problem, fold), model, model.rule.theta, SCREENING_STEPS)
    rule = model.rule.at(fit.theta)
    parts, types = on_other_cells(rule, found.ground.cells, ground)
    weighed = np.exp(rule.weights).reshape(-1, *(1,) * len(parts)) * spread(rule.p_class[types], parts)
    return np.asarray(weighed / weighed.sum(axis=0))
