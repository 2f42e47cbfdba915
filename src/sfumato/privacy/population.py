"""The people that the attacks are tried on, and what an adversary believes about them.

With the true data at hand they are a sample of it. With reports only they are drawn from what anybody can reconstruct:
each attribute's distribution, tied by the correlations that the reports show (a gaussian copula). With neither they are
spread evenly. The adversary's belief is always the one reconstructed from reports, as a real adversary has it; a report
turns it into

    P[x | y] = P[y, x]·prior[x] / Σ_u P[y, u]·prior[u],

read on a law as small as an adversary needs it: a fine grid has thousands of codes on both sides, and its whole table
would fill the memory; averages over runs of neighbouring codes, much finer than the noise, lose nothing that a guess
could use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sfumato.channels import Channel
from sfumato.channels.identity import CodeSpace
from sfumato.domain import Categories, Codes, Floats, Grid, Interval
from sfumato.guarantee.statement import read_prior, smallest_sets
from sfumato.reconstruction import Estimate, reconstruct

ENOUGH_REPORTS = 20
CONFIDENCE = 0.95
TRUE_CELLS = 600
REPORT_CELLS = 1500
Columns = Mapping[str, NDArray[Any]]
NOBODY: Codes = np.empty(0, dtype=np.int64)


# --- beliefs ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CoarseLaw:
    """law[report cell, true cell]; which cell every code lies in; the cells' values where they are numbers."""

    law: Floats
    true_cell: Codes
    report_cell: Codes
    values: Floats
    report_values: Floats

    @property
    def step(self) -> float:
        return float(np.diff(self.values).mean()) if self.values.size > 1 else 1.0

    def belief(self, prior: Floats) -> Floats:
        """A belief over true codes as one over true cells."""
        return np.bincount(self.true_cell, prior, minlength=self.law.shape[1]).astype(float)


@lru_cache(maxsize=32)
def coarse_law(channel: Channel) -> CoarseLaw:
    """The law of a channel, in cells where its grids are fine."""
    true, reported = _cells(channel.inputs.size, TRUE_CELLS), _cells(channel.outputs.size, REPORT_CELLS)
    rows = _rows(channel, reported)
    law = np.add.reduceat(rows, np.flatnonzero(np.diff(true, prepend=-1)), axis=1) / np.bincount(true)
    return CoarseLaw(law, true, reported, _means(channel.inputs, true), _means(channel.outputs, reported))


def _cells(size: int, most: int) -> Codes:
    """The cell of every code: itself where there are few, else runs of neighbours."""
    return np.arange(size) * min(size, most) // size


def _rows(channel: Channel, reported: Codes) -> Floats:
    """The law with its reports in cells."""
    outputs = channel.outputs
    if not isinstance(outputs, Grid) or reported[-1] == outputs.size - 1:
        return channel.law()
    edges = outputs.edges[np.flatnonzero(np.diff(reported, prepend=-1))]
    cells = channel.matrix(reported=np.append(edges, outputs.edges[-1]))
    return np.maximum(cells, 0.0)  # differences of running sums can fall a rounding error below zero


def _means(space: CodeSpace, cell: Codes) -> Floats:
    """The mean value of each cell; nothing for labels."""
    if isinstance(space, Categories):
        return np.empty(0)
    return np.asarray(np.bincount(cell, np.asarray(space.values, dtype=float)) / np.bincount(cell))


def posterior(law: Floats, prior: Floats, reports: Codes) -> Floats:
    """P[true | reported], one row for every report code given."""
    joint = law[reports] * prior
    return np.asarray(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300))


def posterior_of_several(law: Floats, prior: Floats, reports: list[Codes]) -> Floats:
    """The same after several independent reports of each person."""
    with np.errstate(divide="ignore"):
        logs = np.log(law)
        belief = np.log(prior) + sum(logs[codes] for codes in reports)
    weights = np.exp(belief - belief.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def expected_width(law: Floats, prior: Floats, step: float, confidence: float, rows: int = 400) -> float:
    """The mean credible width over the reports as they occur, read on at most ``rows`` of them.

    Reports are gathered in runs of about equal probability and one report stands for its run, so that the mean is a sum
    over the whole distribution of reports.
    """
    chance = law @ prior
    cumulative = np.cumsum(chance) / chance.sum()
    middle = (np.arange(rows) + 0.5) / rows
    places, weight = np.unique(np.searchsorted(cumulative, middle), return_counts=True)
    widths = smallest_sets(posterior(law, prior, places), step, confidence)
    return float(np.average(widths, weights=weight))


# --- people -------------------------------------------------------------------------------------------------------


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
    def shares(self) -> Floats:
        """The share of the people in every cell of true values."""
        return np.asarray(np.bincount(self.true, minlength=self.law.shape[1]) / max(self.true.size, 1))

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

    @cached_property
    def stated_width(self) -> float | None:
        """The interval width at 95 % that the channel's guarantee states."""
        return self.channel.guarantee(self.prior).credible_width(CONFIDENCE)

    def linear(self) -> tuple[float, float, float]:
        """(a, b, v): reports as a + b·(x plus noise of variance v), the best such reading under the belief."""
        x, y, belief = self.coarse.values, self.coarse.report_values, self.belief
        mean_report = y @ self.law
        center, middle = float(belief @ x), float(belief @ mean_report)
        spread = float(belief @ (x - center) ** 2)
        slope = float(belief @ ((x - center) * (mean_report - middle))) / spread
        noise = float(belief @ ((y - middle) ** 2 @ self.law)) - slope**2 * spread
        return middle - slope * center, slope, max(noise, 1e-300) / slope**2

    def unblurred(self, reports: Floats) -> Floats:
        """Reports in units of the true value, without bias: (y − a)/b."""
        shift, slope, _ = self.linear()
        return (reports - shift) / slope

    @property
    def noise(self) -> float:
        """The variance of the noise in units of the true value."""
        return self.linear()[2]


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
        """What is known of the people, asked through these channels instead of their own; they are not drawn again."""
        priors = {name: read_prior(channels[name], target.prior) for name, target in self.targets.items()}
        return replace(self, targets={name: Attacked(name, channels[name], prior) for name, prior in priors.items()})


def believed_people(
    channels: Mapping[str, Channel], reports: Columns | None, truth: Columns | None, people: int,
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
