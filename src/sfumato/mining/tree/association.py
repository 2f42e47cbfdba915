"""AS00 §4: reconstruct a distribution, associate records with intervals by rank, and grow a tree on the intervals.

The reconstruction says how many values lie in each interval; the N(I₁) lowest reports go to I₁, the next N(I₂) to I₂,
and so on. Categories have no order: each reported category is shared out by P(true | reported). The paper's three ways
differ in which reports are reconstructed together:

Global   all reports at once
ByClass  the reports of each class
Local    the reports of each class again at every node, until nodes are small; a column already split on keeps the
         association that the split used
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from sfumato.domain import Floats
from sfumato.mining.tree.model import CLEAR_BINS, ClassMass, Limits, Records, Tree, feature_of, grown_tree
from sfumato.mining.tree.splits import LEAF
from sfumato.reconstruction import Axis, ChiSquare, ColumnCells, DenseTable, maximise_likelihood

STOP = ChiSquare(share=0.003, limit=2_000)
"""AS00 stops at 1 % of the χ² threshold: early for Local. A tenth of that is late for ByClass; this is between."""

REPORT_COARSENESS = 0.1
LEAST_LEAF_SHARE = 5e-4
SMALLEST_LOCAL_NODE = 1_000
LOCAL_SHARE = 0.04


def reconstruct_groups(table: DenseTable, counts: Floats) -> Floats:
    """The distribution over true cells of every group, from its counts of report cells, one group a row."""
    return maximise_likelihood(table, counts, stop=STOP).probabilities.astype(float)


@dataclass(frozen=True)
class Intervals:
    """One column cut into m intervals, and the association of its reports with them."""

    axis: Axis
    cells: ColumnCells

    @property
    def size(self) -> int:
        return self.cells.size

    @cached_property
    def table(self) -> DenseTable:
        return DenseTable(self.cells.table, np.float32)

    def associate(self, records: Any, group: Any, groups: int, weight: Floats) -> Any:
        """The interval of each of the records, reconstructed within each group; `size` stands for missing."""
        codes, cell_of_code = self.axis.codes[records], self.cells.cell_of_code
        if not self.axis.noisy:
            return np.where(codes < 0, self.size, cell_of_code[np.maximum(codes, 0)])
        by_code = counts_by_code(codes, group, weight, groups, cell_of_code.size)
        by_cell = np.array([np.bincount(cell_of_code, row, self.cells.reported) for row in by_code])
        p = reconstruct_groups(self.table, by_cell)
        if self.cells.labels is not None:
            posterior = p[:, None, :] * self.cells.table[None]
            posterior /= np.maximum(posterior.sum(axis=2, keepdims=True), 1e-300)
            cells = np.where(codes < 0, -1, cell_of_code[np.maximum(codes, 0)])
            return by_share(cells, group, np.cumsum(posterior, axis=2), self.size)
        if len(self.axis.column.levels) > 1:  # ranks are comparable among people of one block of levels only
            group = group * self.axis.levels + self.axis.level_of(codes)
            codes = self.axis.ranks[records]
            by_code = counts_by_code(codes, group, weight, groups * self.axis.levels, by_code.shape[1])
            p = np.repeat(p, self.axis.levels, axis=0)
        bounds = np.cumsum(p, axis=1) * by_code.sum(axis=1, keepdims=True)
        return by_rank(codes, group, weight, by_code, bounds, self.size)


class Growth(ABC):
    """Growth on intervals; a subclass says how the records of a node are associated with them."""

    def __init__(self, axes: Sequence[Axis], intervals: int, labels: ClassMass, limits: Limits) -> None:
        self.cut = [Intervals(a, a.at(intervals, REPORT_COARSENESS) if a.noisy else a.at(CLEAR_BINS)) for a in axes]
        self.features = [feature_of(cut.cells) for cut in self.cut]
        self.labels, self.group, self.weight = labels, labels.group, labels.weight
        least = max(limits.min_leaf, LEAST_LEAF_SHARE * self.group.size)
        self.limits = replace(limits, min_leaf=least, min_split=2 * least)
        self.codes = np.zeros((len(self.cut), self.group.size), np.uint8)

    @abstractmethod
    def associate(self, records: Records, column: int) -> npt.NDArray[np.uint8]:
        """The interval of each of these records in one column."""

    def grow(self) -> Tree:
        everyone = np.arange(self.group.size, dtype=np.int32)
        for j in range(len(self.cut)):
            self.codes[j] = self.associate(everyone, j)
        return self.finished(self.subtree(everyone, self.limits.max_depth))

    def subtree(self, records: Records, depth: int) -> Tree:
        """Growth below a node without further reconstruction."""
        codes, labels = self.codes, self.labels
        if records.size < self.group.size:
            codes, labels = np.ascontiguousarray(codes[:, records]), labels.of_records(records)
        return grown_tree(codes, self.features, labels, replace(self.limits, max_depth=depth))

    def finished(self, tree: Tree) -> Tree:
        return tree.pruned(self.features) if self.limits.prune else tree


class GlobalGrowth(Growth):
    def associate(self, records: Records, column: int) -> npt.NDArray[np.uint8]:
        nobody = np.zeros(records.size, np.int64)
        return np.asarray(self.cut[column].associate(records, nobody, 1, self.weight[records]), np.uint8)


class ByClassGrowth(Growth):
    def associate(self, records: Records, column: int) -> npt.NDArray[np.uint8]:
        whole = records.size == self.group.size
        group, weight = (self.group, self.weight) if whole else (self.group[records], self.weight[records])
        found = self.cut[column].associate(records, group, self.labels.classes, weight)
        return np.asarray(found, np.uint8)


class LocalGrowth(ByClassGrowth):
    def grow(self) -> Tree:
        self.smallest = max(SMALLEST_LOCAL_NODE, LOCAL_SHARE * self.group.size)
        everyone = np.arange(self.group.size, dtype=np.int32)
        return self.finished(self._below(everyone, frozenset(), self.limits.max_depth))

    def _below(self, records: Records, settled: frozenset[int], depth: int) -> Tree:
        if settled and records.size < self.smallest:
            return self.subtree(records, depth)
        for j in range(len(self.cut)):
            if j not in settled:
                self.codes[j, records] = self.associate(records, j)
        tree = self.subtree(records, min(depth, 1))
        j = int(tree.column[0])
        if j == LEAF:
            return tree
        goes_left = tree.bins[0][self.codes[j, records]]
        for node, side in ((1, records[goes_left]), (2, records[~goes_left])):
            tree = tree.grafted(node, self._below(side, settled | {j}, depth - 1))
        return tree


def paper_intervals(records: int) -> int:
    """AS00: m so that an interval holds 100 points on average, between 10 and 100."""
    return int(np.clip(records / 100, 10, 100))


# --- compiled ---------------------------------------------------------------------------------------------------------


@njit(cache=True)
def counts_by_code(codes: Any, group: Any, weight: Any, groups: int, size: int) -> Any:
    """Summed weight of each group's reports at each code."""
    counts = np.zeros((groups, size))
    for i in range(codes.size):
        if codes[i] >= 0:
            counts[group[i], codes[i]] += weight[i]
    return counts


