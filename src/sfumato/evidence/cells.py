"""Columns as axes that are cut into cells: what every learner reads is, per column, report cells and a table.

    table[s, t] = P(report in cell s | true value uniform in cell t),   end cells of the reports open,

so that any mix of noisy numbers, randomized categories and clear columns is the same thing to a learner. Where people
chose a level, a report is read through the table of its own level: the tables of the levels stand on top of each other.
Columns of the stacked table sum to the number of blocks, which a likelihood does not notice: EM's step is
p' = p · Σ_g Σ_s N_gs · table_g[s, ·] / (table_g p)_s / n, so that every level weighs as much as it tells. Levels whose
laws nearly coincide share a block, Σ_g share_g · table_g: exact too, because a person of such a group sent a report
with that law, and cheaper. Levels must not depend on the values beyond what the class and the other reports say.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels import Channel
from sfumato.channels.additive import AdditiveNoise, Gaussian
from sfumato.counts import Column, encode_known
from sfumato.domain import MISSING, Categories, Codes, Floats, Grid, Interval, as_numbers
from sfumato.domain.checked import check_increasing, given, given_flag, given_labels, given_numbers
from sfumato.evidence.laws import law_between, report_cells

SHARP_NOISE = 0.5  # noise with edges needs report cells half as wide as gaussian noise of the same deviation
NEARLY = 0.05  # laws within this total variation are read together: half a deviation's width, 2 % of the information
PROBES, PROBED_CELLS = 9, 1_000
FAR = 6e-3
KEPT = 32  # cuts of one axis that are remembered, because learners ask for the same one again and again


@dataclass(frozen=True)
class ColumnCells:
    """One column at one resolution: true cells (intervals between edges, or labels), report cells, the table.

    Report cells are in order within a block, which starts at one of ``blocks``.
    """

    name: str
    table: Floats
    cell_of_code: NDArray[np.int32]
    edges: Floats | None = None
    labels: tuple[Any, ...] | None = None
    integer: bool = False
    identity: bool = False
    blocks: tuple[int, ...] = (0,)

    @property
    def size(self) -> int:
        """How many true cells."""
        return int(self.table.shape[1])

    @property
    def reported(self) -> int:
        """How many report cells."""
        return int(self.table.shape[0])

    def table_with_missing(self, missing: bool) -> Floats:
        """The table, with a last row of ones when some report is missing: it integrates out."""
        return np.vstack([self.table, np.ones((1, self.size))]) if missing else self.table

    def true_cells(self, values: ArrayLike) -> Codes:
        """The cell of each true value, −1 where missing; numbers beyond the ends go to the end cells."""
        if self.labels is not None:
            return encode_known(self.labels, values)
        numbers = as_numbers(values)
        assert self.edges is not None
        place = np.searchsorted(self.edges[1:-1], numbers, side="right")
        return np.where(np.isnan(numbers), MISSING, place).astype(np.int64)

    def draw(self, cells: Codes, rng: np.random.Generator) -> NDArray[Any]:
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
        where = {"labels": list(self.labels)} if self.labels is not None else {"edges": self.edges.tolist()}  # type: ignore[union-attr]
        return {"name": self.name, "integer": self.integer, **where}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ColumnCells:
        """The cells that ``to_dict`` wrote; a table of no rows, because prediction needs none."""
        labels = given_labels(data, "labels") if "labels" in data else None
        edges = None if labels is not None else check_increasing(given_numbers(data, "edges", (None,)), "edges")
        size = len(labels) if labels is not None else len(edges) - 1  # type: ignore[arg-type]
        integer = given_flag(data, "integer")
        return cls(str(given(data, "name")), np.zeros((0, size)), np.zeros(0, np.int32), edges, labels, integer)


class Axis:
    """One column of reports, ready to be cut into cells at any resolution."""

    def __init__(self, column: Column) -> None:
        self.column, self.name = column, column.name
        self.noisy = bool(column.levels)
        self._most: int | None = None
        self._cuts: dict[tuple[int, float, float], ColumnCells] = {}
        self._blocks = _blocks(column) if self.noisy else []
        self.levels = max(len(self._blocks), 1)  # how many tables the reports are read through
        self._first: list[Channel] = [column.levels[block[0]] for block in self._blocks]
        self.domain: Any = self._first[0].domain if self.noisy else None
        self.labels = self.domain.labels if isinstance(self.domain, Categories) else column.labels
        self._deviations = [deviation_of(channel) for channel in self._first] if self.labels is None else []

    @property
    def natural_size(self) -> int:
        """The number of true values that can be told apart."""
        if self.labels is not None:
            size = len(self.labels)
        elif not self.noisy:
            size = self.column.size
        elif self.domain.integer:
            size = int(self.domain.width) + 1
        else:
            size = max(channel.inputs.size for channel in self._first)
        return size if self._most is None else min(size, self._most)

    def spread(self) -> float:
        """Noise deviation relative to the width of the domain (0: clear), of the level that tells most."""
        return min((deviation / self.domain.width for deviation in self._deviations), default=0.0)

    def capped(self, cells: int) -> Axis:
        """The same axis cut into few cells, because others carry the finer detail."""
        other = copy(self)
        other._most = cells
        return other

    @property
    def answered(self) -> bool:
        """Whether there are answers to learn from: blurred ones, or clear ones that somebody gave."""
        return self.noisy or bool(self.column.histogram.any())

    def at(self, resolution: int, coarseness: float = 0.0, shift: float = 0.0) -> ColumnCells:
        """About ``resolution`` true cells, edges shifted; report cells of at least ``coarseness`` noise deviations."""
        resolution = resolution if self._most is None else min(resolution, self._most)
        if (resolution, coarseness, shift) not in self._cuts:
            if len(self._cuts) >= KEPT:
                self._cuts.pop(next(iter(self._cuts)))
            self._cuts[resolution, coarseness, shift] = self._cut(resolution, coarseness, shift)
        return self._cuts[resolution, coarseness, shift]

    def _cut(self, resolution: int, coarseness: float, shift: float) -> ColumnCells:
        if not self.noisy:
            return self._cut_clear(resolution, shift)
        cuts = [self._cut_block(place, resolution, coarseness, shift) for place in range(self.levels)]
        first = cuts[0]
        if len(self.column.levels) < 2:
            return first
        below = np.cumsum([0] + [cut.reported for cut in cuts])
        of_level = {name: cuts[i].cell_of_code + below[i] for i, block in enumerate(self._blocks) for name in block}
        unused = {name: np.zeros(channel.outputs.size, int) for name, channel in self.column.levels.items()}
        cell_of_code = np.concatenate([of_level.get(name, nothing) for name, nothing in unused.items()])
        table, blocks = np.vstack([cut.table for cut in cuts]), tuple(below[:-1].tolist())
        return replace(first, table=table, cell_of_code=cell_of_code.astype(np.int32), blocks=blocks)

    def _cut_block(self, place: int, resolution: int, coarseness: float, shift: float) -> ColumnCells:
        """Reports of one channel, or of several on the same codes, read by the average of their laws."""
        channel, column = self._first[place], self.column
        if self.labels is not None:
            table = channel.matrix()
            return ColumnCells(self.name, table, np.arange(table.shape[0], dtype=np.int32), labels=tuple(self.labels))
        edges = equal_cells(self.domain, resolution, shift)
        sharpness = 1.0 if isinstance(channel, Gaussian) else SHARP_NOISE
        width = coarseness * self._deviations[place] * sharpness
        width = width if self.domain.integer else max(float(np.max(np.diff(edges))), width)
        reports = report_cells(channel, edges, width, FAR)
        laws = [law_between(column.levels[level], edges, reports) for level in self._blocks[place]]
        if len(laws) > 1:
            order = list(column.levels)
            people = np.array([column.people[order.index(level)] for level in self._blocks[place]], float)
            laws = [law * share for law, share in zip(laws, people / max(people.sum(), 1.0), strict=True)]
        cell_of_code = reports.cell_of_code(channel.outputs.size).astype(np.int32)
        return ColumnCells(self.name, np.asarray(sum(laws)), cell_of_code, edges, integer=self.domain.integer)

    def _cut_clear(self, resolution: int, shift: float) -> ColumnCells:
        """Each label, or numbers between quantiles: the table is the identity."""
        column = self.column
        if self.labels is not None:
            every = np.arange(len(self.labels), dtype=np.int32)
            return ColumnCells(self.name, np.eye(every.size), every, labels=tuple(self.labels), identity=True)
        targets = (np.arange(1, resolution) + shift) * (self._below[-1] / resolution)
        cuts = np.unique(np.searchsorted(self._below, targets - 1e-9) + 1)
        cuts = cuts[cuts < column.size]
        edges: Floats = column.edges[np.concatenate([[0], cuts, [column.size]]).astype(int)]  # type: ignore[index]
        cell = np.searchsorted(cuts, np.arange(column.size), side="right").astype(np.int32)
        return ColumnCells(self.name, np.eye(edges.size - 1), cell, edges, integer=column.integer, identity=True)

    @cached_property
    def _below(self) -> Codes:
        """How many reports have each code or a lower one."""
        return np.cumsum(self.column.histogram)


def _blocks(column: Column) -> list[list[Any]]:
    """The levels that occur, in groups whose laws on the same codes nearly coincide with that of the group's first."""
    used = [level for level, people in zip(column.levels, column.people.tolist(), strict=True) if people]
    groups: list[list[Any]] = []
    for level in used or [getattr(column.channel, "default", None)]:
        near = (group for group in groups if nearly_same(column.levels[group[0]], column.levels[level]))
        found = next(near, None)
        if found is None:
            groups.append([level])
        else:
            found.append(level)
    return groups


