"""Drawing programs: what a device executes to blur an answer, as plain data in whole numbers.

A program takes the code of a true value through a few steps. Each step turns a code into another one with the help of
uniform 64-bit words, and has a law of its own:

    shift    code + noise, noise from one table; beyond the ends the end codes          1 word
    window   a place of the window that begins at the code, or any place outside it     2 words
    table    a draw from the code's own table                                           1 word
    map      another code, always the same one                                          no word
    spread   any code of the run of neighbours that holds the code                      1 word

Steps one after the other are a chain. The functions below are the one interpreter: they read whole numbers only, work
on single codes and on arrays alike, and do the same work whatever the code, the words and the outcome are. The law and
γ are read off the same whole numbers. ``docs/programs.md`` describes programs for other languages.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import MOST_CODES, Codes, Floats
from sfumato.domain.checked import given, given_rows, given_table, given_whole, given_wholes
from sfumato.tables import check_nesting

WORD = 1 << 64
HALF = 1 << 63
LOW = 0xFFFFFFFF
WIDEST = 1 << 32  # codes below this are drawn without overflow
MOST_ENTRIES = 100_000_000
"""A law has at most so many entries: 800 MB of floats."""
EXACT_PRODUCT = 3_000_000  # multiplications up to which the γ of a chain is computed in whole numbers
Words = NDArray[np.uint64]
Numbers = Any  # one whole number, or an array of them


# --- drawing from words -------------------------------------------------------------------------------------------


def below(word: Numbers, bound: Numbers) -> Numbers:
    """⌊word · bound / 2^64⌋: one of 0..bound−1, each for ⌊2^64/bound⌋ words or one more; bound is below 2^32."""
    return ((word >> 32) * bound + (((word & LOW) * bound) >> 32)) >> 32


def words_below(place: int, bound: int) -> int:
    """How many words lead ``below`` to this place."""
    return -(-(place + 1) * WORD // bound) + (place * -WORD // bound)


def choose(condition: Numbers, yes: Numbers, no: Numbers) -> Numbers:
    """``yes`` where the condition holds, else ``no``, without a branch."""
    return no + (yes - no) * condition


@dataclass(frozen=True, eq=False)
class Alias:
    """A law over codes as Walker's table: entry = threshold << bits | alias, 2^bits entries.

    The top ``bits`` bits of a word choose an entry; if the others are below its threshold the code is the entry's own
    place, else its alias. P(code) is a whole number over 2^64.
    """

    entries: Words
    bits: int

    @classmethod
    def of(cls, weights: Sequence[int]) -> Alias:
        """The table of whole-number weights that sum to 2^64."""
        bits = max(1, (len(weights) - 1).bit_length())
        capacity = WORD >> bits
        mass = [*weights, *[0] * ((1 << bits) - len(weights))]
        threshold, alias = [capacity - 1] * len(mass), list(range(len(mass)))
        small = [i for i, w in enumerate(mass) if w < capacity]
        large = [i for i, w in enumerate(mass) if w > capacity]
        while small:
            needy, giver = small.pop(), large[-1]
            threshold[needy], alias[needy] = mass[needy], giver
            mass[giver] -= capacity - mass[needy]
            if mass[giver] <= capacity:
                large.pop()
                if mass[giver] < capacity:
                    small.append(giver)
        packed = [(t << bits) | a for t, a in zip(threshold, alias, strict=True)]
        return cls(np.array(packed, dtype=np.uint64), bits)

    @cached_property
    def upper(self) -> Any:
        """The table for the upper halves of words: thresholds without their lower 32 bits."""
        thresholds = self.entries >> np.uint64(32 + self.bits) << np.uint64(self.bits)
        return (thresholds | self.entries & np.uint64((1 << self.bits) - 1)).astype(np.uint32)

    @cached_property
    def listed(self) -> list[int]:
        return [int(entry) for entry in self.entries.ravel()]

    def draw(self, word: Numbers, column: Numbers = 0) -> Numbers:
        """The code that a word chooses, from the table of ``column`` where there are several."""
        place = word >> (64 - self.bits)
        where = (column << self.bits) + place
        entry = self.listed[where] if isinstance(word, int) else self.entries[where.view(np.int64)]
        alias = entry & ((1 << self.bits) - 1)
        return choose((word & ((1 << (64 - self.bits)) - 1)) < (entry >> self.bits), place, alias)

    def weights(self, column: int = 0) -> list[int]:
        """How many of the 2^64 words choose each code."""
        size, capacity = 1 << self.bits, WORD >> self.bits
        found = [0] * size
        for place, entry in enumerate(self.listed[column * size : (column + 1) * size]):
            threshold, alias = entry >> self.bits, entry & (size - 1)
            found[place] += threshold
            found[alias] += capacity - threshold
        return found

    def to_list(self) -> list[str]:
        return [hex_word(entry) for entry in self.listed]

    @classmethod
    def from_list(cls, entries: Sequence[str], columns: int = 1) -> Alias:
        size = len(entries) // columns if columns else 0
        if size < 2 or size & (size - 1) or len(entries) != size * columns:
            raise ValueError(f"{len(entries):,} entries are not {columns:,} tables of 2, 4, 8, … each; write it again")
        return cls(np.array([word_of(entry) for entry in entries], dtype=np.uint64), size.bit_length() - 1)


def integer_weights(probabilities: Floats) -> list[int]:
    """Whole-number weights nearest to the probabilities that sum to 2^64 exactly."""
    weights = [int(p * float(WORD)) for p in probabilities.tolist()]
    weights[int(np.argmax(probabilities))] += WORD - sum(weights)
    return weights


def hex_word(word: int) -> str:
    """A word as JSON carries it unharmed."""
    return f"{word:016x}"


def word_of(text: Any) -> int:
    """The word that ``hex_word`` wrote."""
    if not isinstance(text, str) or not re.fullmatch("[0-9a-f]{16}", text):
        raise ValueError("a word is not sixteen hexadecimal digits; write the program again")
    return int(text, 16)


# --- steps --------------------------------------------------------------------------------------------------------


class Step(ABC):
    """One step: from codes 0..inputs−1 to codes 0..outputs−1."""

    name: ClassVar[str]
    words: ClassVar[int] = 1
    kinds: ClassVar[dict[str, type[Step]]] = {}
    inputs: int
    outputs: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Step.kinds[cls.name] = cls

    @abstractmethod
    def draw(self, code: Numbers, words: Sequence[Numbers]) -> Numbers:
        """The next code, for one code and its words (whole numbers) or for arrays of them."""

    @abstractmethod
    def law(self, first: Codes | None = None) -> Floats:
        """P[next code, code]; with ``first`` the rows summed over runs of next codes that begin there."""

    @abstractmethod
    def exact(self) -> list[list[int]]:
        """Rows of whole numbers proportional to the law, one common factor for all."""

    def gamma(self) -> Fraction | None:
        """The largest ratio within a row of the law, or just above it; None: infinite."""
        return largest_of(self.exact())

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The step as plain data."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: dict[str, Any], inputs: int) -> Step:
        """The step that ``to_dict`` wrote, for codes 0..inputs−1."""


@dataclass(frozen=True, eq=False)
class Shift(Step):
    """code + noise − offset, clamped to 0..outputs−1; the noise is a code of the table."""

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
        found = self.noise.weights()
        last = max(place for place, weight in enumerate(found) if weight)
        return found[: last + 1]

    @cached_property
    def chances(self) -> Floats:
        """P(noise) as floats."""
        return np.array([float(weight) for weight in self.weights]) / float(WORD)

    def law(self, first: Codes | None = None) -> Floats:
        """P(f ≤ next < g | code) as differences of sums of whole weights; the end codes gather what is beyond."""
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
        """The first noise that occurs."""
        return next(place for place, weight in enumerate(self.weights) if weight)

    def _whole_law(self) -> Floats:
        q, n = self.chances, self.inputs
        lag = np.arange(self.outputs + n - 1) - (n - 1) + self.offset
        known = (lag >= 0) & (lag < q.size)
        padded = np.where(known, q[np.clip(lag, 0, q.size - 1)], 0.0)
        table = np.lib.stride_tricks.sliding_window_view(padded, n)[:, ::-1].copy()
        first, last = self.offset - np.arange(n), self.outputs - 1 + self.offset - np.arange(n)
        below, above = np.cumsum(q), np.cumsum(q[::-1])
        table[0] = below[np.clip(first, 0, q.size - 1)] * (first >= 0)
        table[-1] = above[np.clip(q.size - 1 - last, 0, q.size - 1)] * (last < q.size)
        return table

    def _row(self, report: int, running: list[int]) -> list[int]:
        """Words that lead each code to the report; ``running`` are the sums of the first weights."""
        most = len(self.weights)
        low = [0 if report == 0 else report + self.offset - code for code in range(self.inputs)]
        high = [most if report == self.outputs - 1 else report + self.offset - code + 1 for code in range(self.inputs)]
        pairs = zip(low, high, strict=True)
        return [running[min(max(b, 0), most)] - running[min(max(a, 0), most)] for a, b in pairs]

    def exact(self) -> list[list[int]]:
        running = _running_sums(self.weights)
        return [self._row(report, running) for report in range(self.outputs)]

    def gamma(self) -> Fraction | None:
        """Rows slide along the weights, so that the largest and smallest of a window tell; end rows are sums."""
        running = _running_sums(self.weights)
        ends = [self._row(report, running) for report in {0, self.outputs - 1}]
        found = [largest_of(ends)]
        padded = [0] * (self.inputs - 1) + self.weights + [0] * (self.inputs - 1)
        start, stop = self.offset + 1, self.offset + self.outputs - 1 + self.inputs - 1
        inner = padded[max(start, 0) : max(stop, 0)] + [0] * max(stop - max(start, len(padded)), 0)
        if self.outputs > 2:
            high = _sliding(inner, self.inputs, largest=True)
            low = _sliding(inner, self.inputs, largest=False)
            found += [ratio_of(most, least) for most, least in set(zip(high, low, strict=True))]
        return _largest(found)

    def to_dict(self) -> dict[str, Any]:
        return {"step": self.name, "noise": self.noise.to_list(), "offset": self.offset, "outputs": self.outputs}

    @classmethod
    def from_dict(cls, data: dict[str, Any], inputs: int) -> Shift:
        noise = Alias.from_list(given_rows(data, "noise"))
        offset = given_whole(data, "offset", 0, 2 * MOST_CODES)
        return cls(noise, offset, inputs, given_whole(data, "outputs", 1, WIDEST))


@dataclass(frozen=True, eq=False)
class Window(Step):
    """One of the ``window`` codes from the code on, with chance inside/2^63; else one of the ``others`` other codes."""

    name = "window"
    words = 2
    inside: int
    window: int
    others: int

    @property
    def inputs(self) -> int:  # type: ignore[override]
        return self.others + 1

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self.window + self.others

    @classmethod
    def of_gamma(cls, gamma: float, window: int, others: int) -> Window:
        """The likeliest window whose γ, in whole numbers, is at most the one wanted."""
        wanted = Fraction(gamma)
        dear, cheap = -(-WORD // window), WORD // others
        return cls(int(wanted * HALF * cheap / (dear + wanted * cheap)), window, others)

    @property
    def chance(self) -> float:
        """The probability of the window."""
        return self.inside / HALF

    def draw(self, code: Numbers, words: Sequence[Numbers]) -> Numbers:
        hit = (words[0] >> 1) < self.inside
        near, far = below(words[1], self.window), below(words[1], self.others)
        if not isinstance(code, int):
            near, far = near.astype(np.int64), far.astype(np.int64)
        return choose(hit, code + near, far + self.window * (far >= code))

    def law(self, first: Codes | None = None) -> Floats:
        """q·(codes of the cell) + (γ − 1)·q·(codes of the cell inside the window)."""
        starts = np.arange(self.outputs + 1) if first is None else np.append(first, self.outputs)
        near = np.diff(np.clip(starts[:, None] - np.arange(self.inputs), 0, self.window), axis=0)
        far = np.diff(starts)[:, None] - near
        outside = (HALF - self.inside) / HALF / self.others if self.others else 0.0
        return np.asarray(near * (self.chance / self.window) + far * outside)

    def exact(self) -> list[list[int]]:
        near = [self.inside * words_below(place, self.window) for place in range(self.window)]
        far = [(HALF - self.inside) * words_below(place, self.others) for place in range(self.others)]
        codes = range(self.inputs)
        return [[self._weight(report, code, near, far) for code in codes] for report in range(self.outputs)]

    def _weight(self, report: int, code: int, near: list[int], far: list[int]) -> int:
        if code <= report < code + self.window:
            return near[report - code]
        return far[report if report < code else report - self.window]

    def gamma(self) -> Fraction | None:
        """From the largest and the smallest weight inside and outside the window, whichever is likelier."""
        if not self.others:
            return Fraction(1)
        sides = (self.inside, self.window), (HALF - self.inside, self.others)
        near, far = ((share * (WORD // places), share * -(-WORD // places)) for share, places in sides)
        if self.window > 1 or self.inputs == 1:
            return ratio_of(max(near[1], far[1]), min(near[0], far[0]))
        found = [ratio_of(near[1], far[0]), ratio_of(far[1], near[0])]
        return _largest([*found, ratio_of(far[1], far[0])] if self.inputs > 2 else found)

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
    """A draw from the code's own table; all tables have as many entries."""

    name = "table"
    tables: Alias
    inputs: int
    outputs: int

    @classmethod
    def of(cls, weights: Sequence[Sequence[int]]) -> Draw:
        """``weights[code]`` sums to 2^64 over the next codes."""
        made = [Alias.of(column) for column in weights]
        entries = np.concatenate([alias.entries for alias in made])
        return cls(Alias(entries, made[0].bits), len(weights), len(weights[0]))

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
    """codes[code]: always the same."""

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
    """Any code of the run that holds the code: runs begin at ``starts``, the last one ends before ``outputs``."""

    name = "spread"
    starts: Codes
    outputs: int

    @property
    def inputs(self) -> int:  # type: ignore[override]
        return self.outputs

    @cached_property
    def sizes(self) -> Codes:
        return np.diff(self.starts, append=self.outputs)

    @cached_property
    def runs(self) -> tuple[Codes, Codes]:
        """(first code, size) of the run that holds each code."""
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
        """The law of any code of each run; cells cut through runs in proportion to the codes on each side."""
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


