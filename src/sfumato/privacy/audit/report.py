"""What an audit found: a frozen value, words first, and its two pages, for a respondent and for a reviewer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sfumato.guarantee import Guarantee
from sfumato.guarantee.page import page_of
from sfumato.pages import Page
from sfumato.privacy.accounting import Account
from sfumato.privacy.attacks import Finding
from sfumato.privacy.audit.check import Check
from sfumato.privacy.targets import Verdict
from sfumato.prose import counted, in_words, listed, percent

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
MAY_BE_UNLIMITED = ("gamma", "epsilon", "inverse_worst_case_information")
CONFIDENCES = ("0.5", "0.95", "0.999")
WIDTHS = {"credible_width": "credible width", "interval": "AS00's width, noise alone,"}
SEEN_BY = {"bias": "smallest_bias", "leak": "smallest_leak", "seeds": "largest_seed", "pad": "longest_pad"}


@dataclass(frozen=True, eq=False)
class Audit:
    """``passed``: the implementation keeps to its stated law and every target is met. Attacks are told beside it:
    how much a report gives away is for people to judge, and a plan that states it honestly has not failed."""

    subject: str
    guarantees: dict[str, Guarantee]
    checks: tuple[Check, ...]
    findings: tuple[Finding, ...]
    account: Account
    verdicts: tuple[Verdict, ...]
    assumptions: tuple[str, ...]
    false_alarm: float
    headings: dict[str, str]
    unaudited: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks) and all(verdict.met for verdict in self.verdicts)

    @property
    def broken(self) -> tuple[Check, ...]:
        """The checks that the implementation fails."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Everything that no noise covers."""
        return tuple(self.account.once.besides.splitlines())

    @property
    def confidence(self) -> float:
        """A sound implementation passes all checks with at least this probability."""
        return 1 - self.false_alarm

    @property
    def could_have_seen(self) -> dict[str, dict[str, float]]:
        """For each attribute the smallest faults that this very run finds 99 times in 100: ``bias`` of a probability,
        ``leak``, the share of answers sent as they are, ``seeds`` a call and numbers of a ``pad`` that come again."""
        found: dict[str, dict[str, float]] = {}
        for check in self.checks:
            known = {name: check.numbers.get(key) for name, key in SEEN_BY.items()}
            seen = {name: number for name, number in known.items() if number is not None}
            if seen:
                found[check.attribute] = found.get(check.attribute, {}) | seen
        return found

    def _limits(self) -> list[str]:
        """The least that every attribute's checks see, in one sentence."""
        seen = self.could_have_seen.values()
        worst = {name: [part[name] for part in seen if name in part] for name in SEEN_BY}
        told = []
        if worst["bias"]:
            told.append(f"a probability that is off by {_share(max(worst['bias']))}")
        if worst["leak"]:
            told.append(f"{_share(max(worst['leak']))} of answers sent as they are")
        if worst["seeds"]:
            bits = math.floor(math.log2(min(worst["seeds"])))
            told.append(f"a seed of {bits} bits a call or a pad of {min(worst['pad']):,.0f} numbers used again")
        if not told:
            return []
        longer = "ten times the samples (samples=, sfumato audit --samples) see faults a third as large"
        return [f"This run finds, 99 times in 100, {listed(told)}, and nothing much smaller; {longer}."]

    def headline(self) -> str:
        missed = [verdict for verdict in self.verdicts if not verdict.met]
        if self.broken:
            ways = counted(len(self.broken), "way")
            return f"{self.subject}: FAILED, the implementation breaks its own statement in {ways}."
        if missed:
            return f"{self.subject}: FAILED, {len(missed)} of {counted(len(self.verdicts), 'target')} missed."
        tried = counted(sum(check.outcome == "passed" for check in self.checks), "check")
        targets = f" and meets {counted(len(self.verdicts), 'target')}" if self.verdicts else ""
        return f"{self.subject}: passed. The implementation keeps to its statement in {tried}{targets}."

    def breaches(self, rho1: float = 0.05, rho2: float = 0.5) -> dict[str, str]:
        """For each attribute, a report and a property that show a breach, in words, or that there is none."""
        return {name: str(guarantee.breach(rho1, rho2)) for name, guarantee in self.guarantees.items()}

    def __str__(self) -> str:
        sure = f"A sound implementation fails by chance once in {1 / self.false_alarm:,.0f} audits."
        parts = {
            "What a report can prove (a belief of 5 % that reaches 50 %, or falls back)": self._proofs(),
            f"The implementation. {sure}": [*map(str, self.broken), *self._sound(), *self._limits()],
            "Not audited": self.unaudited,
            "Attacks": [*map(str, self.findings)],
            "One person's reports together": str(self.account).splitlines(),
            "Targets": [*map(str, self.verdicts)],
            "Assumed": self.assumptions,
        }
        told = ["\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in parts.items() if lines]
        return "\n\n".join([self.headline(), *told])

    def _proofs(self) -> list[str]:
        return [f"{name}: {text}" for name, text in self.breaches().items()]

    def _sound(self) -> list[str]:
        """One line an attribute: what was tried and held."""
        lines = []
        for name in dict.fromkeys(check.attribute for check in self.checks):
            checks = [check for check in self.checks if check.attribute == name]
            held = list(dict.fromkeys(check.name for check in checks if check.outcome == "passed"))
            least = [check.numbers["least_gamma"] for check in checks if "least_gamma" in check.numbers]
            proved = f"; its reports prove γ ≥ {in_words(max(least))}" if least else ""
            lines += [f"[ok] {name}: {listed(held)}{proved}."] if held else []
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "subject": self.subject,
            "passed": self.passed,
            "headline": self.headline(),
            "confidence": self.confidence,
            "guarantees": {name: guarantee.to_dict() for name, guarantee in self.guarantees.items()},
            "breaches": self.breaches(),
            "checks": [check.to_dict() for check in self.checks],
            "could_have_seen": self.could_have_seen,
            "not_audited": list(self.unaudited),
            "attacks": [finding.to_dict() for finding in self.findings],
            "account": self.account.to_dict(),
            "targets": [verdict.to_dict() for verdict in self.verdicts],
            "not_protected": list(self.unprotected),
            "assumptions": list(self.assumptions),
        }

    def to_html(self, reader: str = "reviewer") -> str:
        """One page that needs no network, for a "reviewer" or for a "respondent"."""
        if reader not in READERS:
            raise ValueError(f"reader={reader!r} is unknown; use {listed(READERS, 'or')}")
        return READERS[reader](self).html()


