"""A plan's attributes as a device asks them: what an answer is, what is drawn of it once, and what of that is sent."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.channels.base import Channel
from sfumato.channels.baskets import BasketReports, Baskets, SelectASize
from sfumato.channels.bounded.subset_response import SubsetResponse
from sfumato.channels.identity import canonical_text
from sfumato.channels.longitudinal import Longitudinal
from sfumato.channels.mechanism import Mechanism
from sfumato.channels.program.random_words import KeyedWords
from sfumato.client.ledger import Told, same_name
from sfumato.domain import Categories, Interval, Items, Row, is_missing
from sfumato.guarantee.amplification import gamma_text
from sfumato.plan import Attribute, Plan


def questions_of(plan: Plan) -> list[Question]:
    """The questions of a plan, made once and kept with it: a plan does not change."""
    found: list[Question] | None = vars(plan).get("_questions")
    if found is None:
        found = vars(plan)["_questions"] = [Question(each) for each in plan.attributes.values()]
    return found


class Question:
    """One attribute, and the blur of each of its levels."""

    def __init__(self, attribute: Attribute) -> None:
        self.name, self.domain, self.mechanism = attribute.name, attribute.domain, attribute.channel
        self.columns, self.has_levels = attribute.columns, attribute.has_levels
        self.same_name = same_name(attribute.name)
        self._opening = f"[{canonical_text(self.same_name)},"
        self.domain_spec, self.domain_identity = attribute.domain_spec, attribute.domain_identity
        self.identity = None if self.mechanism is None else self.mechanism.identity
        names = self.mechanism.levels if self.mechanism is not None and self.has_levels else [None]
        self.levels = {name: blur_of(self.mechanism, name) for name in names}

    def value(self, answers: Mapping[str, Any]) -> Any:
        """The person's answer as plain data, checked; None where it is missing."""
        if isinstance(self.domain, Row):
            numbers = {name: domain.clean(answers[name]).item() for name, domain in self.domain.columns.items()}
            return None if any(is_missing(number) for number in numbers.values()) else numbers
        value = answers[self.name]
        if isinstance(self.domain, Items):
            return None if value is None else Baskets.read([value], self.domain).to_lists()[0]
        if not isinstance(value, (str, int, float)) and np.ndim(value):
            raise ValueError("a device answers for one person; give one value, not a column")
        if is_missing(value):
            if getattr(self.mechanism, "missing", "pass") == "refuse":
                raise ValueError("the answer is missing and the plan asks for one")
            return None
        if isinstance(self.domain, Categories):
            return self.domain.labels[self.domain.code_of(value)]
        assert isinstance(self.domain, Interval)
        number = self.domain.clean_one(value, clamp=getattr(self.mechanism, "outside", "") == "clamp")
        return int(number) if number.is_integer() else number

    def identity_of_answer(self, value: Any) -> str:
        """``identity_of([same_name, value])``; all of the text but the value is the same for everybody."""
        return hashlib.sha256(f"{self._opening}{canonical_text(value)}]".encode()).hexdigest()

    def level(self, name: str | None) -> str | None:
        """The level that a person chose, or the default; None where there is nothing to choose."""
        if self.mechanism is None or not self.has_levels:
            return None
        chosen = self.mechanism.default if is_missing(name) else name
        self.mechanism.level(chosen)
        return chosen

    def is_over(self, told: Told) -> bool:
        """Whether a report is of the same domain."""
        return told.domain is self.domain_spec or told.domain_identity == self.domain_identity

    def blur(self, told: Told) -> Blur:
        """The blur that a report was drawn by, or its like here."""
        return self.levels[told.level if self.has_levels else None]

    def carries(self, told: Told) -> bool:
        """Whether what was told can be sent as a report of this question."""
        if (told.mechanism is None) != (self.mechanism is None) or (self.has_levels and told.level not in self.levels):
            return False
        return self.blur(told).carries(told.report, same=told.mechanism == self.identity)


