"""`advise` proposes channels that meet privacy targets, and measures how much accuracy they cost."""

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
from sfumato.privacy.targets import Exposure, TargetVerdict, WidthTarget, judge_target, read_targets
from sfumato.prose import listed, percent
from sfumato.reconstruction import Estimate, mean_error, reconstruct
from sfumato.tables import frame_like, read_columns

PEOPLE = 10_000
"""The size of the survey whose accuracy is measured, unless another one is given. By judgement, a survey of usual size;
a larger one makes the errors before and after smaller, hardly their ratio."""
TREE_PEOPLE = 4000
"""The people that a tree learns from, and as many that judge it. By judgement: an accuracy measured on 4000 people is
known to less than a percentage point; more take longer than advice should."""
ROUNDS = 10
"""The simulated surveys whose errors are averaged. By judgement: their mean is known to about a tenth; more of them
take time in proportion."""


@dataclass(frozen=True)
class Cost:
    """One measure of accuracy, under the present plan and under the proposed one, as shares."""

    attribute: str
    measure: str  # in words, such as "the distribution's error from 10,000 reports"
    before: float  # with the present channel
    after: float  # with the proposed channel
    clean: float | None = None  # from true values; None: not measured

    def __str__(self) -> str:
        clean = "" if self.clean is None else f" ({percent(self.clean, 2)} without blur)"
        change = f"goes from {percent(self.before, 2)} to {percent(self.after, 2)}"
        return f"{self.attribute}: {self.measure} {change}{clean}."

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as a dict for JSON, with its sentence under "text"."""
        return {**vars(self), "text": str(self)}


@dataclass(frozen=True, eq=False)
class Advice:
    """The answer of `advise`: a proposed plan, what changes, whether it meets the targets, and what it costs.

    ``plan``: the proposed plan; ``changes``: by attribute whose channel changes, its specification before and after;
    ``verdicts``: the verdict on each target under the proposed plan; ``costs``: measures of accuracy before and after.

    >>> import sfumato as sf
    >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=99)
    >>> advice = sf.advise(coin, "5% to 50%", costs=False)
    >>> advice.met
    True
    >>> str(advice).splitlines()[0]
    'answer: randomized-response (gamma = 99.0) becomes randomized-response (gamma = 18.99)'
    """

    plan: Plan
    changes: dict[str, tuple[dict[str, Any], dict[str, Any]]]
    verdicts: tuple[TargetVerdict, ...]
    costs: tuple[Cost, ...]

    @property
    def met(self) -> bool:
        """Whether the proposed plan meets every target."""
        return all(verdict.met for verdict in self.verdicts)

    @property
    def channel(self) -> Channel:
        """The proposed channel, where advice was asked for a single channel; ValueError for a plan of several."""
        (only,) = self.plan.attributes.values()
        assert isinstance(only.channel, Channel)
        return only.channel

    def __str__(self) -> str:
        changed = [f"{name}: {_spec_text(old)} becomes {_spec_text(new)}" for name, (old, new) in self.changes.items()]
        unchanged = "Nothing has to change." if self.met else "No change of a single channel is enough."
        lines = [*(changed or [unchanged]), "", *map(str, self.verdicts)]
        return "\n".join([*lines, *(["", "What it costs", *map(str, self.costs)] if self.costs else [])])

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as a dict for JSON, with its sentences and the proposed plan."""
        return {
            "met": self.met,
            "changes": {name: {"before": old, "after": new} for name, (old, new) in self.changes.items()},
            "targets": [verdict.to_dict() for verdict in self.verdicts],
            "costs": [cost.to_dict() for cost in self.costs],
            "plan": self.plan.to_dict(),
        }


def _spec_text(spec: Mapping[str, Any]) -> str:
    """Write a channel's specification (a dict of its kind and parameters) as text: gaussian (privacy = 1.0)."""
    designs = {f"ρ of {design['size']}": design["rho"] for design in spec.get("designs", ())}
    plain = {key: value for key, value in spec.items() if key not in ("channel", "designs")}
    parameters = ", ".join(f"{key} = {_value_text(value)}" for key, value in {**designs, **plain}.items())
    return f"{spec['channel']}{f' ({parameters})' if parameters else ''}"


def _value_text(value: Any) -> str:
    """Write one parameter of a channel's specification as text: a number, a channel inside a channel, or a mapping."""
    if not isinstance(value, Mapping):
        return str(value)
    if "channel" in value:
        return _spec_text(value)
    return listed(f"{key} {_value_text(part)}" for key, part in value.items())


