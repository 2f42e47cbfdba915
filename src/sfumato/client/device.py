"""A person's device: it answers a plan with its own secret, and never tells a collector the same thing twice.

What a collector was told of an attribute is remembered, with the value that it was drawn from. Asked again, under
another survey's name, through a respelt channel or at another level, the device sends what it remembers; what is
computed from a report that was told reveals nothing more. A further report (a changed value, another domain, reports of
another kind) is drawn with independent noise, multiplies the total by its own γ, and is refused beyond the limit.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.channels.base import Channel, Mechanism, identity_of
from sfumato.channels.baskets import BasketReports, Baskets, SelectASize
from sfumato.channels.longitudinal import Longitudinal
from sfumato.channels.words import KeyedWords, question_of
from sfumato.client.ledger import Ledger, Receipt, Told, Total, gamma_text, same_name
from sfumato.domain import Categories, Interval, Items, Row, is_missing
from sfumato.plan import Attribute, Plan
from sfumato.tables import LEVEL_SUFFIX

DIGITS = 32
"""So many hexadecimal digits have marks, digests and ids."""


@dataclass(frozen=True)
class Reply:
    """What is sent for a plan: its identity, an id of the report's own, and the report as plain data."""

    plan: str
    id: str
    report: dict[str, Any]


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
        KeyedWords(secret, "")  # refuses a weak secret
        self._secret, self.ledger, self._today = bytes(secret), ledger, today

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
            if isinstance(each.attribute.domain, Items) and each.sent is not None:
                report[each.attribute.name] = _basket_reports(each)
        return report

    def reply(
        self, plan: Plan, answers: Mapping[str, Any], *, collector: str, levels: Mapping[str, str] | None = None
    ) -> Reply:
        """``answer`` as plain data and with an id, as it is sent: the same report again has the same id, so that it is
        counted once; what is blurred afresh at every round is a new report each time."""
        asked = self._ask(plan, answers, collector, levels or {})
        whom, report = collector.strip(), _report(asked)
        digest, before = identity_of(report)[:DIGITS], self.ledger.receipts_of(whom, plan.identity)
        afresh = any(each.afresh for each in asked)
        receipt = next((each for each in before if each.digest == digest and not afresh), None)
        if receipt is None:
            made = self._keyed("id", question_of(whom, plan.identity, len(before)))
            receipt = Receipt(whom, plan.name, plan.identity, made, digest, self._day)
        self.ledger.add((each.told for each in asked if each.new), None if receipt in before else receipt)
        return Reply(plan.identity, receipt.id, report)

    def total(self, collector: str | None = None) -> Total:
        """What a collector was told so far, in words and γ."""
        return self.ledger.total(collector)

    @property
    def _day(self) -> str:
        return self._today().isoformat()

    # --- one attribute ------------------------------------------------------------------------------------------

    def _ask(
        self, plan: Plan, answers: Mapping[str, Any], collector: str, levels: Mapping[str, str]
    ) -> list[Asked]:
        """What is remembered and what is sent for every attribute; nothing is added to the ledger yet."""
        if not isinstance(collector, str) or not collector.strip():
            raise ValueError("collector is empty; say who receives the reports, as an address that cannot be forged")
        plan.check_columns(list(answers))
        asked: list[Asked] = []
        for each in plan.attributes.values():
            level = levels.get(each.name, answers.get(each.name + LEVEL_SUFFIX))
            try:
                asked.append(self._told(plan.name, each, answers, collector.strip(), level, asked))
            except (ValueError, TypeError) as error:
                raise type(error)(f"{each.name}: {error}") from None
        return asked

    def _told(
        self, survey: str, each: Attribute, answers: Mapping[str, Any], collector: str, level: str | None,
        earlier: list[Asked],
    ) -> Asked:
        """What is remembered for the attribute: from before, or drawn now."""
        value = known_value(each, answers)
        mark, name = self._mark(each, value), same_name(each.name)
        twins = [one.told for one in earlier if one.new and same_name(one.attribute.name) == name]
        for told in (*self.ledger.reports_of(collector, each.name), *twins):
            if told.mark == mark and told.domain_identity == each.domain_identity and can_carry(each.channel, told):
                return Asked(each, told, sent_of(each.channel, told), new=False)
        chosen = chosen_level(each.channel, level)
        gamma = Fraction(1) if value is None else gamma_of(each.channel, chosen)
        told = Told(
            collector, survey, each.name, each.domain_spec, each.channel.identity if each.channel else None, chosen,
            mark, self._draw(each, value, collector, chosen), gamma_text(gamma), self._day,
        )  # fmt: skip
        return Asked(each, told, sent_of(each.channel, told), new=True)

    def _draw(self, each: Attribute, value: Any, collector: str, level: str | None) -> Any:
        """The report to remember, as plain data. The noise is the collector's own for the attribute's name, so that two
        collectors together hold independent reports, and a lost ledger draws the same one for the same channel."""
        lasting = lasting_part(each.channel, level)
        if value is None or lasting is None:
            return value
        asked: dict[str, Any] = {"key": self._secret, "question": question_of(collector, same_name(each.name))}
        if isinstance(lasting, SelectASize):
            return plain_basket(lasting, lasting.randomize([value], compress=lasting.has_seeds, **asked))
        return lasting.randomize(value, **asked)

    def _mark(self, each: Attribute, value: Any) -> str:
        """A keyed hash of the value: the same for the same one, and nothing to anybody without the secret."""
        return self._keyed("mark", identity_of([same_name(each.name), value]))

    def _keyed(self, purpose: str, text: str) -> str:
        return hmac.digest(self._secret, f"sfumato/1/{purpose}\0{text}".encode(), hashlib.sha256).hex()[:DIGITS]


