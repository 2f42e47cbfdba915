"""Where records are in a growing tree, and what is asked of them there: questions that travel to the reports.

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

SLOTS, SLOT_BITS = 16, 28
SALT = 0x7EEE  # sets the hashes of trees apart from those of folds
Answer = tuple[Codes, Floats, Floats]


@dataclass(frozen=True, eq=False)
class Association:
    """The bins, `size` in number, that the report cells of a column belong to, by reported class.

    first[y', cell] is a cell's first bin; the thresholds of the k-th pair (y', cell) are thresholds[start[k] :
    start[k + 1]]. Where there are no pairs, each cell is a bin.
    """

    size: int
    first: npt.NDArray[np.int32]
    start: npt.NDArray[np.int32]
    thresholds: npt.NDArray[np.uint32]

    @classmethod
    def of_cells(cls, cells: int) -> Association:
        """Each cell is a bin."""
        return cls(cells, np.zeros((1, 0), np.int32), np.zeros(1, np.int32), np.zeros(0, np.uint32))

    @cached_property
    def entries(self) -> npt.NDArray[np.int32]:
        """(first bin, first threshold) of every pair and slot of hashes."""
        slot = np.repeat(np.arange(self.first.size), np.diff(self.start)) * SLOTS + (self.thresholds >> SLOT_BITS)
        used = np.searchsorted(slot, np.arange(self.first.size * SLOTS))
        own = np.repeat(self.first.ravel() - self.start[:-1], SLOTS)
        return np.column_stack([own + used, used]).astype(np.int32)

    def spread(self, counts: Floats) -> Floats:
        """How many of counts[cell, y'] are to be expected in each bin, one row a bin."""
        return np.asarray(spread(self.size, self.first, self.start, self.thresholds, counts))


NO_ASSOCIATION = Association.of_cells(0)


class Readings(NamedTuple):
    """Several associations in one, so laid out that hardly a record is compared with a threshold.

    entries[base[a] + (y' · cells[a] + cell) · SLOTS + slot] is (first bin, first threshold) of the hashes u in one of
    SLOTS equal slots.
    """

    base: Any
    cells: Any
    size: Any
    entries: Any
    thresholds: Any

    @classmethod
    def of(cls, associations: Sequence[Association], used: Collection[int]) -> Readings:
        """Associations by their number, of which only these are used."""
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
    """The nodes of a growing tree; reads[node] is the association by which a node reads its column."""

    column: Any
    reads: Any
    cut: Any
    left: Any
    right: Any
    missing_left: Any
    bins: Any


class RecordsAtNodes(NamedTuple):
    """Records on their way: the cells of their reports by column, their hashes, reported classes and nodes."""

    cells: Any
    hashes: Any
    group: Any
    node: Any


@dataclass(frozen=True, eq=False)
class Routes:
    """All that leads a record to its node: the cell of every code, by column, associations and splits.

    A split below which nobody is asked for need not be there. In memory, `kept` holds where the records were when they
    were last followed.
    """

    cell_of_code: dict[str, npt.NDArray[np.int32]]
    readings: Readings
    splits: Splits
    kept: list[RecordsAtNodes] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.cell_of_code)

    def follow(self, part: Reports, columns: Sequence[str]) -> RecordsAtNodes:
        """The node of every record, and its cells in these columns, the tested ones among them."""
        found = self.kept.pop() if self.kept else self._begin(part, columns)
        values = np.zeros((len(self.names), len(part) if self._exact else 0))
        for j in self._exact:
            values[j] = as_numbers(part.values(self.names[j]))
        column, reads = self.splits.column, self.splits.reads
        rows = split_at(found.node, column)
        while rows.size:
            rows = advance(found, rows, bins_at(found, rows, self.readings, column, reads), values, self.splits)
        if self.kept is not None:
            self.kept.append(found)
        return found

    def _begin(self, part: Reports, columns: Sequence[str]) -> RecordsAtNodes:
        """Everybody at the root."""
        cells = np.full((len(self.names), len(part)), -1, np.int32)
        for j, (name, cell_of_code) in enumerate(self.cell_of_code.items()):
            if name in columns:
                cells[j] = part.cells_of(name, cell_of_code, -1)
        hashes, at_root = fold_hash(0, part.places, SALT), np.zeros(len(part), np.int32)
        return RecordsAtNodes(cells, hashes, class_codes_in(part), at_root)

    @cached_property
    def _exact(self) -> list[int]:
        """The columns whose values themselves are compared."""
        column, cut = self.splits.column, self.splits.cut
        return list(np.unique(column[(column >= 0) & ~np.isnan(cut)]).tolist())


@dataclass(frozen=True, eq=False)
class Histograms(Question):
    """How many people (summed weights) of each reported class are in each bin of each column at some nodes.

    reads[k, j] is the association by which column j is read at the k-th of the nodes.
    """

    routes: Routes
    nodes: Codes
    reads: Codes
    classes: int

    @property
    def columns(self) -> tuple[str, ...]:
        return self.routes.names

    @cached_property
    def _shapes(self) -> list[tuple[int, int, int]]:
        """Of the histogram of every column: nodes, bins with a place for missing ones, classes."""
        widths = self.routes.readings.size[self.reads].max(axis=0) + 1
        return [(self.nodes.size, width, self.classes) for width in widths.tolist()]

    def of(self, part: Reports) -> npt.NDArray[Any]:
        found, counts = self.routes.follow(part, self.columns), []
        slot, column, reads = np.full((3, self.routes.splits.column.size), -1)
        slot[self.nodes] = np.arange(self.nodes.size)
        rows, flat = split_at(found.node, slot), np.full(len(part), -1)
        for j, shape in enumerate(self._shapes):
            column[self.nodes], reads[self.nodes] = j, self.reads[:, j]
            bins = bins_at(found, rows, self.routes.readings, column, reads)
            put_places(flat, found, rows, bins, slot, *shape[1:])
            counts.append(part.summed(flat, int(np.prod(shape))))
        return np.concatenate(counts)

    def tables(self, answer: npt.NDArray[Any]) -> list[Floats]:
        """The answer as one array a column: [node, bin, reported class]."""
        ends = np.cumsum([np.prod(shape) for shape in self._shapes])[:-1]
        parts = np.split(answer.astype(float), ends)
        return [part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True)]


