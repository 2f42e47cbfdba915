"""The people that the attacks are tried on, and what an adversary believes about them.

With a clean table the people are a sample of it. With reports only they are drawn from what anybody can reconstruct:
each attribute's distribution, tied by the correlations that the reports show (a gaussian copula). With neither they are
spread evenly. The adversary's belief is always the one reconstructed from reports, as a real adversary has it; a report
turns it into

    P[x | y] = P[y | x]·prior[x] / Σ_u P[y | u]·prior[u].

The law is read in cells: a fine grid has thousands of codes on both sides, and its whole table would fill the memory.
Averages over runs of neighbouring codes, much finer than the noise, lose nothing that a guess could use.
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
"""The fewest people from whom a belief or a covariance is estimated. By judgement: fewer say nothing about a crowd, and
beliefs then stay flat; larger, and small rehearsals are attacked without the belief that they could have."""
CONFIDENCE = 0.95
"""The confidence of every width that attacks and accounts compare: that of AS00's privacy figures, which channels state
(``privacy=``) unless another one is given."""
TRUE_CELLS = 600
"""The most cells of true values in a coarse law. By judgement: a table of 600 × 1500 floats takes 7 MB; fewer cells
blunt the attacks on fine grids, more only cost memory and time."""
REPORT_CELLS = 1500
"""The most cells of reports in a coarse law; more than of true values, because noise carries reports further out."""
Columns = Mapping[str, NDArray[Any]]
NOBODY: Codes = np.empty(0, dtype=np.int64)  # the codes of no people


# --- beliefs ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CoarseLaw:
    """The chances of a channel's reports given answers (its law) in cells, runs of codes that are neighbours."""

    law: Floats  # P[report cell, true cell]; a true cell is the mean of its codes
    true_cell: Codes  # the cell of every true code
    report_cell: Codes  # the cell of every report code
    values: Floats  # the mean value of every true cell; empty for labels
    report_values: Floats  # the mean value of every report cell; empty for labels

    @property
    def step(self) -> float:
        """The mean distance between neighbouring true cells, in units of the answer; 1 for labels."""
        return float(np.diff(self.values).mean()) if self.values.size > 1 else 1.0

    def belief(self, prior: Floats) -> Floats:
        """Sum a belief, a probability for each true code, into a probability for each true cell (a run of codes)."""
        return np.bincount(self.true_cell, prior, minlength=self.law.shape[1]).astype(float)


@lru_cache(maxsize=32)
def coarse_law(channel: Channel) -> CoarseLaw:
    """Return the chances of a channel's reports given answers as a table of at most REPORT_CELLS × TRUE_CELLS cells.

    Cells are runs of neighbouring codes, so that fine grids fit into memory.
    """
    true, reported = _cell_of_code(channel.inputs.size, TRUE_CELLS), _cell_of_code(channel.outputs.size, REPORT_CELLS)
    rows = _law_by_report_cell(channel, reported)
    law = np.add.reduceat(rows, np.flatnonzero(np.diff(true, prepend=-1)), axis=1) / np.bincount(true)
    return CoarseLaw(law, true, reported, _cell_means(channel.inputs, true), _cell_means(channel.outputs, reported))


def _cell_of_code(size: int, most: int) -> Codes:
    """Return an array with the cell of every code: the code itself up to ``most`` codes, else one of ``most`` runs.

    ``size``: how many codes there are.
    """
    return np.arange(size) * min(size, most) // size


def _law_by_report_cell(channel: Channel, reported: Codes) -> Floats:
    """Return the table P[report cell, true code] of a channel.

    ``reported``: the cell (run of codes) of every report code.
    """
    outputs = channel.outputs
    if not isinstance(outputs, Grid) or reported[-1] == outputs.size - 1:
        return channel.law()
    edges = outputs.edges[np.flatnonzero(np.diff(reported, prepend=-1))]
    cells = channel.matrix(reported=np.append(edges, outputs.edges[-1]))
    return np.maximum(cells, 0.0)  # differences of running sums can fall a rounding error below zero


