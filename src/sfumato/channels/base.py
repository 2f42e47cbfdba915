"""Mechanisms: what stands between a person's value and their report.

A *mechanism* has a domain, a specification, levels that people may choose among, a drawing program and a guarantee. A
*channel* is the mechanism of one value at one level, a known table of P(reported | true); everything else follows from
it. A subclass of ``Channel`` states its spaces of codes, its parameters and the steps of its program; law, γ, drawing,
coarser tables, guarantees, identity and composition are derived here and overridden only for speed.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels.balanced import Balanced
from sfumato.channels.bound import BOUNDS, refuse_bound
from sfumato.channels.program import Program, Step
from sfumato.channels.program.interpreter import report_array
from sfumato.channels.program.random_words import Key, WordSource, noise_generator, source_for
from sfumato.domain import (
    MISSING,
    Categories,
    Cells,
    Codes,
    Domain,
    Floats,
    Grid,
    Interval,
    as_array,
    domain_to_spec,
    is_missing,
    showing_values,
)
from sfumato.guarantee import Guarantee, rounded_up
from sfumato.prose import Voice, suggest

CodeSpace = Grid | Cells | Categories
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


class Channel(Mechanism):
    """The blur between a person's value and their report.

    Domain: ``domain``, what a person may answer.
    Law: ``law()``, P[reported, true] over the codes of ``outputs`` and ``inputs``; columns sum to 1.
    γ: the largest ratio within a row of the law.
    """

    inputs: CodeSpace
    outputs: CodeSpace
    right_on_average: ClassVar[bool] = False  # E[report | x] = x

    def __init__(self, domain: Domain, missing: str = "pass", outside: str = "refuse") -> None:
        if missing not in ("pass", "refuse"):
            raise ValueError(f"missing={missing!r} is unknown; use 'pass' or 'refuse'")
        if outside not in ("refuse", "clamp"):
            raise ValueError(f"outside={outside!r} is unknown; use 'refuse' or 'clamp'")
        self.domain = domain
        self.missing: Literal["pass", "refuse"] = missing  # type: ignore[assignment]
        self.outside: Literal["refuse", "clamp"] = outside  # type: ignore[assignment]

    # --- what a subclass states ---------------------------------------------------------------------------------

    def steps(self) -> tuple[Step, ...]:
        """The steps from a true code to a report code; a channel without steps states its own program and law."""
        raise TypeError(f"{self.kind} is not drawn step by step; read its program() and its law()")

    def interval_width(self, confidence: float) -> float | None:
        """Width of the interval that holds the true value with this confidence (AS00 §2); None: read it off the law."""
        return None

    def balanced(self) -> Balanced | None:
        """The law as one of two values, where it is one: then shares follow without a table."""
        return None

    def for_measuring(self) -> Channel:
        """The channel whose law information is measured on: this one, or its like on a coarser grid if too large."""
        return self

    # --- the program --------------------------------------------------------------------------------------------

    @cached_property
    def drawing(self) -> Program:
        """The program behind ``program()``."""
        return Program(self.entry.size, self.steps(), read_space(self.entry), write_space(self.outputs, self.domain))

    @property
    def entry(self) -> CodeSpace:
        """The codes that the program starts from."""
        return self.inputs

    @cached_property
    def entry_codes(self) -> Codes | None:
        """The code that the program starts from for every true code, in rising order; None where both are the same."""
        return None if self.entry is self.inputs else self.entry.encode(self.inputs.decode(np.arange(self.inputs.size)))

    def program(self) -> dict[str, Any]:
        return self.drawing.to_dict()

    @cached_property
    def noise_identity(self) -> str:
        return identity_of({"domain": domain_to_spec(self.domain), **noise_part(self.program())})

    @property
    def levels(self) -> Mapping[str | None, Channel]:
        return {None: self}

    @cached_property
    def exact_gamma(self) -> Fraction | None:
        """γ in whole numbers; None: infinite."""
        return self.drawing.gamma

    @cached_property
    def gamma(self) -> float:
        """The largest ratio of two probabilities of one report, rounded up."""
        return rounded_up(self.exact_gamma)

    def law(self) -> Floats:
        """P[reported, true], one row per report code and one column per true code."""
        return self._law_at(self.entry_codes)

    def _law_at(self, codes: Codes | None, first: Codes | None = None) -> Floats:
        """P[reported, code that the program starts from] for these codes (None: all), as it is drawn; with ``first``
        the rows summed over runs of report codes that begin there."""
        return self.drawing.law(first, codes)

    # --- drawing reports ----------------------------------------------------------------------------------------

    def randomize(
        self, values: ArrayLike, rng: Rng = None, *, level: Any = None, key: Key = None, question: str = ""
    ) -> Any:
        """Reports for values, in the same shape; the input is not touched.

        ``rng=None`` draws secure noise; a NumPy Generator or a seed is for simulation. With ``key`` (a device's own
        secret) and ``question`` the same value always gets the same report; ``Device`` also remembers what it told.

        >>> import sfumato as sf
        >>> sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=1.0).randomize(["yes", "no"]).tolist()
        ['yes', 'no']
        """
        if level is not None:
            self.level(level)
        source = self._source(rng, key, question)
        if isinstance(values, (str, int, float, np.generic)) or values is None:
            return self._report_one(values, source)
        reports = report_array(self, values, source)
        return reports.item() if getattr(reports, "ndim", 1) == 0 else reports

    def _report_one(self, value: Any, source: WordSource) -> Any:
        """The same work for every value and outcome."""
        code = self.encode_one(value)
        report = self.drawing.draw(max(code, 0), source.row(code, self.drawing.words))
        return self.outputs.value_of(report) if code >= 0 else self.outputs.decode(np.array(MISSING)).item()

    def encode_one(self, value: Any) -> int:
        """``encode`` of a single value."""
        if is_missing(value):
            return int(self.check_missing(np.array(MISSING)))
        if isinstance(self.domain, Interval) and type(value) in (int, float):
            whole = not self.domain.integer or value == int(value)
            if whole and self.domain.low <= value <= self.domain.high:
                return self.entry.code_of(float(value))
        if isinstance(self.entry, Categories):
            return self.entry.code_of(value)
        return int(self.encode_entry(value))

    def encode(self, values: ArrayLike) -> Codes:
        """True codes of values, each with the law of the value: the nearest code, or the next one that enters the
        program where the value does. −1 for missing; an error names the row of a value outside the domain."""
        codes = self._encode(values, self.inputs)
        if self.entry_codes is None:
            return codes
        entered = self._encode(values, self.entry)
        alike = (codes < 0) | (self.entry_codes[codes] == entered)
        return np.where(alike, codes, np.searchsorted(self.entry_codes, entered))

    def encode_entry(self, values: ArrayLike, first_row: int = 0) -> Codes:
        """The codes that the program starts from."""
        return self._encode(values, self.entry, first_row)

    def _encode(self, values: ArrayLike, space: CodeSpace, first_row: int = 0) -> Codes:
        if isinstance(self.domain, Interval):
            numbers = self.domain.clean(values, clamp=self.outside == "clamp", first_row=first_row)
            return self.check_missing(space.encode(numbers), first_row)
        return self.check_missing(space.encode(values, first_row), first_row)  # type: ignore[call-arg]

    def check_missing(self, codes: Codes, first_row: int = 0) -> Codes:
        """The same codes, refused if one is missing and the channel does not pass missing values."""
        if self.missing == "refuse" and (codes == MISSING).any():
            row = f" in row {first_row + int(np.flatnonzero(codes == MISSING)[0]) + 1:,}" if codes.ndim else ""
            raise ValueError(f"a value is missing{row} and the channel refuses that; fill it or use missing='pass'")
        return codes

    def encode_reports(self, reports: ArrayLike) -> Codes:
        """Report codes; raw noisy numbers go to the nearest code, beyond the ends to the end codes; missing is −1."""
        with showing_values():  # a report is what was sent, not an answer
            return self.outputs.encode(reports)

    def report_codes(self, codes: Codes, source: WordSource) -> Codes:
        """Report codes for true codes; missing stays missing."""
        flat = np.atleast_1d(codes).ravel()
        if self.entry_codes is not None:
            flat = np.where(flat < 0, MISSING, self.entry_codes[flat])
        words = source.rows(flat, self.drawing.words)
        reports = self.drawing.draw(np.maximum(flat, 0), list(words.T))
        return np.where(flat < 0, MISSING, reports).reshape(np.shape(codes))

    # --- tables -------------------------------------------------------------------------------------------------

    def matrix(self, true: ArrayLike | None = None, reported: ArrayLike | None = None) -> Floats:
        """P[reported, true].

        ``true=None``: a column for every true code. ``true=edges``: a column for every interval, x uniform inside.
        ``reported=None``: a row for every report code. ``reported=edges``: a row for every cell, the end cells open.
        """
        starts = None if reported is None else self.first_codes(check_edges(reported, "reported"))
        if true is None:
            return self._law_at(self.entry_codes, starts)
        return np.asarray(self._law_at(None, starts) @ self._entry_weights(check_edges(true, "true")))

    def cells_of_codes(self, edges: ArrayLike) -> Codes:
        """For every report code the cell between ``edges`` that its value lies in; the two end cells are open."""
        bounds = check_edges(edges, "reported")
        values = self._numeric(self.outputs).values
        return np.asarray(np.clip(np.searchsorted(bounds, values, side="right") - 1, 0, bounds.size - 2))

    def first_codes(self, edges: Floats) -> Codes:
        """The first report code at or above each cell's lower edge."""
        first = np.searchsorted(self.cells_of_codes(edges), np.arange(edges.size - 1), side="left")
        return first.astype(np.int64)

    def interval_weights(self, edges: Floats) -> Floats:
        """W[true code, interval]: the share of each code in a value drawn uniformly from the interval."""
        return self._shares(self._numeric(self.inputs), edges)

    def _entry_weights(self, edges: Floats) -> Floats:
        """The same for the codes that the program starts from: exact where they are classes of the values."""
        if self.entry_codes is None:
            return self.interval_weights(edges)
        if not self._numeric(self.inputs).integer:
            return self._shares(self._numeric(self.entry), edges)
        entered = np.arange(self.entry.size)[:, None] == self.entry_codes
        return np.asarray(entered @ self.interval_weights(edges))

    def _shares(self, grid: Grid | Cells, edges: Floats) -> Floats:
        if isinstance(grid, Grid) and grid.integer:
            place = np.clip(np.searchsorted(edges, grid.values, side="right") - 1, 0, edges.size - 2)
            inside = (grid.values >= edges[0]) & (grid.values <= edges[-1]) & (grid.values == np.rint(grid.values))
            weights = (place[:, None] == np.arange(edges.size - 1)) & inside[:, None]
            overlap = weights.astype(float)
        else:
            low, high = grid.edges[:-1].copy(), grid.edges[1:].copy()
            low[0], high[-1] = min(low[0], edges[0]), max(high[-1], edges[-1])
            overlap = np.minimum(high[:, None], edges[1:]) - np.maximum(low[:, None], edges[:-1])
            overlap = np.maximum(overlap, 0.0)
        total = overlap.sum(axis=0)
        if (total <= 0).any():
            empty = int(np.flatnonzero(total <= 0)[0])
            bounds = f"[{edges[empty]:g}, {edges[empty + 1]:g})"
            raise ValueError(f"interval {bounds} holds no value of the domain ({self.domain}); use wider intervals")
        return np.asarray(overlap / total)

    def _numeric(self, space: CodeSpace) -> Grid:
        if isinstance(space, Categories):
            raise ValueError(f"{self.kind} works on categories; call matrix() without edges")
        return space  # type: ignore[return-value]

    # --- statements ---------------------------------------------------------------------------------------------

    @property
    def visible(self) -> tuple[str, ...]:
        """What the collector sees besides the report: whether there is an answer, unless everybody must give one."""
        return ("missing",) if self.missing == "pass" else ()

    def guarantee(self, prior: Any = None, *, language: str = "en") -> Guarantee:
        """What one report can reveal; ``prior`` is a flat belief unless given (probabilities over equal intervals of
        the domain or over the categories, a mapping from category to probability, or an Estimate)."""
        return Guarantee.of_channel(self, prior, language)

    def to_spec(self) -> dict[str, Any]:
        rules = {"missing": (self.missing, "pass"), "outside": (self.outside, "refuse")}
        own = {name: rule for name, rule in rules.items() if name in self.parameter_names()}  # else a part states them
        return {**super().to_spec(), **{name: chosen for name, (chosen, usual) in own.items() if chosen != usual}}

    def __rshift__(self, other: Channel) -> Channel:
        """``noise >> rounding``: a `Chain`, one channel after the other."""
        chain: Any = Mechanism.registry["chain"]
        return chain(self, other)  # type: ignore[no-any-return]


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


