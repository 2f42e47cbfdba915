"""The audit of correlated noise, whose table nobody can write down: its law, and the attacks that it withstands.

Given the columns before it, each column's noise has a known law on the grid; its place in that law, spread evenly
inside the step that it fell into, is uniform on 0..1 and independent of all others:

    u_j = P[K_j < k_j] + V·P[K_j = k_j],   V uniform.

Cells of every u_j and of every pair are counted and compared by exact binomial tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.channels import CorrelatedNoise
from sfumato.domain import Codes, Floats
from sfumato.privacy.accounting import Width, widths_from
from sfumato.privacy.attacks import Finding, attack_numbers
from sfumato.privacy.audit.check import Check, Randomize, check_fresh, exact_tests, outcome, p_value
from sfumato.privacy.population import CONFIDENCE, true_covariance
from sfumato.prose import shown
from sfumato.tables import is_table, read_columns

CELLS, PAIR_CELLS = 32, 6
PLACES = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class RowAudit:
    """What was found about numbers that are blurred together, and on whom."""

    checks: list[Check]
    findings: list[Finding]
    widths: tuple[Width, ...]
    source: str


def audit_row(
    channel: CorrelatedNoise, reports: Any, truth: Any, implementation: Any, people: int, samples: int,
    false_alarm: float,
) -> RowAudit:
    """People are the true ones, or gaussian with the covariance that reports show, or with the one that is stated."""
    rng = np.random.default_rng(0)
    rows, covariance, source = _people(channel, reports, truth, people, rng)
    true, noise = _whole(channel, rows), channel.noise_covariance
    stated = {name: channel.marginal(name).guarantee().interval(CONFIDENCE) for name in channel.domains}
    return RowAudit(
        check_correlated(channel, implementation or channel.randomize, samples, false_alarm),
        attack_numbers(stated, true, channel.randomize(true, rng), noise),
        widths_from(stated, covariance, noise),
        source,
    )


def _people(
    channel: CorrelatedNoise, reports: Any, truth: Any, people: int, rng: np.random.Generator
) -> tuple[Floats, Floats, str]:
    """True rows, their covariance, and where they come from."""
    given = truth if truth is not None else reports
    rows = None if given is None else _rows(channel, given)
    if truth is not None and rows is not None:
        return rows[:people], np.cov(rows, rowvar=False), f"{min(people, len(rows)):,} people of the true data"
    ends = _ends(channel)
    center, covariance, source = ends.mean(axis=1), channel.covariance, "people with the stated covariance"
    if rows is not None:
        center, covariance = rows.mean(axis=0), true_covariance(rows, channel.noise_covariance)
        source = f"people with the covariance that {len(rows):,} reports show"
    drawn = np.clip(rng.multivariate_normal(center, covariance, people), ends[:, 0], ends[:, 1])
    return drawn, covariance, f"{people:,} simulated {source}"


def _rows(channel: CorrelatedNoise, table: Any) -> Floats:
    """The complete rows of a table with the attributes' names, or of an array with a column for each."""
    columns = read_columns(table, list(channel.domains)).values() if is_table(table) else np.asarray(table).T
    rows = np.column_stack([np.asarray(column, dtype=float) for column in columns])
    return np.asarray(rows[~np.isnan(rows).any(axis=1)])


def _ends(channel: CorrelatedNoise) -> Floats:
    return np.array([[domain.low, domain.high] for domain in channel.domains.values()], dtype=float)


def _whole(channel: CorrelatedNoise, rows: Floats) -> Floats:
    """The same rows, rounded where an attribute is asked in whole numbers."""
    return np.where([domain.integer for domain in channel.domains.values()], np.rint(rows), rows)


# --- checks -------------------------------------------------------------------------------------------------------


def check_correlated(channel: CorrelatedNoise, randomize: Randomize, samples: int, false_alarm: float) -> list[Check]:
    """The law at both corners and in the middle of the domain, steps, and fresh noise."""
    ends, name, alpha = _ends(channel), ", ".join(channel.domains), false_alarm / 2
    places = _whole(channel, ends[:, 0] + np.outer(PLACES, ends[:, 1] - ends[:, 0]))
    rows = np.array([channel.values_on_grid(place) for place in places])
    values = np.repeat(rows, samples // len(rows), axis=0)

    def draw(count: int) -> Codes:
        drawn = np.asarray(randomize(np.repeat([rows[1]], count, axis=0)), dtype=float)
        return np.ascontiguousarray(drawn / channel.steps @ np.exp(np.arange(len(ends)))).view(np.int64)

    return [
        _check_law(channel, values, np.asarray(randomize(values), dtype=float), name, alpha),
        _check_steps(channel, randomize, name),
        check_fresh(draw, channel.agreement, name, alpha),
    ]


def _check_law(channel: CorrelatedNoise, values: Floats, reports: Floats, name: str, alpha: float) -> Check:
    below, equal = channel.conditional_chances(reports, values)
    place = below + np.random.default_rng().random(below.shape) * equal
    single, paired = (np.minimum((place * size).astype(int), size - 1) for size in (CELLS, PAIR_CELLS))
    counts = {one: np.bincount(single[:, j], minlength=CELLS) for j, one in enumerate(channel.domains)}
    for (a, one), (b, other) in combinations(enumerate(channel.domains), 2):
        cells = paired[:, a] * PAIR_CELLS + paired[:, b]
        counts[f"{one} with {other}"] = np.bincount(cells, minlength=PAIR_CELLS**2)
    values = np.concatenate([p_value(each, len(place), 1 / each.size) for each in counts.values()])
    told = [f"the noise of {which} does not follow its law." for which, each in counts.items() for _ in each]
    held = f"{values.size} exact tests on {len(place):,} reports agree with the stated law."
    return exact_tests("law", name, values, told, alpha, held)


def _check_steps(channel: CorrelatedNoise, randomize: Randomize, name: str) -> Check:
    """True values between the steps must give reports on them."""
    ends = _ends(channel)
    share = (np.arange(1, 2001)[:, None] * np.sqrt(np.arange(len(ends)) + 2.0)) % 1.0
    values = ends[:, 0] + share * (ends[:, 1] - ends[:, 0])
    reports = np.asarray(randomize(_whole(channel, values)), dtype=float)
    on_steps = np.column_stack(
        [g.number(np.rint((c - g.origin) / g.step)) == c for g, c in zip(channel.inputs, reports.T, strict=True)]
    )
    sound = bool(on_steps.all())
    odd = "" if sound else f"report {shown(reports[~on_steps][0])} lies between the steps."
    return Check("low digits", name, outcome(sound), odd or "all reports lie on the steps.")
