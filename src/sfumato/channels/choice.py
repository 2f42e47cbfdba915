"""People choose their own privacy: several channels for one attribute, and every report says which it came through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels.base import Channel, Domain, channel_from_spec
from sfumato.domain import as_array
from sfumato.guarantee import Guarantee
from sfumato.prose import suggest

CHOICES: dict[str, type[Choice]] = {}


class Choice:
    """Named levels, one channel each, over one domain. The level is sent in the clear beside the report.

    Law: at level g, the law of its channel; nothing is averaged over levels.
    Guarantee: stated per level; a person's own level counts.

    >>> import sfumato as sf
    >>> yes_no = sf.Categories(["yes", "no"])
    >>> choice = sf.Choice({g: sf.RandomizedResponse(yes_no, gamma=int(g)) for g in ("3", "19")}, default="3")
    >>> choice.guarantee("19").gamma
    19.0
    """

    kind: ClassVar[str] = "choice"
    required: ClassVar[tuple[str, ...]] = ("levels",)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        CHOICES[cls.kind] = cls

    def __init__(self, levels: Mapping[str, Channel], default: str | None = None) -> None:
        if not levels:
            raise ValueError("levels is empty; give at least one named channel")
        self.levels: dict[str, Channel] = dict(levels)
        first = next(iter(self.levels.values()))
        for name, channel in self.levels.items():
            if channel.domain != first.domain:
                raise ValueError(
                    f"level {name!r} has another domain ({channel.domain}) than the first ({first.domain})"
                )
        self.domain: Domain = first.domain
        self.default = next(iter(self.levels)) if default is None else default
        self.level(self.default)

    def level(self, name: str) -> Channel:
        """The channel of a level; an unknown one is an error that lists what there is."""
        if name not in self.levels:
            raise ValueError(f"level {name!r} is unknown{suggest(str(name), self.levels)}")
        return self.levels[name]

    def randomize(
        self,
        values: ArrayLike,
        rng: np.random.Generator | int | None = None,
        *,
        level: str | ArrayLike | None = None,
        key: bytes | None = None,
        question: str = "",
    ) -> Any:
        """Reports for values, each through the channel of its level: one name, one name per value, or the default."""
        array = as_array(values)
        chosen = self.levels_of(level, array.shape)
        if array.ndim == 0:
            return self.level(str(chosen)).randomize(values, rng, key=key, question=question)
        generator = np.random.default_rng(rng) if isinstance(rng, (int, np.integer)) else rng
        parts = {
            name: self.levels[name].randomize(array[chosen == name], generator, key=key, question=question)
            for name in self.levels
            if (chosen == name).any()
        }
        if not parts:
            return next(iter(self.levels.values())).randomize(array, generator)
        reports = np.empty(array.shape, dtype=np.result_type(*parts.values()))
        for name, found in parts.items():
            reports[chosen == name] = found
        return reports

    def levels_of(self, level: str | ArrayLike | None, shape: tuple[int, ...]) -> NDArray[Any]:
        """One known level name for every value."""
        if level is None or isinstance(level, str):
            name = self.default if level is None else level
            self.level(name)
            return np.full(shape, name, dtype=object)
        names = as_array(level).astype(object)
        if names.shape != shape:
            raise ValueError(f"level has shape {names.shape}, the values have {shape}; give one level per value")
        for name in set(names.ravel().tolist()):
            self.level(name)
        return names

    def draw_levels(
        self, shares: Mapping[str, float], size: int, rng: np.random.Generator | int | None
    ) -> NDArray[Any]:
        """A level for each of ``size`` simulated people, in the given shares."""
        for name in shares:
            self.level(name)
        weights = np.array(list(shares.values()), dtype=float)
        if not (weights >= 0).all() or not weights.sum() > 0:
            raise ValueError("shares are not numbers from 0 with a positive sum; give for example {'normal': 0.7}")
        names = np.array(list(shares), dtype=object)
        return np.asarray(np.random.default_rng(rng).choice(names, size=size, p=weights / weights.sum()))

    def guarantee(self, level: str | None = None, prior: Any = None) -> Guarantee:
        """The guarantee at a level; without one, that of the level that protects least, which covers everybody."""
        if level is not None:
            return self.level(level).guarantee(prior)
        stated = {name: channel.guarantee(prior) for name, channel in self.levels.items()}
        weakest = max(stated, key=lambda name: (stated[name].gamma, stated[name].privacy_loss))
        found, names = stated[weakest], ", ".join(self.levels)
        note = f"This is the level {weakest!r}, which protects least of {names}; which level you choose is visible."
        return Guarantee(found.gamma, found.description, (*found.notes, note), found.channel, found.prior)

    def to_spec(self) -> dict[str, Any]:
        levels = {name: channel.to_spec() for name, channel in self.levels.items()}
        return {"channel": self.kind, "levels": levels, "default": self.default}

    @classmethod
    def from_parameters(cls, domain: Domain, arguments: dict[str, Any]) -> Choice:
        levels = {name: channel_from_spec(domain, spec) for name, spec in arguments["levels"].items()}
        return cls(levels, arguments.get("default"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and (self.domain, self.to_spec()) == (other.domain, other.to_spec())

    def __hash__(self) -> int:
        return hash(tuple(self.levels))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.levels)}; default {self.default!r})"


CHOICES[Choice.kind] = Choice


def choice_from_spec(domain: Domain, spec: dict[str, Any]) -> Choice:
    """The choice that ``to_spec`` wrote."""
    arguments = dict(spec)
    kind = CHOICES[str(arguments.pop("channel"))]
    for key in kind.required:
        if key not in arguments:
            raise ValueError(f"{key} is missing; channel = {kind.kind!r} needs {' and '.join(kind.required)}")
    return kind.from_parameters(domain, arguments)
