"""Where records are in a growing tree, and the questions about them there, which travel to the reports.

A record is read as bins, column by column. Its bin follows from its reported class y', from the cell of its report and
from a hash u of its place, so that it is the same wherever and in whatever order the record is met:

    bin = first[y', cell] + #{thresholds of (y', cell) ≤ u},    u = mix(hash of the place + column · 0x9E3779B9).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from sfumato.counts import Question, Reports, fold_hash
from sfumato.domain import Codes, Floats, as_numbers
from sfumato.learners.classes import class_codes_in

SLOT_BITS = 28
"""Bits of a hash below those that name its slot. By judgement; more slots take memory, fewer leave more thresholds in
each with which a record is compared."""
SLOTS = 2 ** (32 - SLOT_BITS)
"""Equal ranges into which the hashes, numbers of 32 bits, are divided."""
SALT = 0x7EEE
"""Sets the hashes of trees apart from those of folds; any number that no fold has."""
ValueCounts = tuple[Codes, Floats, Floats]


@dataclass(frozen=True, eq=False)
class Association:
    """Which bins the report cells of a column belong to, by reported class y'.

    size: how many bins there are.
    first: [y', cell], the first bin of a cell; without any cells here, each cell is a bin.
    start, thresholds: those of the k-th pair (y', cell) are thresholds[start[k] : start[k + 1]]; a record whose hash
        reaches a threshold is in the next bin.
    """

    size: int
    first: npt.NDArray[np.int32]
    start: npt.NDArray[np.int32]
    thresholds: npt.NDArray[np.uint32]

    @classmethod
    def of_cells(cls, cells: int) -> Association:
        """Return the association in which each of so many report cells is a bin of its own."""
        return cls(cells, np.zeros((1, 0), np.int32), np.zeros(1, np.int32), np.zeros(0, np.uint32))

    @cached_property
    def entries(self) -> npt.NDArray[np.int32]:
        """(first bin, first threshold) of every pair of class and cell, and slot of hashes."""
        slot = np.repeat(np.arange(self.first.size), np.diff(self.start)) * SLOTS + (self.thresholds >> SLOT_BITS)
        used = np.searchsorted(slot, np.arange(self.first.size * SLOTS))
        own = np.repeat(self.first.ravel() - self.start[:-1], SLOTS)
        return np.column_stack([own + used, used]).astype(np.int32)

    def spread(self, counts: Floats) -> Floats:
        """Return how many people are to be expected in each bin, [bin, y']. counts: of people, [cell, y']."""
        return np.asarray(spread(self.size, self.first, self.start, self.thresholds, counts))


NO_ASSOCIATION = Association.of_cells(0)
"""Stands for an association that no node uses."""


class Readings(NamedTuple):
    """Several associations a in one, so laid out that hardly a record is compared with a threshold.

    entries[base[a] + (y' · cells[a] + cell) · SLOTS + slot] is (first bin, first threshold) of the hashes in a slot.
    cells, size: how many cells and bins an association has.
    """

    base: Any
    cells: Any
    size: Any
    entries: Any
    thresholds: Any

    @classmethod
    def of(cls, associations: Sequence[Association], used: Collection[int]) -> Readings:
        """Lay out associations of report cells with bins in one; each keeps its number.

        used: numbers of those that nodes use; others take no room.
        """
        chosen = [each if number in used else NO_ASSOCIATION for number, each in enumerate(associations)]
        base = np.cumsum([0] + [each.first.size * SLOTS for each in chosen])
        thresholds = np.concatenate([each.thresholds for each in chosen])
        entries, below = np.empty((base[-1] + 1, 2), np.int32), 0
        entries[-1] = thresholds.size
        for each, start, end in zip(chosen, base[:-1], base[1:], strict=True):
            entries[start:end] = each.entries
            entries[start:end, 1] += below
            below += each.thresholds.size
        cells, size = np.array([(each.first.shape[1], each.size) for each in chosen]).T.copy()
        return cls(base[:-1], cells, size, entries, thresholds)


class Splits(NamedTuple):
    """The nodes of a growing tree as arrays.

    column: that a node tests, below 0 for none. reads: number of the association by which it reads this column.
    cut: the value below which records go left; NaN where bins decide. left, right: the nodes that follow.
    missing_left: whether missing values go left. bins: [node, bin], whether a bin goes left, the last for missing.
    """

    column: Any
    reads: Any
    cut: Any
    left: Any
    right: Any
    missing_left: Any
    bins: Any


class RecordsAtNodes(NamedTuple):
    """Records on their way down a tree.

    cells: of their reports, [column, record], −1 for missing. hashes: of their places. group: reported classes.
    node: where each record is.
    """

    cells: Any
    hashes: Any
    group: Any
    node: Any


@dataclass(frozen=True, eq=False)
class Routes:
    """All that leads a record to its node.

    cell_of_code: of every column, by name, the cell of each report code. readings: the associations. splits: the nodes;
    those below which no record is wanted need not be there.
    kept: in memory, a list that holds where the records were when they were last followed; else None.
    """

    cell_of_code: dict[str, npt.NDArray[np.int32]]
    readings: Readings
    splits: Splits
    kept: list[RecordsAtNodes] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.cell_of_code)

    def follow(self, part: Reports, columns: Sequence[str]) -> RecordsAtNodes:
        """Lead every record to its node. columns: by name, those whose cells are wanted, the tested ones among them."""
        records = self.kept.pop() if self.kept else self._begin(part, columns)
        values = np.zeros((len(self.names), len(part) if self._exact else 0))
        for j in self._exact:
            values[j] = as_numbers(part.values(self.names[j]))
        column, reads = self.splits.column, self.splits.reads
        rows = rows_at(records.node, column)
        while rows.size:
            rows = advance(records, rows, bins_at(records, rows, self.readings, column, reads), values, self.splits)
        if self.kept is not None:
            self.kept.append(records)
        return records

    def _begin(self, part: Reports, columns: Sequence[str]) -> RecordsAtNodes:
        """Return all records at the root, with their cells in these columns."""
        cells = np.full((len(self.names), len(part)), -1, np.int32)
        for j, (name, cell_of_code) in enumerate(self.cell_of_code.items()):
            if name in columns:
                cells[j] = part.cells_of(name, cell_of_code, -1)
        hashes, at_root = fold_hash(0, part.places, SALT), np.zeros(len(part), np.int32)
        return RecordsAtNodes(cells, hashes, class_codes_in(part), at_root)

    @cached_property
    def _exact(self) -> list[int]:
        """The columns whose values, not bins, are compared with a cut."""
        column, cut = self.splits.column, self.splits.cut
        return list(np.unique(column[(column >= 0) & ~np.isnan(cut)]).tolist())


@dataclass(frozen=True, eq=False)
class Histograms(Question):
    """The question how many people of each reported class are in each bin of each column at some nodes.

    People are sums of weights. nodes: their numbers. classes: how many there are.
    reads: [k, j], number of the association by which column j is read at the k-th of the nodes.
    """

    routes: Routes
    nodes: Codes
    reads: Codes
    classes: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are counted: all."""
        return self.routes.names

    @cached_property
    def _shapes(self) -> list[tuple[int, int, int]]:
        """The shape of every column's histogram: nodes, bins and one for missing values, classes."""
        widths = self.routes.readings.size[self.reads].max(axis=0) + 1
        return [(self.nodes.size, width, self.classes) for width in widths.tolist()]

    def of(self, part: Reports) -> npt.NDArray[Any]:
        """Count the people of some reports, all histograms one after the other, flat."""
        records, counts = self.routes.follow(part, self.columns), []
        slot, column, reads = np.full((3, self.routes.splits.column.size), -1)
        slot[self.nodes] = np.arange(self.nodes.size)
        rows, flat = rows_at(records.node, slot), np.full(len(part), -1)
        for j, shape in enumerate(self._shapes):
            column[self.nodes], reads[self.nodes] = j, self.reads[:, j]
            bins = bins_at(records, rows, self.routes.readings, column, reads)
            put_indices(flat, records, rows, bins, slot, *shape[1:])
            counts.append(part.summed(flat, int(np.prod(shape))))
        return np.concatenate(counts)

    def tables(self, answer: npt.NDArray[Any]) -> list[Floats]:
        """Return an answer as one array a column: [node, bin, reported class]."""
        ends = np.cumsum([np.prod(shape) for shape in self._shapes])[:-1]
        parts = np.split(answer.astype(float), ends)
        return [part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True)]


@dataclass(frozen=True, eq=False)
class ValuesBeside(Question):
    """The question how many people of each reported class have each value in two bins of a column, at some nodes.

    places: [k], a node, a column and both bins. classes: how many there are.
    The answer is k, value and counts[class] of each value that occurs, in order.
    """

    routes: Routes
    places: Codes
    classes: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are read: those on the way to the nodes, and those whose values count."""
        tested = {*self.routes.splits.column.tolist(), *self.places[:, 1].tolist()}
        return tuple(name for j, name in enumerate(self.routes.names) if j in tested)

    def of(self, part: Reports) -> ValueCounts:
        """Count the people of some reports."""
        records = self.routes.follow(part, self.columns)
        slot, column, first, second = np.full((4, self.routes.splits.column.size), -1)
        nodes, *beside = self.places.T
        slot[nodes], (column[nodes], first[nodes], second[nodes]) = np.arange(nodes.size), beside
        here = rows_at(records.node, slot)
        bins = bins_at(records, here, self.routes.readings, column, column)  # cells as they are: the first associations
        near = here[(bins == first[records.node[here]]) | (bins == second[records.node[here]])]
        node, values = records.node[near], np.empty(near.size)
        for j in np.unique(column[node]).tolist():
            own = column[node] == j
            values[own] = as_numbers(part.values(self.routes.names[j]))[near[own]]
        index, rows = distinct(slot[node], values)
        flat = np.full(len(part), -1)
        flat[near] = index * self.classes + records.group[near]
        return *rows, part.summed(flat, rows[0].size * self.classes).reshape(-1, self.classes).astype(float)

    def merged(self, answers: Sequence[ValueCounts]) -> ValueCounts:
        """Return the answer for all reports from those for parts of them."""
        slots, values, counts = (np.concatenate(parts) for parts in zip(*answers, strict=True))
        index, rows = distinct(slots, values)
        total = np.zeros((rows[0].size, self.classes))
        np.add.at(total, index, counts)
        return *rows, total


def distinct(slots: Codes, values: Floats) -> tuple[Codes, tuple[Codes, Floats]]:
    """Return the index of every pair (slot, value) among the distinct pairs in order, and these."""
    order = np.lexsort((values, slots))
    slots, values = slots[order], values[order]
    new = np.append(True, (slots[1:] != slots[:-1]) | (values[1:] != values[:-1]))[: slots.size]
    index = np.empty(slots.size, np.int64)
    index[order] = np.cumsum(new) - 1
    return index, (slots[new], values[new])


# --- compiled ---------------------------------------------------------------------------------------------------------


@njit(cache=True)
def mix(h: Any) -> Any:
    """Mix the bits of a 32-bit number, as hashes of records' places do (see `counts.questions`)."""
    low = np.uint64(0xFFFFFFFF)
    h = (h ^ (h >> np.uint64(16))) * np.uint64(0x21F0AAAD) & low
    h = (h ^ (h >> np.uint64(15))) * np.uint64(0x735A2D97) & low
    return h ^ (h >> np.uint64(15))


@njit(cache=True)
def rows_at(node: Any, entry: Any) -> Any:
    """Return the indices of the records that are at certain nodes.

    node: of each record. entry: one for each node, below 0 where its records are not wanted.
    """
    rows, count = np.empty(node.size, np.int32), 0
    for i in range(node.size):
        rows[count] = i
        count += entry[node[i]] >= 0
    return rows[:count]


@njit(cache=True)
def bins_at(records: Any, rows: Any, readings: Any, column: Any, reads: Any) -> Any:
    """Return the bin of each of some records, in the column that its node in the growing tree splits.

    records: all records, with the node that each has reached. rows: indices of those that are asked about. readings:
    the ways to turn a report into a bin. column, reads: for each node, its column and which of these ways it takes.
    """
    every, hashes, group, node = records
    base, cells, size, entries, thresholds = readings
    bins = np.empty(rows.size, np.int32)
    for r in range(rows.size):
        i = rows[r]
        j, a = column[node[i]], reads[node[i]]
        cell = every[j, i]
        if cell < 0:
            bins[r] = size[a]
        elif cells[a] == 0:
            bins[r] = cell
        else:
            u = mix((np.uint64(hashes[i]) + np.uint64(j + 1) * np.uint64(0x9E3779B9)) & np.uint64(0xFFFFFFFF))
            entry = base[a] + (group[i] * cells[a] + cell) * SLOTS + np.int64(u >> np.uint64(SLOT_BITS))
            reached = entries[entry, 0]
            for k in range(entries[entry, 1], entries[entry + 1, 1]):
                reached += thresholds[k] <= u
            bins[r] = reached
    return bins


@njit(cache=True)
def advance(records: Any, rows: Any, bins: Any, values: Any, splits: Any) -> Any:
    """Lead some records to the next node; return the indices of those that have to go further.

    rows: indices of the records. bins: of each, in the column of its node. values: for cuts, [column, record].
    """
    node, (column, _, cut, left, right, missing_left, bins_left) = records.node, splits
    going, number = np.empty_like(rows), 0
    for r in range(rows.size):
        i = rows[r]
        here = node[i]
        goes_left = bins_left[here, bins[r]]
        if not np.isnan(cut[here]):
            value = values[column[here], i]
            goes_left = missing_left[here] if np.isnan(value) else value < cut[here]
        node[i] = left[here] if goes_left else right[here]
        going[number] = i
        number += column[node[i]] >= 0
    return going[:number]


@njit(cache=True)
def put_indices(flat: Any, records: Any, rows: Any, bins: Any, slot: Any, width: int, classes: int) -> None:
    """Write (slot of its node · width + bin) · classes + class of each of some records into ``flat``."""
    node, group = records.node, records.group
    for r in range(rows.size):
        i = rows[r]
        flat[i] = (slot[node[i]] * width + bins[r]) * classes + group[i]


@njit(cache=True)
def spread(size: int, first: Any, start: Any, thresholds: Any, counts: Any) -> Any:
    """Return counts[cell, y'] as [bin, y'], each shared out among the bins of its cell as even hashes would be."""
    in_bins = np.zeros((size, first.shape[0]))
    for y in range(first.shape[0]):
        for cell in range(first.shape[1]):
            pair, reached, below = y * first.shape[1] + cell, first[y, cell], 0.0
            for i in range(start[pair], start[pair + 1]):
                share = thresholds[i] / 4294967296.0
                in_bins[reached, y] += counts[cell, y] * (share - below)
                reached, below = reached + 1, share
            in_bins[reached, y] += counts[cell, y] * (1.0 - below)
    return in_bins
