"""`audit`: attack a plan and check its implementation, against what it states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sfumato.channels import Mechanism
from sfumato.plan import Plan
from sfumato.privacy.accounting import Account, widths_of
from sfumato.privacy.attacks import Finding, averaging, best_guess, correlation_attacks, item_guess, linkage, outliers
from sfumato.privacy.audit.channel import check_channel
from sfumato.privacy.audit.check import SKIPPED, Check, takes
from sfumato.privacy.audit.correlated import RowAudit, audit_row
from sfumato.privacy.audit.probe import SAMPLES, Effort
from sfumato.privacy.audit.program import Program
from sfumato.privacy.audit.records import check_records
from sfumato.privacy.audit.report import Audit
from sfumato.privacy.population import Population
from sfumato.privacy.subject import Subject, subject_of
from sfumato.privacy.targets import Asked, judge_target, read_targets
from sfumato.prose import listed

FALSE_ALARM = 1e-6
WHOLE_ONLY = "Each attribute by itself: the function was tested on whole records, sfumato's own channels one by one."
PEOPLE = 1000
REPEATS = 10
PEOPLE_OF_PROGRAMS = 6  # times as long as an attribute: whole people take a program long


@dataclass(frozen=True)
class AuditSettings:
    """``false_alarm``: the chance that a sound implementation fails. ``seed``: of the people and their attackers."""

    false_alarm: float = FALSE_ALARM
    seed: int = 0


USUAL = AuditSettings()


def audit(
    subject: Plan | Mechanism, reports: Any = None, *, truth: Any = None, targets: Sequence[Any] = (),
    implementation: Any = None, prior: Any = None, times: int = 1, people: int = PEOPLE, samples: int = SAMPLES,
    settings: AuditSettings = USUAL,
) -> Audit:
    """Attack a plan or a channel, check that its implementation keeps to its law, and say all of it in words.

    ``reports`` (or ``truth``, the clean table, for a data owner's rehearsal) gives the attacks real people; without
    them the people are spread evenly. ``targets``: what the plan is to achieve, such as "5% to 50%" or
    "age: 20 at 95%". ``implementation``: a function from values to reports, or a mapping from true value to reports of
    another program; for a plan, by attribute, or a function from tables to tables in place of ``plan.randomize``; or
    the command line of a program (a text or a list of words), which is asked in lines of JSON
    (docs/how-to/audit-a-plan.md); "javascript" is the client that is shipped.
    ``prior``: a belief, for a plan by attribute. ``times``: how often each person answers with fresh noise.
    ``people``: how many are attacked where no table is given. ``samples``: how many reports of each attribute are drawn
    (fewer of a slow program); the audit says how small a fault that finds, and ten times as many find one a third as
    large.

    >>> import sfumato as sf
    >>> answer = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    >>> sf.audit(answer, targets=["5% to 50%"], samples=4000).passed
    True
    """
    if times < 1:
        raise ValueError(f"times={times} is not a count of reports; give 1 or more")
    audited = subject_of(subject)
    is_program = isinstance(implementation, Sequence)
    with Program(implementation, audited.plan) if is_program else nullcontext(implementation) as shown:
        goals = read_targets(targets, audited.domains)
        rng = np.random.default_rng(settings.seed)
        population = audited.people(reports, truth, people, rng)
        whole, given = _given(audited, shown)
        row_audit = partial(audit_row, reports=reports, truth=truth, people=people)
        rows, checks = _checked(audited, shown, whole, given, row_audit, samples, settings.false_alarm)
        beliefs = {**{name: target.prior for name, target in population.targets.items()}, **audited.beliefs(prior)}
        total, known = audited.total(beliefs, truth), population if reports is not None or truth is not None else None
        stated = audited.guarantees(total)
        joined = {width.attribute: width for row in rows for width in row.widths}
        asked = Asked(audited.channels, beliefs, known, times, joined, total)
        found = _attacks(audited, population, max(times, REPEATS), rng)
        return Audit(
            f"{audited.name} (program {shown.name})" if isinstance(shown, Program) else audited.name,
            stated,
            tuple(checks),
            (*found, *(finding for row in rows for finding in row.findings)),
            Account(total, times, (*widths_of(population), *joined.values())),
            tuple(judge_target(goal, stated, asked) for goal in goals),
            _assumptions(population, [row.source for row in rows]),
            settings.false_alarm,
            audited.plan.headings,
            (*([WHOLE_ONLY] if whole and not given else []), *not_audited(audited, given, whole is not None, checks)),
        )


def _checked(
    audited: Subject, implementation: Any, whole: Any, given: Mapping[str, Any], row_audit: Callable[..., RowAudit],
    samples: int, false_alarm: float,
) -> tuple[list[RowAudit], list[Check]]:
    """The audits of numbers that are blurred together, and the checks of every part, which share the false alarms and
    the time."""
    records = (audited.is_plan or bool(audited.leveled)) and (not given or whole is not None)
    parts = len(audited.checked) + len(audited.rows) + records
    longer = PEOPLE_OF_PROGRAMS if records and isinstance(implementation, Program) else 1
    alpha, effort = false_alarm / parts, Effort(samples).shared(parts + longer - 1)
    rows = [
        row_audit(row, implementation=given.get(name), effort=effort, false_alarm=alpha)
        for name, row in audited.rows.items()
    ]
    checks = [check for row in rows for check in row.checks]
    for name, channel in audited.checked.items():
        checks += check_channel(
            channel, given.get(name), attribute=name, samples=samples, seconds=effort.seconds, false_alarm=alpha
        )
    if records:
        checks += check_records(audited.plan, whole, alpha, effort.longer(longer))
    return rows, checks


def _given(audited: Subject, implementation: Any) -> tuple[Any, dict[str, Any]]:
    """What stands in for the plan's own ``randomize``, and for those of its channels."""
    if isinstance(implementation, Program):
        return implementation.people, implementation.parts(audited)
    whole = implementation if audited.is_plan and callable(implementation) else None
    known = {**audited.checked, **audited.rows}
    return whole, audited.by_name(None if whole else implementation, "implementation", known)


def not_audited(
    audited: Subject, given: Mapping[str, Any], whole: bool, checks: Sequence[Check]
) -> tuple[str, ...]:
    """What this audit says nothing about: parts that another program did not show, and checks that cannot be tried."""
    told = []
    missing = [name for name in (*audited.checked, *audited.rows) if name not in given]
    if given and missing:
        told.append(f"{listed(missing)}: another program showed nothing; sfumato's own was tested in its place.")
    if given and audited.is_plan and not whole:
        told.append("Whole records of the other program: whether its attributes share noise was not tested.")
    for name, shown in given.items():
        if isinstance(shown, Mapping):
            size = audited.checked[name].inputs.size
            told.append(
                f"{name}: reports of {len(shown):,} of {size:,} true values were given; noise used twice, keys, single "
                "and mixed calls were not tested."
            )
        elif not takes(shown, "key", "question"):
            told.append(f"{name}: the implementation takes no key, so reports with a device's key were not tested.")
    shown_only = {name for name, shown in given.items() if isinstance(shown, Mapping)}
    skipped = [each for each in checks if each.outcome == SKIPPED and each.name in ("fresh noise", "records")]
    told += [f"{each.attribute}, {each.name}: {each.text}" for each in skipped if each.attribute not in shown_only]
    return tuple(told)


def _attacks(audited: Subject, population: Population, times: int, rng: np.random.Generator) -> list[Finding]:
    """All attacks that apply, in the order: one attribute, several attributes, the record as a whole."""
    found = [best_guess(target) for target in population.targets.values()]
    found += [averaging(target, times, rng) for target in population.targets.values()]
    for name, channel in audited.baskets.items():
        found += item_guess(name, channel)
    return [*found, *correlation_attacks(population), *outliers(population), *linkage(population)]


def _assumptions(population: Population, rows: list[str]) -> tuple[str, ...]:
    unknown = len(population.numeric) > 1 and population.covariance is None
    blind = "Answers are taken as independent; give reports or true values to see what their correlation gives away."
    return (
        *(f"The attacks were tried on {source}." for source in (population.source, *rows) if source),
        *([blind] if unknown else []),
        *(["Correlated noise follows the covariance that was stated when it was made."] if rows else []),
        "The adversary has the plan and everybody's reports, and believes what can be reconstructed from them.",
        "A device with a key repeats its report; only without one do repeated answers add up.",
        "Noise is drawn independently for every person and every answer, on a device that runs the audited program.",
        "Attacks are those known to us; the bound γ, where there is one, holds against every other as well.",
    )
