"""A person's device: it answers a plan with its own secret, and never tells a collector the same thing twice.

What a collector was told of an attribute is remembered, with the value that it was drawn from. Asked again, under
another survey's name, through a respelt channel or at another level, the device sends what it remembers; what is
computed from a report that was told reveals nothing more. A further report (a changed value, another domain, reports of
another kind) is drawn with independent noise, multiplies the total by its own γ, and is refused beyond the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from sfumato.channels.identity import identity_of
from sfumato.channels.program.random_words import KeyedWords, question_of
from sfumato.client.ledger import Ledger, Receipt, Told, Total
from sfumato.client.questions import BasketBlur, Blur, Question, questions_of
from sfumato.plan import Plan
from sfumato.plan.reports import chosen
from sfumato.tables import LEVEL_SUFFIX

DIGITS = 32
"""So many hexadecimal digits have marks, digests and ids."""
NOTHING_TOLD = "1"
"""γ of a missing answer."""


@dataclass(frozen=True)
class Reply:
    """What is sent for a plan: its identity, an id of the report's own, and the report as plain data."""

    plan: str
    id: str
    report: dict[str, Any]


class Asked(NamedTuple):
    """A question, what is remembered of it, what of that is sent, and whether it is remembered from now on."""

    question: Question
    blur: Blur
    told: Told
    sent: Any
    new: bool


