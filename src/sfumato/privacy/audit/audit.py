"""`audit` attacks a plan and checks its implementation, against what it states."""

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
from sfumato.privacy.audit.program import AuditedProgram
from sfumato.privacy.audit.records import check_records
from sfumato.privacy.audit.report import Audit
from sfumato.privacy.population import Population
from sfumato.privacy.subject import Subject, subject_of
from sfumato.privacy.targets import Exposure, judge_target, read_targets
from sfumato.prose import listed

WHOLE_ONLY = "Each attribute by itself: the function was tested on whole records, sfumato's own channels one by one."
PEOPLE = 1000
"""The people who are attacked unless another number is given. By judgement: shares are known to ± 3 percentage points
and the attacks take about a second; more people take longer in proportion, for records by their square."""
REPEATS = 10
"""Fresh answers to the same question that the attack by averaging has, unless ``times`` is larger. By judgement: enough
to show that noise wears off (a third is left), and a survey that asks weekly has them in a season."""
PEOPLE_OF_PROGRAMS = 6
"""The time that whole people get of another program, in times of an attribute's: with it noise that questions share was
found every time (bench/audit.py --javascript). A larger share is taken from the attributes."""


@dataclass(frozen=True)
class AuditSettings:
    """Settings of an audit.

    ``false_alarm``: the chance at most that a sound implementation fails, over all checks together; a smaller one finds
    slightly larger faults only (one in a million: docs/how-to/audit-a-plan.md). ``seed``: of the people who are
    attacked and of their reports; the checks of the implementation draw their people anew in each run.
    """

    false_alarm: float = 1e-6
    seed: int = 0


USUAL = AuditSettings()


def audit(
    subject: Plan | Mechanism, reports: Any = None, *, truth: Any = None, targets: Sequence[Any] = (),
    implementation: Any = None, prior: Any = None, times: int = 1, people: int = PEOPLE, samples: int = SAMPLES,
    settings: AuditSettings = USUAL,
) -> Audit:
    """Attack a plan or a channel, check that its implementation keeps to its law, and say the results in words.

    ``subject``: the plan or the channel. ``reports`` (or ``truth``, the clean table, for a data owner's rehearsal)
    gives the attacks real people; without them the people are spread evenly. ``targets``: what the plan is to achieve,
    such as "5% to 50%" or "age: 20 at 95%". ``implementation``: a function from values to reports, or a mapping from
    true value to reports of another program; for a plan, either of them by attribute, or a function from tables to
    tables in place of ``plan.randomize``; or the command line of a program (a text or a list of words), which is asked
    in lines of JSON (docs/how-to/audit-a-plan.md); "javascript" is the client that is shipped; None is sfumato's own.
    ``prior``: a belief, for a plan by attribute. ``times``: how often each person answers with fresh noise.
    ``people``: how many are attacked at most. ``samples``: how many reports of each attribute are drawn (fewer of a
    slow program); the audit says how small a fault that finds, and ten times as many find one a third as large.
    ``settings``: the false alarm and the seed.

    >>> import sfumato as sf
    >>> answer = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    >>> sf.audit(answer, targets=["5% to 50%"], samples=4000).passed
    True
    """
    if times < 1:
        raise ValueError(f"times={times} is not a count of reports; give 1 or more")
    audited = subject_of(subject)
    is_program = isinstance(implementation, Sequence)
    with AuditedProgram(implementation, audited.plan) if is_program else nullcontext(implementation) as tested:
        goals = read_targets(targets, audited.domains)
        rng = np.random.default_rng(settings.seed)
        population = audited.draw_population(reports, truth, people, rng)
        whole, by_name = _split_implementation(audited, tested)
        row_audit = partial(audit_row, reports=reports, truth=truth, people=people)
        rows, checks = _run_checks(audited, tested, whole, by_name, row_audit, samples, settings.false_alarm)
        beliefs = {**{name: target.prior for name, target in population.targets.items()}, **audited.beliefs(prior)}
        total, real = audited.total(beliefs, truth), population if reports is not None or truth is not None else None
        stated = audited.guarantees(total)
        joined = {width.attribute: width for row in rows for width in row.widths}
        exposure = Exposure(audited.channels, beliefs, real, times, joined, total)
        findings = _run_attacks(audited, population, max(times, REPEATS), rng)
        untested = not_audited(audited, by_name, whole is not None, checks)
        return Audit(
            f"{audited.name} (program {tested.name})" if isinstance(tested, AuditedProgram) else audited.name,
            stated,
            tuple(checks),
            (*findings, *(finding for row in rows for finding in row.findings)),
            Account(total, times, (*widths_of(population), *joined.values())),
            tuple(judge_target(goal, stated, exposure) for goal in goals),
            _list_assumptions(population, [row.source for row in rows]),
            settings.false_alarm,
            audited.plan.headings,
            (*([WHOLE_ONLY] if whole and not by_name else []), *untested),
        )