def nearly_same(first: Channel, second: Channel) -> bool:
    """Whether numbers are reported on the same codes with nearly the same probabilities."""
    if not isinstance(first.outputs, Grid) or first.outputs != second.outputs:
        return False
    bounds = probing_bounds(first)
    probes = np.linspace(0, first.inputs.size - 1, min(PROBES, first.inputs.size)).astype(int)
    difference = first.matrix(reported=bounds)[:, probes] - second.matrix(reported=bounds)[:, probes]
    return bool(np.abs(difference).sum(axis=0).max() / 2 <= NEARLY)


# --- edges ----------------------------------------------------------------------------------------------------------


def equal_cells(domain: Interval, resolution: int, shift: float = 0.0) -> Floats:
    """About ``resolution`` equal cells over the domain, inner edges moved by ``shift`` cells; integers stay whole."""
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


def deviation_of(channel: Channel) -> float:
    """Return the standard deviation of a numeric channel's reports of the middle of the domain."""
    if isinstance(channel, AdditiveNoise):
        return float(channel.deviation)
    bounds = probing_bounds(channel)
    values = (bounds[1:] + bounds[:-1]) / 2
    law = channel.matrix(reported=bounds)
    of_middle = law[:, law.shape[1] // 2]
    return float(np.sqrt(of_middle @ (values - of_middle @ values) ** 2))


def probing_bounds(channel: Channel) -> Floats:
    """Return edges of at most PROBED_CELLS runs of a numeric channel's report codes."""
    edges = channel.outputs.edges  # type: ignore[union-attr]
    return np.unique(np.append(edges[:: max(1, edges.size // PROBED_CELLS)], edges[-1]))
