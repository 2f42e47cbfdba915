"""The result of an audit: a frozen value, its sentences, and its two pages, for a respondent and for a reviewer."""

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
from sfumato.privacy.targets import TargetVerdict
from sfumato.prose import counted, in_words, listed, percent

# Keys of ``Guarantee.to_dict``, and how the reviewer's page names them.
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
CONFIDENCES = ("0.5", "0.95", "0.999")  # those of AS00's Table 1, at which guarantees state widths
WIDTHS = {"credible_width": "credible width", "interval": "AS00's width, noise alone,"}
SEEN_BY = {"bias": "smallest_bias", "leak": "smallest_leak", "seeds": "largest_seed", "pad": "longest_pad"}


@dataclass(frozen=True, eq=False)
class Audit:
    """The result of `audit`: stated guarantees, checks of the implementation, attacks, and verdicts on targets.

    Printed it is a text for people. The audit has passed if the implementation keeps to its stated law and every
    target is met. Attacks stand beside that: how much a report gives away is for people to judge, and a plan that
    states it honestly has not failed.

    ``subject``: the name of what was audited; ``guarantees``: what each attribute states; ``checks``: the results of
    testing the implementation; ``findings``: the results of the attacks; ``account``: what all reports of a person
    reveal together; ``verdicts``: on each target; ``assumptions``: what the audit takes for granted, as sentences;
    ``false_alarm``: the chance at most that a sound implementation fails; ``headings``: how respondents read each
    attribute's name; ``unaudited``: what was not tested, as sentences.

    >>> import sfumato as sf
    >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    >>> audit = sf.audit(coin, targets=["5% to 20%"], samples=4000)
    >>> audit.passed, audit.broken, audit.verdicts[0].met
    (True, (), True)
    >>> audit.findings[0].attack
    'best guess from its own report'
    """

    subject: str
    guarantees: dict[str, Guarantee]
    checks: tuple[Check, ...]
    findings: tuple[Finding, ...]
    account: Account
    verdicts: tuple[TargetVerdict, ...]
    assumptions: tuple[str, ...]
    false_alarm: float
    headings: dict[str, str]
    unaudited: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether no check failed and every target is met."""
        return all(check.passed for check in self.checks) and all(verdict.met for verdict in self.verdicts)

    @property
    def broken(self) -> tuple[Check, ...]:
        """The checks that the implementation failed, as a tuple."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Sentences about everything that reports reveal beside their blurred answers, which no noise covers."""
        return tuple(self.account.once.besides.splitlines())

    @property
    def confidence(self) -> float:
        """The probability, at least, with which a sound implementation passes all checks."""
        return 1 - self.false_alarm

    @property
    def could_have_seen(self) -> dict[str, dict[str, float]]:
        """For each attribute the smallest faults that this very run finds 99 times in 100.

        ``bias``: how far off a probability is; ``leak``: the share of answers sent as they are; ``seeds``: how many
        seeds there are, where each call takes one; ``pad``: how many random numbers there are, where calls use a list
        of them again.
        """
        faults: dict[str, dict[str, float]] = {}
        for check in self.checks:
            figures = {name: check.numbers.get(key) for name, key in SEEN_BY.items()}
            detectable = {name: number for name, number in figures.items() if number is not None}
            if detectable:
                faults[check.attribute] = faults.get(check.attribute, {}) | detectable
        return faults

    def _detectable_faults(self) -> list[str]:
        """Write a sentence with the smallest faults that this run finds in every attribute, in a list.

        The list is empty without checks that state it.
        """
        faults = self.could_have_seen.values()
        worst = {name: [part[name] for part in faults if name in part] for name in SEEN_BY}
        phrases = []
        if worst["bias"]:
            phrases.append(f"a probability that is off by {_share_text(max(worst['bias']))}")
        if worst["leak"]:
            phrases.append(f"{_share_text(max(worst['leak']))} of answers sent as they are")
        if worst["seeds"]:
            bits = math.floor(math.log2(min(worst["seeds"])))
            phrases.append(f"a seed of {bits} bits a call or a pad of {min(worst['pad']):,.0f} numbers used again")
        if not phrases:
            return []
        longer = "ten times the samples (samples=, sfumato audit --samples) see faults a third as large"
        return [f"This run finds, 99 times in 100, {listed(phrases)}, and nothing much smaller; {longer}."]

    def headline(self) -> str:
        """Write the result in one sentence: whether the audit passed, or how many checks and targets it failed."""
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
        """Describe for each attribute whether a report can move a belief from ``rho1`` to ``rho2`` or back.

        Sentences by name. Where one can, the sentence names the report and what it proves; ``rho1`` < ``rho2`` are
        probabilities.
        """
        return {name: str(guarantee.breach(rho1, rho2)) for name, guarantee in self.guarantees.items()}

    def __str__(self) -> str:
        sure = f"A sound implementation fails by chance once in {1 / self.false_alarm:,.0f} audits."
        parts = {
            "What a report can prove (a belief of 5 % that reaches 50 %, or falls back)": self._proofs(),
            f"The implementation. {sure}": [*map(str, self.broken), *self._sound_checks(), *self._detectable_faults()],
            "Not audited": self.unaudited,
            "Attacks": [*map(str, self.findings)],
            "One person's reports together": str(self.account).splitlines(),
            "Targets": [*map(str, self.verdicts)],
            "Assumed": self.assumptions,
        }
        sections = ["\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in parts.items() if lines]
        return "\n\n".join([self.headline(), *sections])

    def _proofs(self) -> list[str]:
        """Write a line for each attribute about what its reports can prove about a person."""
        return [f"{name}: {text}" for name, text in self.breaches().items()]

    def _sound_checks(self) -> list[str]:
        """Write a line for each attribute with the checks that it passed and the γ that its reports prove.

        γ is the largest factor of a report on the odds.
        """
        lines = []
        for name in dict.fromkeys(check.attribute for check in self.checks):
            checks = [check for check in self.checks if check.attribute == name]
            passed = list(dict.fromkeys(check.name for check in checks if check.outcome == "passed"))
            least = [check.numbers["least_gamma"] for check in checks if "least_gamma" in check.numbers]
            proved = f"; its reports prove γ ≥ {in_words(max(least))}" if least else ""
            lines += [f"[ok] {name}: {listed(passed)}{proved}."] if passed else []
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the whole audit as a dict for JSON, with its sentences."""
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
        """Return the audit as an HTML page that needs no network.

        ``reader``: "reviewer" (all measures, checks and attacks) or "respondent" (what happens to the answers).
        """
        if reader not in READERS:
            raise ValueError(f"reader={reader!r} is unknown; use {listed(READERS, 'or')}")
        return READERS[reader](self).html()


# --- pages --------------------------------------------------------------------------------------------------------


def _respondent_page(audit: Audit) -> Page:
    """Make the audit's page for people who answer: what happens to each answer, and what stays visible."""
    return page_of(audit.headings, audit.account.once, tested=not audit.broken)


def _reviewer_page(audit: Audit) -> Page:
    """Make the audit's page for a reviewer: measures, checks and attacks, assumptions, and what is not protected."""
    page = Page(f"Privacy audit of {audit.subject}").note(audit.headline(), good=audit.passed)
    _add_section(page, "Targets", map(str, audit.verdicts))
    widths = [f"{kind} at {100 * float(c):g} %" for kind in WIDTHS.values() for c in CONFIDENCES]
    head = ["attribute", *MEASURES.values(), *widths]
    page.section("All measures").table(map(_measure_row, audit.guarantees, audit.guarantees.values()), head)
    _add_section(page, "What a report can prove", audit._proofs())
    page.section(f"The implementation, checked on its own reports (confidence {percent(audit.confidence, 6)})")
    rows = [(check.attribute, check.name, check.outcome, check.text) for check in audit.checks]
    page.table(rows, ["attribute", "check", "outcome", "found"], wrap=True)
    for line in audit._detectable_faults():
        page.paragraph(line)
    _add_section(page, "Not audited", audit.unaudited)
    head = ["attribute", "measure", "without report", "with report", "stated", "below stated", "attack"]
    if audit.findings:
        page.section("Attacks").table(map(_attack_row, audit.findings), head, wrap=True)
    _add_section(page, "One person's reports together", str(audit.account).splitlines())
    return _add_section(page, "Assumptions", audit.assumptions)


def _share_text(share: float) -> str:
    """Write a share as text in percent with two digits that are not 0, rounded up."""
    return percent(share, max(1 - math.floor(math.log10(share)) - 2, 0), up=True)


def _add_section(page: Page, title: str, lines: Iterable[str]) -> Page:
    """Add a section to a page, with up to two lines as a paragraph and more as a list; return the page.

    Without lines nothing is added.
    """
    texts = list(lines)
    if not texts:
        return page
    page.section(title)
    return page.paragraph("\n".join(texts)) if len(texts) < 3 else page.items(texts)


def _measure_row(name: str, guarantee: Guarantee) -> list[str]:
    """Return the texts of a table's row: an attribute's privacy measures, a dash for what does not apply.

    "unlimited" stands for a measure without a bound.
    """
    numbers = guarantee.to_dict()
    widths = {f"{kind} {at}": numbers.get(kind, {}).get(at) for kind in WIDTHS for at in CONFIDENCES}
    measures = {**{key: numbers.get(key) for key in MEASURES}, **widths}
    empty = {key: "unlimited" if key in numbers and key in MAY_BE_UNLIMITED else "–" for key in measures}
    return [name, *(empty[key] if number is None else in_words(number) for key, number in measures.items())]


def _attack_row(finding: Finding) -> list[str]:
    """Return the texts of a table's row on an attack: attribute, measure, numbers, how far below the stated."""
    measure = "95 % width" if finding.measure == "width" else "people hit"
    stated = "–" if finding.stated is None else finding.shown(finding.stated)
    numbers = [finding.shown(finding.without_report), finding.shown(finding.recovered), stated]
    attack = f"{finding.attack}. {finding.note}" if finding.note else finding.attack
    return [finding.attribute, measure, *numbers, percent(finding.below_stated, 0), attack]


READERS = {"respondent": _respondent_page, "reviewer": _reviewer_page}