@njit(cache=True)
def by_rank(codes: Any, group: Any, weight: Any, by_code: Any, bounds: Any, missing: int) -> Any:
    """A stable counting sort within each group; a record's interval is where the middle of its weight falls."""
    groups, size = by_code.shape
    rank, pointer = np.zeros((groups, size)), np.zeros((groups, size), np.int64)
    for g in range(groups):
        below, place = 0.0, 0
        for code in range(size):
            rank[g, code] = below
            while place < missing - 1 and bounds[g, place] <= below:
                place += 1
            pointer[g, code] = place
            below += by_code[g, code]
    found = np.full(codes.size, np.uint8(missing))
    for i in range(codes.size):
        code, g = codes[i], group[i]
        if code < 0:
            continue
        middle = rank[g, code] + 0.5 * weight[i]
        rank[g, code] += weight[i]
        place = pointer[g, code]
        while place < missing - 1 and bounds[g, place] <= middle:
            place += 1
        pointer[g, code] = place
        found[i] = place
    return found


@njit(cache=True)
def by_share(codes: Any, group: Any, bounds: Any, missing: int) -> Any:
    """Each group's reports of one category shared out by P(true | reported): the k-th takes the place k·φ mod 1."""
    seen = np.zeros(bounds.shape[:2])
    found = np.full(codes.size, np.uint8(missing))
    for i in range(codes.size):
        code, g = codes[i], group[i]
        if code < 0:
            continue
        seen[g, code] += 1.0
        share = (seen[g, code] * 0.6180339887498949) % 1.0
        place = 0
        while place < missing - 1 and bounds[g, code, place] <= share:
            place += 1
        found[i] = place
    return found
