"""The audit of correlated noise, whose table is too large to write down: its law, and the attacks that it withstands.

Given the columns before it, each column's noise K has a known law on the grid; its quantile in that law, spread evenly
inside the step that it fell into, is uniform on 0..1 and independent of all others:

    u_j = P[K_j < k_j] + V·P[K_j = k_j],   V uniform.

Cells of every u_j and of every pair are counted and compared by exact binomial tests (``scan.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.channels import CorrelatedNoise
from sfumato.domain import Codes, Floats
from sfumato.privacy.accounting import Width, widths_from
from sfumato.privacy.attacks import Finding, attack_numbers
from sfumato.privacy.audit.check import Check, Randomize, exact_tests, outcome, p_at_least, smallest_excess
from sfumato.privacy.audit.fresh import check_fresh
from sfumato.privacy.audit.probe import Effort, RowProbe
from sfumato.privacy.audit.scan import Implementation, check_key, check_small_calls, judge, keyed_by
from sfumato.privacy.population import CONFIDENCE, true_covariance
from sfumato.prose import shown
from sfumato.tables import is_table, read_columns

CHECKS = 5
"""The checks that share the false alarm: law, raw answers, fresh noise, small calls, key (low digits have none)."""
MOST_ROWS = 2_000_000
"""Rows drawn for the law at most. By judgement: their quantiles and true codes take about 100 MB."""
ROWS_A_CALL = 1 << 16
"""Rows in one call at most. By judgement: more only need memory."""


@dataclass(frozen=True)
class RowAudit:
    """The audit of numbers that are blurred together: checks, attacks, widths, and whom the attacks were tried on."""

    checks: list[Check]
    findings: list[Finding]
    widths: tuple[Width, ...]
    source: str  # where the people come from, in words


def audit_row(
    channel: CorrelatedNoise, reports: Any, truth: Any, implementation: Any, people: int, effort: Effort,
    false_alarm: float,
) -> RowAudit:
    """Audit a channel of correlated noise: check its implementation, attack it, and compute what its columns reveal.

    ``reports`` or ``truth``: a table, or an array with a column for each attribute. The people attacked, ``people`` at
    most, are rows of ``truth``, or gaussian with the covariance that ``reports`` show, or with the stated one.
    ``implementation``: a function from rows of answers to rows of reports; None is the channel's own ``randomize``.
    ``effort``: how many reports are drawn and for how long.
    """
    rng = np.random.default_rng(0)
    rows, covariance, source = _believed_rows(channel, reports, truth, people, rng)
    true, noise = _round_integers(channel, rows), channel.noise_covariance
    stated = {name: channel.marginal(name).guarantee().interval(CONFIDENCE) for name in channel.domains}
    return RowAudit(
        check_correlated(channel, implementation or channel.randomize, effort, false_alarm, ", ".join(channel.domains)),
        attack_numbers(stated, true, channel.randomize(true, rng), noise),
        widths_from(stated, covariance, noise),
        source,
    )


def _believed_rows(
    channel: CorrelatedNoise, reports: Any, truth: Any, people: int, rng: np.random.Generator
) -> tuple[Floats, Floats, str]:
    """Return (rows of true numbers, their covariance, where they come from in words) of the people to attack."""
    table = truth if truth is not None else reports
    rows = None if table is None else _complete_rows(channel, table)
    if truth is not None and rows is not None:
        return rows[:people], np.cov(rows, rowvar=False), f"{min(people, len(rows)):,} people of the true data"
    ends = _domain_ends(channel)
    center, covariance, source = ends.mean(axis=1), channel.covariance, "people with the stated covariance"
    if rows is not None:
        center, covariance = rows.mean(axis=0), true_covariance(rows, channel.noise_covariance)
        source = f"people with the covariance that {len(rows):,} reports show"
    drawn = np.clip(rng.multivariate_normal(center, covariance, people), ends[:, 0], ends[:, 1])
    return drawn, covariance, f"{people:,} simulated {source}"


def _complete_rows(channel: CorrelatedNoise, table: Any) -> Floats:
    """Read the rows without a gap as an array with a column for each attribute.

    ``table``: with the attributes' names, or an array with their columns.
    """
    columns = read_columns(table, list(channel.domains)).values() if is_table(table) else np.asarray(table).T
    rows = np.column_stack([np.asarray(column, dtype=float) for column in columns])
    return np.asarray(rows[~np.isnan(rows).any(axis=1)])


def _domain_ends(channel: CorrelatedNoise) -> Floats:
    """Return an array with a row for every attribute: its lowest and its highest answer."""
    return np.array([[domain.low, domain.high] for domain in channel.domains.values()], dtype=float)


def _round_integers(channel: CorrelatedNoise, rows: Floats) -> Floats:
    """Return rows of numbers in which the columns of attributes that are asked in whole numbers are rounded."""
    return np.where([domain.integer for domain in channel.domains.values()], np.rint(rows), rows)


# --- checks -------------------------------------------------------------------------------------------------------


def check_correlated(
    channel: CorrelatedNoise, randomize: Randomize, effort: Effort, false_alarm: float, attribute: str
) -> list[Check]:
    """Check an implementation of correlated noise in every way; return the list of checks.

    They are: the chances of reports, rows sent as they are, steps (the grid), fresh noise, small calls, and keys.
    ``randomize``: rows of answers to rows of reports; a sound one fails with chance ``false_alarm`` at most.
    """
    alpha, probe = false_alarm / CHECKS, RowProbe(channel)
    implementation = _implementation_of(probe, randomize)
    checks = _check_law(channel, randomize, effort, attribute, alpha)
    checks += [_check_steps(channel, randomize, attribute), _check_fresh(probe, randomize, effort, attribute, alpha)]
    checks.append(check_small_calls(implementation, "small calls", attribute, alpha, effort))
    return [*checks, *check_key(implementation, "key", attribute, alpha, effort)]


def _implementation_of(probe: RowProbe, randomize: Randomize) -> Implementation:
    """Wrap a function from rows to rows of reports as an `Implementation` that takes tables, records and keys."""

    def randomize_table(table: Any, **key: Any) -> dict[str, Any]:
        rows = np.column_stack([np.atleast_1d(table[name]) for name in probe.columns])
        reports = np.asarray(randomize(rows, **key), dtype=float)
        return dict(zip(probe.columns, reports.T, strict=True))

    def randomize_record(record: Any, **key: Any) -> dict[str, Any]:
        return {name: column[0] for name, column in randomize_table(record, **key).items()}

    keyed = keyed_by(randomize, randomize_table, randomize_record, "key", "question")
    return Implementation(probe, randomize_table, randomize_record, keyed)


def _check_law(
    channel: CorrelatedNoise, randomize: Randomize, effort: Effort, name: str, alpha: float
) -> list[Check]:
    """Check on random rows that reports have their stated chances, and that few rows are sent as they are.

    The first by the quantiles of all columns, the second by the stated chance of a noise of 0 steps in every column.
    Returns both checks.
    """
    probe, rng, parts, same = RowProbe(channel), np.random.default_rng(), list[Any](), 0
    for size in effort.block_sizes(min(effort.samples, MOST_ROWS), 0.4, ROWS_A_CALL):
        true = probe.draw_people(rng, size)
        answers = np.column_stack(list(probe.values(true).values()))
        reports = np.asarray(randomize(answers), dtype=float)
        same += int((reports == answers).all(axis=1).sum())
        parts.append((true, probe.quantiles(true, dict(zip(probe.columns, reports.T, strict=True)), rng)))
    true, quantiles = (np.concatenate(part) for part in zip(*parts, strict=True))
    law = judge(probe, true, quantiles, "law", name, alpha, "rows")
    bias = smallest_excess(len(true), 0.5, float(law.numbers.get("level", alpha)) / 2)
    law = replace(law, numbers={**law.numbers, "smallest_bias": bias})
    stated = float(channel.probability(np.zeros((1, len(channel.domains))), np.zeros((1, len(channel.domains))))[0])
    n, excess = len(true), smallest_excess(len(true), stated, alpha)
    failure = f"{same:,} of {n:,} rows are the answers themselves where {n * stated:,.3g} are stated."
    success, leak = f"{n:,} rows are no more often the answers themselves than stated.", {"smallest_leak": excess}
    p = np.atleast_1d(p_at_least(same, n, stated))
    return [law, exact_tests("raw answers", name, p, failure, alpha, success, leak)]


def _check_fresh(probe: RowProbe, randomize: Randomize, effort: Effort, name: str, alpha: float) -> Check:
    """Check that noise is never used twice, on reports of two rows that are read as whole numbers.

    A report is read as the bits of a weighted sum of its numbers in steps, so that different rows have different
    numbers.
    """
    rows = np.column_stack(list(probe.values(probe.draw_people(np.random.default_rng(), 2)).values()))
    weights = np.exp(np.arange(len(probe.columns)))

    def read(reports: Any) -> Codes:
        return np.ascontiguousarray(np.asarray(reports, dtype=float) / probe.channel.steps @ weights).view(np.int64)

    def values(count: int) -> Floats:
        return np.resize(rows, (count, len(weights)))

    return check_fresh(randomize, values, read, probe.channel.agreement, name, alpha, effort)


def _check_steps(channel: CorrelatedNoise, randomize: Randomize, name: str) -> Check:
    """Check that true numbers between the steps of the channel's grid give reports on its steps."""
    ends = _domain_ends(channel)
    share = (np.arange(1, 2001)[:, None] * np.sqrt(np.arange(len(ends)) + 2.0)) % 1.0
    values = ends[:, 0] + share * (ends[:, 1] - ends[:, 0])
    reports = np.asarray(randomize(_round_integers(channel, values)), dtype=float)
    on_steps = np.column_stack(
        [g.number(np.rint((c - g.origin) / g.step)) == c for g, c in zip(channel.inputs, reports.T, strict=True)]
    )
    sound = bool(on_steps.all())
    odd = "" if sound else f"report {shown(reports[~on_steps][0])} lies between the steps."
    return Check("low digits", name, outcome(sound), odd or "all reports lie on the steps.")
