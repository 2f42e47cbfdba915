"""Attributes as cells: what every learner here reads is, per attribute, report cells and a table.

An `Axis` holds the base code of every report (−1: missing). At a chosen resolution it becomes `ColumnCells`:

    table[s, t] = P(report in cell s | true value uniform in cell t),   end cells of the reports open,

so that any mix of noisy numbers, randomized categories and clear columns is the same thing to a learner.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.channels.additive import AdditiveNoise, Gaussian
from sfumato.channels.base import Channel
from sfumato.channels.choice import Choice
from sfumato.domain import MISSING, Categories, Codes, Floats, Grid, Interval, as_array, as_numbers
from sfumato.mining.kernels import nearest_codes
from sfumato.mining.level_columns import levels_in, reports_in

CLEAR_BASE_CELLS = 1024
SHARP_NOISE = 0.5
"""Noise with edges needs report cells half as wide as gaussian noise of the same deviation."""


@dataclass(frozen=True)
class ColumnCells:
    """One attribute at one resolution: true cells (intervals between edges, or labels), report cells, the table."""

    name: str
    table: npt.NDArray[np.float32]
    cell_of_code: npt.NDArray[np.int32]
    edges: Floats | None = None
    labels: tuple[Any, ...] | None = None
    integer: bool = False
    identity: bool = False

    @property
    def size(self) -> int:
        """How many true cells."""
        return int(self.table.shape[1])

    def true_cells(self, values: npt.ArrayLike) -> Codes:
        """The cell of each true value, −1 where missing; numbers beyond the ends go to the end cells."""
        if self.labels is not None:
            return encode_known(self.labels, values)
        numbers = as_numbers(values)
        assert self.edges is not None
        place = np.searchsorted(self.edges[1:-1], numbers, side="right")
        return np.where(np.isnan(numbers), MISSING, place).astype(np.int64)

    def draw(self, cells: Codes, rng: np.random.Generator) -> npt.NDArray[Any]:
        """A value for each cell: its label, or a number uniform inside it (whole if the domain is)."""
        if self.labels is not None:
            return Categories(self.labels).decode(cells)
        assert self.edges is not None
        low, high = self.edges[cells], self.edges[cells + 1]
        if not self.integer:
            return rng.uniform(low, high)
        first = np.ceil(low)
        return np.asarray(first + np.floor(rng.random(cells.size) * (np.ceil(high) - first)), dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        """What prediction and sampling need, without the table."""
        shape: dict[str, Any] = {"name": self.name, "integer": self.integer}
        if self.labels is not None:
            return {**shape, "labels": list(self.labels)}
        assert self.edges is not None
        return {**shape, "edges": self.edges.tolist()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ColumnCells:
        labels = tuple(data["labels"]) if "labels" in data else None
        edges = np.array(data["edges"], dtype=float) if "edges" in data else None
        size = len(labels) if labels is not None else len(data["edges"]) - 1
        nothing = np.zeros(0, np.int32)
        return cls(data["name"], np.eye(size, dtype=np.float32), nothing, edges, labels, bool(data["integer"]))


class Axis(ABC):
    """One column: the base code of every report, and the way from a resolution to cells."""

    name: str
    codes: npt.NDArray[np.int32]
    noisy: bool = True
    levels: int = 1

    def level_of(self, codes: npt.NDArray[np.int32]) -> Codes:
        """Which of the levels that people chose among a code came through, 0 where there is but one."""
        return np.zeros(codes.size, np.int64)

    @property
    @abstractmethod
    def natural_size(self) -> int:
        """The number of true values that can be told apart."""

    @abstractmethod
    def at(self, resolution: int, coarseness: float = 0.0, shift: float = 0.0) -> ColumnCells:
        """About `resolution` true cells; report cells at least `coarseness` noise deviations wide; edges shifted."""

    @abstractmethod
    def spread(self) -> float:
        """Noise deviation relative to the width of the domain (0: clear)."""


class NoisyNumber(Axis):
    """A numeric column that went through a channel."""

    def __init__(self, name: str, channel: Channel, reports: npt.ArrayLike) -> None:
        if not isinstance(channel.domain, Interval) or isinstance(channel.outputs, Categories):
            raise TypeError(f"column {name!r}: a {channel.kind} channel is not for numbers")
        self.name, self.channel, self.domain = name, channel, channel.domain
        self.codes = report_codes(channel, reports)
        self._noise_law()

    def _noise_law(self) -> None:
        values = np.asarray(self.channel.outputs.values)  # type: ignore[union-attr]
        if isinstance(self.channel, AdditiveNoise):
            self.deviation = self.channel.deviation
            reach = min(2.5 * self.deviation, self.channel.past * self.channel.step)
            self.span = (float(self.domain.low) - reach, float(self.domain.high) + reach)
            return
        law = self.channel.law()
        middle = law[:, law.shape[1] // 2]
        mean = float(middle @ values)
        self.deviation = float(np.sqrt(middle @ (values - mean) ** 2))
        mixed = np.cumsum(law.mean(axis=1))
        first, last = np.searchsorted(mixed, (0.001, 0.999))
        self.span = (float(values[first]), float(values[min(last, values.size - 1)]))

    @property
    def natural_size(self) -> int:
        return int(self.domain.width) + 1 if self.domain.integer else self.channel.inputs.size

    def spread(self) -> float:
        return self.deviation / self.domain.width

    def at(self, resolution: int, coarseness: float = 0.0, shift: float = 0.0) -> ColumnCells:
        edges = interval_edges(self.domain, resolution, shift)
        sharpness = 1.0 if isinstance(self.channel, Gaussian) else SHARP_NOISE
        width = coarseness * self.deviation * sharpness
        width = width if self.domain.integer else max(float(np.max(np.diff(edges))), width)
        bounds = self._report_edges(width, edges)
        table = self.table(edges, bounds)
        cell_of_code = self.channel.cells_of_codes(bounds).astype(np.int32)
        return ColumnCells(
            self.name, np.ascontiguousarray(table, np.float32), cell_of_code, edges, None, self.domain.integer
        )

    def table(self, edges: Floats, bounds: Floats) -> Floats:
        """P(report between bounds | true value uniform between edges)."""
        return self.channel.matrix(true=edges, reported=bounds)

    def _report_edges(self, width: float, edges: Floats) -> Floats:
        values = np.asarray(self.channel.outputs.values)  # type: ignore[union-attr]
        low, high = self.span
        count = int(np.ceil((high - low) / max(width, 1e-12)))
        if values.size <= max(count, 2):
            between = (values[1:] + values[:-1]) / 2
            return np.concatenate([[2 * values[0] - between[0]], between, [2 * values[-1] - between[-1]]])
        bounds = np.linspace(low, high, max(count, 2) + 1)
        kept = np.unique(np.searchsorted(values, bounds[1:-1]))
        kept = kept[(kept > 0) & (kept < values.size)]
        inner = (values[kept - 1] + values[kept]) / 2
        return np.concatenate([[min(low, inner[0]) - width], inner, [max(high, inner[-1]) + width]])


class NoisyCategory(Axis):
    """A column of categories that went through a channel; every category is a cell."""

    def __init__(self, name: str, channel: Channel, reports: npt.ArrayLike) -> None:
        if not isinstance(channel.domain, Categories):
            raise TypeError(f"column {name!r}: a {channel.kind} channel is not for categories")
        self.name, self.channel, self.labels = name, channel, channel.domain.labels
        self.codes = channel.encode_reports(reports).astype(np.int32)

    @property
    def natural_size(self) -> int:
        return len(self.labels)

    def spread(self) -> float:
        return 0.0

    def at(self, resolution: int, coarseness: float = 0.0, shift: float = 0.0) -> ColumnCells:
        table = np.ascontiguousarray(self.channel.matrix(), np.float32)
        return ColumnCells(self.name, table, np.arange(table.shape[0], dtype=np.int32), None, self.labels)


class ClearNumber(Axis):
    """A numeric column sent as it is: cells between quantiles, the table is the identity."""

    noisy = False

    def __init__(self, name: str, values: npt.ArrayLike) -> None:
        self.name = name
        numbers = as_numbers(values)
        known = numbers[~np.isnan(numbers)]
        self.integer = bool(known.size) and bool(np.all(known == np.rint(known)))
        self.base_edges = quantile_edges(known, CLEAR_BASE_CELLS)
        codes = np.searchsorted(self.base_edges[1:-1], numbers, side="right")
        self.codes = np.where(np.isnan(numbers), MISSING, codes).astype(np.int32)
        self.counts = np.bincount(codes[~np.isnan(numbers)], minlength=self.base_edges.size - 1)

    @property
    def natural_size(self) -> int:
        return int(self.base_edges.size - 1)

    def spread(self) -> float:
        return 0.0

    def at(self, resolution: int, coarseness: float = 0.0, shift: float = 0.0) -> ColumnCells:
        cumulative = np.cumsum(self.counts)
        targets = (np.arange(1, resolution) + shift) * (cumulative[-1] / resolution)
        cuts = np.unique(np.searchsorted(cumulative, targets - 1e-9) + 1)
        cuts = cuts[cuts < self.natural_size]
        edges = self.base_edges[np.concatenate([[0], cuts, [self.natural_size]]).astype(int)]
        cell = np.searchsorted(cuts, np.arange(self.natural_size), side="right").astype(np.int32)
        table = np.eye(edges.size - 1, dtype=np.float32)
        return ColumnCells(self.name, table, cell, edges, None, self.integer, identity=True)


class ClearCategory(Axis):
    """A column of labels sent as it is."""

    noisy = False

    def __init__(self, name: str, values: npt.ArrayLike) -> None:
        self.name = name
        array = as_array(values)
        self.labels = known_labels(array)
        self.codes = encode_known(self.labels, array).astype(np.int32)

    @property
    def natural_size(self) -> int:
        return len(self.labels)

    def spread(self) -> float:
        return 0.0

    def at(self, resolution: int, coarseness: float = 0.0, shift: float = 0.0) -> ColumnCells:
        size = len(self.labels)
        table, cell = np.eye(size, dtype=np.float32), np.arange(size, dtype=np.int32)
        return ColumnCells(self.name, table, cell, None, self.labels, identity=True)


class Capped(Axis):
    """An attribute cut into few cells, because others carry the finer detail."""

    def __init__(self, attribute: Axis, cells: int) -> None:
        self.attribute, self.cells = attribute, cells
        self.name, self.codes, self.noisy = attribute.name, attribute.codes, attribute.noisy

    @property
    def natural_size(self) -> int:
        return min(self.cells, self.attribute.natural_size)

    def spread(self) -> float:
        return self.attribute.spread()

    def at(self, resolution: int, coarseness: float = 0.0, shift: float = 0.0) -> ColumnCells:
        return self.attribute.at(min(resolution, self.cells), coarseness, shift)


def axis_of(name: str, channel: Channel | Choice | None, column: npt.NDArray[Any]) -> Axis:
    """The kind of attribute that a column and its channel make."""
    if isinstance(channel, Choice):
        from sfumato.mining.levels import ChosenLevels

        return ChosenLevels(name, channel, reports_in(column), levels_in(column))
    column = reports_in(column)
    if channel is None:
        numeric = column.dtype.kind in "iuf"
        return ClearNumber(name, column) if numeric else ClearCategory(name, column)
    if not isinstance(channel, Channel):
        raise TypeError(f"column {name!r}: {channel!r} is not a channel; give a channel or None for a clear column")
    if isinstance(channel.domain, Categories):
        return NoisyCategory(name, channel, column)
    return NoisyNumber(name, channel, column)


def report_codes(channel: Channel, reports: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Base report codes, through a compiled loop where reports lie on a grid."""
    if isinstance(channel.outputs, Grid):
        numbers = np.ascontiguousarray(as_numbers(reports))
        grid = channel.outputs
        return np.asarray(nearest_codes(numbers, grid.origin, grid.step, grid.size), np.int32)
    return channel.encode_reports(reports).astype(np.int32)


