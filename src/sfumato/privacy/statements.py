"""Statements that people understand: one page for a respondent, one for a reviewer, as HTML and as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.privacy.attacks.finding import Finding
from sfumato.privacy.page import bullets, page, paragraphs, section, table
from sfumato.privacy.report import Audit
from sfumato.privacy.words import amount

MEASURES = {
    "gamma": "γ",
    "epsilon": "ε",
    "entropy_privacy": "entropy privacy Π(A|B)",
    "prior_privacy": "before the report Π(A)",
    "privacy_loss": "privacy loss",
    "mutual_information": "mutual information, bits",
    "worst_case_information": "worst-case information, bits",
    "inverse_worst_case_information": "inverse worst case, bits",
}
CONFIDENCES = ("0.5", "0.95", "0.999")


@dataclass(frozen=True)
class Section:
    """A title and either lines of prose or a table."""

    title: str
    lines: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        if self.rows:
            return {"title": self.title, "table": [dict(zip(self.head, row, strict=True)) for row in self.rows]}
        return {"title": self.title, "text": list(self.lines)}

    def to_html(self) -> str:
        prose = "".join(map(paragraphs, self.lines)) if len(self.lines) < 3 else bullets(self.lines)
        return section(self.title, prose + table(self.head, self.rows))


@dataclass(frozen=True)
class Statement:
    """A page for one kind of reader."""

    title: str
    verdict: str
    passed: bool
    sections: tuple[Section, ...]

    def to_dict(self) -> dict[str, Any]:
        shown = [part.to_dict() for part in self.sections if part.lines or part.rows]
        return {"title": self.title, "verdict": self.verdict, "passed": self.passed, "sections": shown}

    def to_html(self) -> str:
        return page(self.title, self.verdict, self.passed, (part.to_html() for part in self.sections))


def statement_for(audit: Audit, reader: str) -> Statement:
    """The statement for a "respondent" or a "reviewer"."""
    if reader not in READERS:
        raise ValueError(f"reader={reader!r} is unknown; use one of {', '.join(READERS)}")
    return READERS[reader](audit)


def respondent(audit: Audit) -> Statement:
    """What happens to your answers, question by question, and what stays visible."""
    asked = [
        Section(audit.questions.get(name, name), (" ".join(_for_people(str(guarantee))),))
        for name, guarantee in audit.guarantees.items()
    ]
    good = "The program that blurs your answers was tested and does what is stated here."
    bad = "The program that blurs your answers does NOT do what is stated here. Do not answer before it is mended."
    return Statement(
        "What happens to your answers",
        bad if audit.broken else good,
        not audit.broken,
        (
            *asked,
            Section("All your answers together", tuple(str(audit.account).splitlines())),
            Section("What somebody can find out who sees everybody's reports", tuple(_told(audit))),
            Section("What is not protected", audit.unprotected),
        ),
    )


def _for_people(guarantee: str) -> list[str]:
    """The sentences about the answer; what to choose instead is for those who plan."""
    return [line for line in guarantee.splitlines() if not line.startswith("If a bound is needed")]


def _told(audit: Audit) -> list[str]:
    """For each answer, the attack on a single round of reports that gets furthest."""
    single = [finding for finding in audit.findings if "fresh answers" not in finding.attack]
    names = dict.fromkeys(finding.attribute for finding in single)
    return [str(min((f for f in single if f.attribute == name), key=_severity)) for name in names]


def _severity(finding: Finding) -> float:
    return finding.recovered if finding.measure == "width" else -finding.recovered


def reviewer(audit: Audit) -> Statement:
    """All measures, checks and attacks, the assumptions, and what is not protected."""
    return Statement(
        f"Privacy audit of {audit.subject}",
        audit.headline(),
        audit.passed,
        (
            Section("Targets", tuple(map(str, audit.verdicts))),
            _measures(audit),
            Section("What a report can prove", tuple(f"{name}: {text}" for name, text in audit.breaches().items())),
            _checks(audit),
            _attacks(audit),
            Section("One person's reports together", tuple(str(audit.account).splitlines())),
            Section("Assumptions", audit.assumptions),
            Section("Not protected", audit.unprotected),
        ),
    )


def _measures(audit: Audit) -> Section:
    head = ("attribute", *MEASURES.values(), *(f"interval at {float(c):.1%}" for c in CONFIDENCES))
    rows = []
    for name, guarantee in audit.guarantees.items():
        numbers = guarantee.to_dict()
        widths = numbers.get("interval", {})
        cells = [_cell(numbers, key) for key in MEASURES] + [_cell(widths, c) for c in CONFIDENCES]
        rows.append((name, *cells))
    return Section("All measures", (), head, tuple(rows))


def _cell(numbers: dict[str, Any], key: str) -> str:
    """A dash for what does not apply, the word for what has no bound."""
    number = numbers.get(key)
    if number is not None:
        return amount(number)
    return "unlimited" if key in numbers and key in ("gamma", "epsilon", "inverse_worst_case_information") else "–"


def _checks(audit: Audit) -> Section:
    rows = tuple((check.attribute, check.name, check.outcome, check.text) for check in audit.checks)
    title = f"The implementation, checked on its own reports (confidence {audit.confidence:.6%})"
    return Section(title, (), ("attribute", "check", "outcome", "found"), rows)


def _attacks(audit: Audit) -> Section:
    head = ("attribute", "attack", "measure", "without report", "with report", "stated", "below stated", "note")
    return Section("Attacks", (), head, tuple(_attack_row(finding) for finding in audit.findings))


def _attack_row(finding: Finding) -> tuple[str, ...]:
    show = amount if finding.measure == "width" else "{:.1%}".format
    measure = "95 % width" if finding.measure == "width" else "people hit"
    stated = "–" if finding.stated is None else show(finding.stated)
    numbers = (show(finding.without_report), show(finding.recovered), stated, f"{finding.below_stated:.0%}")
    return (finding.attribute, finding.attack, measure, *numbers, finding.note)


READERS = {"respondent": respondent, "reviewer": reviewer}
