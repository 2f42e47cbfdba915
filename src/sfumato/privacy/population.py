"""The people that the attacks are tried on, and what an adversary believes about them.

With the true data at hand they are a sample of it. With reports only they are drawn from what anybody can reconstruct:
each attribute's distribution, tied by the correlations that the reports show (a gaussian copula). With neither they are
spread evenly. The adversary's belief is always the one reconstructed from reports, as a real adversary has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
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


def no_codes() -> Codes:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Attacked:
    """One attribute under attack: its channel, the adversary's belief over the true codes, and the people's codes."""

    name: str
    channel: Channel
    prior: Floats
    true_codes: Codes = field(default_factory=no_codes)
    report_codes: Codes = field(default_factory=no_codes)

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

    @property
    def stated_width(self) -> float | None:
        """The interval width at 95 % that the channel's guarantee states."""
        return _stated_width(self.channel)

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


@lru_cache(maxsize=32)
def _stated_width(channel: Channel) -> float | None:
    return channel.guarantee().interval(CONFIDENCE)


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

    def noise(self) -> Floats:
        """The covariance of the noise in the numeric reports, in units of the true values."""
        return np.diag([target.noise for target in self.numeric])

    def through(self, channels: Mapping[str, Channel]) -> Population:
        """What is known of the people, asked through these channels instead of their own."""
        moved = {name: self.targets[name].through(channel) for name, channel in channels.items()}
        return replace(self, targets={**self.targets, **moved})


def believed_people(
    channels: Mapping[str, Channel],
    reports: Columns | None,
    truth: Columns | None,
    people: int,
    rng: np.random.Generator,
) -> Population:
    """People to attack; ``reports`` and ``truth`` hold the channels' columns and any clear ones beside them."""
    if truth is not None:
        known = _complete(truth, channels)
        seen: Columns | None = {name: each.randomize(truth[name][known], rng) for name, each in channels.items()}
        chosen = rng.choice(known, size=min(people, known.size), replace=False)
    else:
        seen = reports
    priors = {name: read_prior(channel, _estimate(seen, name, channel)) for name, channel in channels.items()}
    covariance = None if seen is None else _covariance(channels, priors, seen)
    if truth is not None:
        true = {name: channel.encode(truth[name][chosen]) for name, channel in channels.items()}
        clear = {name: values[chosen] for name, values in truth.items() if name not in channels}
        source = f"{chosen.size:,} people of the true data that was given"
    else:
        count = 0 if reports is None else len(next(iter(reports.values())))
        people = people if reports is None else min(people, count)
        true = _drawn(channels, priors, covariance, people, rng)
        beside = {} if reports is None else {name: reports[name] for name in reports if name not in channels}
        some = rng.permutation(count if beside else 0)[:people]
        clear = {name: values[some] for name, values in beside.items()}
        how = f"reconstructed from {count:,} reports" if reports is not None else "spread evenly"
        source = f"{people:,} simulated people, {how}"
    targets = {name: Attacked(name, channel, priors[name], true[name]) for name, channel in channels.items()}
    asked = {name: replace(target, report_codes=target.draw(rng)) for name, target in targets.items()}
    return Population(asked, clear, source, covariance)


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


def _covariance(channels: Mapping[str, Channel], priors: Mapping[str, Floats], seen: Columns) -> Floats | None:
    """The covariance of the true numbers that the reports show, in the order of the numeric attributes."""
    targets = [Attacked(name, channel, priors[name]) for name, channel in channels.items()]
    numeric = [target for target in targets if target.numeric]
    if len(numeric) < 2:
        return None
    rows = np.column_stack([_numbers(target, seen[target.name]) for target in numeric])
    rows = rows[~np.isnan(rows).any(axis=1)]
    if len(rows) < ENOUGH_REPORTS:
        return None
    return true_covariance(rows, np.diag([target.noise for target in numeric]))


def _numbers(target: Attacked, reports: NDArray[Any]) -> Floats:
    """Reports as unbiased numbers, NaN where one is missing."""
    codes = target.channel.encode_reports(reports)
    return target.unblurred(np.asarray(target.channel.outputs.decode(codes), dtype=float))


def true_covariance(reports: Floats, noise: Floats) -> Floats:
    """Cov(x) = Cov(y) − Cov(e) for y = x + e, one row a person; eigenvalues that sampling pushed below 0 are 0."""
    found = np.atleast_2d(np.cov(reports, rowvar=False)) - noise
    values, vectors = np.linalg.eigh((found + found.T) / 2)
    return np.asarray(vectors * np.maximum(values, 0.0) @ vectors.T)


def _drawn(
    channels: Mapping[str, Channel],
    priors: Mapping[str, Floats],
    covariance: Floats | None,
    people: int,
    rng: np.random.Generator,
) -> dict[str, Codes]:
    """True codes: each attribute from its belief, numbers tied by the reports' correlations."""
    places = {name: rng.random(people) for name in channels}
    if covariance is not None:
        numeric = [name for name, channel in channels.items() if isinstance(channel.domain, Interval)]
        deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
        values, vectors = np.linalg.eigh(covariance / np.outer(deviation, deviation))
        normal = rng.standard_normal((people, len(numeric))) @ (vectors * np.sqrt(np.maximum(values, 0))).T
        scale = np.maximum(np.sqrt((vectors**2 * np.maximum(values, 0)).sum(axis=1)), 1e-9)
        places.update(zip(numeric, ndtr(normal / scale).T, strict=True))
    return {
        name: np.minimum(np.searchsorted(np.cumsum(priors[name]), place), priors[name].size - 1).astype(np.int64)
        for name, place in places.items()
    }
