"""One question of a plan."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.channels.base import Channel, Domain, channel_from_spec, domain_from_spec, domain_to_spec, suggest
from sfumato.domain import Interval

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
    channel: Channel | None = None
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
        return cls(name, domain, channel_from_spec(domain, rest) if rest else None, **own)

    def to_dict(self) -> dict[str, Any]:
        spec = {**domain_to_spec(self.domain), **(self.channel.to_spec() if self.channel else {})}
        if self.role != "attribute":
            spec["role"] = self.role
        return {**spec, "question": self.question} if self.question else spec

    def randomize(self, values: Any, rng: np.random.Generator | int | None, key: bytes | None, question: str) -> Any:
        """Reports for a column; a column in the clear is checked against its domain and passed on."""
        if self.channel is not None:
            return self.channel.randomize(values, rng, key=key, question=question)
        if isinstance(self.domain, Interval):
            self.domain.clean(values)
        elif hasattr(self.domain, "encode"):
            self.domain.encode(values)
        return values


def _check_parameters(spec: Mapping[str, Any]) -> None:
    """A key that neither the attribute nor its channel knows gets a suggestion."""
    kind = Channel.registry.get(str(spec["channel"])) if "channel" in spec else None
    if "channel" in spec and kind is None:
        return
    parameters = [] if kind is None else parameters_of(kind)
    known = [*parameters, *DOMAIN_KEYS, *OWN_KEYS, "channel"]
    where = f" for channel {spec['channel']!r}" if kind else ""
    for key in spec:
        if key not in known:
            raise ValueError(f"{key} is unknown{where}{suggest(key, known)}")


def parameters_of(kind: type[Channel]) -> list[str]:
    """The keys that a channel takes in a plan."""
    if hasattr(kind, "from_parameters"):
        return [*getattr(kind, "parameter_names", ["stages"]), *CHANNEL_KEYS]
    return [name for name in inspect.signature(kind).parameters if name != "domain"]
