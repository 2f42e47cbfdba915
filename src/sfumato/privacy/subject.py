"""What is audited: a plan, one channel, or a choice of channels, as channels by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from sfumato.channels import Channel, Choice
from sfumato.domain import Items
from sfumato.guarantee import Guarantee
from sfumato.plan import Plan
from sfumato.plan.document import LEVEL_SUFFIX
from sfumato.privacy.population import read_columns
from sfumato.privacy.words import listed

ONLY = "answer"


@dataclass(frozen=True, eq=False)
class Subject:
    """``channels``: one an attribute (of a choice, its default level); ``checked``: every channel that there is."""

    name: str
    channels: dict[str, Channel]
    checked: dict[str, Channel]
    choices: dict[str, Choice]
    clear: dict[str, str]
    questions: dict[str, str]

    def guarantees(self, priors: Mapping[str, Any]) -> dict[str, Guarantee]:
        """What each attribute states; of a choice, the level that protects least."""
        stated = {}
        for name, channel in self.channels.items():
            asked: Channel | Choice = self.choices.get(name, channel)
            prior = None if isinstance(channel.domain, Items) else priors.get(name)
            stated[name] = asked.guarantee(prior=prior)
        return stated

    def columns(self, table: Any, *, levels: bool) -> dict[str, NDArray[Any]]:
        """The columns of a table that the audit reads; of a choice, only reports at the default level count."""
        found = read_columns(table, [*self._readable(), *self.clear])
        for name, choice in self.choices.items():
            if levels:
                chosen = read_columns(table, [name + LEVEL_SUFFIX])[name + LEVEL_SUFFIX]
                at_default = found[name].astype(object)
                at_default[chosen.astype(str) != choice.default] = None
                found[name] = at_default
        return found

    def _readable(self) -> list[str]:
        return [name for name, channel in self.channels.items() if not isinstance(channel.domain, Items)]

    def unprotected(self) -> tuple[str, ...]:
        """Everything that no channel covers."""
        told = []
        for name, role in self.clear.items():
            what = "the class label is sent as it is" if role == "class" else "it is sent as it is"
            told.append(f"{name}: {what}.")
        for name, channel in self.channels.items():
            if isinstance(channel.domain, Items):
                told.append(f"{name}: the number of items is sent as it is.")
            if name in self.choices:
                told.append(f"{name}: the chosen level is visible.")
        passed = [n for n, c in self.channels.items() if c.missing == "pass" and not isinstance(c.domain, Items)]
        told += [f"Whether somebody answered {listed(passed)} is visible."] if passed else []
        return (*told, "Participation: that somebody answered, when and from where is visible to the collector.")


def subject_of(audited: Plan | Channel | Choice) -> Subject:
    if isinstance(audited, Plan):
        blurred = {name: each.channel for name, each in audited.attributes.items() if each.channel is not None}
        clear = {name: each.role for name, each in audited.attributes.items() if each.channel is None}
        questions = {name: each.question for name, each in audited.attributes.items() if each.question}
        return _subject(audited.name, blurred, clear, questions)
    if isinstance(audited, (Channel, Choice)):
        return _subject(repr(audited), {ONLY: audited}, {}, {})
    raise TypeError(f"{type(audited).__name__} cannot be audited; give a Plan or a channel")


def _subject(
    name: str, blurred: Mapping[str, Channel | Choice], clear: Mapping[str, str], questions: dict[str, str]
) -> Subject:
    if not blurred:
        raise ValueError("the plan blurs nothing, so there is nothing to audit; give an attribute a channel")
    choices = {key: channel for key, channel in blurred.items() if isinstance(channel, Choice)}
    channels = {key: one.level(one.default) if isinstance(one, Choice) else one for key, one in blurred.items()}
    checked: dict[str, Channel] = {}
    for key, one in blurred.items():
        levels = {f"{key} ({level})": each for level, each in one.levels.items()} if isinstance(one, Choice) else {}
        checked.update(levels or {key: channels[key]})
    return Subject(name, channels, checked, choices, dict(clear), questions)
