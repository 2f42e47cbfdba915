"""The people that the attacks are tried on, and what an adversary believes about them.

With the true data at hand they are a sample of it. With reports only they are drawn from what anybody can reconstruct:
each attribute's distribution, tied by the correlations that the reports show (a gaussian copula). With neither they are
spread evenly. The adversary's belief is always the one reconstructed from reports, as a real adversary has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sfumato.channels import Channel
from sfumato.domain import Codes, Floats, Interval, Items, as_array
from sfumato.guarantee.statement import read_prior
from sfumato.privacy.attacks.covariance import true_covariance
from sfumato.privacy.table import Table, table_of
from sfumato.reconstruction import Estimate, reconstruct
from sfumato.tables import map_table

ENOUGH_REPORTS = 20


@dataclass(frozen=True, eq=False)
class Attacked:
    """One attribute under attack: its channel, the adversary's belief over the true codes, and the people's codes."""

    name: str
    channel: Channel
    prior: Floats
    true_codes: Codes
    report_codes: Codes

    @property
    def table(self) -> Table:
        return table_of(self.channel)

    @property
    def law(self) -> Floats:
        return self.table.law

    @property
    def belief(self) -> Floats:
        """The adversary's belief over the table's cells."""
        return self.table.belief(self.prior)

    @property
    def true(self) -> Codes:
        """The cell of every true value."""
        return self.table.true_cell[self.true_codes]

    @property
    def reports(self) -> Codes:
        """The cell of every report."""
        return self.table.report_cell[self.report_codes]

    @property
    def numeric(self) -> bool:
        return isinstance(self.channel.domain, Interval)

    @property
    def true_numbers(self) -> Floats:
        return np.asarray(self.channel.inputs.values[self.true_codes], dtype=float)  # type: ignore[union-attr]

    def linear(self) -> tuple[float, float, float]:
        """(a, b, v): reports as a + b·x plus noise of variance v, the best such reading under the belief."""
        x, y, belief = self.table.values, self.table.report_values, self.belief
        mean_report = y @ self.law
        center, middle = float(belief @ x), float(belief @ mean_report)
        spread = float(belief @ (x - center) ** 2)
        slope = float(belief @ ((x - center) * (mean_report - middle))) / spread
        noise = float(belief @ ((y - middle) ** 2 @ self.law)) - slope**2 * spread
        return middle - slope * center, slope, max(noise, 1e-300)


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


def read_columns(table: Any, names: list[str]) -> dict[str, NDArray[Any]]:
    """The named columns of any table; a missing one is named."""
    found: dict[str, Any] = {}
    if isinstance(table, Mapping):
        found = dict(table)
    else:
        map_table(table, lambda columns: found.update(columns) or columns)
    for name in names:
        if name not in found:
            raise ValueError(f"column {name!r} is missing; the table has {', '.join(map(str, found))}")
    return {name: as_array(found[name]) for name in names}


def believed_people(
    channels: Mapping[str, Channel],
    reports: Mapping[str, NDArray[Any]] | None,
    truth: Mapping[str, NDArray[Any]] | None,
    people: int,
    rng: np.random.Generator,
) -> Population:
    """People to attack; ``reports`` and ``truth`` hold the channels' columns and any clear ones beside them."""
    asked = {name: channel for name, channel in channels.items() if not isinstance(channel.domain, Items)}
    seen: Mapping[str, NDArray[Any]] | None = reports
    if truth is not None:
        known = _complete(truth, asked)
        seen = {name: channel.randomize(truth[name][known], rng) for name, channel in asked.items()}
        chosen = rng.choice(np.flatnonzero(known), size=min(people, int(known.sum())), replace=False)
        true = {name: channel.encode(truth[name][chosen]) for name, channel in asked.items()}
        clear = {name: values[chosen] for name, values in truth.items() if name not in channels}
        source = f"{chosen.size:,} people of the true data that was given"
    estimates = {name: _estimate(seen, name, channel) for name, channel in asked.items()}
    priors = {name: read_prior(channel, estimates[name]) for name, channel in asked.items()}
    covariance = None if seen is None else _covariance(asked, priors, seen)
    if truth is None:
        people = people if reports is None else min(people, _count(reports))
        true = _drawn(asked, priors, covariance, people, rng)
        clear = _clear(reports, channels, people, rng)
        how = f"reconstructed from {_count(reports):,} reports" if reports is not None else "spread evenly"
        source = f"{people:,} simulated people, {how}"
    return Population(_targets(asked, priors, true, rng), clear, source, covariance)