def channel_from_spec(domain: Domain, spec: Mapping[str, Any]) -> Channel:
    """The same where only a single channel will do."""
    found = mechanism_from_spec(domain, spec)
    if not isinstance(found, Channel):
        raise ValueError(f"channel = {found.kind!r} is not a single channel; choose one without levels")
    return found


def identity_of(document: Any) -> str:
    """SHA-256 of the canonical JSON text."""
    return hashlib.sha256(canonical_text(document).encode()).hexdigest()


def canonical_text(document: Any) -> str:
    """The canonical JSON text: keys sorted, no spaces, whole numbers as integers, others as text."""
    plain = _canonical(document)
    return str(plain) if type(plain) is int else _as_text(plain)


_as_text = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def noise_part(program: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a program that keyed noise depends on.

    Channels with different laws draw independently, so that their γ multiply: from one draw, two laws together could
    tell everything. But whatever blurs a permanent report further shares it, and so do randomized response and square
    waves of one width at every γ: one word decides for all of them whether the report is near, and the other one which
    it is, so that many plans of nearly the same γ teach what one of them does.
    """
    steps = program["steps"][: program.get("permanent", len(program["steps"]))]
    if len(steps) == 1 and steps[0]["step"] == "window":
        steps = [{name: part for name, part in steps[0].items() if name != "inside"}]
    return {"read": program["read"], "steps": steps}


def _canonical(value: Any) -> Any:
    if type(value) in (str, int, bool):
        return value
    if isinstance(value, (float, np.floating)):
        return int(value) if float(value).is_integer() else repr(float(value))
    if isinstance(value, Mapping):
        return {str(key): _canonical(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(part) for part in value]
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, (bool, int, str)) or plain is None else str(plain)


def read_space(space: CodeSpace) -> dict[str, Any]:
    """How a device turns a value into the program's first code."""
    if isinstance(space, Grid):
        return {"size": space.size, **_grid(space)}
    if isinstance(space, Cells):
        return {"size": space.size, "edges": space.whole[0], "per": space.whole[1]}
    return {"size": space.size}


def write_space(space: CodeSpace, domain: Domain) -> dict[str, Any]:
    """How a device turns the last code into a report; labels are those of the domain unless listed."""
    if isinstance(space, Categories):
        own = {} if space == domain else {"labels": list(space.labels)}
        return {"size": space.size, **own}
    return read_space(space)


def _grid(grid: Grid) -> dict[str, int]:
    first, stride, per = grid.whole
    return {"first": first, "stride": stride, "per": per}


def check_edges(edges: ArrayLike, name: str) -> Floats:
    """Edges as an increasing array of at least two finite numbers."""
    bounds = np.asarray(edges, dtype=float)
    if bounds.ndim != 1 or bounds.size < 2:
        raise ValueError(f"{name} needs at least two edges in one row; got shape {bounds.shape}")
    if not np.isfinite(bounds).all() or (np.diff(bounds) <= 0).any():
        raise ValueError(f"{name} edges are not increasing finite numbers; sort them and drop repeats")
    return bounds
