"""People to ask and the place of their reports in the law: what every check of an implementation is made of.

A probe draws true values that nobody knows in advance and reads reports as places. With F the running sum of the law of
a true value and V uniform on 0..1,

    u = F[y − 1 | x] + V·P[y | x]

is uniform on 0..1 and independent of x, of everybody else's x and of every other u, whatever the channel is. Of
categories the person's own is the first, so that small places are answers that were kept.
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
SECONDS = 30.0
FIRST_BLOCK, BLOCK = 1 << 14, 1 << 18
FEWEST = 2000
SEVERAL = 9
ENTRIES = 1 << 21


@dataclass(frozen=True)
class Effort:
    """How many reports are drawn, and for how long at most: a slow program is asked less often, and that is said."""

    samples: int = SAMPLES
    seconds: float = SECONDS

    def shared(self, parts: int) -> Effort:
        return replace(self, seconds=self.seconds * max(self.samples / SAMPLES, 1.0) / max(parts, 1))

    def longer(self, times: int) -> Effort:
        return replace(self, seconds=self.seconds * times)

    def sizes(self, total: int, share: float, block: int = BLOCK) -> Iterator[int]:
        """Sizes of growing blocks, until there are ``total`` or this share of the time is used."""
        start, done, first, given = perf_counter(), 0, min(block, FIRST_BLOCK), share * self.seconds
        size, used = first, 0.0
        while done < total and used < given:
            yield min(size, total - done)
            done, used = done + size, perf_counter() - start
            enough = int(done * (given / used - 1))  # for the time that is left
            size = min(2 * size, block, max(enough, first))


class Probe(ABC):
    """``true`` holds a person's true codes as rows; ``places`` has a column for each number that is independent."""

    columns: tuple[str, ...]

    @abstractmethod
    def people(self, rng: np.random.Generator, count: int) -> Codes:
        """True codes of ``count`` random people, one row each."""

    @abstractmethod
    def corners(self) -> Codes:
        """Two people: the lowest and the highest true codes, so that attributes with the same domain are alike."""

    @abstractmethod
    def values(self, true: Codes) -> dict[str, NDArray[Any]]:
        """What is answered, by column."""

    @abstractmethod
    def places(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        """u of every report, one row a person; NaN where a report cannot come from the channel."""


class ChannelProbe(Probe):
    """One channel: all its true codes where their table is small, else random ones and the two ends."""

    def __init__(self, channel: Channel, samples: int, name: str = "", tested: Codes | None = None) -> None:
        self.channel, self.columns = channel, (name,)
        self.tested = random_codes(channel, samples) if tested is None else tested

    @cached_property
    def law(self) -> Floats:
        """P[reported, tested]."""
        return law_columns(self.channel, self.tested)

    @cached_property
    def answers(self) -> NDArray[Any]:
        """The true value of every tested code."""
        return self.channel.inputs.decode(self.tested)

    @cached_property
    def own(self) -> Codes:
        """The report that is the answer itself, as near as reports come; −1 where reports have names of their own."""
        inputs, outputs = self.channel.inputs, self.channel.outputs
        if isinstance(outputs, Categories) and outputs != inputs:
            return np.full(self.tested.size, -1)
        return self.channel.encode_reports(self.answers)

    @cached_property
    def turn(self) -> Codes:
        """The report that comes first in the order of places."""
        return np.maximum(self.own, 0) if isinstance(self.channel.outputs, Categories) else np.zeros_like(self.tested)

    def turned(self, table: NDArray[Any]) -> NDArray[Any]:
        """The rows of a table in the order of places, for each column its own."""
        if not self.turn.any():
            return table
        rows = (np.arange(len(table))[:, None] + self.turn) % len(table)
        return np.take_along_axis(table, rows, axis=0)

    @cached_property
    def running(self) -> Floats:
        """F in the order of places."""
        return np.cumsum(self.turned(self.law), axis=0)

    def people(self, rng: np.random.Generator, count: int) -> Codes:
        return rng.integers(0, self.tested.size, (count, 1))

    def corners(self) -> Codes:
        return np.array([[0], [self.tested.size - 1]])

    def values(self, true: Codes) -> dict[str, NDArray[Any]]:
        return {self.columns[0]: self.answers[true[:, 0]]}

    def places(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        x, y = true[:, 0], exact_codes(self.channel, reports[self.columns[0]])
        rank = (y - self.turn[x]) % len(self.law)
        found = self.running[rank, x] - rng.random(x.size) * self.law[np.maximum(y, 0), x]
        return np.where(y < 0, np.nan, found)[:, None]


class RowProbe(Probe):
    """Numbers that are blurred together: given the columns before it, each has a law of its own."""

    def __init__(self, channel: CorrelatedNoise) -> None:
        self.channel, self.columns = channel, tuple(channel.domains)
        self.sizes = np.array([grid.size for grid in channel.inputs])

    def people(self, rng: np.random.Generator, count: int) -> Codes:
        return self._whole(rng.integers(0, self.sizes, (count, self.sizes.size)))

    def corners(self) -> Codes:
        return np.array([np.zeros_like(self.sizes), self.sizes - 1])

    def _whole(self, codes: Codes) -> Codes:
        """Answers in whole numbers where those are asked for."""
        numbers = [grid.number(column) for grid, column in zip(self.channel.inputs, codes.T, strict=True)]
        whole = [domain.integer for domain in self.channel.domains.values()]
        return self.channel.encode(np.where(whole, np.rint(np.column_stack(numbers)), np.column_stack(numbers)))[0]

    def values(self, true: Codes) -> dict[str, NDArray[Any]]:
        grids = zip(self.columns, self.channel.inputs, true.T, strict=True)
        return {name: grid.number(column) for name, grid, column in grids}

    def places(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        rows = np.column_stack([np.asarray(reports[name], dtype=float) for name in self.columns])
        below, equal = self.channel.conditional_chances(rows, np.column_stack(list(self.values(true).values())))
        return np.where(equal > 0, below + rng.random(below.shape) * equal, np.nan)


def random_codes(channel: Channel, samples: int) -> Codes:
    """True codes to be asked, in order."""
    size = channel.inputs.size
    most = min(size, max(samples // FEWEST, SEVERAL), max(ENTRIES // channel.outputs.size, SEVERAL))
    inner = np.random.default_rng().permutation(np.arange(1, size - 1))[: max(most - 2, 0)]
    return np.unique(np.concatenate([[0, size - 1], inner])).astype(np.int64)


def law_columns(channel: Channel, codes: Codes) -> Floats:
    """P[reported, true] for some true codes only, exactly as drawn."""
    if not isinstance(channel, AdditiveNoise):
        return np.asarray(channel.law()[:, codes])
    (shift,) = channel.steps()
    noise, last = shift.chances, shift.outputs - 1
    reached = np.arange(noise.size) - shift.offset
    columns = [np.bincount(np.clip(reached + code, 0, last), noise, last + 1) for code in codes.tolist()]
    return np.column_stack(columns)


def exact_codes(channel: Channel, reports: Any) -> Codes:
    """Codes of reports; −1 for those that do not lie exactly on the channel's reports."""
    array = as_array(reports).ravel()
    if isinstance(channel.outputs, Categories):
        try:
            return channel.encode_reports(array)
        except (ValueError, TypeError):
            known = {label: code for code, label in enumerate(channel.outputs.labels)}
            return np.array([known.get(label, -1) for label in array.tolist()], dtype=np.int64)
    codes = channel.encode_reports(array)
    return np.where(channel.outputs.decode(codes) == array, codes, -1)


def strange_reports(channel: Channel, reports: Any) -> list[Any]:
    """The reports that the channel cannot have sent, as they are."""
    found: list[Any] = as_array(reports).ravel()[exact_codes(channel, reports) < 0].tolist()
    return found
