"""The people that the attacks are tried on, and what an adversary believes about them.

With the true data at hand they are a sample of it. With reports only they are drawn from what anybody can reconstruct:
each attribute's distribution, tied by the correlations that the reports show (a gaussian copula). With neither they are
spread evenly. The adversary's belief is always the one reconstructed from reports, as a real adversary has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sfumato.channels import Channel
from sfumato.domain import Codes, Floats, Interval
from sfumato.guarantee.statement import read_prior
from sfumato.privacy.belief import CoarseLaw, coarse_law
from sfumato.reconstruction import Estimate, reconstruct

ENOUGH_REPORTS = 20
CONFIDENCE = 0.95
Columns = Mapping[str, NDArray[Any]]
NOBODY: Codes = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Attacked:
    """One attribute under attack: its channel, the adversary's belief over the true codes, and the people's codes."""

    name: str
    channel: Channel
    prior: Floats
    true_codes: Codes = field(default_factory=lambda: NOBODY)
    report_codes: Codes = field(default_factory=lambda: NOBODY)

    @property
    def coarse(self) -> CoarseLaw:
        return coarse_law(self.channel)

    @property
    def law(self) -> Floats:
        return self.coarse.law

    @property
    def belief(self) -> Floats:
        """The adversary's belief over the cells of the law."""
        return self.coarse.belief(self.prior)

    @property
    def true(self) -> Codes:
        """The cell of every true value."""
        return self.coarse.true_cell[self.true_codes]

    @property
    def reports(self) -> Codes:
        """The cell of every report."""
        return self.coarse.report_cell[self.report_codes]

    @property
    def numeric(self) -> bool:
        return isinstance(self.channel.domain, Interval)

    @property
    def true_numbers(self) -> Floats:
        return np.asarray(self.channel.inputs.decode(self.true_codes), dtype=float)

    def draw(self, rng: np.random.Generator) -> Codes:
        """Fresh report codes for the people's true codes."""
        return self.channel.encode_reports(self.channel.randomize(self.channel.inputs.decode(self.true_codes), rng))

    def through(self, channel: Channel) -> Attacked:
        """The same attribute, asked through another channel; its people are not drawn again."""
        return Attacked(self.name, channel, read_prior(channel, self.prior))

    @cached_property
    def stated_width(self) -> float | None:
        """The interval width at 95 % that the channel's guarantee states."""
        return self.channel.guarantee().interval(CONFIDENCE)

    def linear(self) -> tuple[float, float, float]:
        """(a, b, v): reports as a + b·x plus noise of variance v, the best such reading under the belief."""
        x, y, belief = self.coarse.values, self.coarse.report_values, self.belief
        mean_report = y @ self.law
        center, middle = float(belief @ x), float(belief @ mean_report)
        spread = float(belief @ (x - center) ** 2)
        slope = float(belief @ ((x - center) * (mean_report - middle))) / spread
        noise = float(belief @ ((y - middle) ** 2 @ self.law)) - slope**2 * spread
        return middle - slope * center, slope, max(noise, 1e-300)

    def unblurred(self, reports: Floats) -> Floats:
        """Reports in units of the true value, without bias: (y − a)/b."""
        shift, slope, _ = self.linear()
        return (reports - shift) / slope

    @property
    def noise(self) -> float:
        """The variance of the noise in units of the true value: v/b²."""
        _, slope, noise = self.linear()
        return noise / slope**2


@dataclass(frozen=True, eq=False)
class Population:
    """Targets that the attacks run on, the clear columns beside them, and where the people come from."""

    targets: dict[str, Attacked]
    clear: dict[str, NDArray[Any]]
    source: str
    covariance: Floats | None = None

    @property
    def numeric(self) -> list[Attacked]:
        return [target for target in self.targets.values() if target.numeric]

    @property
    def stated_widths(self) -> dict[str, float | None]:
        return {target.name: target.stated_width for target in self.numeric}

    @property
    def noise(self) -> Floats:
        """The covariance of the noise in the numeric reports, in units of the true values."""
        return np.diag([target.noise for target in self.numeric])

    def through(self, channels: Mapping[str, Channel]) -> Population:
        """What is known of the people, asked through these channels instead of their own."""
        return replace(self, targets={name: each.through(channels[name]) for name, each in self.targets.items()})