def blur_of(mechanism: Mechanism | None, level: str | None) -> Blur:
    """The blur of a level."""
    if mechanism is None or not mechanism.levels:
        return Blur(mechanism)
    channel = mechanism.level(level)
    if isinstance(channel, SelectASize):
        return BasketBlur(channel)
    if isinstance(channel, SubsetResponse):
        return SetBlur(channel)
    return RoundsBlur(channel) if isinstance(channel, Longitudinal) else ValueBlur(channel)


class Blur:
    """What an answer passes through at one level; here: nothing at all, or what blurs several numbers at once.

    ``gamma``: the exact γ, as text, of the report that is remembered. ``afresh``: that is blurred again at every round.
    """

    afresh = False
    gamma: str | None = None

    def __init__(self, mechanism: Mechanism | None) -> None:
        self.mechanism = mechanism

    def draw(self, value: Any, words: KeyedWords, question: str) -> Any:
        """The report of a known value that is remembered, as plain data."""
        return value if self.mechanism is None else self.mechanism.randomize(value, key=words.secret, question=question)

    def carries(self, report: Any, *, same: bool) -> bool:
        """Whether a report, of the ``same`` mechanism or of another, can be sent as one of this level."""
        return same

    def sent(self, report: Any) -> Any:
        """What is sent of what is remembered."""
        return report


class ValueBlur(Blur):
    """A channel of one value. Whatever number was told can be sent at the nearest place."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.gamma, self.noise = gamma_text(channel.exact_gamma), channel.noise_identity
        self.entry, self.program, self.outputs = channel.entry, channel.drawing, channel.outputs

    def draw(self, value: Any, words: KeyedWords, question: str) -> Any:
        code = self.entry.code_of(value)
        row = words.row_about(f"{question}\0{self.noise}", code, self.program.words)
        return self.outputs.value_of(self.program.draw(code, row))

    def carries(self, report: Any, *, same: bool) -> bool:
        if report is None:
            return True
        if isinstance(self.outputs, Categories):
            return report in self.outputs.labels
        return isinstance(report, int | float) and not isinstance(report, bool) and math.isfinite(report)

    def sent(self, report: Any) -> Any:
        return None if report is None else self.outputs.value_of(self.outputs.code_of(report))


class SetBlur(ValueBlur):
    """A set of categories, named by a number: what that stands for, only its own mechanism knows."""

    def draw(self, value: Any, words: KeyedWords, question: str) -> dict[str, Any]:
        return {"seed": super().draw(value, words, question)}

    def carries(self, report: Any, *, same: bool) -> bool:
        return report is None or same

    def sent(self, report: Any) -> Any:
        return None if report is None else report["seed"]


class RoundsBlur(ValueBlur):
    """The permanent part is remembered, and blurred afresh at every round."""

    afresh = True

    def __init__(self, channel: Longitudinal) -> None:
        super().__init__(channel.permanent)
        self.each_round = channel.instantaneous

    def sent(self, report: Any) -> Any:
        return None if report is None else self.each_round.randomize(super().sent(report))


class BasketBlur(Blur):
    """Baskets: a seed where there are seeds. It stands for other items with another mechanism; a bitmap does not."""

    def __init__(self, channel: SelectASize) -> None:
        super().__init__(channel)
        self.channel, self.gamma = channel, gamma_text(channel.exact_gamma)

    def draw(self, value: Any, words: KeyedWords, question: str) -> dict[str, Any]:
        compress = self.channel.has_seeds
        drawn = self.channel.randomize([value], compress=compress, key=words.secret, question=question)
        size = int(drawn.sizes[0])
        if compress:
            return {"size": size, "seed": drawn.to_bytes(self.channel.seed_bits[size])[0].hex()}
        return {"size": size, "bitmap": drawn.to_bytes()[0].hex()}

    def carries(self, report: Any, *, same: bool) -> bool:
        if report is None:
            return True
        basket = report if isinstance(report, dict) else {}
        return basket.get("size") in self.channel.sizes and (same or "bitmap" in basket)

    def bitmap(self, sent: dict[str, Any]) -> BasketReports:
        """The report as those read it who count on this side of the wire."""
        form = "seed" if "seed" in sent else "bitmap"
        data = [bytes.fromhex(sent[form])]
        return self.channel.expand(BasketReports.of_bytes(self.channel.items, [sent["size"]], data, form == "seed"))