def _targets(
    asked: Mapping[str, Channel], priors: Mapping[str, Floats], true: Mapping[str, Codes], rng: np.random.Generator
) -> dict[str, Attacked]:
    found = {}
    for name, channel in asked.items():
        drawn = channel.encode_reports(channel.randomize(channel.inputs.decode(true[name]), rng))
        found[name] = Attacked(name, channel, priors[name], true[name], drawn)
    return found


def _complete(columns: Mapping[str, NDArray[Any]], asked: Mapping[str, Channel]) -> Any:
    known = np.all([channel.encode(columns[name]) >= 0 for name, channel in asked.items()], axis=0)
    if known.sum() < ENOUGH_REPORTS:
        raise ValueError(f"only {int(known.sum())} people have every value; the attacks need {ENOUGH_REPORTS} or more")
    return known


def _estimate(seen: Mapping[str, NDArray[Any]] | None, name: str, channel: Channel) -> Estimate | None:
    """The distribution that anybody can reconstruct; None where there are too few reports."""
    if seen is None or (channel.encode_reports(seen[name]) >= 0).sum() < ENOUGH_REPORTS:
        return None
    found: Estimate = reconstruct(seen[name], channel)
    return found


def _covariance(
    asked: Mapping[str, Channel], priors: Mapping[str, Floats], seen: Mapping[str, NDArray[Any]]
) -> Floats | None:
    """The covariance of the true numbers that the reports show, in the order of the numeric attributes."""
    empty = np.empty(0, dtype=np.int64)
    numbers = {name: channel for name, channel in asked.items() if isinstance(channel.domain, Interval)}
    numeric = [Attacked(name, channel, priors[name], empty, empty) for name, channel in numbers.items()]
    if len(numeric) < 2:
        return None
    rows = np.column_stack([_unblurred(target, seen[target.name]) for target in numeric])
    rows = rows[~np.isnan(rows).any(axis=1)]
    if len(rows) < ENOUGH_REPORTS:
        return None
    return true_covariance(rows, np.diag([noise_of(target) for target in numeric]))


def noise_of(target: Attacked) -> float:
    """The variance of the noise in units of the true value: v/b²."""
    _, slope, noise = target.linear()
    return noise / slope**2


def _unblurred(target: Attacked, reports: NDArray[Any]) -> Floats:
    shift, slope, _ = target.linear()
    codes = target.channel.encode_reports(reports)
    numbers = np.asarray(target.channel.outputs.values, dtype=float)[codes]  # type: ignore[union-attr]
    return np.where(codes < 0, np.nan, (numbers - shift) / slope)


def _drawn(
    asked: Mapping[str, Channel],
    priors: Mapping[str, Floats],
    covariance: Floats | None,
    people: int,
    rng: np.random.Generator,
) -> dict[str, Codes]:
    """True codes: each attribute from its belief, numbers tied by the reports' correlations."""
    places = {name: rng.random(people) for name in asked}
    numeric = [name for name, channel in asked.items() if isinstance(channel.domain, Interval)]
    if covariance is not None:
        deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
        values, vectors = np.linalg.eigh(covariance / np.outer(deviation, deviation))
        normal = rng.standard_normal((people, len(numeric))) @ (vectors * np.sqrt(np.maximum(values, 0))).T
        scale = np.maximum(np.sqrt((vectors**2 * np.maximum(values, 0)).sum(axis=1)), 1e-9)
        places.update(zip(numeric, ndtr(normal / scale).T, strict=True))
    return {
        name: np.minimum(np.searchsorted(np.cumsum(priors[name]), place), priors[name].size - 1).astype(np.int64)
        for name, place in places.items()
    }


def _clear(
    reports: Mapping[str, NDArray[Any]] | None, channels: Mapping[str, Channel], people: int, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Clear columns of people drawn from the reports."""
    beside = {} if reports is None else {n: v for n, v in reports.items() if n not in channels}
    if not beside:
        return {}
    size = len(next(iter(beside.values())))
    chosen = rng.permutation(size)[:people]
    return {name: values[chosen] for name, values in beside.items()}


def _count(reports: Mapping[str, NDArray[Any]]) -> int:
    return len(next(iter(reports.values())))