# --- programs -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Program:
    """Steps one after the other; ``read`` and ``write`` say how values become codes and codes become reports."""

    size: int
    steps: tuple[Step, ...]
    read: dict[str, Any] = field(default_factory=dict)
    write: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        size = self.size
        for step in self.steps:
            if step.inputs != size:
                raise ValueError(f"a {step.name} step takes {step.inputs} codes and gets {size}; they must agree")
            size = step.outputs

    @property
    def outputs(self) -> int:
        return self.steps[-1].outputs if self.steps else self.size

    @cached_property
    def words(self) -> int:
        """How many words a report takes."""
        return sum(step.words for step in self.steps)

    def draw(self, code: Numbers, words: Sequence[Numbers]) -> Numbers:
        """Report codes for true codes: one code and its words, or an array and one array a word."""
        used = 0
        for step in self.steps:
            code = step.draw(code, words[used : used + step.words])
            used += step.words
        return code

    def law(self, first: Codes | None = None, codes: Codes | None = None) -> Floats:
        """P[report code, true code]; with ``first`` the rows summed over runs of report codes, with ``codes`` the
        columns of these true codes."""
        if codes is not None:
            return Program(codes.size, (Map(codes, self.size), *self.steps)).law(first)
        self._check_law(None if first is None else first.size)
        if not self.steps:
            return Map(np.arange(self.size), self.size).law(first)
        table = self.steps[-1].law(first)
        for step in self.steps[-2::-1]:
            table = table[:, step.codes] if isinstance(step, Map) else table @ step.law()
        return table

    def _entries(self, rows: int | None = None) -> int:
        """How many entries the largest of the tables has that make the law, or ``rows`` of it."""
        last = (self.outputs if rows is None else rows) * (self.steps[-1].inputs if self.steps else self.size)
        inner = [step.inputs * step.outputs for step in self.steps[:-1] if not isinstance(step, Map)]
        return max([last, *inner])

    def _check_law(self, rows: int | None) -> None:
        if self._entries(rows) > MOST_ENTRIES:
            raise ValueError(
                f"the law has {self._entries(rows):,} entries, more than the {MOST_ENTRIES:,} that can be held; "
                "use a coarser step=, or fewer categories"
            )

    @cached_property
    def gamma(self) -> Fraction | None:
        """The largest ratio within a row of the law; None: infinite.

        Of one step exactly. Of several exactly where the product is small; else from the law in floats, rounded up, and
        never above that of any step: what is done before or after a step reveals no more.
        """
        if max([self.size, *(step.outputs for step in self.steps)]) > MOST_CODES:
            raise ValueError(f"a step has more than {MOST_CODES:,} codes, too many to state γ; write the program again")
        stochastic = [step for step in self.steps if step.words]
        if not stochastic:
            identity = not self.steps and self.size > 1
            return None if identity else self.steps[0].gamma() if self.steps else Fraction(1)
        if len(self.steps) == 1:
            return self.steps[0].gamma()
        bounds = [gamma for gamma in (step.gamma() for step in self.steps) if gamma is not None]
        product = self.exact()
        if product is not None:
            return largest_of(product.tolist())
        program, runs = self._before_spread()
        held = program._entries(None if runs is None else runs.size) <= MOST_ENTRIES
        found = largest_ratio(program.law(runs)) if held else math.inf
        bounds += [Fraction(found) * (1 + Fraction(1, 10**9))] if math.isfinite(found) else []
        return min(bounds, default=None)

    def _before_spread(self) -> tuple[Program, Codes | None]:
        """A program and runs of its reports with the same γ: the reports of a closing spread's run have proportional
        rows."""
        *before, last = self.steps
        if before and isinstance(last, Spread):
            return Program(self.size, tuple(before)), last.starts
        return self, None

    def exact(self, most: int = EXACT_PRODUCT) -> NDArray[Any] | None:
        """Whole numbers proportional to the law, one common factor for all; None where that takes too much work."""
        work = sum(a.inputs * a.outputs * b.outputs for a, b in zip(self.steps, self.steps[1:], strict=False))
        if work > most or (self.steps and self.steps[0].inputs * self.steps[0].outputs > most):
            return None
        product = np.eye(self.size, dtype=int).astype(object)
        for place, step in enumerate(self.steps):
            table = np.array(step.exact(), dtype=object)
            product = table if place == 0 else table @ product
        return product

    def to_dict(self) -> dict[str, Any]:
        """The program as plain data: whole numbers, and words as sixteen hexadecimal digits."""
        steps = [step.to_dict() for step in self.steps]
        return {"program": 1, "words": self.words, "read": self.read, "steps": steps, "write": self.write}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Program:
        """The program that ``to_dict`` wrote."""
        check_nesting(data, "the program")
        version = given(data, "program")
        if version != 1:
            raise ValueError(f"program = {version!r} is not version 1; this interpreter reads version 1")
        read, write = given_table(data, "read"), given_table(data, "write")
        size = first = given_whole(read, "size", 1, MOST_CODES)
        steps: list[Step] = []
        for each in given_rows(data, "steps"):
            if given(each, "step") not in list(Step.kinds):
                raise ValueError(f"step {each['step']!r} is unknown; known are {', '.join(Step.kinds)}")
            steps.append(Step.kinds[each["step"]].from_dict(each, size))
            size = steps[-1].outputs
        if "size" in write and size != given_whole(write, "size", 1, WIDEST):
            raise ValueError("the last step has other codes than are written; write the program again")
        return cls(first, tuple(steps), dict(read), dict(write))


