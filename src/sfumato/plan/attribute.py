"""One question of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from sfumato.channels.base import Mechanism, Rng, identity_of, mechanism_from_spec
from sfumato.channels.words import Key
from sfumato.domain import DOMAIN_KEYS, Domain, Interval, Items, Row, domain_from_spec, domain_to_spec
from sfumato.prose import suggest
from sfumato.tables import name_row

Role = Literal["attribute", "class", "clear"]
ROLES: tuple[Role, ...] = ("attribute", "class", "clear")
OWN_KEYS = ("role", "question")


@dataclass(frozen=True)
class Attribute:
    """One question: its domain, its mechanism (None: sent as it is), its role, and how it is asked."""

    name: str
    domain: Domain
    channel: Mechanism | None = None
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
        return cls(name, domain, mechanism_from_spec(domain, rest) if rest else None, **own)

    def to_dict(self) -> dict[str, Any]:
        spec = {**domain_to_spec(self.domain), **(self.channel.to_spec() if self.channel else {})}
        if self.role != "attribute":
            spec["role"] = self.role
        return {**spec, "question": self.question} if self.question else spec

    def canonical(self) -> dict[str, Any]:
        """What the attribute is, however it is spelt: what the plan's identity is made of."""
        rules = {rule: getattr(self.channel, rule, None) for rule in ("missing", "outside")}
        made = {"domain": self.domain_spec, "channel": self.channel.identity if self.channel else None}
        return {**made, **rules, "role": self.role, "question": self.question}

    @cached_property
    def domain_spec(self) -> dict[str, Any]:
        """The domain as plain data."""
        return domain_to_spec(self.domain)

    @cached_property
    def domain_identity(self) -> str:
        """A hash of the domain, however its numbers are spelt."""
        return identity_of(self.domain_spec)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that hold the answers."""
        return tuple(self.domain.columns) if isinstance(self.domain, Row) else (self.name,)

    @cached_property
    def has_levels(self) -> bool:
        """Whether people choose their own level."""
        return self.channel is not None and self.channel.has_levels

    def randomize(
        self, values: Any, rng: Rng, *, key: Key = None, question: str = "", level: Any = None
    ) -> Any:
        """Reports for a column; a column in the clear is checked against its domain and passed on."""
        self.check_fits_a_column()
        if self.channel is not None:
            return self.channel.randomize(values, rng, level=level, key=key, question=question)
        if isinstance(self.domain, Interval):
            self.domain.clean(values)
        elif hasattr(self.domain, "encode"):
            self.domain.encode(values)
        return values

    def check_fits_a_column(self) -> None:
        if isinstance(self.domain, Items):
            raise ValueError("baskets do not fit in a table's column; use its channel's randomize, or sfumato itemsets")

    @property
    def space(self) -> Any:
        """What knows the attribute's values: its channel, at the first level of several, or its domain."""
        return self.domain if self.channel is None else next(iter(self.channel.levels.values()))

    def check_values(self, values: Any, places: Any = None) -> None:
        """True values are in the domain, by the channel's own rule for those outside; a bad one is named by its row."""
        space = self.space
        name_row(space.encode if hasattr(space, "encode") else space.clean, values, self.name, places)


def _check_parameters(spec: Mapping[str, Any]) -> None:
    """A key that neither the attribute nor its channel knows gets a suggestion."""
    name = str(spec["channel"]) if "channel" in spec else ""
    if name and name not in Mechanism.registry:
        raise ValueError(f"channel = {name!r} is unknown{suggest(name, Mechanism.registry)}")
    known = [*(Mechanism.registry[name].parameter_names() if name else []), *DOMAIN_KEYS, *OWN_KEYS, "channel"]
    for key in spec:
        if key not in known:
            raise ValueError(f"{key} is unknown{f' for channel {name!r}' if name else ''}{suggest(key, known)}")
