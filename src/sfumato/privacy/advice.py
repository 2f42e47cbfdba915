"""`advise`: channels that meet a target, and what they cost in accuracy: how well the crowd can still be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.channels import Channel, Mechanism, SelectASize
from sfumato.domain import Floats, Interval
from sfumato.guarantee.statement import read_prior
from sfumato.plan import Plan
from sfumato.privacy.proposals import propose
from sfumato.privacy.subject import subject_of
from sfumato.privacy.targets import Asked, Verdict, WidthTarget, judge_target, read_targets
from sfumato.prose import listed, percent
from sfumato.reconstruction import Estimate, mean_error, reconstruct
from sfumato.tables import frame_like, read_columns

PEOPLE = 10_000
KNOWN_PEOPLE = 500
TREE_PEOPLE = 4000
ROUNDS = 10


@dataclass(frozen=True)
class Cost:
    """One measure of accuracy under the plan as it is and as it is proposed; without blur where that is known."""

    attribute: str
    measure: str
    before: float
    after: float
    clean: float | None = None

    def __str__(self) -> str:
        clean = "" if self.clean is None else f" ({percent(self.clean, 2)} without blur)"
        change = f"goes from {percent(self.before, 2)} to {percent(self.after, 2)}"
        return f"{self.attribute}: {self.measure} {change}{clean}."

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "text": str(self)}


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
        unchanged = "Nothing has to change." if self.met else "No change of a single channel is enough."
        lines = [*(changed or [unchanged]), "", *map(str, self.verdicts)]
        return "\n".join([*lines, *(["", "What it costs", *map(str, self.costs)] if self.costs else [])])

    def to_dict(self) -> dict[str, Any]:
        return {
            "met": self.met,
            "changes": {name: {"before": old, "after": new} for name, (old, new) in self.changes.items()},
            "targets": [verdict.to_dict() for verdict in self.verdicts],
            "costs": [cost.to_dict() for cost in self.costs],
            "plan": self.plan.to_dict(),
        }


def _spec(spec: Mapping[str, Any]) -> str:
    """A specification in words: gaussian (privacy = 1.0)."""
    designs = {f"ρ of {design['size']}": design["rho"] for design in spec.get("designs", ())}
    plain = {key: value for key, value in spec.items() if key not in ("channel", "designs")}
    given = ", ".join(f"{key} = {_value(value)}" for key, value in {**designs, **plain}.items())
    return f"{spec['channel']}{f' ({given})' if given else ''}"


def _value(value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(value)
    return _spec(value) if "channel" in value else listed(f"{key} {_value(part)}" for key, part in value.items())


def advise(
    subject: Plan | Mechanism, targets: Any, reports: Any = None, *, truth: Any = None, prior: Any = None,
    means: Any = (), times: int = 1, people: int = PEOPLE, costs: bool = True, seed: int = 0,
) -> Advice:
    """Channel parameters that meet the targets, kept as they are where they do already.

    ``targets``: "5% to 50%" (all reports of a person together), "age: 5% to 50%", "age: 20 at 95%", or several.
    ``means``: attributes of which only the mean is wanted (of one channel: True), and is told best.
    Beliefs come from ``prior`` (by attribute), or are reconstructed from ``reports`` (or ``truth``), else are flat.
    ``people``: the size of the survey whose accuracy is told; with ``truth`` that holds a class, also a tree's.

    >>> import sfumato as sf
    >>> age = sf.Gaussian(sf.Interval(20, 80), privacy=1.0)
    >>> sf.advise(age, "5% to 50%", costs=False).channel.guarantee().gamma
    18.99
    """
    advised = subject_of(subject)
    plan, goals = advised.plan, read_targets(targets, advised.domains)
    for goal in goals:
        if isinstance(goal, WidthTarget) and goal.attribute not in advised.channels:
            raise ValueError(f"target names {goal.attribute!r}, which is blurred with others; change their ratio=")
    known = reports is not None or truth is not None
    population = advised.people(reports, truth, KNOWN_PEOPLE, np.random.default_rng(seed)) if known else None
    seen = {} if population is None else {name: each.prior for name, each in population.targets.items()}
    asked = Asked(advised.channels, {**seen, **advised.beliefs(prior)}, population, times)

    wanted = _read_means(means, advised.channels)
    chosen = propose(asked, goals, wanted, plan.drawn, plan.questions_each)
    changed = {name: channel for name, channel in chosen.items() if channel != advised.channels[name]}
    asked_so = {name: replace(each, channel=changed.get(name, each.channel)) for name, each in plan.attributes.items()}
    proposed = replace(plan, attributes=asked_so)
    total = (changed_subject := subject_of(proposed)).total({}, truth)
    stated, through = changed_subject.guarantees(total), replace(asked.through(chosen), total=total)
    verdicts = tuple(judge_target(goal, stated, through) for goal in goals)

    told: list[Cost] = []
    if costs and changed:
        for name in changed:
            told += _costs(name, asked, chosen[name], people, seed, name in wanted)
        if truth is not None and plan.target is not None:
            told.append(_tree_cost(plan, proposed, truth, seed))
    specs = {name: (advised.mechanisms[name].to_spec(), channel.to_spec()) for name, channel in changed.items()}
    return Advice(proposed, specs, verdicts, tuple(told))


def _read_means(means: Any, channels: Mapping[str, Channel]) -> list[str]:
    """The attributes whose mean alone is wanted: numbers, each with a channel of its own."""
    names = list(channels) if means is True else [means] if isinstance(means, str) else list(means or ())
    for name in names:
        if name not in channels:
            raise ValueError(f"means names {name!r}, which has no channel of its own; there are {', '.join(channels)}")
        if not isinstance(channels[name].domain, Interval):
            raise ValueError(f"means names {name!r}, which is no number; categories have shares, leave it out")
    return names


# --- costs --------------------------------------------------------------------------------------------------------


def _costs(name: str, asked: Asked, new: Channel, people: int, seed: int, mean_alone: bool) -> list[Cost]:
    """What can be read from ``people`` reports through the old channel and through the new one, by the same draws."""
    old, prior = asked.channels[name], asked.priors.get(name)
    if isinstance(old, SelectASize) and isinstance(new, SelectASize):
        before, after = (channel.lowest_discoverable_support(people) for channel in (old, new))
        measure = "lowest discoverable support of {} items in {:,} reports"
        return [Cost(name, measure.format(k, people), before[k], after[k]) for k in after]
    if mean_alone:
        crowds = [read_prior(channel, prior) for channel in (old, new)]
        found = (mean_error(channel, crowd, people) for channel, crowd in zip((old, new), crowds, strict=True))
        shares = [error / new.domain.width for error in found]  # type: ignore[union-attr]
        return [Cost(name, f"the mean's error, of the range, from {people:,} reports", *shares)]
    errors = [_reconstruction_error(channel, _crowd(channel, prior), people, seed) for channel in (old, new)]
    return [Cost(name, f"the distribution's error from {people:,} reports", *errors)]


def _reconstruction_error(channel: Channel, prior: Floats, people: int, seed: int) -> float:
    """The share of people whom a reconstruction from ``people`` reports puts into the wrong interval or category.

    ½·Σ|p̂ − p| over 20 intervals (every whole number where they are few), the mean of a few simulated surveys.
    """
    rng, errors = np.random.default_rng(seed), []
    for _ in range(ROUNDS):
        true = rng.choice(prior.size, size=people, p=prior)
        estimate: Estimate = reconstruct(channel.randomize(channel.inputs.decode(true), rng), channel)
        share, edges = prior, estimate.edges
        if edges is not None:
            values = np.asarray(channel.inputs.decode(np.arange(prior.size)), dtype=float)
            share = np.histogram(np.clip(values, edges[0], edges[-1]), edges, weights=prior)[0]
        errors.append(np.abs(estimate.probabilities - share).sum() / 2)
    return float(np.mean(errors))


def _crowd(channel: Channel, prior: Floats | None) -> Floats:
    """The belief on this channel's own grid; without one an uneven crowd, or there would be nothing to read."""
    if prior is not None:
        return read_prior(channel, prior)
    size = channel.inputs.size
    triangle = np.minimum(np.arange(1, size + 1), np.arange(size, 0, -1)).astype(float)
    return np.asarray(triangle / triangle.sum())


