"""What an audit found: a frozen value, words first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sfumato.guarantee import Guarantee
from sfumato.privacy.accounting import Account
from sfumato.privacy.attacks.finding import Finding
from sfumato.privacy.checks.check import Check
from sfumato.privacy.verdicts import Verdict
from sfumato.privacy.words import amount, counted, listed


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
    unprotected: tuple[str, ...]
    false_alarm: float
    questions: dict[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks) and all(verdict.met for verdict in self.verdicts)

    @property
    def broken(self) -> tuple[Check, ...]:
        """The checks that the implementation fails."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def confidence(self) -> float:
        """A sound implementation passes all checks with at least this probability."""
        return 1 - self.false_alarm

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
        parts = [
            ("", [self.headline()]),
            ("What a report can prove (a belief of 5 % that reaches 50 %, or falls back)", _lines(self.breaches())),
            (f"The implementation. {sure}", [*map(str, self.broken), *self._sound()]),
            ("Attacks", [*map(str, self.findings)]),
            ("One person's reports together", str(self.account).splitlines()),
            ("Targets", [*map(str, self.verdicts)]),
            ("Not protected", list(self.unprotected)),
            ("Assumed", list(self.assumptions)),
        ]
        return "\n\n".join(_paragraph(title, lines) for title, lines in parts if lines)

    def _sound(self) -> list[str]:
        """One line an attribute: what was tried and held."""
        names = dict.fromkeys(check.attribute for check in self.checks)
        told = {name: [check for check in self.checks if check.attribute == name] for name in names}
        lines = []
        for name, checks in told.items():
            held = [check.name for check in checks if check.outcome == "passed"]
            least = [check.numbers["least_gamma"] for check in checks if "least_gamma" in check.numbers]
            proved = f"; its reports prove γ ≥ {amount(max(least))}" if least else ""
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
            "attacks": [finding.to_dict() for finding in self.findings],
            "account": self.account.to_dict(),
            "targets": [verdict.to_dict() for verdict in self.verdicts],
            "not_protected": list(self.unprotected),
            "assumptions": list(self.assumptions),
        }

    def to_html(self, reader: str = "reviewer") -> str:
        """One page that needs no network, for a "reviewer" or for a "respondent"."""
        from sfumato.privacy.statements import statement_for

        return statement_for(self, reader).to_html()


def _paragraph(title: str, lines: list[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)]) if title else "\n".join(lines)


def _lines(told: dict[str, str]) -> list[str]:
    return [f"{name}: {text}" for name, text in told.items()]
