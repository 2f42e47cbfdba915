"""The kinds of steps that drawing programs are made of; each knows its law, its γ and its plain data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.channels.program.alias import (
    HALF,
    WIDEST,
    WORD,
    Alias,
    Numbers,
    below,
    choose,
    hex_word,
    word_of,
    words_below,
)
from sfumato.channels.program.ratios import largest_of, largest_or_none, ratio_of, running_sums, sliding, sum_runs
from sfumato.domain import MOST_CODES, Codes, Floats
from sfumato.domain.checked import given, given_rows, given_whole, given_wholes


class Step(ABC):
    """A step of the program by which a device draws a report: it turns one code (whole number) into the next.

    The given code is below ``inputs`` and the next one below ``outputs``; random 64-bit words decide which it is.
    """

    name: ClassVar[str]  # in plain data: "step": "…"
    words: ClassVar[int] = 1  # how many words one code takes
    kinds: ClassVar[dict[str, type[Step]]] = {}  # every class by its name
    inputs: int
    outputs: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Step.kinds[cls.name] = cls

    @abstractmethod
    def draw(self, code: Numbers, words: Sequence[Numbers]) -> Numbers:
        """Return the next code, for one code and its words (whole numbers) or for arrays of them."""

    @abstractmethod
    def law(self, first: Codes | None = None) -> Floats:
        """Return the table of chances P[next code, code].

        ``first``: sums its rows over runs of next codes that begin at these codes; None: one row a next code.
        """

    @abstractmethod
    def exact(self) -> list[list[int]]:
        """Return the table P[next code, code] in whole numbers, all times one common factor: one row a next code."""

    def gamma(self) -> Fraction | None:
        """Return γ, the largest factor between the chances of one next code under two codes, or just above it.

        None: infinite.
        """
        return largest_of(self.exact())

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the step as plain data, as docs/programs.md describes it."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: dict[str, Any], inputs: int) -> Step:
        """Read the step that ``to_dict`` wrote, for ``inputs`` codes; other data is an error."""


@dataclass(frozen=True, eq=False)
class Shift(Step):
    """A step that adds noise: the next code is code + noise − offset, clamped to 0..outputs−1.

    ``noise``: the table from which the noise, a whole number from 0 on, is drawn.
    """

    name = "shift"
    noise: Alias
    offset: int
    inputs: int
    outputs: int

    def draw(self, code: Numbers, words: Sequence[Numbers]) -> Numbers:
        drawn = self.noise.draw(words[0])
        if isinstance(code, int):
            return min(max(code + drawn - self.offset, 0), self.outputs - 1)
        return np.clip(code + drawn.astype(np.int64) - self.offset, 0, self.outputs - 1)

    @cached_property
    def weights(self) -> list[int]:
        """How many of the 2^64 words draw each noise, up to the largest noise that occurs."""
        weights = self.noise.weights()
        last = max(noise for noise, weight in enumerate(weights) if weight)
        return weights[: last + 1]

    @cached_property
    def chances(self) -> Floats:
        """The chance of each noise, as floats."""
        return np.array([float(weight) for weight in self.weights]) / float(WORD)

    def law(self, first: Codes | None = None) -> Floats:
        """Return P[next code, code], or P(f ≤ next < g | code) for runs that begin at f = ``first`` and end before g.

        Sums over runs are differences of running sums of whole weights; the end codes gather what is beyond them.
        """
        if first is None:
            return self._whole_law()
        weights = np.array([weight % WORD for weight in self.weights], dtype=np.uint64)
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(weights)])  # modulo 2^64: differences are exact
        inner = np.clip(first[1:, None] + self.offset - np.arange(self.inputs), 0, weights.size)
        ends = np.zeros((1, self.inputs), dtype=inner.dtype)
        bounds = np.vstack([ends, inner, ends + weights.size])
        certain = (bounds[:-1] <= self._least) & (bounds[1:] == weights.size)
        return np.where(certain, 1.0, np.diff(running[bounds], axis=0) / float(WORD))

    @cached_property
    def _least(self) -> int:
        """The smallest noise that occurs."""
        return next(noise for noise, weight in enumerate(self.weights) if weight)

    def _whole_law(self) -> Floats:
        """Return P[next code, code]: the chances of the noise, shifted along the codes; end rows gather the others."""
        q, n = self.chances, self.inputs
        lag = np.arange(self.outputs + n - 1) - (n - 1) + self.offset
        occurs = (lag >= 0) & (lag < q.size)
        padded = np.where(occurs, q[np.clip(lag, 0, q.size - 1)], 0.0)
        table = np.lib.stride_tricks.sliding_window_view(padded, n)[:, ::-1].copy()
        first, last = self.offset - np.arange(n), self.outputs - 1 + self.offset - np.arange(n)
        below, above = np.cumsum(q), np.cumsum(q[::-1])
        table[0] = below[np.clip(first, 0, q.size - 1)] * (first >= 0)
        table[-1] = above[np.clip(q.size - 1 - last, 0, q.size - 1)] * (last < q.size)
        return table

    def _row(self, report: int, running: list[int]) -> list[int]:
        """Return for every code how many of the 2^64 random words turn it into one next code, ``report``.

        ``running``: the sums of the first 0, 1, … weights of the noise.
        """
        most = len(self.weights)
        low = [0 if report == 0 else report + self.offset - code for code in range(self.inputs)]
        high = [most if report == self.outputs - 1 else report + self.offset - code + 1 for code in range(self.inputs)]
        pairs = zip(low, high, strict=True)
        return [running[min(max(b, 0), most)] - running[min(max(a, 0), most)] for a, b in pairs]

    def exact(self) -> list[list[int]]:
        running = running_sums(self.weights)
        return [self._row(report, running) for report in range(self.outputs)]

    def gamma(self) -> Fraction | None:
        """Return γ, the largest ratio within a row of the law, without writing the law down; None: infinite.

        An inner row of it is ``inputs`` neighbouring weights of the noise; the two end rows are sums of weights.
        """
        running = running_sums(self.weights)
        ends = [self._row(report, running) for report in {0, self.outputs - 1}]
        ratios = [largest_of(ends)]
        padded = [0] * (self.inputs - 1) + self.weights + [0] * (self.inputs - 1)
        start, stop = self.offset + 1, self.offset + self.outputs - 1 + self.inputs - 1
        inner = padded[max(start, 0) : max(stop, 0)] + [0] * max(stop - max(start, len(padded)), 0)
        if self.outputs > 2:
            high = sliding(inner, self.inputs, largest=True)
            low = sliding(inner, self.inputs, largest=False)
            ratios += [ratio_of(most, least) for most, least in set(zip(high, low, strict=True))]
        return largest_or_none(ratios)

    def to_dict(self) -> dict[str, Any]:
        return {"step": self.name, "noise": self.noise.to_list(), "offset": self.offset, "outputs": self.outputs}

    @classmethod
    def from_dict(cls, data: dict[str, Any], inputs: int) -> Shift:
        noise = Alias.from_list(given_rows(data, "noise"))
        offset = given_whole(data, "offset", 0, 2 * MOST_CODES)
        return cls(noise, offset, inputs, given_whole(data, "outputs", 1, WIDEST))


@dataclass(frozen=True, eq=False)
class Window(Step):
    """A step that draws the next code near the given code c, or anywhere else.

    With chance inside/2^63 it is one of the codes c, …, c + window − 1, each as likely; else one of the ``others`` next
    codes outside this window, each as likely. The window never wraps: there are window + others next codes.
    """

    name = "window"
    words = 2
    inside: int
    window: int
    others: int  # how many codes lie outside the window

    @property
    def inputs(self) -> int:  # type: ignore[override]
        return self.others + 1

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self.window + self.others

    @classmethod
    def of_gamma(cls, gamma: float, window: int, others: int) -> Window:
        """Build the step with the likeliest window for which γ (the largest factor on the odds) is at most ``gamma``.

        ``window`` and ``others``: how many next codes lie inside and outside the window.
        """
        bound = Fraction(gamma)
        most_words_inside, fewest_words_outside = -(-WORD // window), WORD // others
        share = bound * fewest_words_outside / (most_words_inside + bound * fewest_words_outside)
        return cls(int(HALF * share), window, others)

    @property
    def chance(self) -> float:
        """The chance that the next code lies in the window of codes from the given code on: inside/2^63."""
        return self.inside / HALF

    def draw(self, code: Numbers, words: Sequence[Numbers]) -> Numbers:
        hit = (words[0] >> 1) < self.inside
        near, far = below(words[1], self.window), below(words[1], self.others)
        if not isinstance(code, int):
            near, far = near.astype(np.int64), far.astype(np.int64)
        return choose(hit, code + near, far + self.window * (far >= code))

    def law(self, first: Codes | None = None) -> Floats:
        """Return P[next code, code], or sums over runs of next codes that begin at ``first``.

            P = q·(codes of the run) + (γ − 1)·q·(codes of the run inside the window)
        """
        starts = np.arange(self.outputs + 1) if first is None else np.append(first, self.outputs)
        near = np.diff(np.clip(starts[:, None] - np.arange(self.inputs), 0, self.window), axis=0)
        far = np.diff(starts)[:, None] - near
        outside = (HALF - self.inside) / HALF / self.others if self.others else 0.0
        return np.asarray(near * (self.chance / self.window) + far * outside)

    def exact(self) -> list[list[int]]:
        near = [self.inside * words_below(number, self.window) for number in range(self.window)]
        far = [(HALF - self.inside) * words_below(number, self.others) for number in range(self.others)]
        codes = range(self.inputs)
        return [[self._weight(report, code, near, far) for code in codes] for report in range(self.outputs)]

    def _weight(self, report: int, code: int, near: list[int], far: list[int]) -> int:
        """Return the chance of one next code, ``report``, for one code, as a whole number (`exact` has the factor).

        ``near`` and ``far``: these numbers for every next code inside and outside the window, in order.
        """
        if code <= report < code + self.window:
            return near[report - code]
        return far[report if report < code else report - self.window]

    def gamma(self) -> Fraction | None:
        """Return γ, the largest ratio within a row of the law; None: infinite.

        It follows from the smallest and the largest weight inside the window (near) and outside it (far).
        """
        if not self.others:
            return Fraction(1)
        sides = (self.inside, self.window), (HALF - self.inside, self.others)
        near, far = ((share * (WORD // count), share * -(-WORD // count)) for share, count in sides)
        if self.window > 1 or self.inputs == 1:
            return ratio_of(max(near[1], far[1]), min(near[0], far[0]))
        ratios = [ratio_of(near[1], far[0]), ratio_of(far[1], near[0])]
        return largest_or_none([*ratios, ratio_of(far[1], far[0])] if self.inputs > 2 else ratios)

    def to_dict(self) -> dict[str, Any]:
        sizes = {"window": self.window, "others": self.others}
        return {"step": self.name, "inside": hex_word(self.inside), **sizes}

    @classmethod
    def from_dict(cls, data: dict[str, Any], inputs: int) -> Window:
        inside = word_of(given(data, "inside"))
        if inside > HALF:
            raise ValueError("inside is above 2^63, which stands for certainty; write the program again")
        return cls(inside, given_whole(data, "window", 1, MOST_CODES), given_whole(data, "others", 0, MOST_CODES))


@dataclass(frozen=True, eq=False)
class Draw(Step):
    """A step that draws the next code by any law: each code has a table of chances of its own.

    ``tables``: those of all codes one after the other, of as many entries each.
    """

    name = "table"
    tables: Alias
    inputs: int
    outputs: int

    @classmethod
    def of(cls, weights: Sequence[Sequence[int]]) -> Draw:
        """Build the step from ``weights[code][next code]``, whole numbers that sum to 2^64 for each code."""
        tables = [Alias.of(column) for column in weights]
        entries = np.concatenate([alias.entries for alias in tables])
        return cls(Alias(entries, tables[0].bits), len(weights), len(weights[0]))

    def draw(self, code: Numbers, words: Sequence[Numbers]) -> Numbers:
        if isinstance(code, int):
            return self.tables.draw(words[0], code)
        return self.tables.draw(words[0], code.astype(np.uint64)).astype(np.int64)

    def law(self, first: Codes | None = None) -> Floats:
        table = np.array([[float(weight) for weight in row] for row in self.exact()]) / float(WORD)
        return table if first is None else sum_runs(table, first)

    def exact(self) -> list[list[int]]:
        columns = [self.tables.weights(code)[: self.outputs] for code in range(self.inputs)]
        return [list(row) for row in zip(*columns, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        size = 1 << self.tables.bits
        entries = self.tables.to_list()
        tables = [entries[code * size : (code + 1) * size] for code in range(self.inputs)]
        return {"step": self.name, "tables": tables, "outputs": self.outputs}

    @classmethod
    def from_dict(cls, data: dict[str, Any], inputs: int) -> Draw:
        tables = [given_rows({"tables": column}, "tables") for column in given_rows(data, "tables", inputs)]
        alias = Alias.from_list([entry for column in tables for entry in column], inputs)
        step = cls(alias, inputs, given_whole(data, "outputs", 1, 1 << alias.bits))
        if any(any(alias.weights(code)[step.outputs :]) for code in range(inputs)):
            raise ValueError("a table leads to a code beyond the outputs; write the program again")
        return step


@dataclass(frozen=True, eq=False)
class Map(Step):
    """A step without chance, as between the two channels of a chain: the next code is codes[code]."""

    name = "map"
    words = 0
    codes: Codes
    outputs: int

    @property
    def inputs(self) -> int:  # type: ignore[override]
        return int(self.codes.size)

    @cached_property
    def listed(self) -> list[int]:
        return [int(code) for code in self.codes]

    def draw(self, code: Numbers, words: Sequence[Numbers]) -> Numbers:
        return self.listed[code] if isinstance(code, int) else self.codes[code]

    def law(self, first: Codes | None = None) -> Floats:
        table = np.asarray(np.arange(self.outputs)[:, None] == self.codes, dtype=float)
        return table if first is None else sum_runs(table, first)

    def exact(self) -> list[list[int]]:
        return [[int(code == report) for code in self.listed] for report in range(self.outputs)]

    def gamma(self) -> Fraction | None:
        return Fraction(1) if np.unique(self.codes).size == 1 else None

    def to_dict(self) -> dict[str, Any]:
        return {"step": self.name, "codes": self.listed, "outputs": self.outputs}

    @classmethod
    def from_dict(cls, data: dict[str, Any], inputs: int) -> Map:
        outputs = given_whole(data, "outputs", 1, MOST_CODES)
        return cls(given_wholes(data, "codes", 0, outputs - 1, inputs), outputs)


@dataclass(frozen=True, eq=False)
class Spread(Step):
    """A step that draws evenly from the run of neighbouring codes that holds the given code.

    Runs begin at ``starts``; the last one ends before ``outputs``.
    """

    name = "spread"
    starts: Codes
    outputs: int

    @property
    def inputs(self) -> int:  # type: ignore[override]
        return self.outputs

    @cached_property
    def sizes(self) -> Codes:
        """How many codes each run has."""
        return np.diff(self.starts, append=self.outputs)

    @cached_property
    def runs(self) -> tuple[Codes, Codes]:
        """For every code the first code of the run that holds it, and the run's size: two arrays."""
        return np.repeat(self.starts, self.sizes), np.repeat(self.sizes, self.sizes)

    @cached_property
    def _listed(self) -> tuple[list[int], list[int]]:
        return self.runs[0].tolist(), self.runs[1].tolist()

    def draw(self, code: Numbers, words: Sequence[Numbers]) -> Numbers:
        if isinstance(code, int):
            return self._listed[0][code] + below(words[0], self._listed[1][code])
        start, size = self.runs
        return start[code] + below(words[0], size[code].view(np.uint64)).view(np.int64)

    def law(self, first: Codes | None = None) -> Floats:
        return np.repeat(self.law_of_runs(first), self.sizes, axis=1)

    def law_of_runs(self, first: Codes | None = None) -> Floats:
        """Return the table P[next code, run], smaller than ``law``: all given codes of a run have the same chances.

        ``first``: sums the rows over runs of next codes that begin at these codes; None: one row a next code.
        """
        bounds = np.arange(self.outputs + 1) if first is None else np.append(first, self.outputs)
        bounds[0] = 0
        shared = np.minimum(bounds[1:, None], self.starts + self.sizes) - np.maximum(bounds[:-1, None], self.starts)
        return np.asarray(np.maximum(shared, 0) / self.sizes)

    def exact(self) -> list[list[int]]:
        start, size = (column.tolist() for column in self.runs)
        return [
            [words_below(report - a, s) if a <= report < a + s else 0 for a, s in zip(start, size, strict=True)]
            for report in range(self.outputs)
        ]

    def gamma(self) -> Fraction | None:
        return Fraction(1) if self.starts.size == 1 else None

    def to_dict(self) -> dict[str, Any]:
        return {"step": self.name, "starts": self.starts.tolist(), "outputs": self.outputs}

    @classmethod
    def from_dict(cls, data: dict[str, Any], inputs: int) -> Spread:
        outputs = given_whole(data, "outputs", 1, MOST_CODES)
        starts = given_wholes(data, "starts", 0, outputs - 1)
        if not starts.size or starts[0] or (np.diff(starts) <= 0).any():
            raise ValueError("starts do not begin at 0 and increase; write the program again")
        return cls(starts, outputs)
