"""A plan's attributes as a device answers them: how answers are read, how each is blurred once, and what is then sent.
"""

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
from sfumato.client.ledger import LedgerEntry, same_name
from sfumato.domain import Categories, Interval, Items, Row, is_missing
from sfumato.guarantee.amplification import gamma_text
from sfumato.plan import Attribute, Plan


def questions_of(plan: Plan) -> list[DeviceQuestion]:
    """Return the questions of a plan as a device answers them; they are made once and kept with the plan, for speed."""
    questions: list[DeviceQuestion] | None = vars(plan).get("_questions")
    if questions is None:
        questions = vars(plan)["_questions"] = [DeviceQuestion(each) for each in plan.attributes.values()]
    return questions


class DeviceQuestion:
    """One attribute of a plan as a device answers it, with the blur of each of its levels.

    A level is how strongly a person chose to blur. ``levels``: the blurs by level; by None where there is no choice.
    ``identity``: the hash that names how answers are blurred, None where they are sent as they are. ``same_name``: the
    attribute's name as the ledger compares it.
    """

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
        """Return the person's answer to this question, checked: a text, a number, a list or a dict of numbers.

        ``answers``: the true values by column. None where the answer is missing; ValueError where the domain does not
        have it, or the plan asks for one.
        """
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
        """Return a hash that names this question and an answer, to recognise the same answer without storing it.

        ``value``: the answer as ``value`` returns it.
        """
        return hashlib.sha256(f"{self._opening}{canonical_text(value)}]".encode()).hexdigest()

    def level(self, name: str | None) -> str | None:
        """Return the level (strength of blur) that a person chose, checked, or the default where ``name`` is None.

        None where the plan leaves no choice.
        """
        if self.mechanism is None or not self.has_levels:
            return None
        chosen = self.mechanism.default if is_missing(name) else name
        self.mechanism.level(chosen)
        return chosen

    def has_domain_of(self, entry: LedgerEntry) -> bool:
        """Return whether a report that the ledger remembers was about the same set of possible answers."""
        return entry.domain is self.domain_spec or entry.domain_identity == self.domain_identity

    def blur_of_entry(self, entry: LedgerEntry) -> AnswerBlur:
        """Return the blur of this question at the level (strength) at which a report in the ledger was drawn."""
        return self.levels[entry.level if self.has_levels else None]

    def can_send(self, entry: LedgerEntry) -> bool:
        """Return whether an earlier report from the ledger can be sent again as a report of this question."""
        if (entry.mechanism is None) != (self.mechanism is None):
            return False
        if self.has_levels and entry.level not in self.levels:
            return False
        return self.blur_of_entry(entry).can_send(entry.report, same=entry.mechanism == self.identity)


def blur_of(mechanism: Mechanism | None, level: str | None) -> AnswerBlur:
    """Return how answers are blurred by a mechanism at one level (strength); without a mechanism they stay as they are.
    """
    if mechanism is None or not mechanism.levels:
        return AnswerBlur(mechanism)
    channel = mechanism.level(level)
    if isinstance(channel, SelectASize):
        return BasketBlur(channel)
    if isinstance(channel, SubsetResponse):
        return SetBlur(channel)
    return RoundsBlur(channel) if isinstance(channel, Longitudinal) else ValueBlur(channel)


class AnswerBlur:
    """The way in which an answer becomes a report, at one level (strength of blur) where there are several.

    This base class sends the answer as it is, or blurs several numbers at once; subclasses blur values, sets and
    baskets. ``mechanism``: what blurs; None: nothing does.

    A device draws a report once (``draw``) and remembers it; what it sends at every round is made from that (``send``).
    """

    afresh = False  # whether the remembered report is blurred again at every round
    gamma: str | None = None  # the exact γ of the remembered report, a fraction as text; None: no bound

    def __init__(self, mechanism: Mechanism | None) -> None:
        self.mechanism = mechanism

    def draw(self, value: Any, words: KeyedWords, question: str) -> Any:
        """Blur an answer, and return the report that the device remembers, as plain data.

        ``words``: the random bits that the device's secret gives; ``question``: a text with which they differ from
        question to question. The same secret, text and answer give the same report.
        """
        return value if self.mechanism is None else self.mechanism.randomize(value, key=words.secret, question=question)

    def can_send(self, report: Any, *, same: bool) -> bool:
        """Return whether an earlier report from the ledger can be sent again at this level (strength of blur).

        ``report``: the report (None: a missing answer); ``same``: whether exactly this mechanism drew it.
        """
        return same

    def send(self, report: Any) -> Any:
        """Return what the device sends, made from the report that it remembers: usually that report itself."""
        return report


class ValueBlur(AnswerBlur):
    """The blur of one value, a number or a category, by a channel.

    An earlier report that lies on another grid of numbers is sent as the nearest number of this channel's grid.
    """

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.gamma, self.noise = gamma_text(channel.exact_gamma), channel.noise_identity
        self.entry, self.program, self.outputs = channel.entry, channel.drawing, channel.outputs

    def draw(self, value: Any, words: KeyedWords, question: str) -> Any:
        code = self.entry.code_of(value)
        row = words.row_about(f"{question}\0{self.noise}", code, self.program.words)
        return self.outputs.value_of(self.program.draw(code, row))

    def can_send(self, report: Any, *, same: bool) -> bool:
        if report is None:
            return True
        if isinstance(self.outputs, Categories):
            return report in self.outputs.labels
        return isinstance(report, int | float) and not isinstance(report, bool) and math.isfinite(report)

    def send(self, report: Any) -> Any:
        return None if report is None else self.outputs.value_of(self.outputs.code_of(report))


class SetBlur(ValueBlur):
    """The blur of a category into a random set of categories.

    It is sent as a number (seed), from which only the same mechanism can read the set.
    """

    def draw(self, value: Any, words: KeyedWords, question: str) -> dict[str, Any]:
        return {"seed": super().draw(value, words, question)}

    def can_send(self, report: Any, *, same: bool) -> bool:
        return report is None or same

    def send(self, report: Any) -> Any:
        return None if report is None else report["seed"]


class RoundsBlur(ValueBlur):
    """The blur of an answer that is asked for again and again: blurred once for good, and at every round blurred again.

    The device remembers the first, permanent report, and sends the second.
    """

    afresh = True

    def __init__(self, channel: Longitudinal) -> None:
        super().__init__(channel.permanent)
        self.each_round = channel.instantaneous

    def send(self, report: Any) -> Any:
        return None if report is None else self.each_round.randomize(super().send(report))


class BasketBlur(AnswerBlur):
    """The blur of a basket (a set of items), whose report is a short seed where the channel has seeds, else a bitmap.

    Only the mechanism that drew a seed can read it; a bitmap (a bit an item) is read alike by all.
    """

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

    def can_send(self, report: Any, *, same: bool) -> bool:
        if report is None:
            return True
        basket = report if isinstance(report, dict) else {}
        return basket.get("size") in self.channel.sizes and (same or "bitmap" in basket)

    def bitmap(self, sent: dict[str, Any]) -> BasketReports:
        """Return a basket's report, as it was sent, as `BasketReports` of bitmaps (a bit an item), to be counted."""
        form = "seed" if "seed" in sent else "bitmap"
        data = [bytes.fromhex(sent[form])]
        return self.channel.expand(BasketReports.of_bytes(self.channel.items, [sent["size"]], data, form == "seed"))
