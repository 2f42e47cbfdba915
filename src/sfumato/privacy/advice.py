"""`advise`: channels that meet a target, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.channels import Channel
from sfumato.domain import Floats
from sfumato.guarantee.statement import read_prior
from sfumato.plan import Attribute, Plan
from sfumato.privacy.costs import Cost, costs_of, tree_accuracy
from sfumato.privacy.population import Population, believed_people
from sfumato.privacy.proposals import bounded_channel, wide_channel
from sfumato.privacy.subject import ONLY, Subject, subject_of
from sfumato.privacy.targets import BeliefTarget, Goal, WidthTarget, read_target
from sfumato.privacy.verdicts import Verdict, judge_target, width_reached

PEOPLE = 10_000


@dataclass(frozen=True, eq=False)
class Advice:
    """A plan that meets the targets: what changes, whether it is enough, and what it costs."""

    plan: Plan
    changes: dict[str, tuple[dict[str, Any], dict[str, Any]]]
    verdicts: tuple[Verdict, ...]
    costs: tuple[Cost, ...]

    @property
    def met(self) -> bool:
        return all(verdict.met for verdict in self.verdicts)

    @property
    def channel(self) -> Channel:
        """The one channel, where advice was asked for one."""
        (only,) = self.plan.attributes.values()
        assert isinstance(only.channel, Channel)
        return only.channel

    def __str__(self) -> str:
        changed = [f"{name}: {_spec(old)} becomes {_spec(new)}" for name, (old, new) in self.changes.items()]
        lines = [*(changed or ["Nothing has to change."]), "", *map(str, self.verdicts)]
        return "\n".join([*lines, *(["", "What it costs", *map(str, self.costs)] if self.costs else [])])

    def to_dict(self) -> dict[str, Any]:
        return {
            "met": self.met,
            "changes": {name: {"before": old, "after": new} for name, (old, new) in self.changes.items()},
            "targets": [verdict.to_dict() for verdict in self.verdicts],
            "costs": [cost.to_dict() for cost in self.costs],
            "plan": self.plan.to_dict(),
        }


def advise(
    subject: Plan | Channel,
    targets: Any,
    reports: Any = None,
    *,
    truth: Any = None,
    prior: Any = None,
    times: int = 1,
    people: int = PEOPLE,
    costs: bool = True,
    seed: int = 0,
) -> Advice:
    """Channel parameters that meet the targets, kept as they are where they do already.

    ``targets``: "5% to 50%" (all reports of a person together), "age: 5% to 50%", "age: 20 at 95%", or several.
    Beliefs come from ``prior`` (by attribute), or are reconstructed from ``reports`` (or ``truth``), else are flat.
    ``people``: the size of the survey whose accuracy is told; with ``truth`` that holds a class, also a tree's.

    >>> import sfumato as sf
    >>> age = sf.Gaussian(sf.Interval(20, 80), privacy=1.0)
    >>> sf.advise(age, "5% to 50%", costs=False).channel.guarantee().gamma
    18.99
    """
    plan = subject if isinstance(subject, Plan) else _plan_of(subject)
    audited = subject_of(plan)
    goals = [read_target(target) for target in (targets if isinstance(targets, (list, tuple)) else [targets])]
    rng = np.random.default_rng(seed)
    population = _population(audited, reports, truth, rng)
    priors = _beliefs(audited, population, prior, isinstance(subject, Plan))
    _check_names(goals, audited)
    chosen = _choose(audited, goals, priors, times, population)
    proposed = _with_channels(plan, audited, chosen)
    after = subject_of(proposed)
    stated = after.guarantees({})
    beliefs = {name: read_prior(after.channels[name], prior) for name, prior in priors.items()}
    around = _blurred(population, chosen)
    verdicts = [judge_target(goal, stated, after.channels, beliefs, times, around) for goal in goals]
    told = costs_of(audited.channels, chosen, priors, people, rng) if costs else []
    if costs and truth is not None and plan.target is not None:
        told.append(_tree_cost(plan, proposed, truth, seed))
    return Advice(proposed, _changes(plan, proposed), tuple(verdicts), tuple(told))


def _plan_of(channel: Channel) -> Plan:
    return Plan(channel.kind, {ONLY: Attribute(ONLY, channel.domain, channel)})


def _population(audited: Subject, reports: Any, truth: Any, rng: np.random.Generator) -> Population | None:
    if reports is None and truth is None:
        return None
    seen = None if reports is None else audited.columns(reports, levels=True)
    known = None if truth is None else audited.columns(truth, levels=False)
    return believed_people(audited.channels, seen, known, 500, rng)


def _beliefs(audited: Subject, population: Population | None, prior: Any, by_name: bool) -> dict[str, Floats]:
    found = {} if population is None else {name: each.prior for name, each in population.targets.items()}
    given = {} if prior is None else prior if by_name else {ONLY: prior}
    return {**found, **{name: read_prior(audited.channels[name], belief) for name, belief in given.items()}}


def _check_names(goals: Sequence[Goal], audited: Subject) -> None:
    for goal in goals:
        if goal.attribute is not None and goal.attribute not in audited.channels:
            known = ", ".join(audited.channels)
            raise ValueError(f"target names {goal.attribute!r}, which has no channel; there are {known}")


def _choose(
    audited: Subject,
    goals: Sequence[Goal],
    priors: Mapping[str, Floats],
    times: int,
    population: Population | None,
) -> dict[str, Channel]:
    """First every γ is brought below its limit, then noise grows until every width is reached."""
    limits = gamma_limits({name: channel.gamma for name, channel in audited.channels.items()}, goals, times)
    chosen = {
        name: bounded_channel(channel, limits[name]) if name in limits else channel
        for name, channel in audited.channels.items()
    }
    for goal in goals:
        if isinstance(goal, WidthTarget):
            name = goal.attribute

            def reached(channel: Channel, goal: WidthTarget = goal) -> float:
                belief = _moved(priors, goal.attribute, channel)
                around = _blurred(population, chosen)
                return width_reached(channel, belief, goal.confidence, around, goal.attribute)

            chosen[name] = wide_channel(chosen[name], goal, reached, name in limits)
    return chosen


def gamma_limits(gammas: Mapping[str, float], goals: Sequence[Goal], times: int = 1) -> dict[str, float]:
    """The largest γ each attribute may have, for the attributes that a belief target touches.

    A limit on all reports together is shared out equally in ln γ; what an attribute does not use goes to the others.
    """
    limits: dict[str, float] = {}
    for goal in goals:
        if isinstance(goal, BeliefTarget) and goal.attribute is not None:
            limits[goal.attribute] = min(limits.get(goal.attribute, math.inf), _strictly(goal.gamma) ** (1 / times))
    for goal in goals:
        if isinstance(goal, BeliefTarget) and goal.attribute is None:
            wanted = {name: min(gamma, limits.get(name, math.inf)) for name, gamma in gammas.items()}
            share = _equal_share(wanted, math.log(_strictly(goal.gamma)) / times)
            limits.update({name: min(limits.get(name, math.inf), share) for name in gammas})
    return limits


def _equal_share(wanted: Mapping[str, float], budget: float) -> float:
    """The γ at which Σ min(ln γ_j, ln γ) equals the budget."""
    needs = sorted(math.log(gamma) if math.isfinite(gamma) else math.inf for gamma in wanted.values())
    for place, need in enumerate(needs):
        share = budget / (len(needs) - place)
        if need > share:
            return math.exp(share)
        budget -= need
    return math.exp(needs[-1])


def _strictly(gamma: float) -> float:
    """Just below the γ at which the breach becomes reachable."""
    return gamma * (1 - 1e-6)


def _moved(priors: Mapping[str, Floats], name: str, channel: Channel) -> Floats | None:
    """The belief on the channel's own grid; None without one."""
    return read_prior(channel, priors[name]) if name in priors else None