def _tree_cost(before: Plan, after: Plan, truth: Any, seed: int) -> Cost:
    (old, clean), (new, _) = (_tree_accuracy(plan, truth, np.random.default_rng(seed)) for plan in (before, after))
    return Cost(str(before.target), "the share that a decision tree predicts right", old, new, clean)


def _tree_accuracy(plan: Plan, truth: Any, rng: np.random.Generator) -> tuple[float, float]:
    """(blurred, clean): accuracy on clean people of trees that learned from reports and from the true values."""
    from sfumato.learners.tree import TreeClassifier

    assert plan.target is not None
    advised = subject_of(plan)
    hidden = {*advised.baskets, *advised.rows}
    shown = Plan(plan.name, {name: each for name, each in plan.attributes.items() if name not in hidden})
    columns = read_columns(truth, list(shown.attributes))
    chosen = rng.permutation(len(columns[plan.target]))[: 2 * TREE_PEOPLE]
    learn, judge = (
        frame_like("pyarrow", {name: values[part] for name, values in columns.items()})
        for part in np.array_split(chosen, 2)
    )
    label = shown.attributes[plan.target].channel
    blurred = (shown.randomize(learn, rng), shown.channels, label if isinstance(label, Channel) else None)
    scores = []
    for table, channels, label_channel in (blurred, (learn, None, None)):
        model = TreeClassifier(channels, "byclass", label_channel=label_channel, prune=True)
        model.fit(table.drop_columns([plan.target]), table.column(plan.target).to_numpy())
        guess = model.predict(judge.drop_columns([plan.target]))
        scores.append(float((guess == judge.column(plan.target).to_numpy()).mean()))
    return scores[0], scores[1]
