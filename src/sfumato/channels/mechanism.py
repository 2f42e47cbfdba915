"""What every channel, choice and joint blur has: a domain, a specification, levels, a program, a guarantee."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels.bound import BOUNDS, refuse_bound
from sfumato.channels.identity import identity_of
from sfumato.channels.program.random_words import Key, WordSource, noise_generator, source_for
from sfumato.domain import Domain, as_array, domain_to_spec, is_missing
from sfumato.prose import Voice, suggest

if TYPE_CHECKING:
    from sfumato.channels.base import Channel

Rng = np.random.Generator | int | None


class Mechanism(ABC):
    """What every mechanism shares: domain, specification, identity, levels, program and guarantee."""

    kind: ClassVar[str] = ""
    registry: ClassVar[dict[str, type[Mechanism]]] = {}
    domain: Domain
    default: str | None = None
    unbounded: ClassVar[str] = ""  # why no γ can be asked for, and what to use
    repeats: ClassVar[bool] = True  # with a key, the same answer gives the same report

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            Mechanism.registry[cls.kind] = cls

    @property
    @abstractmethod
    def levels(self) -> Mapping[str | None, Channel]:
        """The channel of each level that a person may choose; ``{None: …}`` where there is nothing to choose, ``{}``
        where several values are blurred at once and no table of one tells all."""

    @abstractmethod
    def randomize(
        self, values: Any, rng: Rng = None, *, level: Any = None, key: Key = None, question: str = ""
    ) -> Any:
        """Reports for values."""

    @abstractmethod
    def program(self) -> dict[str, Any]:
        """What a device executes, as plain data."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The constructor's own arguments as plain data, without the domain."""

    @abstractmethod
    def guarantee(self, *args: Any, **kwargs: Any) -> Any:
        """What a report can reveal."""

    def describe(self, say: Voice) -> str:
        """What happens to the value, as the end of a sentence that begins with 'Before it leaves your device'."""
        return say("how.other", kind=self.kind)

    @classmethod
    def from_parameters(cls, domain: Domain, arguments: dict[str, Any]) -> Mechanism:
        """The mechanism that ``parameters`` wrote."""
        cls.check_given(arguments)
        return cls(domain, **arguments)  # type: ignore[call-arg]

    @classmethod
    def check_given(cls, arguments: Mapping[str, Any]) -> None:
        """Refuse arguments without one that the constructor cannot do without."""
        own = list(inspect.signature(cls).parameters.values())
        needed = [each.name for each in own if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD]
        needed = [name for name in needed if name != "domain"]
        for name in needed:
            if name not in arguments:
                raise ValueError(f"{name} is missing; channel = {cls.kind!r} needs {' and '.join(needed)}")

    @classmethod
    def parameter_names(cls) -> list[str]:
        """The keys that the mechanism takes in a plan."""
        own = inspect.signature(cls).parameters.values()
        return [each.name for each in own if each.name != "domain" and each.kind is not each.VAR_KEYWORD]

    def to_spec(self) -> dict[str, Any]:
        """The mechanism as plain data: ``mechanism_from_spec(domain, spec)`` gives it back."""
        return {"channel": self.kind, **self.parameters()}

    @cached_property
    def identity(self) -> str:
        """A hash of domain and program: however its arguments are spelt, the same mechanism has the same identity."""
        return identity_of({"domain": domain_to_spec(self.domain), "program": self.program()})

    @property
    def noise_identity(self) -> str:
        """What a device's keyed noise depends on beside the question and the value."""
        return self.identity

    def level(self, name: str | None) -> Channel:
        """The channel of a level; None is the default. An unknown one is an error that lists what there is."""
        chosen = self.default if name is None else name
        if chosen not in self.levels:
            if None in self.levels:
                raise ValueError(f"level {name!r} is unknown; there is nothing to choose here, leave level out")
            raise ValueError(f"level {name!r} is unknown{suggest(str(name), self.levels)}")
        return self.levels[chosen]

    def levels_of(self, level: str | ArrayLike | None, shape: tuple[int, ...]) -> NDArray[Any]:
        """One known level name for every value; where one is missing, the default."""
        if level is None or isinstance(level, str):
            name = self.default if level is None else level
            self.level(name)
            return np.full(shape, name, dtype=object)
        names = as_array(level).astype(object)
        if names.shape != shape:
            raise ValueError(f"level has shape {names.shape}, the values have {shape}; give one level per value")
        for name in set(names.ravel().tolist()):
            if is_missing(name):
                absent = [is_missing(each) for each in names.ravel()]
                names[np.reshape(absent, shape)] = self.default
            else:
                self.level(name)
        return names

    def draw_levels(self, shares: Mapping[str, float], size: int, rng: Rng) -> NDArray[Any]:
        """A level for each of ``size`` simulated people, in the given shares."""
        for name in shares:
            self.level(name)
        weights = np.array(list(shares.values()), dtype=float)
        if not (weights >= 0).all() or not weights.sum() > 0:
            raise ValueError("shares are not numbers from 0 with a positive sum; give for example {'normal': 0.7}")
        names = np.array(list(shares), dtype=object)
        return np.asarray(noise_generator(rng).choice(names, size=size, p=weights / weights.sum()))

    @property
    def has_levels(self) -> bool:
        """Whether people choose a level, which then travels beside the report."""
        return bool(self.levels) and None not in self.levels

    def _source(self, rng: Rng, key: Key, question: str) -> WordSource:
        if key is not None and rng is not None:
            raise ValueError("both rng and key are given; use key for a device, rng for a simulation")
        if key is not None and not question:
            raise ValueError("key needs question=, the name of what is asked; two questions must not share their noise")
        return source_for(rng, key, f"{question}\0{self.noise_identity}" if key is not None else "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself: a mechanism never changes, and copies of a learner share what it has worked out."""
        return self

    def __repr__(self) -> str:
        shown = "".join(f", {name}={value!r}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({self.domain!r}{shown})"


def mechanism_from_spec(domain: Domain, spec: Mapping[str, Any]) -> Mechanism:
    """The mechanism that ``to_spec`` wrote."""
    if not isinstance(spec, Mapping):
        raise ValueError("a channel is not a table; write channel = … and its parameters below it")
    arguments = dict(spec)
    kind = str(arguments.pop("channel", None))
    if kind not in Mechanism.registry:
        raise ValueError(f"channel = {kind!r} is unknown{suggest(kind, Mechanism.registry)}")
    refuse_unknown(kind, arguments)
    return Mechanism.registry[kind].from_parameters(domain, arguments)


def refuse_unknown(kind: str, arguments: Mapping[str, Any], others: Sequence[str] = ()) -> None:
    """A key that neither a kind of mechanism knows nor the ``others`` name gets a suggestion."""
    mechanism = Mechanism.registry.get(kind)
    known = [*(mechanism.parameter_names() if mechanism else []), *others]
    for key in arguments:
        if key not in known:
            if key in BOUNDS and mechanism and mechanism.unbounded:
                refuse_bound(kind, mechanism.unbounded, [key])
            raise ValueError(f"{key} is unknown{f' for channel {kind!r}' if kind else ''}{suggest(key, known)}")