def advise(
    subject: Plan | Mechanism, targets: Any, reports: Any = None, *, truth: Any = None, prior: Any = None,
    means: Any = (), times: int = 1, people: int = PEOPLE, costs: bool = True, seed: int = 0,
) -> Advice:
    """Propose channels that meet privacy targets; a channel that already does so is kept.

    ``subject``: a plan, or one channel. ``targets``: "5% to 50%" (no belief of 5 % reaches 50 % by all reports of a
    person together), "age: 5% to 50%" (by one attribute's report), "age: 20 at 95%" (a usual report leaves no interval
    shorter than 20 with 95 % confidence), a `BeliefTarget` or `WidthTarget`, or a list of these.

    ``reports``: a table of reports, from which beliefs and correlations are reconstructed; ``truth``: a clean table in
    its place, in which a plan's class column lets the accuracy of a tree be measured too. ``prior``: beliefs by
    attribute (of one channel, the belief), in place of reconstructed or flat ones. ``means``: the attributes of which
    only the mean is wanted (of one channel: True), which get the channel with the smallest error of a mean. ``times``:
    how often everybody answers with fresh noise. ``people``: the size of the survey whose accuracy is measured.
    ``costs``: whether accuracy is measured at all. ``seed``: of all draws, so that a call repeats itself.

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
    has_table = reports is not None or truth is not None
    rng = np.random.default_rng(seed)
    population = advised.draw_population(reports, truth, 1, rng) if has_table else None  # for beliefs and covariance
    reconstructed = {} if population is None else {name: each.prior for name, each in population.targets.items()}
    exposure = Exposure(advised.channels, {**reconstructed, **advised.beliefs(prior)}, population, times)

    wanted = _read_means(means, advised.channels)
    chosen = propose(exposure, goals, wanted, plan.drawn, plan.questions_each)
    changed = {name: channel for name, channel in chosen.items() if channel != advised.channels[name]}
    channels = {name: changed.get(name, each.channel) for name, each in plan.attributes.items()}
    attributes = {name: replace(each, channel=channels[name]) for name, each in plan.attributes.items()}
    proposed = replace(plan, attributes=attributes)
    total = (changed_subject := subject_of(proposed)).total({}, truth)
    stated, after = changed_subject.guarantees(total), replace(exposure.with_channels(chosen), total=total)
    verdicts = tuple(judge_target(goal, stated, after) for goal in goals)

    measured: list[Cost] = []
    if costs and changed:
        for name in changed:
            measured += _measure_costs(name, exposure, chosen[name], people, seed, name in wanted)
        if truth is not None and plan.target is not None:
            measured.append(_measure_tree_cost(plan, proposed, truth, seed))
    specs = {name: (advised.mechanisms[name].to_spec(), channel.to_spec()) for name, channel in changed.items()}
    return Advice(proposed, specs, verdicts, tuple(measured))


def _read_means(means: Any, channels: Mapping[str, Channel]) -> list[str]:
    """Return the argument ``means=`` of `advise` as a list of names: numeric attributes of which only means are wanted.

    True stands for all ``channels``, a text for one name. ValueError: a name has no channel of its own or is no number.
    """
    names = list(channels) if means is True else [means] if isinstance(means, str) else list(means or ())
    for name in names:
        if name not in channels:
            raise ValueError(f"means names {name!r}, which has no channel of its own; there are {', '.join(channels)}")
        if not isinstance(channels[name].domain, Interval):
            raise ValueError(f"means names {name!r}, which is no number; categories have shares, leave it out")
    return names


# --- costs --------------------------------------------------------------------------------------------------------


def _measure_costs(name: str, exposure: Exposure, new: Channel, people: int, seed: int, mean_alone: bool) -> list[Cost]:
    """Measure the accuracy from ``people`` reports of one attribute, through its present and through a new channel.

    Returns a list of costs. Of baskets they are the smallest share of people at which an itemset can be found; with
    ``mean_alone`` the error of the mean, as a share of the range; else the error of the reconstructed distribution,
    with the same draws for both channels.
    """
    old, prior = exposure.channels[name], exposure.priors.get(name)
    if isinstance(old, SelectASize) and isinstance(new, SelectASize):
        before, after = (channel.lowest_discoverable_support(people) for channel in (old, new))
        measure = "lowest discoverable support of {} items in {:,} reports"
        return [Cost(name, measure.format(k, people), before[k], after[k]) for k in after]
    if mean_alone:
        crowds = [read_prior(channel, prior) for channel in (old, new)]
        errors = [mean_error(channel, crowd, people) for channel, crowd in zip((old, new), crowds, strict=True)]
        shares = [error / new.domain.width for error in errors]  # type: ignore[union-attr]
        return [Cost(name, f"the mean's error, of the range, from {people:,} reports", *shares)]
    errors = [_reconstruction_error(channel, _crowd_shares(channel, prior), people, seed) for channel in (old, new)]
    return [Cost(name, f"the distribution's error from {people:,} reports", *errors)]


def _reconstruction_error(channel: Channel, prior: Floats, people: int, seed: int) -> float:
    """Return the mean error of a distribution that is reconstructed from ``people`` simulated reports.

        ½·Σ|p̂ − p| over the cells of the estimate (intervals of numbers, or categories),

    averaged over ROUNDS surveys of people spread as ``prior`` over true codes (a probability for each code).
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


def _crowd_shares(channel: Channel, prior: Floats | None) -> Floats:
    """Return how the simulated people are spread over the codes of a channel's answers: an array of probabilities.

    They are ``prior``, read on this channel's grid; None: a triangle, since an even crowd has nothing to reconstruct.
    """
    if prior is not None:
        return read_prior(channel, prior)
    size = channel.inputs.size
    triangle = np.minimum(np.arange(1, size + 1), np.arange(size, 0, -1)).astype(float)
    return np.asarray(triangle / triangle.sum())


def _measure_tree_cost(before: Plan, after: Plan, truth: Any, seed: int) -> Cost:
    """Measure how often a decision tree predicts the plan's class right, under the plans ``before`` and ``after``.

    ``truth``: a table of true answers, from which reports are made and on which trees are judged.
    """
    (old, clean), (new, _) = (_tree_accuracy(plan, truth, np.random.default_rng(seed)) for plan in (before, after))
    return Cost(str(before.target), "the share that a decision tree predicts right", old, new, clean)


def _tree_accuracy(plan: Plan, truth: Any, rng: np.random.Generator) -> tuple[float, float]:
    """Return (blurred, clean): the accuracy, on true values, of a tree fitted to reports and one fitted to truth.

    ``truth``: the table of true values, of which half trains and half judges. Baskets and numbers that are blurred
    together are left out, because trees do not read them.
    """
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