# --- pages --------------------------------------------------------------------------------------------------------


def _respondent(audit: Audit) -> Page:
    """What happens to your answers, question by question, and what stays visible."""
    return page_of(audit.headings, audit.account.once, tested=not audit.broken)


def _reviewer(audit: Audit) -> Page:
    """All measures, checks and attacks, the assumptions, and what is not protected."""
    page = Page(f"Privacy audit of {audit.subject}").note(audit.headline(), good=audit.passed)
    _section(page, "Targets", map(str, audit.verdicts))
    widths = [f"{kind} at {100 * float(c):g} %" for kind in WIDTHS.values() for c in CONFIDENCES]
    head = ["attribute", *MEASURES.values(), *widths]
    page.section("All measures").table(map(_measures, audit.guarantees, audit.guarantees.values()), head)
    _section(page, "What a report can prove", audit._proofs())
    page.section(f"The implementation, checked on its own reports (confidence {percent(audit.confidence, 6)})")
    rows = [(check.attribute, check.name, check.outcome, check.text) for check in audit.checks]
    page.table(rows, ["attribute", "check", "outcome", "found"], wrap=True)
    for line in audit._limits():
        page.paragraph(line)
    _section(page, "Not audited", audit.unaudited)
    head = ["attribute", "measure", "without report", "with report", "stated", "below stated", "attack"]
    if audit.findings:
        page.section("Attacks").table(map(_attack, audit.findings), head, wrap=True)
    _section(page, "One person's reports together", str(audit.account).splitlines())
    return _section(page, "Assumptions", audit.assumptions)


def _share(share: float) -> str:
    """A share with two digits that count, never told as none."""
    return percent(share, max(1 - math.floor(math.log10(share)) - 2, 0), up=True)


def _section(page: Page, title: str, lines: Iterable[str]) -> Page:
    """A section of a few paragraphs or of a list; none where there is nothing to say."""
    told = list(lines)
    if not told:
        return page
    page.section(title)
    return page.paragraph("\n".join(told)) if len(told) < 3 else page.items(told)


def _measures(name: str, guarantee: Guarantee) -> list[str]:
    """A dash for what does not apply, the word for what has no bound."""
    numbers = guarantee.to_dict()
    widths = {f"{kind} {at}": numbers.get(kind, {}).get(at) for kind in WIDTHS for at in CONFIDENCES}
    found = {**{key: numbers.get(key) for key in MEASURES}, **widths}
    empty = {key: "unlimited" if key in numbers and key in MAY_BE_UNLIMITED else "–" for key in found}
    return [name, *(empty[key] if number is None else in_words(number) for key, number in found.items())]


def _attack(finding: Finding) -> list[str]:
    measure = "95 % width" if finding.measure == "width" else "people hit"
    stated = "–" if finding.stated is None else finding.shown(finding.stated)
    numbers = [finding.shown(finding.without_report), finding.shown(finding.recovered), stated]
    attack = f"{finding.attack}. {finding.note}" if finding.note else finding.attack
    return [finding.attribute, measure, *numbers, percent(finding.below_stated, 0), attack]


READERS = {"respondent": _respondent, "reviewer": _reviewer}
