"""Probes, which draw random people and read their reports as quantiles of the law: checks are made of them.

The people's true values are random, so that no implementation knows them in advance. With F the running sum of the law
of a true value x and V uniform on 0..1, the (randomized) quantile of a report y,

    u = F[y − 1 | x] + V·P[y | x],

is uniform on 0..1 and independent of x, of everybody else's x and of every other u, whatever the channel is. Of
categories the person's own is the first, so that small quantiles are answers that were kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import AdditiveNoise, Channel, CorrelatedNoise
from sfumato.domain import Categories, Codes, Floats, as_array

SAMPLES = 25_000_000
"""Reports of each attribute that an audit draws unless told otherwise: a bias of .09 % of a probability then shows 99
times in 100 (docs/how-to/audit-a-plan.md). Ten times as many find faults a third as large, in ten times the time."""
SECONDS = 30.0
"""Seconds that an audit may take at default size, as docs/how-to/audit-a-plan.md states; the time is divided among
attributes, and a program that is too slow for it is asked for fewer reports."""
FIRST_BLOCK = 1 << 14
"""Reports in the first block of a measurement, small enough to time even a slow function by. By judgement."""
BLOCK = 1 << 18
"""Reports in one block at most, unless a check sets its own. By judgement: more only need memory."""
FEWEST = 2000
"""The reports that each tested true value gets at least. By judgement: of fewer, tests of single true values find only
gross faults, and more true values would be tested instead of fewer ones well."""
SEVERAL = 9
"""The true values that are tested at least, the two ends and seven between, even where reports are few or the table is
large. By judgement."""
ENTRIES = 1 << 21
"""The most entries of a table P[report, tested true code], 16 MB of floats; finer channels have fewer tested codes."""


@dataclass(frozen=True)
class Effort:
    """How many reports an audit draws, and for how many seconds at most; a slow program is asked for fewer reports."""

    samples: int = SAMPLES
    seconds: float = SECONDS

    def divide_time(self, parts: int) -> Effort:
        """Return the effort for one of several parts of an audit: the time is divided, the samples stay.

        More samples than SAMPLES get more time in proportion.
        """
        return replace(self, seconds=self.seconds * max(self.samples / SAMPLES, 1.0) / max(parts, 1))

    def multiply_time(self, times: int) -> Effort:
        """Return the effort with ``times`` as many seconds and the same samples."""
        return replace(self, seconds=self.seconds * times)

    def block_sizes(self, total: int, share: float, block: int = BLOCK) -> Iterator[int]:
        """Yield how many reports to draw next, in growing blocks, until they sum to ``total`` or the time is used up.

        The time runs between the yields: the caller does a block's work there. ``share``: of the effort's seconds;
        ``block``: the largest block.
        """
        start, done, first, limit = perf_counter(), 0, min(block, FIRST_BLOCK), share * self.seconds
        size, used = first, 0.0
        while done < total and used < limit:
            yield min(size, total - done)
            done, used = done + size, perf_counter() - start
            enough = int(done * (limit / used - 1))  # for the time that is left
            size = min(2 * size, block, max(enough, first))


class Probe(ABC):
    """A way to draw random people for one or more attributes, and to read their reports as quantiles of the stated law.

    Such quantiles are uniform and independent if the implementation is sound, which checks test. ``columns``: the names
    of the answers' columns. Everywhere ``true`` has a row of true codes for each person, and quantiles have a column
    for each independent number of a report.
    """

    columns: tuple[str, ...]

    @abstractmethod
    def draw_people(self, rng: np.random.Generator, count: int) -> Codes:
        """Draw the true codes of ``count`` random people, as an array with a row a person."""

    @abstractmethod
    def corners(self) -> Codes:
        """Return the true codes of two people, a row each: the lowest codes and the highest ones."""

    @abstractmethod
    def values(self, true: Codes) -> dict[str, NDArray[Any]]:
        """Return the answers of people from their true codes, as a dict of columns."""

    @abstractmethod
    def quantiles(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        """Return the quantile (0 to 1) of every report among the stated chances given the true value, as an array.

            u = F[y − 1 | x] + V·P[y | x],   y the report, x the true value, V random on 0..1

        A row is a person; NaN where a report cannot come from the channel. ``true``: true codes; ``reports``: by
        column.
        """


class ChannelProbe(Probe):
    """A probe of one channel, which draws true values and reads their reports as quantiles of the channel's stated law.

    It draws from all true codes where their table is small, else from random ones and the two ends. ``samples``: how
    many reports will be drawn, which limits the tested codes; ``tested``: these true codes instead.
    """

    def __init__(self, channel: Channel, samples: int, name: str = "", tested: Codes | None = None) -> None:
        self.channel, self.columns = channel, (name,)
        self.tested = random_codes(channel, samples) if tested is None else tested

    @cached_property
    def law(self) -> Floats:
        """The table P[report code, tested true code]; its columns are the tested codes."""
        return law_columns(self.channel, self.tested)

    @cached_property
    def answers(self) -> NDArray[Any]:
        """The true value of every tested code, as an array."""
        return self.channel.inputs.decode(self.tested)

    @cached_property
    def own(self) -> Codes:
        """The report code nearest to each tested answer, as an array; −1 where reports have labels of their own."""
        inputs, outputs = self.channel.inputs, self.channel.outputs
        if isinstance(outputs, Categories) and outputs != inputs:
            return np.full(self.tested.size, -1)
        return self.channel.encode_reports(self.answers)

    @cached_property
    def turn(self) -> Codes:
        """For each tested code the report code at which its running sum of chances begins: of categories the answer."""
        return np.maximum(self.own, 0) if isinstance(self.channel.outputs, Categories) else np.zeros_like(self.tested)

    def turned(self, table: NDArray[Any]) -> NDArray[Any]:
        """Rotate each column of a table (a row a report code) so that it begins with its code of ``turn``."""
        if not self.turn.any():
            return table
        rows = (np.arange(len(table))[:, None] + self.turn) % len(table)
        return np.take_along_axis(table, rows, axis=0)

    @cached_property
    def running(self) -> Floats:
        """F[i, t]: the stated chance that a person with true code t sends one of the first i + 1 report codes.

        Report codes are in the order of `turned`.
        """
        return np.cumsum(self.turned(self.law), axis=0)

    def draw_people(self, rng: np.random.Generator, count: int) -> Codes:
        return rng.integers(0, self.tested.size, (count, 1))

    def corners(self) -> Codes:
        return np.array([[0], [self.tested.size - 1]])

    def values(self, true: Codes) -> dict[str, NDArray[Any]]:
        return {self.columns[0]: self.answers[true[:, 0]]}

    def quantiles(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        x, y = true[:, 0], exact_codes(self.channel, reports[self.columns[0]])
        rank = (y - self.turn[x]) % len(self.law)
        u = self.running[rank, x] - rng.random(x.size) * self.law[np.maximum(y, 0), x]
        return np.where(y < 0, np.nan, u)[:, None]


class RowProbe(Probe):
    """A probe of numbers that are blurred together: draws rows, and reads their reports as quantiles of the stated law.

    Each column has its quantile given the columns before it.
    """

    def __init__(self, channel: CorrelatedNoise) -> None:
        self.channel, self.columns = channel, tuple(channel.domains)
        self.sizes = np.array([grid.size for grid in channel.inputs])

    def draw_people(self, rng: np.random.Generator, count: int) -> Codes:
        return self._round_integers(rng.integers(0, self.sizes, (count, self.sizes.size)))

    def corners(self) -> Codes:
        return np.array([np.zeros_like(self.sizes), self.sizes - 1])

    def _round_integers(self, codes: Codes) -> Codes:
        """Round the answers of attributes that are asked in whole numbers; return the codes of all rows."""
        numbers = [grid.number(column) for grid, column in zip(self.channel.inputs, codes.T, strict=True)]
        whole = [domain.integer for domain in self.channel.domains.values()]
        return self.channel.encode(np.where(whole, np.rint(np.column_stack(numbers)), np.column_stack(numbers)))[0]

    def values(self, true: Codes) -> dict[str, NDArray[Any]]:
        grids = zip(self.columns, self.channel.inputs, true.T, strict=True)
        return {name: grid.number(column) for name, grid, column in grids}

    def quantiles(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        rows = np.column_stack([np.asarray(reports[name], dtype=float) for name in self.columns])
        below, equal = self.channel.conditional_chances(rows, np.column_stack(list(self.values(true).values())))
        return np.where(equal > 0, below + rng.random(below.shape) * equal, np.nan)


def random_codes(channel: Channel, samples: int) -> Codes:
    """Draw the true codes that a probe tests, an array in order: all of a small table, else random ones and both ends.

    ``samples``: how many reports will be drawn.
    """
    size = channel.inputs.size
    most = min(size, max(samples // FEWEST, SEVERAL), max(ENTRIES // channel.outputs.size, SEVERAL))
    inner = np.random.default_rng().permutation(np.arange(1, size - 1))[: max(most - 2, 0)]
    return np.unique(np.concatenate([[0, size - 1], inner])).astype(np.int64)


def law_columns(channel: Channel, codes: Codes) -> Floats:
    """Return P[report, true] for some true codes only, exactly as reports are drawn: a column for each of ``codes``."""
    if not isinstance(channel, AdditiveNoise):
        return np.asarray(channel.law()[:, codes])
    (shift,) = channel.steps()
    noise, last = shift.chances, shift.outputs - 1
    reached = np.arange(noise.size) - shift.offset
    columns = [np.bincount(np.clip(reached + code, 0, last), noise, last + 1) for code in codes.tolist()]
    return np.column_stack(columns)


def exact_codes(channel: Channel, reports: Any) -> Codes:
    """Return an array of the codes of reports.

    −1 for reports that the channel cannot send, off its grid or its labels.
    """
    array = as_array(reports).ravel()
    if isinstance(channel.outputs, Categories):
        try:
            return channel.encode_reports(array)
        except (ValueError, TypeError):
            code_of = {label: code for code, label in enumerate(channel.outputs.labels)}
            return np.array([code_of.get(label, -1) for label in array.tolist()], dtype=np.int64)
    codes = channel.encode_reports(array)
    return np.where(channel.outputs.decode(codes) == array, codes, -1)


def strange_reports(channel: Channel, reports: Any) -> list[Any]:
    """Return the reports that the channel cannot have sent, as a list of the values as they came."""
    strange: list[Any] = as_array(reports).ravel()[exact_codes(channel, reports) < 0].tolist()
    return strange
