"""`audit`: attack a plan and check its implementation, against what it states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.channels import Channel, Choice
from sfumato.channels.correlated import CorrelatedNoise
from sfumato.guarantee.statement import read_prior
from sfumato.plan import Plan
from sfumato.privacy.accounting import account_for
from sfumato.privacy.attacks.suite import run_attacks
from sfumato.privacy.checks.channel import SAMPLES, check_channel
from sfumato.privacy.checks.check import Check
from sfumato.privacy.correlated import audit_correlated
from sfumato.privacy.population import Population, believed_people
from sfumato.privacy.report import Audit
from sfumato.privacy.subject import Subject, subject_of
from sfumato.privacy.targets import read_target
from sfumato.privacy.verdicts import judge_target

PEOPLE = 1000
REPEATS = 10


def audit(
    subject: Plan | Channel | Choice | CorrelatedNoise,
    reports: Any = None,
    *,
    truth: Any = None,
    targets: Sequence[Any] = (),
    implementation: Any = None,
    prior: Any = None,
    times: int = 1,
    people: int = PEOPLE,
    samples: int = SAMPLES,
    false_alarm: float = 1e-6,
    seed: int = 0,
) -> Audit:
    """Attack a plan or a channel, check that its implementation keeps to its law, and say all of it in words.

    ``reports`` (or ``truth``, the clean table, for a data owner's rehearsal) gives the attacks real people; without
    them the people are spread evenly. ``targets``: what the plan is to achieve, such as "5% to 50%" or
    "age: 20 at 95%". ``implementation``: a function from values to reports, or a mapping from true value to reports of
    another program; for a plan, by attribute. ``prior``: a belief, for a plan by attribute. ``times``: how often
    each person answers with fresh noise. ``false_alarm``: the chance that a sound implementation fails.

    >>> import sfumato as sf
    >>> answer = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    >>> sf.audit(answer, targets=["5% to 50%"], samples=4000).passed
    True
    """
    if isinstance(subject, CorrelatedNoise):
        return audit_correlated(subject, reports, truth, _listed(targets), implementation, people, samples, false_alarm)
    audited = subject_of(subject)
    goals = [read_target(target) for target in _listed(targets)]
    rng = np.random.default_rng(seed)
    believed = _priors(audited, prior, isinstance(subject, Plan))
    population = _population(audited, reports, truth, people, rng)
    beliefs = {**{name: each.prior for name, each in population.targets.items()}, **believed}
    stated = audited.guarantees(beliefs)
    attacked = population if reports is not None or truth is not None else None
    verdicts = [judge_target(goal, stated, audited.channels, beliefs, times, attacked) for goal in goals]
    found = run_attacks(audited.channels, population, max(times, REPEATS), rng)
    return Audit(
        audited.name,
        stated,
        tuple(_checks(audited, implementation, samples, false_alarm, isinstance(subject, Plan))),
        tuple(found),
        account_for({name: each.gamma for name, each in stated.items()}, times, attacked),
        tuple(verdicts),
        _assumptions(population),
        audited.unprotected(),
        false_alarm,
        audited.questions,
    )


def _listed(targets: Any) -> Sequence[Any]:
    return targets if isinstance(targets, (list, tuple)) else [targets]


def _priors(audited: Subject, prior: Any, by_name: bool) -> dict[str, Any]:
    """Beliefs over true codes, by attribute."""
    if prior is None:
        return {}
    given = prior if by_name else dict.fromkeys(audited.channels, prior)
    if not isinstance(given, Mapping):
        raise TypeError("prior of a plan is a mapping from attribute to belief; give {'age': [...]}")
    return {name: read_prior(audited.channels[name], belief) for name, belief in given.items()}


def _population(audited: Subject, reports: Any, truth: Any, people: int, rng: np.random.Generator) -> Population:
    if reports is not None and truth is not None:
        raise ValueError("both reports and truth are given; give one of the two")
    known = None if truth is None else audited.columns(_table(audited, truth), levels=False)
    seen = None if reports is None else audited.columns(_table(audited, reports), levels=True)
    return believed_people(audited.channels, seen, known, people, rng)


def _table(audited: Subject, table: Any) -> Any:
    """A bare column stands for the one attribute of a channel."""
    one = len(audited.channels) == 1 and not audited.clear
    return {next(iter(audited.channels)): table} if one and np.ndim(table) == 1 and not _has_names(table) else table


def _has_names(table: Any) -> bool:
    return isinstance(table, Mapping) or hasattr(table, "columns") or hasattr(table, "column_names")


def _checks(audited: Subject, implementation: Any, samples: int, false_alarm: float, by_name: bool) -> list[Check]:
    """The checks of every channel; the false-alarm rate is shared among them."""
    given: Mapping[str, Any] = {}
    if implementation is not None:
        given = implementation if by_name else dict.fromkeys(audited.checked, implementation)
        for name in given:
            if name not in audited.checked:
                known = ", ".join(audited.checked)
                raise ValueError(f"implementation names {name!r}, which is no channel of the plan; there are {known}")
    each = false_alarm / len(audited.checked)
    found: list[Check] = []
    for name, channel in audited.checked.items():
        found += check_channel(channel, given.get(name), attribute=name, samples=samples, false_alarm=each)
    return found


def _assumptions(population: Population) -> tuple[str, ...]:
    unknown = len(population.numeric) > 1 and population.covariance is None
    blind = "Answers are taken as independent; give reports or true values to see what their correlation gives away."
    return (
        f"The attacks were tried on {population.source}.",
        *([blind] if unknown else []),
        "The adversary has the plan and everybody's reports, and believes what can be reconstructed from them.",
        "A device with a key repeats its report; only without one do repeated answers add up.",
        "Noise is drawn independently for every person and every answer, on a device that runs the audited program.",
        "Attacks are those known to us; the bound γ, where there is one, holds against every other as well.",
    )
