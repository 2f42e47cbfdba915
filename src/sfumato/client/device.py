"""A person's device: it answers plans with its own secret, and draws one report only of a value for each collector.

The device remembers each report of an attribute, with a hash of the value that it was drawn from. Asked again, under
another survey's name, through a respelt channel or at another level, it sends the remembered report; what is computed
from a report that was sent reveals nothing more. A further report (a changed value, another domain, reports of another
kind) is drawn with independent noise, multiplies the total by its own γ, and is refused beyond the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from sfumato.channels.identity import identity_of
from sfumato.channels.program.random_words import KeyedWords, question_of
from sfumato.client.ledger import Ledger, LedgerEntry, Receipt, Total
from sfumato.client.questions import AnswerBlur, BasketBlur, DeviceQuestion, questions_of
from sfumato.plan import Plan
from sfumato.plan.reports import chosen
from sfumato.tables import LEVEL_SUFFIX

DIGITS = 32
"""The hexadecimal digits of marks, digests and ids: 128 bits, of which two are never equal by chance."""
GAMMA_OF_NOTHING = "1"
"""γ of a missing answer, which no channel draws."""


@dataclass(frozen=True)
class Reply:
    """One person's report on a whole plan, ready to be sent to the collector."""

    plan: str  # the plan's identity
    id: str  # 32 hexadecimal digits; the same report again has the same id
    report: dict[str, Any]  # plain data: a value for every column


class PreparedReport(NamedTuple):
    """The report of one question on the device, found in the ledger or newly drawn, before it is sent."""

    question: DeviceQuestion
    blur: AnswerBlur
    entry: LedgerEntry  # what the ledger remembers of it
    sent: Any  # the report as it is sent; None: the answer is missing, or was not asked
    new: bool  # whether the entry has to be added to the ledger