def _run_checks(
    audited: Subject, implementation: Any, whole: Any, by_name: Mapping[str, Any], row_audit: Callable[..., RowAudit],
    samples: int, false_alarm: float,
) -> tuple[list[RowAudit], list[Check]]:
    """Run the checks of every attribute and of whole records, which share the false alarm and the time.

    ``implementation``: what is audited; ``whole``: a function of tables in place of the plan's own, or None;
    ``by_name``: functions of single attributes; ``row_audit``: `audit_row` with the people to attack. Returns the
    audits of numbers that are blurred together, and a list of all checks.
    """
    records = (audited.is_plan or bool(audited.attributes_with_levels)) and (not by_name or whole is not None)
    parts = len(audited.level_channels) + len(audited.rows) + records
    longer = PEOPLE_OF_PROGRAMS if records and isinstance(implementation, AuditedProgram) else 1
    alpha, effort = false_alarm / parts, Effort(samples).divide_time(parts + longer - 1)
    rows = [
        row_audit(row, implementation=by_name.get(name), effort=effort, false_alarm=alpha)
        for name, row in audited.rows.items()
    ]
    checks = [check for row in rows for check in row.checks]
    for name, channel in audited.level_channels.items():
        checks += check_channel(
            channel, by_name.get(name), attribute=name, samples=samples, seconds=effort.seconds, false_alarm=alpha
        )
    if records:
        checks += check_records(audited.plan, whole, alpha, effort.multiply_time(longer))
    return rows, checks


def _split_implementation(audited: Subject, implementation: Any) -> tuple[Any, dict[str, Any]]:
    """Return an implementation as (a function of whole tables or None, a dict of functions of values by attribute)."""
    if isinstance(implementation, AuditedProgram):
        return implementation.people, implementation.attribute_callables(audited)
    whole = implementation if audited.is_plan and callable(implementation) else None
    names = {**audited.level_channels, **audited.rows}
    return whole, audited.map_by_name(None if whole else implementation, "implementation", names)


def not_audited(
    audited: Subject, by_name: Mapping[str, Any], whole: bool, checks: Sequence[Check]
) -> tuple[str, ...]:
    """Write a sentence for each part that the audit says nothing about, as a tuple.

    These are attributes that another program did not answer, keys it does not take, and checks that were skipped.
    ``by_name``: the other program's functions by attribute; ``whole``: whether it answers for whole records;
    ``checks``: the results.
    """
    sentences = []
    missing = [name for name in (*audited.level_channels, *audited.rows) if name not in by_name]
    if by_name and missing:
        sentences.append(f"{listed(missing)}: another program showed nothing; sfumato's own was tested in its place.")
    if by_name and audited.is_plan and not whole:
        sentences.append("Whole records of the other program: whether its attributes share noise was not tested.")
    for name, each in by_name.items():
        if isinstance(each, Mapping):
            size = audited.level_channels[name].inputs.size
            sentences.append(
                f"{name}: reports of {len(each):,} of {size:,} true values were given; noise used twice, keys, single "
                "and mixed calls were not tested."
            )
        elif not takes(each, "key", "question"):
            lacking = "the implementation takes no key, so reports with a device's key were not tested."
            sentences.append(f"{name}: {lacking}")
    given = {name for name, each in by_name.items() if isinstance(each, Mapping)}
    skipped = [each for each in checks if each.outcome == SKIPPED and each.name in ("fresh noise", "records")]
    sentences += [f"{each.attribute}, {each.name}: {each.text}" for each in skipped if each.attribute not in given]
    return tuple(sentences)


def _run_attacks(audited: Subject, population: Population, times: int, rng: np.random.Generator) -> list[Finding]:
    """Run all attacks that apply to a population, in the order: one attribute, several attributes, whole records.

    ``times``: how many fresh answers the attack by averaging gets.
    """
    findings = [best_guess(target) for target in population.targets.values()]
    findings += [averaging(target, times, rng) for target in population.targets.values()]
    for name, channel in audited.baskets.items():
        findings += item_guess(name, channel)
    return [*findings, *correlation_attacks(population), *outliers(population), *linkage(population)]


def _list_assumptions(population: Population, rows: list[str]) -> tuple[str, ...]:
    """Write the audit's assumptions, a tuple of sentences.

    ``rows``: where the people come from whose numbers are blurred together, in words.
    """
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
