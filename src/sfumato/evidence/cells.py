"""Columns of reports cut into cells: for each column true cells, report cells and the table between them.

    table[s, t] = P(report in cell s | true value uniform in cell t),   end cells of the reports open.

So noisy numbers, randomized categories and clear columns are the same to a learner. Where people chose a privacy level,
the tables of the levels stand one below the other, each a *block* of rows, and a report is read through its level's
block. Columns of the stacked table sum to the number of blocks, a constant factor that a likelihood does not notice:
EM's step is p' = p · Σ_g Σ_s N_gs · table_g[s, ·] / (table_g p)_s / n. Levels whose laws nearly coincide share a block,
Σ_g share_g · table_g: still correct, because a random person of the group sent a report with that law, and cheaper.
The level that people choose must not depend on their values beyond what the class and the other reports say.
"""

from __future__ import annotations

from collections.abc import Mapping
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

SHARP_NOISE = 0.5
"""Factor on the width of report cells where noise is not gaussian. By judgement: noise with edges says most at its
edges; 1 would blur them, smaller makes more cells to go through."""
NEARLY = 0.05
"""Total variation between the laws of two privacy levels up to which their reports are read through one averaged table.
By judgement: what is lost is what a report's level adds to it; larger loses more, smaller makes more blocks of rows."""
PROBES = 9
"""True values, evenly over the domain, at which the laws of two levels are compared; by judgement."""
PROBED_CELLS = 1_000
"""Runs of report codes by which laws are compared, and deviations of noise computed, at most. By judgement: runs of a
thousandth of the range are far narrower than the noise."""
FAR = 6e-3
"""Report codes that a person at the end of the domain reaches with at most this probability together are one cell; of
gaussian noise, those more than 2.5 deviations beyond the domain. By judgement: larger loses reports that still tell,
smaller makes more cells (`laws.GATHERED`, for one column alone, is smaller)."""
KEPT = 32
"""Cuts of one axis that are kept, because learners read the same ones repeatedly. By judgement: more take memory."""


@dataclass(frozen=True)
class ColumnCells:
    """One column at one resolution: true cells, report cells, and the table between them.

    table: P[report cell, true cell], for a true value uniform in its cell. cell_of_code: the report cell of each report
    code. edges: of the true cells of numbers, else None. labels: of the true cells of categories, else None. integer:
    whether values are whole numbers. identity: whether the column is clear, so that report cells are true cells.
    blocks: the first report cell of each block of rows, one for each group of privacy levels.
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
        """The number of true cells."""
        return int(self.table.shape[1])

    @property
    def reported(self) -> int:
        """The number of report cells."""
        return int(self.table.shape[0])

    def table_with_missing(self, missing: bool) -> Floats:
        """Return the table; if ``missing``, with a last row of ones for missing reports, which say nothing."""
        return np.vstack([self.table, np.ones((1, self.size))]) if missing else self.table

    def true_cells(self, values: ArrayLike) -> Codes:
        """Return the true cell of each value, −1 where missing; numbers beyond the ends are in the end cells."""
        if self.labels is not None:
            return encode_known(self.labels, values)
        numbers = as_numbers(values)
        assert self.edges is not None
        cells = np.searchsorted(self.edges[1:-1], numbers, side="right")
        return np.where(np.isnan(numbers), MISSING, cells).astype(np.int64)

    def draw(self, cells: Codes, rng: np.random.Generator) -> NDArray[Any]:
        """Draw a value for each of these true cells: its label, or a number uniform inside it (whole if values are)."""
        if self.labels is not None:
            return Categories(self.labels).decode(cells)
        assert self.edges is not None
        low, high = self.edges[cells], self.edges[cells + 1]
        if not self.integer:
            return rng.uniform(low, high)
        first = np.ceil(low)
        return np.asarray(first + np.floor(rng.random(cells.size) * (np.ceil(high) - first)), dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return name and true cells as plain data for JSON, without the table, which prediction does not need."""
        cells = {"labels": list(self.labels)} if self.labels is not None else {"edges": self.edges.tolist()}  # type: ignore[union-attr]
        return {"name": self.name, "integer": self.integer, **cells}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ColumnCells:
        """Read the cells that `to_dict` wrote; their table has no rows, because prediction needs none."""
        labels = given_labels(data, "labels") if "labels" in data else None
        edges = None if labels is not None else check_increasing(given_numbers(data, "edges", (None,)), "edges")
        size = len(labels) if labels is not None else len(edges) - 1  # type: ignore[arg-type]
        integer = given_flag(data, "integer")
        return cls(str(given(data, "name")), np.zeros((0, size)), np.zeros(0, np.int32), edges, labels, integer)