def _blurred(population: Population | None, chosen: Mapping[str, Channel]) -> Population | None:
    """The same people with the channels chosen so far."""
    if population is None:
        return None
    targets = {
        name: replace(each, channel=chosen[name], prior=read_prior(chosen[name], each.prior))
        for name, each in population.targets.items()
    }
    return replace(population, targets=targets)


def _with_channels(plan: Plan, audited: Subject, chosen: Mapping[str, Channel]) -> Plan:
    attributes = {
        name: replace(each, channel=chosen[name])
        if name in chosen and chosen[name] != audited.channels[name]
        else each
        for name, each in plan.attributes.items()
    }
    return Plan(plan.name, attributes, plan.description)


def _changes(before: Plan, after: Plan) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    specs = {
        name: (old.channel.to_spec(), new.channel.to_spec())
        for name, old in before.attributes.items()
        if (new := after.attributes[name]).channel is not None and old.channel is not None
    }
    return {name: pair for name, pair in specs.items() if pair[0] != pair[1]}


def _tree_cost(before: Plan, after: Plan, truth: Any, seed: int) -> Cost:
    old, clean = tree_accuracy(before, truth, np.random.default_rng(seed))
    new, _ = tree_accuracy(after, truth, np.random.default_rng(seed))
    return Cost(str(before.target), "the share that a decision tree predicts right", old, new, clean)


def _spec(spec: Mapping[str, Any]) -> str:
    designs = {f"rho of {design['size']}": design["rho"] for design in spec.get("designs", ())}
    plain = {key: value for key, value in spec.items() if key not in ("channel", "designs")}
    given = ", ".join(f"{key} = {value}" for key, value in {**designs, **plain}.items())
    return f"{spec['channel']}{f' ({given})' if given else ''}"
