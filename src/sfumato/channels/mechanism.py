"""The base class of everything that blurs: channels, choices among them, and noise on several numbers at once."""

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
    """A method of blurring: it turns answers into reports; the base class of channels and of choices among channels.

    It has a domain (the answers it takes), levels (strengths of blurring that people may choose, if any), a program by
    which a device draws reports, an identity (a hash that names it) and a guarantee of what a report can reveal.
    """

    kind: ClassVar[str] = ""  # its name in plans: channel = "…"
    registry: ClassVar[dict[str, type[Mechanism]]] = {}  # every class by its kind
    domain: Domain
    default: str | None = None  # the level of whoever chooses none
    unbounded: ClassVar[str] = ""  # why no γ can be asked for, and what to use instead; "" where one can
    repeats: ClassVar[bool] = True  # whether, with a key, the same answer gives the same report

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            Mechanism.registry[cls.kind] = cls

    @property
    @abstractmethod
    def levels(self) -> Mapping[str | None, Channel]:
        """The channel of each level (a strength of blurring that a person may choose), by its name.

        ``{None: channel}`` where there is nothing to choose; ``{}`` where several values are blurred at once, so that
        there is no table of a single value.
        """

    @abstractmethod
    def randomize(
        self, values: Any, rng: Rng = None, *, level: Any = None, key: Key = None, question: str = ""
    ) -> Any:
        """Draw a report for every value, in the shape of the values; the parameters are those of ``Channel.randomize``.
        """

    @abstractmethod
    def program(self) -> dict[str, Any]:
        """Return the drawing program that a device executes, as plain data."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the constructor's own arguments as plain data, without the domain."""

    @abstractmethod
    def guarantee(self, *args: Any, **kwargs: Any) -> Any:
        """Return the statement of what a report can reveal, in numbers and sentences."""

    def describe(self, say: Voice) -> str:
        """Return what happens to the value, as words in the language of ``say``.

        They end a sentence that begins with "Before it leaves your device".
        """
        return say("how.other", kind=self.kind)

    @classmethod
    def from_parameters(cls, domain: Domain, arguments: dict[str, Any]) -> Mechanism:
        """Build the mechanism over a domain from ``arguments``, the plain data that ``parameters`` wrote."""
        cls.check_given(arguments)
        return cls(domain, **arguments)  # type: ignore[call-arg]

    @classmethod
    def check_given(cls, arguments: Mapping[str, Any]) -> None:
        """Raise an error that names the first missing argument of those without a default."""
        own = list(inspect.signature(cls).parameters.values())
        needed = [one.name for one in own if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
        needed = [name for name in needed if name != "domain"]
        for name in needed:
            if name not in arguments:
                raise ValueError(f"{name} is missing; channel = {cls.kind!r} needs {' and '.join(needed)}")

    @classmethod
    def parameter_names(cls) -> list[str]:
        """Return the keys that the mechanism takes in a plan: the constructor's arguments without the domain."""
        own = inspect.signature(cls).parameters.values()
        return [one.name for one in own if one.name != "domain" and one.kind is not one.VAR_KEYWORD]

    def to_spec(self) -> dict[str, Any]:
        """Return the mechanism as plain data, which ``mechanism_from_spec(domain, spec)`` reads back.

        >>> import sfumato as sf
        >>> sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=3).to_spec()
        {'channel': 'randomized-response', 'gamma': 3.0}
        """
        return {"channel": self.kind, **self.parameters()}

    @cached_property
    def identity(self) -> str:
        """The hash of domain and program as text: however the arguments are spelt, equal mechanisms have the same."""
        return identity_of({"domain": domain_to_spec(self.domain), "program": self.program()})

    @property
    def noise_identity(self) -> str:
        """The hash, as text, on which a device's noise depends beside its secret, the question and the answer."""
        return self.identity

    def level(self, name: str | None) -> Channel:
        """Return the channel of a level by its name, None for the default; an unknown name is an error that lists them.
        """
        chosen = self.default if name is None else name
        if chosen not in self.levels:
            if None in self.levels:
                raise ValueError(f"level {name!r} is unknown; there is nothing to choose here, leave level out")
            raise ValueError(f"level {name!r} is unknown{suggest(str(name), self.levels)}")
        return self.levels[chosen]

    def levels_of(self, level: str | ArrayLike | None, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return the name of the level (strength of blurring) for every value, as an array of this shape.

        ``level``: one name for all values, or one name for each, of which missing ones stand for the default; None: the
        default for all. Unknown names are an error.
        """
        if level is None or isinstance(level, str):
            name = self.default if level is None else level
            self.level(name)
            return np.full(shape, name, dtype=object)
        names = as_array(level).astype(object)
        if names.shape != shape:
            raise ValueError(f"level has shape {names.shape}, the values have {shape}; give one level per value")
        for name in set(names.ravel().tolist()):
            if is_missing(name):
                absent = [is_missing(choice) for choice in names.ravel()]
                names[np.reshape(absent, shape)] = self.default
            else:
                self.level(name)
        return names

    def draw_levels(self, shares: Mapping[str, float], size: int, rng: Rng) -> NDArray[Any]:
        """Draw for each of ``size`` simulated people the name of the level they choose, as an array of names.

        ``shares``: how large a part of the people chooses each level, by its name, of any positive sum.
        """
        for name in shares:
            self.level(name)
        weights = np.array(list(shares.values()), dtype=float)
        if not (weights >= 0).all() or not weights.sum() > 0:
            raise ValueError("shares are not numbers from 0 with a positive sum; give for example {'normal': 0.7}")
        names = np.array(list(shares), dtype=object)
        return np.asarray(noise_generator(rng).choice(names, size=size, p=weights / weights.sum()))

    @property
    def has_levels(self) -> bool:
        """Whether people choose a level, whose name is then sent beside the report."""
        return bool(self.levels) and None not in self.levels

    def _source(self, rng: Rng, key: Key, question: str) -> WordSource:
        """Return the source of random words for ``randomize``: keyed, simulated or secure."""
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
        """Return the mechanism itself: it never changes, so copies of a learner share its cached tables."""
        return self

    def __repr__(self) -> str:
        shown = "".join(f", {name}={value!r}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({self.domain!r}{shown})"


def mechanism_from_spec(domain: Domain, spec: Mapping[str, Any]) -> Mechanism:
    """Build a channel, or a choice among channels, from the plain data that ``to_spec`` wrote or that a plan holds.

    ``domain``: what people may answer. ``spec``: its kind under "channel", beside its parameters.
    """
    if not isinstance(spec, Mapping):
        raise ValueError("a channel is not a table; write channel = … and its parameters below it")
    arguments = dict(spec)
    kind = str(arguments.pop("channel", None))
    if kind not in Mechanism.registry:
        raise ValueError(f"channel = {kind!r} is unknown{suggest(kind, Mechanism.registry)}")
    refuse_unknown(kind, arguments)
    return Mechanism.registry[kind].from_parameters(domain, arguments)


def refuse_unknown(kind: str, arguments: Mapping[str, Any], others: Sequence[str] = ()) -> None:
    """Raise an error, with a suggestion, for the first argument that a kind of mechanism does not take.

    ``kind``: the mechanism's name in plans, "" where there is none. ``others``: further keys that are allowed.
    """
    mechanism = Mechanism.registry.get(kind)
    allowed = [*(mechanism.parameter_names() if mechanism else []), *others]
    for key in arguments:
        if key not in allowed:
            if key in BOUNDS and mechanism and mechanism.unbounded:
                refuse_bound(kind, mechanism.unbounded, [key])
            raise ValueError(f"{key} is unknown{f' for channel {kind!r}' if kind else ''}{suggest(key, allowed)}")