class Axis:
    """One column of reports, which can be cut into cells at any resolution.

    column: the reports. most_cells: true cells at most, for a column whose detail others carry; None: no limit.
    """

    def __init__(self, column: Column, most_cells: int | None = None) -> None:
        self.column, self.name, self.most_cells = column, column.name, most_cells
        self.noisy = bool(column.levels)
        self._cuts: dict[tuple[int, float, float], ColumnCells] = {}
        self._blocks = _blocks(column) if self.noisy else []
        self.levels = max(len(self._blocks), 1)  # the number of blocks
        self._first: list[Channel] = [column.levels[block[0]] for block in self._blocks]
        self.domain: Any = self._first[0].domain if self.noisy else None
        self.labels = self.domain.labels if isinstance(self.domain, Categories) else column.labels
        self._deviations = [deviation_of(channel) for channel in self._first] if self.labels is None else []

    @property
    def natural_size(self) -> int:
        """The number of different true values on the column's grid, among its labels or among its clear numbers."""
        if self.labels is not None:
            size = len(self.labels)
        elif not self.noisy:
            size = self.column.size
        elif self.domain.integer:
            size = int(self.domain.width) + 1
        else:
            size = max(channel.inputs.size for channel in self._first)
        return size if self.most_cells is None else min(size, self.most_cells)

    def spread(self) -> float:
        """Return the least noise deviation among the levels, divided by the domain's width; 0 for clear columns."""
        return min((deviation / self.domain.width for deviation in self._deviations), default=0.0)

    @property
    def answered(self) -> bool:
        """Whether there is anything to learn from: the column is blurred, or somebody gave a clear answer."""
        return self.noisy or bool(self.column.histogram.any())

    def at(self, resolution: int, coarseness: float = 0.0, shift: float = 0.0) -> ColumnCells:
        """Return the column cut into cells.

        resolution: true cells, about. coarseness: the least width of report cells, in deviations of the noise. shift:
        by which inner edges are moved, in cells.
        """
        resolution = resolution if self.most_cells is None else min(resolution, self.most_cells)
        if (resolution, coarseness, shift) not in self._cuts:
            if len(self._cuts) >= KEPT:
                self._cuts.pop(next(iter(self._cuts)))
            self._cuts[resolution, coarseness, shift] = self._cut(resolution, coarseness, shift)
        return self._cuts[resolution, coarseness, shift]

    def _cut(self, resolution: int, coarseness: float, shift: float) -> ColumnCells:
        """Return the column cut into cells, with the tables of its blocks one below the other (see `at`)."""
        if not self.noisy:
            return self._cut_clear(resolution, shift)
        cuts = [self._cut_block(block, resolution, coarseness, shift) for block in range(self.levels)]
        first = cuts[0]
        if len(self.column.levels) < 2:
            return first
        below = np.cumsum([0] + [cut.reported for cut in cuts])
        of_level = {name: cuts[i].cell_of_code + below[i] for i, block in enumerate(self._blocks) for name in block}
        unused = {name: np.zeros(channel.outputs.size, int) for name, channel in self.column.levels.items()}
        cell_of_code = np.concatenate([of_level.get(name, nothing) for name, nothing in unused.items()])
        table, blocks = np.vstack([cut.table for cut in cuts]), tuple(below[:-1].tolist())
        return replace(first, table=table, cell_of_code=cell_of_code.astype(np.int32), blocks=blocks)

    def _cut_block(self, block: int, resolution: int, coarseness: float, shift: float) -> ColumnCells:
        """Return the cells of one block, given by its index: of one channel, or of the average law of several."""
        channel, column = self._first[block], self.column
        if self.labels is not None:
            table = channel.matrix()
            return ColumnCells(self.name, table, np.arange(table.shape[0], dtype=np.int32), labels=tuple(self.labels))
        edges = equal_cells(self.domain, resolution, shift)
        sharpness = 1.0 if isinstance(channel, Gaussian) else SHARP_NOISE
        width = coarseness * self._deviations[block] * sharpness
        width = width if self.domain.integer else max(float(np.max(np.diff(edges))), width)
        reports = report_cells(channel, edges, width, FAR)
        laws = [law_between(column.levels[level], edges, reports) for level in self._blocks[block]]
        if len(laws) > 1:
            order = list(column.levels)
            people = np.array([column.people[order.index(level)] for level in self._blocks[block]], float)
            laws = [law * share for law, share in zip(laws, people / max(people.sum(), 1.0), strict=True)]
        cell_of_code = reports.cell_of_code(channel.outputs.size).astype(np.int32)
        return ColumnCells(self.name, np.asarray(sum(laws)), cell_of_code, edges, integer=self.domain.integer)

    def _cut_clear(self, resolution: int, shift: float) -> ColumnCells:
        """Return the cells of a clear column: its labels, or numbers between quantiles; the table is the identity."""
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
        """The number of reports with each code or a lower one."""
        return np.cumsum(self.column.histogram)


def _blocks(column: Column) -> list[list[Any]]:
    """Return the levels that occur, in groups whose laws nearly coincide with that of the group's first level."""
    used = [level for level, people in zip(column.levels, column.people.tolist(), strict=True) if people]
    groups: list[list[Any]] = []
    for level in used or [getattr(column.channel, "default", None)]:
        near = (group for group in groups if nearly_same(column.levels[group[0]], column.levels[level]))
        group = next(near, None)
        if group is None:
            groups.append([level])
        else:
            group.append(level)
    return groups


def nearly_same(first: Channel, second: Channel) -> bool:
    """Say whether two channels report numbers on the same codes with laws within NEARLY of each other."""
    if not isinstance(first.outputs, Grid) or first.outputs != second.outputs:
        return False
    bounds = probing_bounds(first)
    probes = np.linspace(0, first.inputs.size - 1, min(PROBES, first.inputs.size)).astype(int)
    difference = first.matrix(reported=bounds)[:, probes] - second.matrix(reported=bounds)[:, probes]
    return bool(np.abs(difference).sum(axis=0).max() / 2 <= NEARLY)


# --- edges ----------------------------------------------------------------------------------------------------------


def equal_cells(domain: Interval, resolution: int, shift: float = 0.0) -> Floats:
    """Return the edges of about ``resolution`` equal cells over a domain, with inner edges moved by ``shift`` cells.

    Edges of whole numbers lie half way between them.
    """
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
