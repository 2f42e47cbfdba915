"""A simulated survey: because the truth is known, every estimate can be held against it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel, Choice
from sfumato.cli.estimates import NINETY_PERCENT, Row, estimate_of, rows_of
from sfumato.cli.plans import asked
from sfumato.domain import Categories, Interval
from sfumato.plan import Plan

INTERVALS = 20


@dataclass(frozen=True)
class Finding:
    """One attribute: the estimate's rows, the truth and the bare reports in the same intervals or categories."""

    name: str
    channel: Channel | Choice
    rows: list[Row]
    truth: NDArray[np.float64]
    reported: NDArray[np.float64]

    @property
    def error(self) -> float:
        """Total variation distance ½ Σ |estimate − truth|: the share of people put in a wrong place."""
        return float(np.abs(np.array([row["probability"] for row in self.rows]) - self.truth).sum() / 2)

    @property
    def error_of_reports(self) -> float:
        """The same for someone who takes the reports at face value."""
        return float(np.abs(self.reported - self.truth).sum() / 2)

    @property
    def covered(self) -> int:
        """How many 90 % error bars hold the truth."""
        away = [abs(row["probability"] - true) for row, true in zip(self.rows, self.truth, strict=True)]
        return sum(gap <= NINETY_PERCENT * row["stderr"] for gap, row in zip(away, self.rows, strict=True))


@dataclass(frozen=True)
class Survey:
    """A plan, the people (as a PyArrow table), and the reports they sent."""

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

    def questions(self) -> list[str]:
        return list(asked(self.plan))

    def find(self, name: str) -> Finding:
        """Reconstruct one attribute and compare."""
        channel = asked(self.plan)[name]
        estimate = estimate_of(name, channel, self.reports, intervals_for(channel.domain))
        truth = shares(self.people.column(name).to_numpy(), channel.domain, estimate.edges)
        reported = shares(self.reports.column(name).to_numpy(), channel.domain, estimate.edges)
        return Finding(name, channel, rows_of(name, estimate), truth, reported)


def intervals_for(domain: Any) -> Any:
    """About twenty intervals for numbers; for whole numbers with the same number of them in each."""
    if not isinstance(domain, Interval):
        return None
    if not domain.integer:
        return INTERVALS
    width = math.ceil((domain.width + 1) / INTERVALS)
    return np.append(np.arange(domain.low - 0.5, domain.high + 0.5, width), domain.high + 0.5)


def shares(values: NDArray[Any], domain: Any, edges: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """The share of values in each category, or in each interval (those beyond the ends count in the end intervals)."""
    if isinstance(domain, Categories):
        counts = np.bincount(domain.encode(values), minlength=domain.size)
    else:
        counts = np.histogram(np.clip(values, domain.low, domain.high), bins=np.asarray(edges))[0]
    return np.asarray(counts / counts.sum(), dtype=np.float64)