class Device:
    """A person's device: it answers plans with a secret of its own and remembers its reports.

    ``secret``: 16 bytes or more, which draw all noise and are never sent; ``ledger``: the reports so far, and the
    person's limit; ``today``: a function that returns the current date.

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
        """Return one person's report for a plan, as a dict from column to blurred value; the ledger remembers it first.

        ``plan``: whose attributes are answered; ``answers``: the true values by column; ``collector``: who receives the
        report, as an address that the device knows for itself, not a name from the plan; ``levels``: how strongly the
        person chose to blur, by attribute, where the plan leaves a choice (None: the defaults). Beyond the person's
        limit it raises LimitError, and nothing is answered.
        """
        prepared = self._prepare(plan, answers, collector, levels or {})
        self.ledger.add(each.entry for each in prepared if each.new)
        report = _join_report(prepared)
        for each in prepared:
            if isinstance(each.blur, BasketBlur) and each.sent is not None:
                report[each.question.name] = each.blur.bitmap(each.sent)
        return report

    def reply(
        self, plan: Plan, answers: Mapping[str, Any], *, collector: str, levels: Mapping[str, str] | None = None
    ) -> Reply:
        """Return one person's report for a plan as it is sent, a ``Reply``: plain data and an id.

        ``plan``, ``answers``, ``collector`` and ``levels`` as for `answer`. The same report again has the same id, so
        that it is counted once; with an attribute that is blurred afresh at every round each call makes a new report.
        """
        prepared = self._prepare(plan, answers, collector, levels or {})
        whom, report = collector.strip(), _join_report(prepared)
        digest, before = identity_of(report)[:DIGITS], self.ledger.receipts_of(whom, plan.identity)
        afresh = any(each.blur.afresh and each.sent is not None for each in prepared)
        receipt = old = None if afresh else next((each for each in before if each.digest == digest), None)
        if receipt is None:
            id = self._keyed_hash("id", question_of(whom, plan.identity, len(before)))
            receipt = Receipt(whom, plan.name, plan.identity, id, digest, self._today().isoformat())
        self.ledger.add((each.entry for each in prepared if each.new), None if old else receipt)
        return Reply(plan.identity, receipt.id, report)

    def asks(self, plan: Plan, *, collector: str) -> tuple[str, ...]:
        """Return the names of the attributes of a ``plan`` that this device answers for a ``collector``, its address.

        Where each person answers only some (``questions_each``) of several attributes, the device's secret draws which:
        the same ones each time.
        """
        left_out = self._left_out(plan, collector.strip())
        return tuple(name for name in plan.attributes if name not in left_out)

    def _left_out(self, plan: Plan, whom: str) -> set[str]:
        """Return the names of the attributes of a plan that this device does not answer: its secret drew others.

        ``whom``: the collector's address.
        """
        if not plan.drawn:
            return set()
        words = self._words.row_about(question_of(whom, plan.identity, "asked"), 0, len(plan.drawn))
        answered = chosen(np.array([words], dtype=np.uint64), plan.questions_each or len(plan.drawn))[0]
        return {name for name, is_answered in zip(plan.drawn, answered.tolist(), strict=True) if not is_answered}

    def _prepare_left_out(self, question: DeviceQuestion, whom: str, survey: str, day: str) -> PreparedReport:
        """Return the empty report of an attribute that the device does not answer: nothing is sent or remembered.

        ``whom``: the collector; ``survey``: the plan's name; ``day``: today's date as text.
        """
        level, mark = question.level(None), self._keyed_hash("mark", question.identity_of_answer(None))
        about = whom, survey, question.name, question.domain_spec, question.identity, level, mark
        entry = LedgerEntry(*about, None, GAMMA_OF_NOTHING, day)
        return PreparedReport(question, question.levels[level], entry, None, False)

    def total(self, collector: str | None = None) -> Total:
        """Return what the reports that a ``collector`` (None: all) has so far reveal together, in γ and words.

        γ is the largest factor on the odds of anything about the person.
        """
        return self.ledger.total(collector)

    # --- one attribute ------------------------------------------------------------------------------------------

    def _prepare(
        self, plan: Plan, answers: Mapping[str, Any], collector: str, levels: Mapping[str, str]
    ) -> list[PreparedReport]:
        """Return the reports of all attributes of a plan, each found in the ledger or newly drawn.

        Nothing is remembered yet. ``answers``: the true values by column; ``collector``: the address that receives the
        reports; ``levels``: the chosen strength of blur by attribute.
        """
        if not isinstance(collector, str) or not collector.strip():
            raise ValueError("collector is empty; say who receives the reports, as an address that cannot be forged")
        whom, day, prepared = collector.strip(), self._today().isoformat(), list[PreparedReport]()
        left_out = self._left_out(plan, whom)
        plan.check_columns([*answers, *(column for name in left_out for column in plan.attributes[name].columns)])
        fresh: dict[str, list[LedgerEntry]] = {}
        for question in questions_of(plan):
            if question.name in left_out:
                prepared.append(self._prepare_left_out(question, whom, plan.name, day))
                continue
            level = _chosen_level(question, answers, levels) if question.has_levels else None
            namesakes = fresh.setdefault(question.same_name, [])
            try:
                value = question.value(answers)
                mark = self._keyed_hash("mark", question.identity_of_answer(value))
                old = self._find_entry(question, whom, mark, namesakes)
                entry = old or self._draw_entry(question, value, whom, level, plan.name, mark, day)
                blur = question.blur_of_entry(entry)
                prepared.append(PreparedReport(question, blur, entry, blur.send(entry.report), not old))
            except (ValueError, TypeError) as error:
                raise type(error)(f"{question.name}: {error}") from None
            namesakes += [] if old else [entry]
        return prepared

    def _find_entry(
        self, question: DeviceQuestion, collector: str, mark: str, namesakes: list[LedgerEntry]
    ) -> LedgerEntry | None:
        """Return the ledger's entry of an earlier report of the same value that can be sent again; None if none is.

        ``mark``: a keyed hash of the value, equal for equal values; ``namesakes``: new entries of the same plan whose
        attributes have the same name in another spelling.
        """
        for entry in (*self.ledger.reports_of(collector, question.same_name), *namesakes):
            if entry.mark == mark and question.has_domain_of(entry) and question.can_send(entry):
                return entry
        return None

    def _draw_entry(
        self, question: DeviceQuestion, value: Any, collector: str, level: str | None, survey: str, mark: str, day: str
    ) -> LedgerEntry:
        """Blur an answer, and return the entry with its report for the ledger.

        ``value``: the true answer (None: missing); ``level``: the chosen strength of blur; ``survey``: the plan's name;
        ``mark``: a keyed hash of the value; ``day``: today's date as text. The noise is keyed by the collector and the
        attribute's name, so that two collectors together have independent reports, and a device that lost its ledger
        draws the same report for the same channel.
        """
        chosen = question.level(level)
        blur = question.levels[chosen]
        about = collector, survey, question.name, question.domain_spec, question.identity, chosen, mark
        if value is None:
            return LedgerEntry(*about, None, GAMMA_OF_NOTHING, day)
        report = blur.draw(value, self._words, question_of(collector, question.same_name))
        return LedgerEntry(*about, report, blur.gamma, day)

    def _keyed_hash(self, purpose: str, text: str) -> str:
        """Return a hash of a text with the device's secret, 32 hexadecimal digits: without the secret it says nothing.

        ``purpose``: so that hashes for different uses differ.
        """
        return self._words.digest(f"sfumato/1/{purpose}\0{text}".encode()).hex()[:DIGITS]


def _chosen_level(question: DeviceQuestion, answers: Mapping[str, Any], levels: Mapping[str, str]) -> str | None:
    """Return the level (strength of blur) that a person chose for a question; None for the default.

    It stands in ``levels`` by the question's name, or in ``answers`` under that name with ".level".
    """
    return levels.get(question.name, answers.get(question.name + LEVEL_SUFFIX))


def _join_report(prepared: list[PreparedReport]) -> dict[str, Any]:
    """Return the report of a whole plan as it is sent: a dict from column to blurred value, None where missing.

    Where people choose how strongly to blur, the chosen level has a column too.
    """
    report: dict[str, Any] = {}
    for question, _, entry, sent, _ in prepared:
        if question.columns == (question.name,):
            report[question.name] = sent
        else:
            report |= sent or dict.fromkeys(question.columns)
        if question.has_levels:
            report[question.name + LEVEL_SUFFIX] = entry.level
    return report
