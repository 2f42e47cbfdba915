"""Channels one after the other: the report of the first is the true value of the second."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels.alias import Words
from sfumato.channels.base import Channel, Domain, channel_from_spec, domain_from_spec, domain_to_spec
from sfumato.channels.randomness import WordSource
from sfumato.domain import Categories, Codes, Floats, Interval


class Chain(Channel):
    """``first >> second``.

    Domain: that of the first.
    Law: the product of the tables, P = P_second @ P_first.
    γ: read off the product; processing a report further never reveals more.
    """

    kind = "chain"

    def __init__(self, first: Channel, second: Channel) -> None:
        super().__init__(first.domain, first.missing, first.outside)
        _check_joint(first, second)
        self.first, self.second = first, second
        self.inputs, self.outputs = first.inputs, second.outputs
        self.words_per_report = first.words_per_report + second.words_per_report

    @property
    def _codes_between(self) -> Codes:
        """The second channel's true code for every report code of the first."""
        labels = self.first.outputs.decode(np.arange(self.first.outputs.size))
        return self.second.encode(labels)

    def law(self) -> Floats:
        return self._law_in_cells(None)

    def _law_in_cells(self, first: Codes | None) -> Floats:
        return np.asarray(self.second._law_in_cells(first)[:, self._codes_between] @ self.first.law())

    def _draw(self, codes: Codes, words: Words) -> Codes:
        split = self.first.words_per_report
        between = self.first._draw(codes, words[:, :split])
        return self.second._draw(self._codes_between[between], words[:, split:])

    def encode(self, values: ArrayLike) -> Codes:
        return self.first.encode(values)

    def _report_values(self, values: ArrayLike, source: WordSource) -> Codes:
        return self.report_codes(self.encode(values), source)

    def parameters(self) -> dict[str, Any]:
        stages = [{**domain_to_spec(stage.domain), **stage.to_spec()} for stage in (self.first, self.second)]
        return {"stages": stages}

    @classmethod
    def from_parameters(cls, domain: Domain, arguments: dict[str, Any]) -> Chain:
        stages = arguments.get("stages", [])
        if len(stages) != 2:
            raise ValueError(f"a chain has two stages, not {len(stages)}; nest chains for more")
        first, second = (_stage(spec) for spec in stages)
        if first.domain != domain:
            raise ValueError("the chain's first stage has another domain than the attribute; make them equal")
        return cls(first, second)

    def describe(self) -> str:
        return f"{self.first.describe()}; then {self.second.describe()}"

    def __repr__(self) -> str:
        return f"{self.first!r} >> {self.second!r}"


def _stage(spec: dict[str, Any]) -> Channel:
    keys = {"low", "high", "integer", "categories", "items"}
    domain = domain_from_spec({key: value for key, value in spec.items() if key in keys})
    return channel_from_spec(domain, {key: value for key, value in spec.items() if key not in keys})


def _check_joint(first: Channel, second: Channel) -> None:
    """The second channel must accept every report of the first; an error names both."""
    joint = f"{type(first).__name__} >> {type(second).__name__}"
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
