"""The two-phase mechanism (LKT08 §4): noise, then a fresh uniform draw from the interval that holds the noisy value.

A person chooses how wide the intervals are, so that these are levels of one noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.channels.base import Channel, channel_from_spec
from sfumato.channels.choice import Choice
from sfumato.channels.identity import CodeSpace
from sfumato.channels.program import Spread, Step
from sfumato.domain import Codes, Domain, Floats, Grid, Interval
from sfumato.prose import Voice

MOST_INTERVALS = 1_000_000  # a grid has at most 2^20 codes (``MOST_CODES``): more intervals than that change nothing


class Blur(Channel):
    """A channel that adds noise, then draws evenly from the interval that holds the noisy value.

    ``TwoPhase`` has one for each level, that is for each strength of blurring that a person may choose.

    Domain: that of the noise, an Interval of width R.
    Law: P[y, x] = P_noise[I(y), x] / |I(y)|, I(y) the interval of width R/intervals that holds y.
    γ: that of the noise seen through the intervals, never above that of the noise alone.

    ``noise``: the channel of the first phase, on numbers.
    ``intervals``: into how many intervals the domain is cut; finer ones than the noise's steps change nothing.
    """

    kind = "two-phase-level"

    def __init__(self, noise: Channel, intervals: int) -> None:
        if not isinstance(noise.domain, Interval) or not isinstance(noise.outputs, Grid):
            raise TypeError("two phases need a noise channel on numbers first, for example Gaussian")
        super().__init__(noise.domain, noise.missing, noise.outside)
        whole = isinstance(intervals, (int, np.integer)) and not isinstance(intervals, bool)
        if not whole or not 1 <= intervals <= MOST_INTERVALS:
            shown = "a huge number" if whole and intervals > 1 else repr(intervals)
            raise ValueError(f"intervals={shown} is not a whole number from 1 to {MOST_INTERVALS:,}; try 200")
        self.first_phase, self.intervals = noise, int(intervals)
        self.domain: Interval = noise.domain
        self.inputs = noise.inputs
        self.outputs: Grid = noise.outputs
        self._spread = Spread(self._starts(), self.outputs.size)

    def _starts(self) -> Codes:
        """Return the first report code of every interval, in rising order; one begins at the domain's lower end."""
        grid = self.outputs
        steps_per_interval = max(self.domain.width / self.intervals / grid.step, 1.0)
        from_low = np.arange(grid.size) + round((grid.origin - float(self.domain.low)) / grid.step)
        interval = np.floor(from_low / steps_per_interval + 1e-9)  # a quotient just below a whole number is that number
        return np.flatnonzero(np.diff(interval, prepend=-np.inf))

    @property
    def entry(self) -> CodeSpace:
        return self.first_phase.entry

    def steps(self) -> tuple[Step, ...]:
        return self.first_phase.steps() if self._as_it_is else (*self.first_phase.steps(), self._spread)

    @property
    def _as_it_is(self) -> bool:
        """Whether every interval holds one report code only, so that the second phase changes nothing."""
        return self._spread.starts.size == self.outputs.size

    def _law_at(self, codes: Codes | None, first: Codes | None = None) -> Floats:
        """Return P[report code, entry code]: the chance of each interval, even over its codes.

        ``codes`` and ``first`` are those of ``Channel._law_at``.
        """
        if self._as_it_is:
            return self.first_phase._law_at(codes, first)
        inside = self.first_phase._law_at(codes, self._spread.starts)
        if first is None:
            sizes = self._spread.sizes
            return np.repeat(inside / sizes[:, None], sizes, axis=0)
        from scipy.sparse import csr_array

        return np.asarray(csr_array(self._spread.law_of_runs(first)) @ inside)  # most cells cut few intervals

    def interval_width(self, confidence: float) -> float | None:
        return self.first_phase.interval_width(confidence)

    def for_measuring(self) -> Channel:
        coarser = self.first_phase.for_measuring()
        return self if coarser is self.first_phase else Blur(coarser, self.intervals)

    def parameters(self) -> dict[str, Any]:
        return {"noise": self.first_phase.to_spec(), "intervals": self.intervals}

    @classmethod
    def from_parameters(cls, domain: Domain, arguments: dict[str, Any]) -> Blur:
        cls.check_given(arguments)
        return cls(channel_from_spec(domain, arguments["noise"]), arguments["intervals"])

    def describe(self, say: Voice) -> str:
        first, width = self.first_phase.describe(say), say.number(self.domain.width / self.intervals)
        return first if self._as_it_is else say("how.spread", first=first, width=width)


class TwoPhase(Choice):
    """A mechanism that adds noise, then redraws the noisy value within an interval whose width people choose.

    Each width is a level, by which a person chooses how strongly to blur.

    ``noise``: the channel of the first phase, on numbers, for example ``Gaussian``.
    ``levels``: for each level by its name, into how many intervals the second phase cuts the domain; fewer intervals
    hide more. ``default``: the level of whoever chooses none; None: the first one.

    >>> import sfumato as sf
    >>> age = sf.Gaussian(sf.Interval(20, 80), privacy=1.0)
    >>> sf.TwoPhase(age, levels={"normal": 200, "cautious": 100}).default
    'normal'
    """

    kind = "two-phase"

    def __init__(self, noise: Channel, levels: Mapping[str, int], default: str | None = None) -> None:
        if not isinstance(levels, Mapping) or not levels:
            raise ValueError("levels is empty; map a name to its number of intervals, for example {'normal': 200}")
        super().__init__({name: Blur(noise, intervals) for name, intervals in levels.items()}, default)
        self.noise = noise

    def parameters(self) -> dict[str, Any]:
        levels = {str(name): level.intervals for name, level in self.levels.items()}  # type: ignore[attr-defined]
        return {"noise": self.noise.to_spec(), "levels": levels, "default": self.default}

    @classmethod
    def from_parameters(cls, domain: Domain, arguments: dict[str, Any]) -> TwoPhase:
        cls.check_given(arguments)
        return cls(channel_from_spec(domain, arguments["noise"]), arguments["levels"], arguments.get("default"))
