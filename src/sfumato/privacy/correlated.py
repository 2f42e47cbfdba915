"""The audit of correlated noise: its law, and the attacks that it is there to withstand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from sfumato.channels.correlated import CorrelatedNoise
from sfumato.domain import Floats
from sfumato.guarantee import CombinedGuarantee
from sfumato.privacy.accounting import Account, Width
from sfumato.privacy.attacks.bayes import alone_error, bayes_error
from sfumato.privacy.attacks.correlation import ATTACKS
from sfumato.privacy.attacks.finding import CONFIDENCE, Finding, width_of_errors
from sfumato.privacy.checks.correlated import check_correlated
from sfumato.privacy.population import read_columns
from sfumato.privacy.report import Audit
from sfumato.privacy.targets import BeliefTarget, read_target
from sfumato.privacy.verdicts import Verdict
from sfumato.privacy.words import amount


def audit_correlated(
    channel: CorrelatedNoise,
    reports: Any,
    truth: Any,
    targets: Sequence[Any],
    implementation: Any,
    people: int,
    samples: int,
    false_alarm: float,
) -> Audit:
    """People are the true ones, or gaussian with the covariance that reports show, or with the one that is stated."""
    rng = np.random.default_rng(0)
    true, covariance, source = _people(channel, reports, truth, people, rng)
    stated = {name: channel.marginal(name).guarantee() for name in channel.domains}
    account = Account(dict.fromkeys(stated, math.inf), 1, _widths(channel, covariance))
    return Audit(
        repr(channel),
        stated,
        tuple(check_correlated(channel, implementation or channel.randomize, samples, false_alarm)),
        tuple(_attacks(channel, true, rng)),
        account,
        tuple(_verdict(read_target(target), account, stated) for target in targets),
        (f"The attacks were tried on {source}.", "The noise follows the covariance that was stated when it was made."),
        ("Participation: that somebody answered, when and from where is visible to the collector.",),
        false_alarm,
    )


def _people(
    channel: CorrelatedNoise, reports: Any, truth: Any, people: int, rng: np.random.Generator
) -> tuple[Floats, Floats, str]:
    given = truth if truth is not None else reports
    rows = None if given is None else _rows(channel, given)
    if truth is not None and rows is not None:
        return rows[:people], np.cov(rows, rowvar=False), f"{min(people, len(rows)):,} people of the true data"
    ends = np.array([[domain.low, domain.high] for domain in channel.domains.values()], dtype=float)
    center, covariance, source = ends.mean(axis=1), channel.covariance, "people with the stated covariance"
    if rows is not None:
        center, found = channel.moments(rows)
        values, vectors = np.linalg.eigh(found)
        covariance = np.asarray(vectors * np.maximum(values, 1e-9) @ vectors.T)
        source = f"people with the covariance that {len(rows):,} reports show"
    drawn = rng.multivariate_normal(center, covariance, people)
    return np.clip(drawn, ends[:, 0], ends[:, 1]), covariance, f"{people:,} simulated {source}"


def _rows(channel: CorrelatedNoise, table: Any) -> Floats:
    named = not isinstance(table, np.ndarray)
    columns = read_columns(table, list(channel.domains)).values() if named else table.T
    rows = np.column_stack([np.asarray(column, dtype=float) for column in columns])
    return np.asarray(rows[~np.isnan(rows).any(axis=1)])


def _attacks(channel: CorrelatedNoise, true: Floats, rng: np.random.Generator) -> list[Finding]:
    whole = np.array([domain.integer for domain in channel.domains.values()])
    values = np.where(whole, np.rint(true), true)
    reports, noise = channel.randomize(values, rng), channel.noise_covariance
    unit = np.sqrt(np.diag(noise))
    found = []
    for attack, guess_from in ATTACKS.items():
        guess = guess_from(reports / unit, noise / np.outer(unit, unit)) * unit
        for place, name in enumerate(channel.domains):
            before = width_of_errors(values[:, place], values[:, place].mean())
            after, stated = width_of_errors(values[:, place], guess[:, place]), channel.marginal(name)
            found.append(Finding(attack, name, "width", before, after, stated.interval_width(CONFIDENCE)))
    return found


def _widths(channel: CorrelatedNoise, covariance: Floats) -> tuple[Width, ...]:
    noise = channel.noise_covariance
    reach = 2 * float(ndtri((1 + CONFIDENCE) / 2))
    alone, together = (reach * np.sqrt(error(covariance, noise)) for error in (alone_error, bayes_error))
    return tuple(
        Width(name, channel.marginal(name).interval_width(CONFIDENCE), float(alone[place]), float(together[place]))
        for place, name in enumerate(channel.domains)
    )


def _verdict(goal: Any, account: Account, stated: dict[str, Any]) -> Verdict:
    if goal.attribute is not None and goal.attribute not in stated:
        raise ValueError(f"target names {goal.attribute!r}, which has no channel; there are {', '.join(stated)}")
    if isinstance(goal, BeliefTarget):
        return Verdict(goal, False, str(CombinedGuarantee(stated).breach(goal.rho1, goal.rho2)))
    (width,) = (each for each in account.widths if each.attribute == goal.attribute)
    scale = float(ndtri((1 + goal.confidence) / 2) / ndtri((1 + CONFIDENCE) / 2))
    reached = scale * min(width.together, width.stated or math.inf)
    return Verdict(goal, reached >= goal.width, f"all reports together place it within {amount(reached)}.")