def believed_people(
    channels: Mapping[str, Channel],
    reports: Columns | None,
    truth: Columns | None,
    people: int,
    rng: np.random.Generator,
) -> Population:
    """People to attack; ``reports`` and ``truth`` hold the channels' columns and any clear ones beside them."""
    seen, table = reports, reports or {}
    if truth is not None:
        known = _complete(truth, channels)
        seen, table = {name: each.randomize(truth[name][known], rng) for name, each in channels.items()}, truth
        places = rng.choice(known, size=min(people, known.size), replace=False)
    priors = {name: read_prior(channel, _estimate(seen, name, channel)) for name, channel in channels.items()}
    believed = {name: Attacked(name, channel, priors[name]) for name, channel in channels.items()}
    covariance = None if seen is None else _covariance(list(believed.values()), seen)
    beside = {name: values for name, values in table.items() if name not in channels}
    if truth is not None:
        true = {name: channel.encode(truth[name][places]) for name, channel in channels.items()}
        source = f"{places.size:,} people of the true data that was given"
    else:
        count = people if reports is None else len(next(iter(reports.values())))
        true = _drawn(believed, covariance, min(people, count), rng)
        places = rng.permutation(count if beside else 0)[:people]
        how = f"reconstructed from {count:,} reports" if reports is not None else "spread evenly"
        source = f"{min(people, count):,} simulated people, {how}"
    there = {name: replace(target, true_codes=true[name]) for name, target in believed.items()}
    asked = {name: replace(target, report_codes=target.draw(rng)) for name, target in there.items()}
    return Population(asked, {name: values[places] for name, values in beside.items()}, source, covariance)


def _complete(columns: Columns, channels: Mapping[str, Channel]) -> Codes:
    """The places of the people who have every value."""
    known = np.flatnonzero(np.all([each.encode(columns[name]) >= 0 for name, each in channels.items()], axis=0))
    if known.size < ENOUGH_REPORTS:
        raise ValueError(f"only {known.size} people have every value; the attacks need {ENOUGH_REPORTS} or more")
    return known


def _estimate(seen: Columns | None, name: str, channel: Channel) -> Estimate | None:
    """The distribution that anybody can reconstruct; None where there are too few reports."""
    if seen is None or (channel.encode_reports(seen[name]) >= 0).sum() < ENOUGH_REPORTS:
        return None
    found: Estimate = reconstruct(seen[name], channel)
    return found


def _covariance(targets: list[Attacked], seen: Columns) -> Floats | None:
    """The covariance of the true numbers that the reports show, in the order of the numeric attributes."""
    numeric = [target for target in targets if target.numeric]
    if len(numeric) < 2:
        return None
    codes = [target.channel.encode_reports(seen[target.name]) for target in numeric]
    numbers = [each.channel.outputs.decode(own).astype(float) for each, own in zip(numeric, codes, strict=True)]
    rows = np.column_stack([each.unblurred(own) for each, own in zip(numeric, numbers, strict=True)])
    rows = rows[~np.isnan(rows).any(axis=1)]
    if len(rows) < ENOUGH_REPORTS:
        return None
    return true_covariance(rows, np.diag([target.noise for target in numeric]))


def true_covariance(reports: Floats, noise: Floats) -> Floats:
    """Cov(x) = Cov(y) − Cov(e) for y = x + e, one row a person; eigenvalues that sampling pushed below 0 are 0."""
    found = np.cov(reports, rowvar=False) - noise
    values, vectors = np.linalg.eigh((found + found.T) / 2)
    return np.asarray(vectors * np.maximum(values, 0.0) @ vectors.T)


def _drawn(
    targets: Mapping[str, Attacked], covariance: Floats | None, people: int, rng: np.random.Generator
) -> dict[str, Codes]:
    """True codes: each attribute from its belief, numbers tied by the reports' correlations."""
    places = {name: rng.random(people) for name in targets}
    if covariance is not None:
        numeric = [name for name, target in targets.items() if target.numeric]
        deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
        values, vectors = np.linalg.eigh(covariance / np.outer(deviation, deviation))
        normal = rng.standard_normal((people, len(numeric))) @ (vectors * np.sqrt(np.maximum(values, 0))).T
        places.update(zip(numeric, ndtr(normal).T, strict=True))
    return {
        name: np.minimum(np.searchsorted(np.cumsum(each.prior), places[name]), each.prior.size - 1).astype(np.int64)
        for name, each in targets.items()
    }