@dataclass(frozen=True)
class Asked:
    """An attribute, what is remembered of it, and what of that is sent."""

    attribute: Attribute
    told: Told
    sent: Any
    new: bool

    @property
    def afresh(self) -> bool:
        """Whether what is sent is drawn anew at every round."""
        return self.sent is not None and isinstance(_channel_of(self.attribute.channel, self.told), Longitudinal)


def _report(asked: list[Asked]) -> dict[str, Any]:
    """A value for every column, and the level where people choose one."""
    report: dict[str, Any] = {}
    for each in asked:
        attribute, sent = each.attribute, each.sent
        several = attribute.columns != (attribute.name,)
        report |= (sent or dict.fromkeys(attribute.columns)) if several else {attribute.name: sent}
        if attribute.has_levels:
            report[attribute.name + LEVEL_SUFFIX] = each.told.level
    return report


# --- values and reports as plain data -------------------------------------------------------------------------------


def known_value(each: Attribute, answers: Mapping[str, Any]) -> Any:
    """The person's answer as plain data, checked; None where it is missing."""
    if isinstance(each.domain, Row):
        numbers = {name: domain.clean(answers[name]).item() for name, domain in each.domain.columns.items()}
        return None if any(is_missing(number) for number in numbers.values()) else numbers
    value = answers[each.name]
    if isinstance(each.domain, Items):
        return None if value is None else Baskets.read([value], each.domain).to_lists()[0]
    if np.ndim(value):
        raise ValueError("a device answers for one person; give one value, not a column")
    if is_missing(value):
        if getattr(each.channel, "missing", "pass") == "refuse":
            raise ValueError("the answer is missing and the plan asks for one")
        return None
    if isinstance(each.domain, Categories):
        return each.domain.labels[each.domain.code_of(value)]
    assert isinstance(each.domain, Interval)
    number = each.domain.clean_one(value, clamp=getattr(each.channel, "outside", "") == "clamp")
    return int(number) if number == int(number) else number


def chosen_level(mechanism: Mechanism | None, level: str | None) -> str | None:
    """The level that a person chose, or the default; None where there is nothing to choose."""
    if mechanism is None or not mechanism.has_levels:
        return None
    chosen = mechanism.default if is_missing(level) else level
    mechanism.level(chosen)
    return chosen


def lasting_part(mechanism: Mechanism | None, level: str | None) -> Mechanism | None:
    """What draws the report that is remembered: the channel of the level, or its permanent part where there is one."""
    if mechanism is None or not mechanism.levels:
        return mechanism
    chosen = mechanism.level(level)
    return chosen.permanent if isinstance(chosen, Longitudinal) else chosen


def gamma_of(mechanism: Mechanism | None, level: str | None) -> Fraction | None:
    """The exact γ of the remembered report; None: no bound."""
    lasting = lasting_part(mechanism, level)
    return lasting.exact_gamma if isinstance(lasting, Channel) else None


def can_carry(mechanism: Mechanism | None, told: Told) -> bool:
    """Whether what was told can be sent as this mechanism's report: a number can always, at the nearest place; a seed
    only where it means the same basket."""
    if mechanism is None or not mechanism.levels or told.mechanism is None:
        same = None if mechanism is None else mechanism.identity
        return told.mechanism == same
    if mechanism.has_levels and told.level not in mechanism.levels:
        return False
    if told.report is None:
        return True
    lasting = lasting_part(mechanism, told.level if mechanism.has_levels else None)
    if isinstance(lasting, SelectASize):
        basket = told.report if isinstance(told.report, dict) else {}
        return basket.get("size") in lasting.sizes and ("bitmap" in basket or told.mechanism == mechanism.identity)
    assert isinstance(lasting, Channel)
    if isinstance(lasting.outputs, Categories):
        return told.report in lasting.outputs.labels
    return isinstance(told.report, int | float) and not isinstance(told.report, bool) and math.isfinite(told.report)


def sent_of(mechanism: Mechanism | None, told: Told) -> Any:
    """The report that is sent of what is remembered: the same, or a fresh blur of it where one is asked for."""
    chosen = _channel_of(mechanism, told)
    if chosen is None or told.report is None or isinstance(chosen, SelectASize):
        return told.report
    if isinstance(chosen, Longitudinal):
        return chosen.instantaneous.randomize(_nearest(chosen.permanent, told.report))
    return _nearest(chosen, told.report)


def _channel_of(mechanism: Mechanism | None, told: Told) -> Channel | None:
    """The channel of what was told; None where there is none of one value."""
    if mechanism is None or not mechanism.levels:
        return None
    return mechanism.level(told.level if mechanism.has_levels else None)


def _nearest(channel: Channel, report: Any) -> Any:
    return channel.outputs.value_of(channel.outputs.code_of(report))


def plain_basket(channel: SelectASize, reports: BasketReports) -> dict[str, Any]:
    """A basket's report as it is remembered and sent: its size and, in hexadecimal, its seed or its bitmap."""
    size = int(reports.sizes[0])
    if reports.compressed:
        return {"size": size, "seed": reports.to_bytes(channel.seed_bits[size])[0].hex()}
    return {"size": size, "bitmap": reports.to_bytes()[0].hex()}


def _basket_reports(each: Asked) -> BasketReports:
    """The bitmap of a basket's report, for those who count on this side of the wire."""
    channel = _channel_of(each.attribute.channel, each.told)
    assert isinstance(channel, SelectASize)
    form = "seed" if "seed" in each.sent else "bitmap"
    data = [bytes.fromhex(each.sent[form])]
    return channel.expand(BasketReports.of_bytes(channel.items, [each.sent["size"]], data, form == "seed"))
