"""A person's device: it answers a plan with its own secret, and never tells a collector the same thing twice.

What a collector was told of an attribute is remembered, with the value that it was drawn from. Asked again, under
another survey's name, through a respelt channel or at another level, the device sends what it remembers; what is
computed from a report that was told reveals nothing more. A further report (a changed value, another domain, reports of
another kind) is drawn with independent noise, multiplies the total by its own γ, and is refused beyond the limit.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.channels.base import Channel, Mechanism, identity_of
from sfumato.channels.baskets import BasketReports, Baskets, SelectASize
from sfumato.channels.longitudinal import Longitudinal
from sfumato.channels.words import KeyedWords, question_of
from sfumato.client.ledger import Ledger, Told, Total, same_name
from sfumato.domain import Categories, Interval, Items, Row, domain_to_spec, is_missing
from sfumato.plan import Attribute, Plan
from sfumato.tables import LEVEL_SUFFIX


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
        if not isinstance(collector, str) or not collector.strip():
            raise ValueError("collector is empty; say who receives the reports, as an address that cannot be forged")
        plan.check_columns(list(answers))
        reports: dict[str, Any] = {}
        fresh: list[Told] = []
        for each in plan.attributes.values():
            level = (levels or {}).get(each.name, answers.get(each.name + LEVEL_SUFFIX))
            try:
                told = self._told(plan.name, each, answers, collector.strip(), level, fresh)
                sent = sent_of(each.channel, told)
            except (ValueError, TypeError) as error:
                raise type(error)(f"{each.name}: {error}") from None
            fresh += [] if told in (*self.ledger.told, *fresh) else [told]
            several = each.columns != (each.name,)
            reports |= (sent or dict.fromkeys(each.columns)) if several else {each.name: sent}
            if each.has_levels:
                reports[each.name + LEVEL_SUFFIX] = told.level
        self.ledger.add(fresh)
        return reports

    def total(self, collector: str | None = None) -> Total:
        """What a collector was told so far, in words and γ."""
        return self.ledger.total(collector)

    # --- one attribute ------------------------------------------------------------------------------------------

    def _told(
        self, survey: str, each: Attribute, answers: Mapping[str, Any], collector: str, level: str | None,
        fresh: list[Told],
    ) -> Told:
        """What is remembered for the attribute: from before, or drawn now."""
        value = known_value(each, answers)
        domain, mark = domain_to_spec(each.domain), self._mark(each, value)
        for told in (*self.ledger.told, *fresh):
            same = told.asks(collector, each.name) and told.mark == mark and told.over(domain)
            if same and can_carry(each.channel, told):
                return told
        chosen = each.channel.levels_of(level, ()).item() if each.channel and each.has_levels else None
        remembered = self._draw(each, value, collector, chosen)
        gamma = Fraction(1) if value is None else gamma_of(each.channel, chosen)
        return Told(
            collector, survey, each.name, domain, each.channel.identity if each.channel else None, chosen, mark,
            remembered, None if gamma is None else str(gamma), self._today().isoformat(),
        )  # fmt: skip

    def _draw(self, each: Attribute, value: Any, collector: str, level: str | None) -> Any:
        """The report to remember, as plain data. The noise is the collector's own for the attribute's name, so that two
        collectors together hold independent reports, and a lost ledger draws the same one for the same channel."""
        lasting = lasting_part(each.channel, level)
        if value is None or lasting is None:
            return value
        asked: dict[str, Any] = {"key": self._secret, "question": question_of(collector, same_name(each.name))}
        if isinstance(lasting, SelectASize):
            reports = lasting.randomize([value], **asked)
            return {"size": int(reports.sizes[0]), "bitmap": reports.to_bytes()[0].hex()}
        return lasting.randomize(value, **asked)

    def _mark(self, each: Attribute, value: Any) -> str:
        """A keyed hash of the value: the same for the same one, and nothing to anybody without the secret."""
        document = identity_of([same_name(each.name), value])
        return hmac.digest(self._secret, b"sfumato/1/mark\0" + document.encode(), hashlib.sha256).hex()[:32]


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
        return each.domain.labels[int(each.domain.encode(value))]
    assert isinstance(each.domain, Interval)
    number = each.domain.clean(value, clamp=getattr(each.channel, "outside", "") == "clamp").item()
    return int(number) if number == int(number) else number


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
    """Whether what was told can be sent as this mechanism's report: a number can always, at the nearest place."""
    if mechanism is None or not mechanism.levels or told.mechanism is None:
        same = None if mechanism is None else mechanism.identity
        return told.mechanism == same
    if mechanism.has_levels and told.level not in mechanism.levels:
        return False
    if told.report is None:
        return True
    lasting = lasting_part(mechanism, told.level if mechanism.has_levels else None)
    if isinstance(lasting, SelectASize):
        return isinstance(told.report, dict) and told.report.get("size") in lasting.sizes
    assert isinstance(lasting, Channel)
    if isinstance(lasting.outputs, Categories):
        return told.report in lasting.outputs.labels
    return isinstance(told.report, int | float) and not isinstance(told.report, bool)


def sent_of(mechanism: Mechanism | None, told: Told) -> Any:
    """The report that is sent of what is remembered: the same, or a fresh blur of it where one is asked for."""
    if mechanism is None or told.report is None or not mechanism.levels:
        return told.report
    chosen = mechanism.level(told.level if mechanism.has_levels else None)
    if isinstance(chosen, SelectASize):
        bitmap = bytes.fromhex(told.report["bitmap"])
        return BasketReports.of_bytes(chosen.items, [told.report["size"]], [bitmap], compressed=False)
    if isinstance(chosen, Longitudinal):
        return chosen.instantaneous.randomize(_nearest(chosen.permanent, told.report))
    return _nearest(chosen, told.report)


def _nearest(channel: Channel, report: Any) -> Any:
    return channel.outputs.value_of(int(channel.encode_reports([report])[0]))
