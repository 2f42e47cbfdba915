"""What privacy costs: how well the crowd can still be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.channels import Channel
from sfumato.domain import Floats, Items
from sfumato.guarantee.statement import read_prior
from sfumato.plan import Plan
from sfumato.privacy.population import read_columns
from sfumato.reconstruction import Estimate, reconstruct

ROUNDS = 3


@dataclass(frozen=True)
class Cost:
    """One measure of accuracy under the plan as it is and as it is proposed; without blur where that is known."""

    attribute: str
    measure: str
    before: float
    after: float
    clean: float | None = None

    def __str__(self) -> str:
        clean = "" if self.clean is None else f" ({self.clean:.2%} without blur)"
        return f"{self.attribute}: {self.measure} goes from {self.before:.2%} to {self.after:.2%}{clean}."

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "text": str(self)}


def reconstruction_error(channel: Channel, prior: Floats, people: int, rng: np.random.Generator) -> float:
    """The share of people whom a reconstruction from ``people`` reports puts into the wrong interval or category.

    ½·Σ|p̂ − p| over 20 intervals (every whole number where they are few), the mean of a few simulated surveys.
    """
    errors = []
    for _ in range(ROUNDS):
        true = rng.choice(prior.size, size=people, p=prior)
        estimate: Estimate = reconstruct(channel.randomize(channel.inputs.decode(true), rng), channel)
        errors.append(np.abs(estimate.probabilities - _in_intervals(channel, prior, estimate)).sum() / 2)
    return float(np.mean(errors))


def _in_intervals(channel: Channel, prior: Floats, estimate: Estimate) -> Floats:
    """The belief over the estimate's intervals."""
    if estimate.edges is None:
        return prior
    values = np.asarray(channel.inputs.values, dtype=float)  # type: ignore[union-attr]
    place = np.clip(np.searchsorted(estimate.edges, values, side="right") - 1, 0, estimate.edges.size - 2)
    return np.bincount(place, prior, minlength=estimate.edges.size - 1).astype(float)


def costs_of(
    before: Mapping[str, Channel],
    after: Mapping[str, Channel],
    priors: Mapping[str, Floats],
    people: int,
    rng: np.random.Generator,
) -> list[Cost]:
    """The cost of every attribute whose channel changes."""
    found = []
    for name, new in after.items():
        old = before[name]
        if new == old:
            continue
        if isinstance(new.domain, Items):
            one, two = (channel.lowest_discoverable_support(people) for channel in (old, new))  # type: ignore[attr-defined]
            found += [
                Cost(name, f"lowest discoverable support of {k} items in {people:,} reports", one[k], two[k])
                for k in two
            ]
            continue
        errors = [reconstruction_error(c, _belief(priors, name, c), people, rng) for c in (old, new)]
        found.append(Cost(name, f"the distribution's error from {people:,} reports", errors[0], errors[1]))
    return found


def _belief(priors: Mapping[str, Floats], name: str, channel: Channel) -> Floats:
    """The belief on this channel's own grid; without one an uneven crowd, or there would be nothing to read."""
    if name in priors:
        return read_prior(channel, priors[name])
    size = channel.inputs.size
    triangle = np.minimum(np.arange(1, size + 1), np.arange(size, 0, -1)).astype(float)
    return np.asarray(triangle / triangle.sum())


def tree_accuracy(plan: Plan, truth: Any, rng: np.random.Generator, people: int = 4000) -> tuple[float, float]:
    """(blurred, clean): accuracy on clean people of trees that learned from reports and from the true values."""
    import pyarrow

    from sfumato.mining.tree import TreeClassifier

    if plan.target is None:
        raise ValueError('the plan has no attribute with role = "class"; there is no tree to predict')
    names = [name for name, each in plan.attributes.items() if not isinstance(each.domain, Items)]
    columns = read_columns(truth, names)
    chosen = rng.permutation(len(columns[plan.target]))[: 2 * people]
    half = chosen.size // 2
    learn, judge = (
        pyarrow.table({name: pyarrow.array(values[part].tolist()) for name, values in columns.items()})
        for part in (chosen[:half], chosen[half:])
    )
    shown = Plan(plan.name, {name: plan.attributes[name] for name in names})
    scores = []
    for table, channels in ((shown.randomize(learn, rng), shown.channels), (learn, None)):
        label = shown.attributes[plan.target].channel if channels is not None else None
        model = TreeClassifier(channels, "byclass", label_channel=label if isinstance(label, Channel) else None)
        model.fit(table.drop_columns([plan.target]), table.column(plan.target).to_numpy())
        guess = model.predict(judge.drop_columns([plan.target]))
        scores.append(float((guess == judge.column(plan.target).to_numpy()).mean()))
    return scores[0], scores[1]
