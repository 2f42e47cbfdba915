"""People choose their own privacy: several channels for one attribute, and every report says which it came through.

``Choice`` takes any channels over one domain. ``TwoPhase`` (LKT08 §4) makes them of one noise: noise, then a fresh draw
from the interval into which the noisy value fell, whose width a person chooses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels.base import Channel, CodeSpace, Mechanism, Rng, channel_from_spec
from sfumato.channels.clear import Clear
from sfumato.channels.program import Spread, Step
from sfumato.channels.words import Key, RecordWords, noise_generator
from sfumato.domain import Categories, Codes, Domain, Floats, Grid, Interval, as_array
from sfumato.guarantee import Guarantee
from sfumato.prose import Voice, voice

MOST_LEVELS = 32
MOST_INTERVALS = 1_000_000


class Choice(Mechanism):
    """Named levels, one channel each (None: the answer as it is, ``Clear``), over one domain. The level is sent in the
    clear beside the report.

    Law: at level g, the law of its channel; nothing is averaged over levels.
    Guarantee: stated per level; a person's own level counts.

    >>> import sfumato as sf
    >>> yes_no = sf.Categories(["yes", "no"])
    >>> choice = sf.Choice({g: sf.RandomizedResponse(yes_no, gamma=int(g)) for g in ("3", "19")}, default="3")
    >>> choice.guarantee("19").gamma
    19.0
    """

    kind = "choice"
    default: str

    def __init__(self, levels: Mapping[str, Channel | None], default: str | None = None) -> None:
        if not levels:
            raise ValueError("levels is empty; give at least one named channel")
        if len(levels) > MOST_LEVELS:
            raise ValueError(f"{len(levels):,} levels are more than {MOST_LEVELS}, and than anybody chooses among")
        first = next((channel for channel in levels.values() if channel is not None), None)
        if first is None:
            raise ValueError("no level says what may be answered; give one of them as sf.Clear(domain)")
        self._levels: dict[str | None, Channel] = {
            str(name): Clear(first.domain) if channel is None else channel for name, channel in levels.items()
        }
        for name, channel in self._levels.items():
            if channel.domain != first.domain:
                raise ValueError(
                    f"level {name!r} has another domain ({channel.domain}) than the first ({first.domain}); give all "
                    "levels the same one"
                )
            if _in_text(channel) != _in_text(first):
                raise ValueError(
                    f"level {name!r} reports {'text' if _in_text(channel) else 'numbers'} and the first one does not; "
                    "one column holds one of the two, so give all levels subset response or none"
                )
        self.domain: Domain = first.domain
        self.default = next(iter(map(str, levels))) if default is None else default
        self.level(self.default)

    @property
    def levels(self) -> Mapping[str | None, Channel]:
        return self._levels

    @property
    def repeats(self) -> bool:  # type: ignore[override]
        return all(channel.repeats for channel in self._levels.values())

    def randomize(
        self, values: ArrayLike, rng: Rng = None, *, level: str | ArrayLike | None = None, key: Key = None,
        question: str = "",
    ) -> Any:
        """Reports for values, each through the channel of its level: one name, one name per value, or the default."""
        array = as_array(values)
        chosen = self.levels_of(level, array.shape)
        if array.ndim == 0:
            return self.level(str(chosen)).randomize(values, rng, key=key, question=question)
        generator = None if rng is None else noise_generator(rng)
        parts = {}
        for name, channel in self.levels.items():
            own = chosen == name
            if own.any():
                theirs = key.some(own) if isinstance(key, RecordWords) else key
                parts[name] = channel.randomize(array[own], generator, key=theirs, question=question)
        if not parts:
            return self.level(None).randomize(array, generator)
        reports = np.empty(array.shape, dtype=np.result_type(*parts.values()))
        for name, found in parts.items():
            reports[chosen == name] = found
        return reports

    def guarantee(self, level: str | None = None, prior: Any = None, *, language: str = "en") -> Guarantee:
        """The guarantee at a level; without one, that of the level that protects least, which covers everybody."""
        say, chosen = voice(language), self.levels if level is None else {level: self.level(level)}
        stated = {name: channel.guarantee(prior, language=language) for name, channel in chosen.items()}

        def weakness(name: str | None) -> tuple[float, float]:
            return stated[name].gamma, stated[name].privacy_loss if stated[name].measurable else 0.0

        weakest = max(stated, key=weakness)
        found, levels = stated[weakest], say.listed(map(say.shown, self.levels))
        note = say("weakest", level=say.shown(weakest), levels=levels) if level is None else ""
        return replace(found, notes=(*found.notes, note) if note else found.notes, visible=(*found.visible, "level"))

    def describe(self, say: Voice) -> str:
        return say("how.choice", levels=say.listed(self.levels, "or"))

    def program(self) -> dict[str, Any]:
        levels = {str(name): channel.program() for name, channel in self.levels.items()}
        return {"program": 1, "levels": levels, "default": self.default}

    def parameters(self) -> dict[str, Any]:
        levels = {str(name): channel.to_spec() for name, channel in self.levels.items()}
        return {"levels": levels, "default": self.default}

    @classmethod
    def from_parameters(cls, domain: Domain, arguments: dict[str, Any]) -> Choice:
        cls.check_given(arguments)
        if not isinstance(arguments["levels"], Mapping):
            raise ValueError("levels is not a table; write a channel under each level's name")
        levels = {name: channel_from_spec(domain, spec) for name, spec in arguments["levels"].items()}
        return cls(levels, arguments.get("default"))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.levels))}; default {self.default!r})"


def _in_text(channel: Channel) -> bool:
    """Whether reports are labels that are not numbers."""
    if not isinstance(channel.domain, Categories):
        return False
    return isinstance(channel.outputs, Categories) and channel.outputs.label_array.dtype.kind not in "iuf"


class Blur(Channel):
    """The two phases at one level: ``noise``, then a uniform draw from one of ``intervals`` per range. Intervals finer
    than the noise's steps leave its reports as they are.

    Domain: that of the noise, an Interval of width R.
    Law: P[y, x] = P_noise[I(y), x] / |I(y)|, I(y) the interval of width R/intervals that holds y.
    γ: that of the noise seen through the intervals, never above that of the noise alone.
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
        """The first report code of every interval; intervals line up with the domain's lower end."""
        grid = self.outputs
        steps_per_interval = max(self.domain.width / self.intervals / grid.step, 1.0)
        from_low = np.arange(grid.size) + round((grid.origin - float(self.domain.low)) / grid.step)
        interval = np.floor(from_low / steps_per_interval + 1e-9)
        return np.flatnonzero(np.diff(interval, prepend=-np.inf))

    @property
    def entry(self) -> CodeSpace:
        return self.first_phase.entry

    def steps(self) -> tuple[Step, ...]:
        return self.first_phase.steps() if self._as_it_is else (*self.first_phase.steps(), self._spread)

    @property
    def _as_it_is(self) -> bool:
        """Whether no interval holds a second report."""
        return self._spread.starts.size == self.outputs.size

    def _law_at(self, codes: Codes | None, first: Codes | None = None) -> Floats:
        """Cells cut through intervals in proportion to the codes on each side."""
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
    """Everyone picks the width of the second phase among named levels; the report carries its level.

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