# --- ratios -------------------------------------------------------------------------------------------------------


def ratio_of(most: int, least: int) -> Fraction | None:
    """most/least; 1 for a report that never occurs, None where only some values rule it out."""
    if least == 0:
        return None if most else Fraction(1)
    return Fraction(most, least)


def largest_of(rows: Sequence[Sequence[int]]) -> Fraction | None:
    """The largest ratio within a row."""
    return _largest([ratio_of(max(row), min(row)) for row in rows])


def _largest(ratios: Sequence[Fraction | None]) -> Fraction | None:
    return None if None in ratios else max((ratio for ratio in ratios if ratio is not None), default=Fraction(1))


def largest_ratio(law: Floats) -> float:
    """γ of a table in floats: max over reports of max/min within the row; rows that never occur do not count."""
    high, low = law.max(axis=1), law.min(axis=1)
    high, low = high[high > 0], low[high > 0]
    return float(np.inf) if (low <= 0).any() else float((high / low).max())


def sum_runs(table: Floats, first: Codes) -> Floats:
    """Rows summed over runs that begin at ``first``; an empty run is zero."""
    held = np.append(first[1:], table.shape[0]) > first
    found = np.zeros((first.size, table.shape[1]))
    found[held] = np.add.reduceat(table, first[held], axis=0)
    return found


def _running_sums(weights: list[int]) -> list[int]:
    sums = [0]
    for weight in weights:
        sums.append(sums[-1] + weight)
    return sums


def _sliding(values: list[int], width: int, *, largest: bool) -> list[int]:
    """The largest (or smallest) of every ``width`` neighbours."""
    queue: list[int] = []
    head, found = 0, []
    for place, value in enumerate(values):
        while len(queue) > head and ((values[queue[-1]] <= value) if largest else (values[queue[-1]] >= value)):
            queue.pop()
        queue.append(place)
        if queue[head] <= place - width:
            head += 1
        if place >= width - 1:
            found.append(values[queue[head]])
    return found
