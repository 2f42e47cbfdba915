"""Mechanisms that let people choose their own privacy: several channels for one attribute, one a *level*.

Every report says which level it came through. ``Choice`` takes any channels over one domain; ``TwoPhase`` makes its
levels of one noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels.base import Channel, channel_from_spec
from sfumato.channels.clear import Clear
from sfumato.channels.mechanism import Mechanism, Rng
from sfumato.channels.program.random_words import Key, RecordWords, noise_generator
from sfumato.domain import Categories, Domain, as_array
from sfumato.guarantee import Guarantee
from sfumato.prose import Voice, voice

MOST_LEVELS = 32
"""By judgement: more than anybody chooses among. Each level costs a reconstruction a table of its own, so that a plan
from a stranger must not list thousands."""


class Choice(Mechanism):
    """A mechanism whose levels are channels of different strength over one domain, among which every person chooses.

    Law: at level g, the law of its channel; nothing is averaged over levels. The level is sent in the clear beside the
    report.
    Guarantee: stated for each level; a person's own level counts.

    ``levels``: the channel of each level by its name; None stands for ``Clear``, the answer as it is.
    ``default``: the name of the level of whoever chooses none; None: the first one.

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
        """The channel of each level (a strength of blurring that people may choose), by its name."""
        return self._levels

    @property
    def repeats(self) -> bool:  # type: ignore[override]
        """Whether a device with a secret key always gives the same report to the same answer, at every level."""
        return all(channel.repeats for channel in self._levels.values())

    def randomize(
        self, values: ArrayLike, rng: Rng = None, *, level: str | ArrayLike | None = None, key: Key = None,
        question: str = "",
    ) -> Any:
        """Draw a report for every one of ``values``, each through the channel of its level.

        ``level``: one name for all, one name for each value, or None for the default. ``rng``, ``key`` and ``question``
        are those of ``Channel.randomize``.

        >>> import sfumato as sf
        >>> yes_no = sf.Categories(["yes", "no"])
        >>> choice = sf.Choice({"blurred": sf.RandomizedResponse(yes_no, gamma=3), "open": None})
        >>> choice.randomize(["yes", "no"], level="open").tolist()
        ['yes', 'no']
        """
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
        for name, part in parts.items():
            reports[chosen == name] = part
        return reports

    def guarantee(self, level: str | None = None, prior: Any = None, *, language: str = "en") -> Guarantee:
        """Return the statement of what one report can reveal at a level (the strength that a person chose).

        ``level``: the name of the level; None: the level that protects least, whose statement covers everybody.
        ``prior`` and ``language`` are those of ``Channel.guarantee``.
        """
        say, chosen = voice(language), self.levels if level is None else {level: self.level(level)}
        stated = {name: channel.guarantee(prior, language=language) for name, channel in chosen.items()}

        def weakness(name: str | None) -> tuple[float, float]:
            return stated[name].gamma, stated[name].privacy_loss if stated[name].measurable else 0.0

        weakest = max(stated, key=weakness)
        chosen_one, levels = stated[weakest], say.listed(map(say.shown, self.levels))
        notes = chosen_one.notes
        if level is None:
            notes = (*notes, say("weakest", level=say.shown(weakest), levels=levels))
        return replace(chosen_one, notes=notes, visible=(*chosen_one.visible, "level"))

    def describe(self, say: Voice) -> str:
        return say("how.choice", levels=say.listed(self.levels, "or"))

    def program(self) -> dict[str, Any]:
        """Return the program of every level and the name of the default one, as plain data."""
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
    """Return whether a channel's reports are texts, or other labels that are not numbers."""
    if not isinstance(channel.domain, Categories):
        return False
    return isinstance(channel.outputs, Categories) and channel.outputs.label_array.dtype.kind not in "iuf"