def _cell_means(space: CodeSpace, cell: Codes) -> Floats:
    """Return the mean value of the codes in each cell (run of codes) as an array; empty for labels.

    ``cell``: the cell of every code.
    """
    if isinstance(space, Categories):
        return np.empty(0)
    return np.asarray(np.bincount(cell, np.asarray(space.values, dtype=float)) / np.bincount(cell))


def posterior(law: Floats, prior: Floats, reports: Codes) -> Floats:
    """Return P[true cell | report] as an array with a row for every report in ``reports``: what ``prior`` becomes.

    ``law``: P[report cell, true cell]; ``prior``: a probability for each true cell; ``reports``: numbers of report
    cells.
    """
    joint = law[reports] * prior
    return np.asarray(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300))


def posterior_of_several(law: Floats, prior: Floats, reports: list[Codes]) -> Floats:
    """Return P[true cell | all reports of the person] as an array, one row a person.

    ``law``: P[report cell, true cell]; ``prior``: a probability for each true cell; ``reports``: for each round of
    independent reports an array with the number of a report cell for each person.

        log P = log prior + Σ log law, less a constant
    """
    with np.errstate(divide="ignore"):
        logs = np.log(law)
        belief = np.log(prior) + sum(logs[codes] for codes in reports)
    weights = np.exp(belief - belief.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def expected_width(law: Floats, prior: Floats, step: float, confidence: float, rows: int = 400) -> float:
    """Return the mean width of the credible intervals that reports leave, weighted by how often each report occurs.

    ``law``: P[report cell, true cell]; ``prior``: the belief over true cells; ``step``: the width of a true cell;
    ``confidence``: the probability of an interval. At most ``rows`` reports are read: reports are gathered in runs of
    about equal probability and one report stands for its run, so that the mean is a sum over the whole distribution of
    reports.
    """
    chance = law @ prior
    cumulative = np.cumsum(chance) / chance.sum()
    middle = (np.arange(rows) + 0.5) / rows
    codes, weight = np.unique(np.searchsorted(cumulative, middle), return_counts=True)
    widths = smallest_sets(posterior(law, prior, codes), step, confidence)
    return float(np.average(widths, weights=weight))


# --- people -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Attacked:
    """One attribute under attack: its channel, the adversary's belief, the people's codes (whole numbers for values).

    The codes are empty where no people are drawn.
    """

    name: str
    channel: Channel
    prior: Floats  # the adversary's belief over true codes, before any report
    true_codes: Codes = field(default_factory=lambda: NOBODY)
    report_codes: Codes = field(default_factory=lambda: NOBODY)

    @property
    def coarse(self) -> CoarseLaw:
        """The chances of the channel's reports given answers, in cells (runs of neighbouring codes); from a cache."""
        return coarse_law(self.channel)

    @property
    def law(self) -> Floats:
        """The table P[report cell, true cell], the chances of reports given the true value.

        A cell is a run of codes.
        """
        return self.coarse.law

    @property
    def belief(self) -> Floats:
        """The adversary's belief before any report: a probability for each true cell (run of neighbouring values)."""
        return self.coarse.belief(self.prior)

    @property
    def true_cells(self) -> Codes:
        """The number of the cell (run of neighbouring values) in which every person's true value lies."""
        return self.coarse.true_cell[self.true_codes]

    @property
    def true_shares(self) -> Floats:
        """The share of the people whose true value lies in each cell (run of values).

        Zeros where there are no people.
        """
        return np.asarray(np.bincount(self.true_cells, minlength=self.law.shape[1]) / max(self.true_cells.size, 1))

    @property
    def report_cells(self) -> Codes:
        """The number of the cell (run of neighbouring codes) in which every person's report lies."""
        return self.coarse.report_cell[self.report_codes]

    @property
    def numeric(self) -> bool:
        """Whether the answers are numbers, not labels."""
        return isinstance(self.channel.domain, Interval)

    @property
    def true_numbers(self) -> Floats:
        """The true value of every person, for a numeric attribute."""
        return np.asarray(self.channel.inputs.decode(self.true_codes), dtype=float)

    def draw_reports(self, rng: np.random.Generator) -> Codes:
        """Draw a new report for every person from the true value; return an array of report codes."""
        return self.channel.encode_reports(self.channel.randomize(self.channel.inputs.decode(self.true_codes), rng))

    @cached_property
    def stated_width(self) -> float | None:
        """The width of the credible interval at 95 % that the channel states under the belief; None for labels."""
        return self.channel.guarantee(self.prior).credible_width(CONFIDENCE)

    def fit_line(self) -> tuple[float, float, float]:
        """Fit a line to reports of numbers by least squares: a report y is about a + b·(x + noise), x the answer.

        Returns (a, b, the noise's variance v), under the adversary's belief about x.

            b = Cov(x, y)/Var(x),   a = E[y] − b·E[x],   v = (Var(y) − b²·Var(x))/b².
        """
        x, y, belief = self.coarse.values, self.coarse.report_values, self.belief
        mean_report = y @ self.law
        center, middle = float(belief @ x), float(belief @ mean_report)
        spread = float(belief @ (x - center) ** 2)
        slope = float(belief @ ((x - center) * (mean_report - middle))) / spread
        noise = float(belief @ ((y - middle) ** 2 @ self.law)) - slope**2 * spread
        return middle - slope * center, slope, max(noise, 1e-300) / slope**2

    def remove_bias(self, reports: Floats) -> Floats:
        """Return reports in units of the true value and without bias: (y − a)/b, with a and b of ``fit_line``."""
        shift, slope, _ = self.fit_line()
        return (reports - shift) / slope

    @property
    def noise(self) -> float:
        """The variance of the noise in reports of numbers, in units of the true value."""
        return self.fit_line()[2]


@dataclass(frozen=True, eq=False)
class Population:
    """The people that attacks are tried on: for each attribute their answers, reports and the belief about them."""

    targets: dict[str, Attacked]
    clear: dict[str, NDArray[Any]]  # the columns that are sent as they are, a value a person
    source: str  # where the people come from, in words that finish "The attacks were tried on …"
    covariance: Floats | None = None  # of the numeric answers, in the order of ``numeric``; None: not known

    @property
    def numeric(self) -> list[Attacked]:
        """The attributes whose answers are numbers."""
        return [target for target in self.targets.values() if target.numeric]

    @property
    def stated_widths(self) -> dict[str, float | None]:
        """The width at 95 % confidence that the channel states for every numeric attribute, by name."""
        return {target.name: target.stated_width for target in self.numeric}

    @property
    def noise(self) -> Floats:
        """The covariance matrix of the noise in the numeric reports, in units of the true values; it is diagonal."""
        return np.diag([target.noise for target in self.numeric])

    def with_channels(self, channels: Mapping[str, Channel]) -> Population:
        """Return the population for other channels (by attribute), with the same beliefs and covariance.

        It has no codes of people, since their answers and reports were drawn through the former channels.
        """
        priors = {name: read_prior(channels[name], target.prior) for name, target in self.targets.items()}
        return replace(self, targets={name: Attacked(name, channels[name], prior) for name, prior in priors.items()})


def believed_people(
    channels: Mapping[str, Channel], reports: Columns | None, truth: Columns | None, people: int,
    rng: np.random.Generator,
) -> Population:
    """Draw at most ``people`` people to attack, and reconstruct an adversary's belief about each attribute.

    ``reports`` and ``truth`` hold the channels' columns and any clear ones; at most one of them is not None. From
    ``truth`` the people are a sample, and the belief is reconstructed from reports that are drawn for everybody.
    """
    seen, table = reports, reports or {}
    if truth is not None:
        complete = _complete_people(truth, channels)
        seen, table = {name: each.randomize(truth[name][complete], rng) for name, each in channels.items()}, truth
        rows = rng.choice(complete, size=min(people, complete.size), replace=False)
    estimates = {name: _estimate_distribution(seen, name, channel) for name, channel in channels.items()}
    believed = {name: Attacked(name, each, read_prior(each, estimates[name])) for name, each in channels.items()}
    covariance = None if seen is None else _estimate_covariance(list(believed.values()), seen)
    clear = {name: values for name, values in table.items() if name not in channels}
    if truth is not None:
        true = {name: channel.encode(truth[name][rows]) for name, channel in channels.items()}
        source = f"{rows.size:,} people of the true data that was given"
    else:
        count = people if reports is None else len(next(iter(reports.values())))
        true = _draw_true_codes(believed, covariance, min(people, count), rng)
        rows = rng.permutation(count if clear else 0)[:people]
        how = f"reconstructed from {count:,} reports" if reports is not None else "spread evenly"
        source = f"{min(people, count):,} simulated people, {how}"
    drawn = {name: replace(target, true_codes=true[name]) for name, target in believed.items()}
    targets = {name: replace(target, report_codes=target.draw_reports(rng)) for name, target in drawn.items()}
    return Population(targets, {name: values[rows] for name, values in clear.items()}, source, covariance)


def _complete_people(columns: Columns, channels: Mapping[str, Channel]) -> Codes:
    """Return the row numbers of the people whose value of every channel is there and valid."""
    rows = np.flatnonzero(np.all([each.encode(columns[name]) >= 0 for name, each in channels.items()], axis=0))
    if rows.size < ENOUGH_REPORTS:
        raise ValueError(f"only {rows.size} people have every value; the attacks need {ENOUGH_REPORTS} or more")
    return rows


def _estimate_distribution(seen: Columns | None, name: str, channel: Channel) -> Estimate | None:
    """Reconstruct the distribution of one attribute from its reports; None below ENOUGH_REPORTS reports.

    ``seen``: the columns of reports, None where there are none; ``name``: the attribute's.
    """
    if seen is None or (channel.encode_reports(seen[name]) >= 0).sum() < ENOUGH_REPORTS:
        return None
    estimate: Estimate = reconstruct(seen[name], channel)
    return estimate


def _estimate_covariance(targets: list[Attacked], seen: Columns) -> Floats | None:
    """Estimate the covariance matrix of the true numbers from their reports, in the order of the numeric targets.

    ``seen``: the columns of reports. None with fewer than two numeric targets, or with fewer than ENOUGH_REPORTS
    complete rows.
    """
    numeric = [target for target in targets if target.numeric]
    if len(numeric) < 2:
        return None
    codes = [target.channel.encode_reports(seen[target.name]) for target in numeric]
    numbers = [each.channel.outputs.decode(own).astype(float) for each, own in zip(numeric, codes, strict=True)]
    rows = np.column_stack([each.remove_bias(own) for each, own in zip(numeric, numbers, strict=True)])
    rows = rows[~np.isnan(rows).any(axis=1)]
    if len(rows) < ENOUGH_REPORTS:
        return None
    return true_covariance(rows, np.diag([target.noise for target in numeric]))


def true_covariance(reports: Floats, noise: Floats) -> Floats:
    """Estimate the covariance matrix of true values x from reports y = x + e, one row a person.

        Cov(x) = Cov(y) − Cov(e),   Cov(e) = ``noise``;   eigenvalues that sampling pushed below 0 are 0.
    """
    difference = np.cov(reports, rowvar=False) - noise
    values, vectors = np.linalg.eigh((difference + difference.T) / 2)
    return np.asarray(vectors * np.maximum(values, 0.0) @ vectors.T)


def _draw_true_codes(
    targets: Mapping[str, Attacked], covariance: Floats | None, people: int, rng: np.random.Generator
) -> dict[str, Codes]:
    """Draw the true codes (whole numbers for values) of ``people`` people; return an array for each attribute, by name.

    Each attribute is drawn from the belief about it. With a ``covariance`` the numeric attributes get its correlations
    by a gaussian copula; others are independent.
    """
    quantiles = {name: rng.random(people) for name in targets}
    if covariance is not None:
        numeric = [name for name, target in targets.items() if target.numeric]
        deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
        values, vectors = np.linalg.eigh(covariance / np.outer(deviation, deviation))
        normal = rng.standard_normal((people, len(numeric))) @ (vectors * np.sqrt(np.maximum(values, 0))).T
        quantiles.update(zip(numeric, ndtr(normal).T, strict=True))
    return {
        name: np.minimum(np.searchsorted(np.cumsum(each.prior), quantiles[name]), each.prior.size - 1).astype(np.int64)
        for name, each in targets.items()
    }
