"""One question of a plan."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.channels.base import Channel, Domain, channel_from_spec, domain_from_spec, domain_to_spec
from sfumato.channels.choice import CHOICES, Choice, choice_from_spec
from sfumato.domain import Interval, Items
from sfumato.prose import suggest

Role = Literal["attribute", "class", "clear"]
ROLES: tuple[Role, ...] = ("attribute", "class", "clear")
DOMAIN_KEYS = ("low", "high", "integer", "categories", "items")
OWN_KEYS = ("role", "question")
CHANNEL_KEYS = ("missing", "outside")


@dataclass(frozen=True)
class Attribute:
    """One question: its domain, its channel (None: sent as it is), its role, and how it is asked."""

    name: str
    domain: Domain
    channel: Channel | Choice | None = None
    role: Role = "attribute"
    question: str = ""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"role = {self.role!r} is unknown{suggest(str(self.role), ROLES)}")
        if self.channel is None and self.role == "attribute":
            raise ValueError('no channel; add one (channel = "gaussian", …) or send it as it is with role = "clear"')
        if self.channel is not None and self.role == "clear":
            raise ValueError('role = "clear" and a channel contradict each other; drop one of the two')

    @classmethod
    def from_dict(cls, name: str, spec: Mapping[str, Any]) -> Attribute:
        """An attribute from its part of the plan; errors name the key and the fix."""
        if not isinstance(spec, Mapping):
            raise ValueError("is not a table; write low, high, channel … as keys below it")
        own = {key: value for key, value in spec.items() if key in OWN_KEYS}
        rest = {key: value for key, value in spec.items() if key not in DOMAIN_KEYS + OWN_KEYS}
        _check_parameters(rest)
        domain = domain_from_spec({key: value for key, value in spec.items() if key in DOMAIN_KEYS})
        from_spec = choice_from_spec if rest.get("channel") in CHOICES else channel_from_spec
        return cls(name, domain, from_spec(domain, rest) if rest else None, **own)

    def to_dict(self) -> dict[str, Any]:
        spec = {**domain_to_spec(self.domain), **(self.channel.to_spec() if self.channel else {})}
        if self.role != "attribute":
            spec["role"] = self.role
        return {**spec, "question": self.question} if self.question else spec

    def randomize(
        self,
        values: Any,
        rng: np.random.Generator | None,
        *,
        key: bytes | None = None,
        question: str = "",
        level: Any = None,
    ) -> Any:
        """Reports for a column; a column in the clear is checked against its domain and passed on."""
        if isinstance(self.domain, Items):
            raise ValueError("baskets do not fit in a table's column; use its channel's randomize, or sfumato itemsets")
        if isinstance(self.channel, Choice):
            return self.channel.randomize(values, rng, level=level, key=key, question=question)
        if self.channel is not None:
            return self.channel.randomize(values, rng, key=key, question=question)
        if isinstance(self.domain, Interval):
            self.domain.clean(values)
        elif hasattr(self.domain, "encode"):
            self.domain.encode(values)
        return values


def _check_parameters(spec: Mapping[str, Any]) -> None:
    """A key that neither the attribute nor its channel knows gets a suggestion."""
    name = str(spec["channel"]) if "channel" in spec else ""
    if name and name not in plan_channels():
        raise ValueError(f"channel = {name!r} is unknown{suggest(name, plan_channels())}")
    known = [*(parameters_of(name) if name else []), *DOMAIN_KEYS, *OWN_KEYS, "channel"]
    for key in spec:
        if key not in known:
            raise ValueError(f"{key} is unknown{f' for channel {name!r}' if name else ''}{suggest(key, known)}")


def parameters_of(name: str) -> list[str]:
    """The keys that a channel takes in a plan."""
    if name in CHOICES:
        return [*CHOICES[name].required, "default"]
    kind = Channel.registry[name]
    if hasattr(kind, "from_parameters"):
        return [*getattr(kind, "parameter_names", ["stages"]), *CHANNEL_KEYS]
    return list(inspect.signature(kind).parameters)[1:]


def plan_channels() -> list[str]:
    """What may stand after ``channel =`` in a plan."""
    return sorted([*Channel.registry, *CHOICES])
