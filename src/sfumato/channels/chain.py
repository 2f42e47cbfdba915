"""Channels one after the other: the report of the first is the true value of the second."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.channels.base import Channel, channel_from_spec
from sfumato.channels.identity import CodeSpace
from sfumato.channels.program import Map, Step
from sfumato.domain import (
    DOMAIN_KEYS,
    Categories,
    Codes,
    Domain,
    Floats,
    Interval,
    Items,
    domain_from_spec,
    domain_to_spec,
)
from sfumato.prose import Voice


class Chain(Channel):
    """Two channels one after the other, ``first >> second``: the second blurs the report of the first.

    Domain: that of the first.
    Law: the product of the tables, P = P_second @ P_first.
    γ: read off the product; processing a report further never reveals more.

    ``first``: the channel that the true value passes; its ``missing`` and ``outside`` are those of the chain.
    ``second``: the channel that its report passes; it must accept every report of the first.

    >>> import sfumato as sf
    >>> age = sf.Interval(0, 100)
    >>> chain = sf.Laplace(age, gamma=19) >> sf.Discretize(sf.Interval(-500, 600), width=10, outside="clamp")
    >>> type(chain).__name__, chain.guarantee().gamma <= 19
    ('Chain', True)
    """

    kind = "chain"
    unbounded = "its stages have theirs; give it to one of them"

    def __init__(self, first: Channel, second: Channel) -> None:
        _check_joint(first, second)
        super().__init__(first.domain, first.missing, first.outside)
        self.first, self.second = first, second
        self.inputs, self.outputs = first.inputs, second.outputs

    @property
    def entry(self) -> CodeSpace:
        """The codes that the program starts from: those of the first channel."""
        return self.first.entry

    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the program: those of the first channel, a map, and those of the second channel.

        The map turns report codes of the first into codes that the second starts from (entry codes). It is left out
        where report codes and entry codes are the same numbers.
        """
        between = Map(self._between, self.second.entry.size)
        identity = between.inputs == between.outputs and (between.codes == np.arange(between.inputs)).all()
        return (*self.first.steps(), *(() if identity else (between,)), *self.second.steps())

    @cached_property
    def _between(self) -> Codes:
        """For every report code of the first channel the code that the second one starts from, as an array."""
        return self.second.encode_entry(self.first.outputs.decode(np.arange(self.first.outputs.size)))

    def _law_at(self, codes: Codes | None, first: Codes | None = None) -> Floats:
        return np.asarray(self.second._law_at(self._between, first) @ self.first._law_at(codes))

    def parameters(self) -> dict[str, Any]:
        stages = [{**domain_to_spec(stage.domain), **stage.to_spec()} for stage in (self.first, self.second)]
        return {"stages": stages}

    @classmethod
    def parameter_names(cls) -> list[str]:
        return ["stages"]

    @classmethod
    def from_parameters(cls, domain: Domain, arguments: dict[str, Any]) -> Chain:
        stages = arguments.get("stages", [])
        if not isinstance(stages, (list, tuple)) or not all(isinstance(stage, Mapping) for stage in stages):
            raise ValueError("stages is not a list of two tables; write each stage's domain and channel in one")
        if len(stages) != 2:
            raise ValueError(f"a chain has two stages, not {len(stages)}; nest chains for more")
        first, second = (stage_from_spec(spec) for spec in stages)
        if first.domain != domain:
            raise ValueError("the chain's first stage has another domain than the attribute; make them equal")
        return cls(first, second)

    def describe(self, say: Voice) -> str:
        return say("how.chain", first=self.first.describe(say), second=self.second.describe(say))

    def __repr__(self) -> str:
        return f"{self.first!r} >> {self.second!r}"


def stage_from_spec(spec: Mapping[str, Any], usual: Domain | None = None) -> Channel:
    """Return the channel of one stage of a chain, from plain data that holds its domain and its channel.

    ``usual``: the domain of a stage that states none; None: every stage must state its own.
    """
    own = {key: value for key, value in spec.items() if key in DOMAIN_KEYS}
    domain = usual if usual is not None and not own else domain_from_spec(own)
    return channel_from_spec(domain, {key: value for key, value in spec.items() if key not in DOMAIN_KEYS})


def _check_joint(first: Channel, second: Channel) -> None:
    """Raise an error that names both channels unless the second one accepts every report of the first."""
    joint = f"{type(first).__name__} >> {type(second).__name__}"
    if not isinstance(first, Channel) or not isinstance(second, Channel):
        raise TypeError(f"{joint}: a chain is of two channels without levels; put the chain into each level")
    if isinstance(first.domain, Items):
        raise TypeError(f"{joint}: reports of baskets are sets of items, which no other channel takes; leave it alone")
    if isinstance(first.outputs, Categories):
        unknown = set(first.outputs.labels) - set(getattr(second.domain, "labels", ()))
        if not isinstance(second.domain, Categories) or unknown:
            raise ValueError(f"{joint}: the second does not take the first one's categories; give it the same ones")
        return
    if not isinstance(second.domain, Interval):
        raise ValueError(f"{joint}: the first reports numbers, the second takes {second.domain}; they do not fit")
    low, high = float(first.outputs.values[0]), float(first.outputs.values[-1])
    if (low < second.domain.low or high > second.domain.high) and second.outside != "clamp":
        raise ValueError(
            f"{joint}: the first one's reports reach from {low:g} to {high:g}, the second takes {second.domain}; "
            f"widen its domain or give it outside='clamp'"
        )
    reports = np.clip(first.outputs.values, second.domain.low, second.domain.high)
    broken = reports[reports != np.rint(reports)]
    if second.domain.integer and broken.size:
        raise ValueError(
            f"{joint}: the first one's reports are not whole, for example {broken[0]:g}, and the second takes "
            f"{second.domain}; drop integer=True there"
        )
