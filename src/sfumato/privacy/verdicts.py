"""Does a plan meet a target? Decided by its law and a belief, not by samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from sfumato.channels import Channel
from sfumato.domain import Floats, Interval
from sfumato.guarantee import CombinedGuarantee, Guarantee
from sfumato.guarantee.statement import read_prior
from sfumato.privacy.attacks.bayes import bayes_error
from sfumato.privacy.population import Population, noise_of
from sfumato.privacy.posterior import expected_width
from sfumato.privacy.table import table_of
from sfumato.privacy.targets import BeliefTarget, Goal, WidthTarget
from sfumato.privacy.words import amount

SLACK = 1e-9


@dataclass(frozen=True)
class Verdict:
    """Whether a target is met, and why."""

    target: Goal
    met: bool
    text: str

    def __str__(self) -> str:
        return f"[{'met' if self.met else 'MISSED'}] {self.target}: {self.text}"

    def to_dict(self) -> dict[str, Any]:
        return {"target": str(self.target), "met": self.met, "text": self.text}


def judge_target(
    goal: Goal,
    stated: Mapping[str, Guarantee | CombinedGuarantee],
    channels: Mapping[str, Channel],
    priors: Mapping[str, Floats],
    times: int = 1,
    population: Population | None = None,
) -> Verdict:
    """The verdict on one target; an attribute that the plan does not blur is an error that lists those it does."""
    if goal.attribute is not None and goal.attribute not in channels:
        raise ValueError(f"target names {goal.attribute!r}, which has no channel; there are {', '.join(channels)}")
    if isinstance(goal, BeliefTarget):
        return _belief(goal, stated, times)
    return _width(goal, channels[goal.attribute], priors.get(goal.attribute), population)


def _belief(goal: BeliefTarget, stated: Mapping[str, Guarantee | CombinedGuarantee], times: int) -> Verdict:
    parts = stated if goal.attribute is None else {goal.attribute: stated[goal.attribute]}
    total = CombinedGuarantee(parts).repeated(times)
    if total.excludes(goal.rho1, goal.rho2):
        return Verdict(goal, True, f"γ = {total.gamma:.4g} is below the {goal.gamma:.4g} that it takes.")
    return Verdict(goal, False, str(total.breach(goal.rho1, goal.rho2)))


def _width(goal: WidthTarget, channel: Channel, prior: Floats | None, population: Population | None) -> Verdict:
    if not isinstance(channel.domain, Interval):
        raise ValueError(f"target asks for a width of {goal.attribute!r}, which is no number; ask for '5% to 50%'")
    reached = width_reached(channel, prior, goal.confidence, population, goal.attribute)
    met = reached >= goal.width * (1 - SLACK)
    return Verdict(goal, met, f"a usual report places it within {amount(reached)}.")


def width_reached(
    channel: Channel,
    prior: Floats | None,
    confidence: float,
    population: Population | None = None,
    name: str = "",
) -> float:
    """The smallest of: the stated width, the mean credible interval, and what all reports together leave."""
    table = table_of(channel)
    size = channel.inputs.size
    belief = table.belief(np.full(size, 1 / size) if prior is None else prior)
    found = [expected_width(table.law, belief, table.step, confidence)]
    stated = channel.interval_width(confidence)
    if stated is not None:
        found.append(stated)
    if population is not None and population.covariance is not None:
        found.append(_together(channel, confidence, population, name))
    return min(found)


def _together(channel: Channel, confidence: float, population: Population, name: str) -> float:
    """The width from all reports of a person, with this channel in the place of the attribute's own."""
    assert population.covariance is not None
    targets = [
        replace(target, channel=channel, prior=read_prior(channel, target.prior))
        if target.name == name
        else target
        for target in population.numeric
    ]
    place = [target.name for target in targets].index(name)
    noise = np.diag([noise_of(target) for target in targets])
    error = max(float(bayes_error(population.covariance, noise)[place]), 0.0)
    return 2 * float(ndtri((1 + confidence) / 2)) * float(np.sqrt(error))

