"""A simulated survey: because the truth is known, every estimate and every model can be held against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Mechanism
from sfumato.domain import Floats
from sfumato.plan import Plan
from sfumato.reconstruction import Estimate, estimate_of, intervals_for, shares
from sfumato.shipping.training import classes, estimator, features

SHOWN_RULES = 8


@dataclass(frozen=True, eq=False)
class Comparison:
    """One attribute: the estimate, and in its cells the truth and the bare reports."""

    name: str
    channel: Mechanism
    estimate: Estimate
    truth: Floats
    reported: Floats

    @property
    def error(self) -> float:
        """Total variation distance ½ Σ |estimate − truth|: the share of people put in a wrong place."""
        return float(np.abs(self.estimate.probabilities - self.truth).sum() / 2)

    @property
    def error_of_reports(self) -> float:
        """The same for someone who takes the reports at face value."""
        return float(np.abs(self.reported - self.truth).sum() / 2)

    @property
    def covered(self) -> int:
        """How many 90 % error bars hold the truth."""
        low, high = self.estimate.interval(0.9)
        return int(((low <= self.truth) & (self.truth <= high)).sum())


@dataclass(frozen=True)
class Survey:
    """A plan, the people who answered it (as a PyArrow table), and the reports they sent."""

    plan: Plan
    people: Any
    reports: Any

    @classmethod
    def simulate(
        cls, plan: Plan, draw: Callable[[np.random.Generator], dict[str, NDArray[Any]]], rng: np.random.Generator
    ) -> Survey:
        import pyarrow

        people = pyarrow.table(draw(rng))
        return cls(plan, people, plan.randomize(people, rng=rng))

    @property
    def asked(self) -> dict[str, Mechanism]:
        """The channels of the attributes that have one."""
        return {name: each.channel for name, each in self.plan.attributes.items() if each.channel is not None}

    def compare(self, name: str) -> Comparison:
        """Reconstruct one attribute and hold it against the truth."""
        channel = self.asked[name]
        estimate = estimate_of(name, channel, self.reports, intervals_for(channel.domain))
        truth = shares(self.people.column(name).to_numpy(), channel.domain, estimate.edges)
        reported = shares(self.reports.column(name).to_numpy(), channel.domain, estimate.edges)
        return Comparison(name, channel, estimate, truth, reported)


@dataclass(frozen=True, eq=False)
class Lesson:
    """Accuracies on fresh people whose true values are known, and the tree learned from the reports."""

    target: str
    tested: int
    model: Any
    from_reports: float
    uncorrected: float
    from_truth: float
    largest_class: float

    @property
    def rules(self) -> list[str]:
        return list(self.model.rules()[:SHOWN_RULES])

    def measured(self) -> dict[str, Any]:
        """What goes home with the model."""
        spread = float(np.sqrt(self.from_reports * (1 - self.from_reports) / self.tested))
        return {"method": "joint", "test": {"records": self.tested, "accuracy": self.from_reports, "stderr": spread}}

    def rows(self) -> list[tuple[str, float]]:
        return [
            ("the largest class for everybody", self.largest_class),
            ("a tree from the reports, taken at face value", self.uncorrected),
            ("a tree from the reports", self.from_reports),
            ("a tree from the true values, which nobody has", self.from_truth),
        ]


def learn(survey: Survey, fresh: Any, seed: int) -> Lesson:
    """Train on the survey's reports (and, to compare, on its people), test on people who were not asked."""
    plan = survey.plan
    truth = classes(plan, fresh)
    sources = (("joint", survey.reports), ("none", survey.reports), ("none", survey.people))
    trees = [estimator(how, plan, seed).fit(features(plan, table), classes(plan, table)) for how, table in sources]
    ours, uncorrected, clean = (float(np.mean(tree.predict(features(plan, fresh)) == truth)) for tree in trees)
    largest = float(np.unique(truth, return_counts=True)[1].max() / len(truth))
    return Lesson(str(plan.target), len(truth), trees[0], ours, uncorrected, clean, largest)