def interval_edges(domain: Interval, resolution: int, shift: float = 0.0) -> Floats:
    """About `resolution` equal cells over the domain, all inner edges moved by `shift` cells; integers stay whole."""
    low, high = float(domain.low), float(domain.high)
    if not domain.integer:
        step = (high - low) / resolution
        inner = low + step * (np.arange(1, resolution) + shift)
        return np.asarray(np.concatenate([[low], inner, [high]]), np.float64)
    count = int(high - low) + 1
    if count <= 1.5 * resolution:
        return np.asarray(low - 0.5 + np.arange(count + 1), np.float64)
    cuts = np.unique(np.rint((np.arange(1, resolution) + shift) * count / resolution))
    return low - 0.5 + np.concatenate([[0], cuts[(cuts > 0) & (cuts < count)], [count]])


def quantile_edges(known: Floats, cells: int) -> Floats:
    """Edges half-way between neighbouring values, at most `cells` cells of about equal counts."""
    if known.size == 0:
        return np.array([0.0, 1.0])
    unique, counts = np.unique(known, return_counts=True)
    if unique.size > cells:
        targets = np.arange(1, cells) * (known.size / cells)
        cuts = np.unique(np.searchsorted(np.cumsum(counts), targets) + 1)
        cuts = cuts[cuts < unique.size]
    else:
        cuts = np.arange(1, unique.size)
    inner = unique[cuts - 1] + (unique[cuts] - unique[cuts - 1]) / 2
    ends = (unique[0], unique[-1]) if unique.size > 1 else (unique[0] - 0.5, unique[0] + 0.5)
    return np.concatenate([[ends[0]], inner, [ends[1]]])


def known_labels(array: npt.NDArray[Any]) -> tuple[Any, ...]:
    """The labels of a column, sorted where they can be."""
    found = {value for value in array.ravel().tolist() if value is not None and value == value}
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=repr))


def encode_known(labels: tuple[Any, ...], values: npt.ArrayLike) -> Codes:
    """Codes of labels; missing and unknown labels are −1 (a learner may meet a label that it never saw)."""
    code_of = {label: code for code, label in enumerate(labels)}
    array = as_array(values)
    return np.array([code_of.get(value, MISSING) for value in array.ravel().tolist()], dtype=np.int64)