class Device:
    """One person's secret (16 bytes or more, never sent) and the ledger of what was told.

    >>> import sfumato as sf
    >>> plan = sf.Plan.from_dict({"attributes": {"smokes": {
    ...     "categories": ["yes", "no"], "channel": "randomized-response", "gamma": 19}}})
    >>> device = sf.Device(b"sixteen bytes or more", sf.Ledger())
    >>> first = device.answer(plan, {"smokes": "yes"}, collector="town.example")
    >>> first == device.answer(plan, {"smokes": "yes"}, collector="town.example")
    True
    >>> round(float(device.total("town.example").gamma), 6)
    19.0
    """

    def __init__(self, secret: bytes, ledger: Ledger, *, today: Callable[[], date] = date.today) -> None:
        self._words = KeyedWords(secret, "")
        self.ledger, self._today = ledger, today

    def answer(
        self, plan: Plan, answers: Mapping[str, Any], *, collector: str, levels: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """One person's reports for a plan, remembered before they are returned; all of them or, beyond the limit, none.

        ``collector`` is who receives them: an address that the device knows for itself, not a name from the plan.
        """
        asked = self._ask(plan, answers, collector, levels or {})
        self.ledger.add(each.told for each in asked if each.new)
        report = _report(asked)
        for each in asked:
            if isinstance(each.blur, BasketBlur) and each.sent is not None:
                report[each.question.name] = each.blur.bitmap(each.sent)
        return report

    def reply(
        self, plan: Plan, answers: Mapping[str, Any], *, collector: str, levels: Mapping[str, str] | None = None
    ) -> Reply:
        """``answer`` as it is sent, as plain data with an id: the same report again has the same id, so that it is
        counted once; what is blurred afresh at every round is a new report each time."""
        asked = self._ask(plan, answers, collector, levels or {})
        whom, report = collector.strip(), _report(asked)
        digest, before = identity_of(report)[:DIGITS], self.ledger.receipts_of(whom, plan.identity)
        afresh = any(each.blur.afresh and each.sent is not None for each in asked)
        receipt = None if afresh else next((each for each in before if each.digest == digest), None)
        known = receipt is not None
        if receipt is None:
            made = self._keyed("id", question_of(whom, plan.identity, len(before)))
            receipt = Receipt(whom, plan.name, plan.identity, made, digest, self._today().isoformat())
        self.ledger.add((each.told for each in asked if each.new), None if known else receipt)
        return Reply(plan.identity, receipt.id, report)

    def asks(self, plan: Plan, *, collector: str) -> tuple[str, ...]:
        """The questions that this device answers of a plan; which ones of ``questions_each``, its secret says, so that
        asking the same again asks the same ones."""
        left_out = self._left_out(plan, collector.strip())
        return tuple(name for name in plan.attributes if name not in left_out)

    def _left_out(self, plan: Plan, whom: str) -> set[str]:
        if not plan.drawn:
            return set()
        words = self._words.row_about(question_of(whom, plan.identity, "asked"), 0, len(plan.drawn))
        asked = chosen(np.array([words], dtype=np.uint64), plan.questions_each or len(plan.drawn))[0]
        return {name for name, is_asked in zip(plan.drawn, asked.tolist(), strict=True) if not is_asked}

    def _unasked(self, question: Question, whom: str, survey: str, day: str) -> Asked:
        """Nothing is sent of it, and nothing is remembered."""
        level = question.level(None)
        mark = self._keyed("mark", question.identity_of_answer(None))
        told = Told(
            whom, survey, question.name, question.domain_spec, question.identity, level, mark, None, NOTHING_TOLD, day
        )
        return Asked(question, question.levels[level], told, None, False)

    def total(self, collector: str | None = None) -> Total:
        """What a collector was told so far, in words and γ."""
        return self.ledger.total(collector)

    # --- one attribute ------------------------------------------------------------------------------------------

    def _ask(
        self, plan: Plan, answers: Mapping[str, Any], collector: str, levels: Mapping[str, str]
    ) -> list[Asked]:
        """What is remembered and what is sent for every attribute; nothing is added to the ledger yet."""
        if not isinstance(collector, str) or not collector.strip():
            raise ValueError("collector is empty; say who receives the reports, as an address that cannot be forged")
        whom, day, asked = collector.strip(), self._today().isoformat(), list[Asked]()
        left_out = self._left_out(plan, whom)
        plan.check_columns([*answers, *(column for name in left_out for column in plan.attributes[name].columns)])
        fresh: dict[str, list[Told]] = {}
        for question in questions_of(plan):
            if question.name in left_out:
                asked.append(self._unasked(question, whom, plan.name, day))
                continue
            level = _wanted(question, answers, levels) if question.has_levels else None
            twins = fresh.setdefault(question.same_name, [])
            try:
                value = question.value(answers)
                mark = self._keyed("mark", question.identity_of_answer(value))
                known = self._remembered(question, whom, mark, twins)
                told = known or self._drawn(question, value, whom, level, plan.name, mark, day)
                blur = question.blur(told)
                sent = blur.sent(told.report)
                asked.append(Asked(question, blur, told, sent, not known))
            except (ValueError, TypeError) as error:
                raise type(error)(f"{question.name}: {error}") from None
            twins += [] if known else [told]
        return asked

    def _remembered(self, question: Question, collector: str, mark: str, twins: list[Told]) -> Told | None:
        """What was told of the same value: before, or in the same plan under another spelling."""
        for told in (*self.ledger.reports_of(collector, question.same_name), *twins):
            if told.mark == mark and question.is_over(told) and question.carries(told):
                return told
        return None

    def _drawn(
        self, question: Question, value: Any, collector: str, level: str | None, survey: str, mark: str, day: str
    ) -> Told:
        """A report to remember. The noise is the collector's own for the attribute's name, so that two collectors
        together hold independent reports, and a lost ledger draws the same one for the same channel."""
        chosen = question.level(level)
        blur = question.levels[chosen]
        about = collector, survey, question.name, question.domain_spec, question.identity, chosen, mark
        if value is None:
            return Told(*about, None, NOTHING_TOLD, day)
        report = blur.draw(value, self._words, question_of(collector, question.same_name))
        return Told(*about, report, blur.gamma, day)

    def _keyed(self, purpose: str, text: str) -> str:
        """A keyed hash: the same for the same text, and nothing to anybody without the secret."""
        return self._words.digest(f"sfumato/1/{purpose}\0{text}".encode()).hex()[:DIGITS]


def _wanted(question: Question, answers: Mapping[str, Any], levels: Mapping[str, str]) -> str | None:
    """The level that a person asked for, beside the answers or among them."""
    return levels.get(question.name, answers.get(question.name + LEVEL_SUFFIX))


def _report(asked: list[Asked]) -> dict[str, Any]:
    """A value for every column, and the level where people choose one."""
    report: dict[str, Any] = {}
    for question, _, told, sent, _ in asked:
        if question.columns == (question.name,):
            report[question.name] = sent
        else:
            report |= sent or dict.fromkeys(question.columns)
        if question.has_levels:
            report[question.name + LEVEL_SUFFIX] = told.level
    return report