@dataclass(frozen=True, eq=False)
class ValuesBeside(Question):
    """How many people of each reported class have each of the values in two bins of one column, at some nodes.

    places[k] holds node, column and both bins; the answer is (k, value, counts by class), in order.
    """

    routes: Routes
    places: Codes
    classes: int

    @property
    def columns(self) -> tuple[str, ...]:
        tested = {*self.routes.splits.column.tolist(), *self.places[:, 1].tolist()}
        return tuple(name for j, name in enumerate(self.routes.names) if j in tested)

    def of(self, part: Reports) -> Answer:
        found = self.routes.follow(part, self.columns)
        slot, column, first, second = np.full((4, self.routes.splits.column.size), -1)
        nodes, *beside = self.places.T
        slot[nodes], (column[nodes], first[nodes], second[nodes]) = np.arange(nodes.size), beside
        here = split_at(found.node, slot)
        bins = bins_at(found, here, self.routes.readings, column, column)  # cells as they are: the first associations
        near = here[(bins == first[found.node[here]]) | (bins == second[found.node[here]])]
        node, values = found.node[near], np.empty(near.size)
        for j in np.unique(column[node]).tolist():
            own = column[node] == j
            values[own] = as_numbers(part.values(self.routes.names[j]))[near[own]]
        place, rows = distinct(slot[node], values)
        flat = np.full(len(part), -1)
        flat[near] = place * self.classes + found.group[near]
        return *rows, part.summed(flat, rows[0].size * self.classes).reshape(-1, self.classes).astype(float)

    def merged(self, answers: Sequence[Answer]) -> Answer:
        slots, values, counts = (np.concatenate(parts) for parts in zip(*answers, strict=True))
        place, rows = distinct(slots, values)
        total = np.zeros((rows[0].size, self.classes))
        np.add.at(total, place, counts)
        return *rows, total


def distinct(slots: Codes, values: Floats) -> tuple[Codes, tuple[Codes, Floats]]:
    """The place of every pair among the distinct ones in order, and those."""
    order = np.lexsort((values, slots))
    slots, values = slots[order], values[order]
    new = np.append(True, (slots[1:] != slots[:-1]) | (values[1:] != values[:-1]))[: slots.size]
    place = np.empty(slots.size, np.int64)
    place[order] = np.cumsum(new) - 1
    return place, (slots[new], values[new])


# --- compiled ---------------------------------------------------------------------------------------------------------


@njit(cache=True)
def mix(h: Any) -> Any:
    """As the places of records are hashed, once more."""
    low = np.uint64(0xFFFFFFFF)
    h = (h ^ (h >> np.uint64(16))) * np.uint64(0x21F0AAAD) & low
    h = (h ^ (h >> np.uint64(15))) * np.uint64(0x735A2D97) & low
    return h ^ (h >> np.uint64(15))


@njit(cache=True)
def split_at(node: Any, column: Any) -> Any:
    """The records whose node has an entry of 0 or more."""
    rows, count = np.empty(node.size, np.int32), 0
    for i in range(node.size):
        rows[count] = i
        count += column[node[i]] >= 0
    return rows[:count]


@njit(cache=True)
def bins_at(found: Any, rows: Any, readings: Any, column: Any, reads: Any) -> Any:
    """The bin of each of some records in the column of its node, by the association that the node reads."""
    every, hashes, group, node = found
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
            place = entries[entry, 0]
            for k in range(entries[entry, 1], entries[entry + 1, 1]):
                place += thresholds[k] <= u
            bins[r] = place
    return bins


@njit(cache=True)
def advance(found: Any, rows: Any, bins: Any, values: Any, splits: Any) -> Any:
    """Lead some records in bins of their nodes on to the next nodes; the records that have yet to go further."""
    node, (column, _, cut, left, right, missing_left, bins_left) = found.node, splits
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
def put_places(flat: Any, found: Any, rows: Any, bins: Any, slot: Any, width: int, classes: int) -> None:
    """(slot of its node · width + bin) · classes + class of each of some records."""
    node, group = found.node, found.group
    for r in range(rows.size):
        i = rows[r]
        flat[i] = (slot[node[i]] * width + bins[r]) * classes + group[i]


@njit(cache=True)
def spread(size: int, first: Any, start: Any, thresholds: Any, counts: Any) -> Any:
    """Each pair's count shared out among its bins as hashes would be."""
    found = np.zeros((size, first.shape[0]))
    for y in range(first.shape[0]):
        for cell in range(first.shape[1]):
            pair, place, below = y * first.shape[1] + cell, first[y, cell], 0.0
            for i in range(start[pair], start[pair + 1]):
                share = thresholds[i] / 4294967296.0
                found[place, y] += counts[cell, y] * (share - below)
                place, below = place + 1, share
            found[place, y] += counts[cell, y] * (1.0 - below)
    return found
