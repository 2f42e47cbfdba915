"""Two phases: noise, then a fresh draw from the interval into which the noisy value fell (LKT08 §4)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels.alias import WORD, Words
from sfumato.channels.base import Channel, Domain, channel_from_spec
from sfumato.channels.choice import Choice
from sfumato.domain import Codes, Floats, Grid, Interval
from sfumato.prose import in_words


class Blur(Channel):
    """The two phases at one level: ``noise``, then a uniform draw from one of ``intervals`` per range.

    Domain: that of the noise, an Interval of width R.
    Law: P[y, x] = P_noise[I(y), x] / |I(y)|, I(y) the interval of width R/intervals that holds y.
    γ: that of the noise seen through the intervals, never above that of the noise alone.
    """

    kind = "two-phase-level"

    def __init__(self, noise: Channel, intervals: int) -> None:
        if not isinstance(noise.domain, Interval) or not isinstance(noise.outputs, Grid):
            raise TypeError("two phases need a noise channel on numbers first, for example Gaussian")
        super().__init__(noise.domain, noise.missing, noise.outside)
        points = noise.inputs.size
        if isinstance(intervals, bool) or not isinstance(intervals, (int, np.integer)) or not 1 <= intervals < points:
            raise ValueError(f"intervals={intervals!r} is not a whole number from 1 to {points - 1}, the noise's steps")
        self.first_phase, self.intervals = noise, int(intervals)
        self.inputs = noise.inputs
        self.outputs: Grid = noise.outputs
        self.words_per_report = noise.words_per_report + 1

    @cached_property
    def _first(self) -> Codes:
        """The first report code of every interval; intervals line up with the domain's lower end."""
        grid, low = self.outputs, float(self.first_phase.domain.low)  # type: ignore[union-attr]
        steps_per_interval = self.first_phase.domain.width / self.intervals / grid.step  # type: ignore[union-attr]
        from_low = np.arange(grid.size) + round((grid.origin - low) / grid.step)
        interval = np.floor(from_low / steps_per_interval + 1e-9)
        return np.flatnonzero(np.diff(interval, prepend=-np.inf))

    @cached_property
    def _sizes(self) -> Codes:
        return np.diff(self._first, append=self.outputs.size)

    def law(self) -> Floats:
        return np.repeat(self.first_phase._law_in_cells(self._first) / self._sizes[:, None], self._sizes, axis=0)

    def _law_in_cells(self, first: Codes | None) -> Floats:
        """Cells cut through intervals in proportion to the codes on each side."""
        if first is None:
            return self.law()
        below = self._below
        bounds = np.append(first, self.outputs.size)
        bounds[0] = 0
        interval = np.searchsorted(self._first, bounds, side="right") - 1
        part = (bounds - self._first[interval]) / self._sizes[interval]
        cumulative = below[interval] + part[:, None] * (below[interval + 1] - below[interval])
        return np.asarray(np.diff(cumulative, axis=0))

    @cached_property
    def _below(self) -> Floats:
        """P(report below each interval | true code), and 1 above the last."""
        inside = self.first_phase._law_in_cells(self._first)
        return np.vstack([np.zeros(inside.shape[1]), np.cumsum(inside, axis=0)])

    def _draw(self, codes: Codes, words: Words) -> Codes:
        noisy = self.first_phase._draw(codes, words[:, :-1])
        interval = np.searchsorted(self._first, noisy, side="right") - 1
        size = self._sizes[interval]
        place = (words[:, -1] // self._run[size]).astype(np.int64)
        return np.asarray(self._first[interval] + np.minimum(place, size - 1))

    @cached_property
    def _run(self) -> Words:
        """⌈2^64/size⌉: how many words lead to each of ``size`` places."""
        return np.array(
            [WORD - 1, WORD - 1] + [-(-WORD // s) for s in range(2, self._sizes.max() + 1)], dtype=np.uint64
        )

    def encode(self, values: ArrayLike) -> Codes:
        return self.first_phase.encode(values)

    def interval_width(self, confidence: float) -> float | None:
        return self.first_phase.interval_width(confidence)

    def parameters(self) -> dict[str, Any]:
        return {"noise": self.first_phase.to_spec(), "intervals": self.intervals}

    @classmethod
    def from_parameters(cls, domain: Domain, arguments: dict[str, Any]) -> Blur:
        return cls(channel_from_spec(domain, arguments["noise"]), arguments["intervals"])

    parameter_names = ("noise", "intervals")

    def describe(self) -> str:
        width = in_words(self.first_phase.domain.width / self.intervals)  # type: ignore[union-attr]
        return f"{self.first_phase.describe()}; then a random number from its interval of width {width} replaces it"

    def __repr__(self) -> str:
        return f"Blur({self.first_phase!r}, intervals={self.intervals})"


class TwoPhase(Choice):
    """Everyone picks the width of the second phase among named levels; the report carries its level.

    >>> import sfumato as sf
    >>> age = sf.Gaussian(sf.Interval(20, 80), privacy=1.0)
    >>> sf.TwoPhase(age, levels={"normal": 200, "cautious": 100}).default
    'normal'
    """

    kind = "two-phase"
    required = ("noise", "levels")

    def __init__(self, noise: Channel, levels: Mapping[str, int], default: str | None = None) -> None:
        if not isinstance(levels, Mapping) or not levels:
            raise ValueError("levels is empty; map a name to its number of intervals, for example {'normal': 200}")
        super().__init__({name: Blur(noise, intervals) for name, intervals in levels.items()}, default)
        self.noise = noise

    def to_spec(self) -> dict[str, Any]:
        levels = {name: channel.intervals for name, channel in self.levels.items()}  # type: ignore[attr-defined]
        return {"channel": self.kind, "noise": self.noise.to_spec(), "levels": levels, "default": self.default}

    @classmethod
    def from_parameters(cls, domain: Domain, arguments: dict[str, Any]) -> TwoPhase:
        noise = channel_from_spec(domain, arguments["noise"])
        return cls(noise, arguments["levels"], arguments.get("default"))
