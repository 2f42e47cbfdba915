"""AS00 §4: reconstruct a distribution, associate records with intervals by rank, and grow a tree on the intervals.

The reconstruction says how many values lie in each interval; the N(I₁) lowest reports go to I₁, the next N(I₂) to I₂,
and so on: within a report cell, by the hash of a record's place. Categories have no order: each reported category is
shared out by P(true | reported). The paper's three methods differ in which reports are reconstructed together:

Global   all reports at once
ByClass  the reports of each class
Local    the reports of each class again at every node, until nodes are small; a column already split on keeps the
         association that the split used
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit

from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.evidence import WITHIN_CLASSES, Axis, ColumnCells, DenseTable, Evidence, maximise_likelihood
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.learners.tree.by_class.levels import GrowingNode, Growth
from sfumato.learners.tree.by_class.routes import Association, bins_at
from sfumato.learners.tree.model import CLEAR_BINS, Labels, Limits, Tree, empty_bins, grown_tree

REPORT_COARSENESS = 0.1
"""Width of report cells in standard deviations of the noise. By judgement; wider cells lose ranks of reports, narrower
ones take longer."""
LEAST_LEAF_SHARE = 5e-4
"""Part of the people that a leaf has at least. By judgement; smaller leaves hold little but noise, and are pruned."""
SMALLEST_LOCAL_NODE = 1_000
"""People at a node from which on Local reconstructs again: AS00 §4.2 stops at small nodes. The number is by judgement;
fewer reports tell a distribution too badly, and each reconstruction takes time."""
LOCAL_SHARE = 0.04
"""The same as a part of all people. By judgement; so that reconstructions do not become more with the sample."""


def associated(cells: ColumnCells, counts: Floats, p: Floats) -> Association:
    """Associate the report cells of a column with intervals of true values, by reported class y'.

    Numbers go by rank among the reports of one level. A reported category is shared out by P(true | reported).

    counts: of reports, [y', cell]. p: distribution of the true values, [y', interval].
    """
    if cells.labels is None:
        blocks = np.array([*cells.blocks, cells.reported])
        shares = np.repeat(p[:, None, :], len(cells.blocks), axis=1)
    else:
        blocks, counts = np.arange(cells.reported + 1), np.ones_like(counts)
        shares = p[:, None, :] * cells.table
        shares /= np.maximum(shares.sum(axis=2, keepdims=True), LEAST_DOUBLE)
    return Association(cells.size, *by_rank(np.ascontiguousarray(counts), blocks, shares))


class ByClassGrowth(Growth):
    """ByClass: growth on intervals with which the reports of each class are associated once, at the root.

    In memory, nodes where nothing more is reconstructed are grown depth first, which gives the same subtree.

    reports: with classes. axes: all columns. intervals: of a numeric column. limits: of the tree.
    """

    def __init__(self, reports: Reports, axes: Sequence[Axis], intervals: int, limits: Limits) -> None:
        cells = [axis.at(intervals, REPORT_COARSENESS) if axis.noisy else axis.at(CLEAR_BINS) for axis in axes]
        super().__init__(reports, cells, limits)
        self.noisy = [axis.noisy for axis in axes]
        self.tables = [DenseTable(cut.table, np.float32) for cut in cells]
        self.aside: list[GrowingNode] = []

    @cached_property
    def people(self) -> float:
        """How many people there are: those at the root, once it is counted."""
        counts = self.nodes[0].counts
        assert counts is not None
        return float(counts.sum())

    @cached_property
    def stops(self) -> Limits:
        """The limits of growth, with the least leaf that so many people allow."""
        least = max(self.limits.min_leaf, LEAST_LEAF_SHARE * self.people)
        return replace(self.limits, min_leaf=least, min_split=2 * least)

    # --- reconstruction -----------------------------------------------------------------------------------------

    def reconstructs(self, node: GrowingNode) -> bool:
        """Say whether distributions are reconstructed from the reports at a node."""
        return node.number == 0

    def distributions(self, column: int, counts: Floats) -> Floats:
        """Return the distribution of a column over intervals, [y', interval]. counts: of reports, [y', cell]."""
        evidence = Evidence.of_counts(self.tables[column], counts)
        return maximise_likelihood(evidence, stop=WITHIN_CLASSES).probabilities.astype(float)

    def reconstructed(self, column: int, counts: Floats) -> Association:
        """Reconstruct a column and associate its report cells with intervals. counts: of reports, [y', cell]."""
        return associated(self.cells[column], counts, self.distributions(column, counts))

    def asked(self, node: GrowingNode) -> tuple[int, ...]:
        """Return, for each column, the number of the association by which a node's records are counted.

        Columns to be reconstructed are counted in report cells as they are.
        """
        if not self.reconstructs(node):
            return node.reads
        return tuple(read if j in node.settled else j for j, read in enumerate(node.reads))

    def in_bins(self, node: GrowingNode, column: int, table: Floats) -> Floats:
        """Return a node's counts of a column by interval, missing last; reconstruct the column where that is due.

        table: the counts as they were asked for, [cell or interval, y'], missing last.
        """
        if not self.reconstructs(node) or column in node.settled or not self.noisy[column]:
            return table[: self.sizes[column] + 1]
        counts, missing = table[: self.cells[column].reported], table[self.cells[column].reported]
        association = self.reconstructed(column, counts.T)
        node.reads = (*node.reads[:column], len(self.associations), *node.reads[column + 1 :])
        self.associations.append(association)
        return np.vstack([association.spread(counts), missing])

    def sides(self, node: GrowingNode) -> tuple[Floats | None, Floats | None]:
        """Return the class counts of both sides of a split; None where a node's counts by interval are expectations."""
        return (None, None) if self.reconstructs(node) else super().sides(node)

    # --- in memory ----------------------------------------------------------------------------------------------

    def waits(self, node: GrowingNode) -> bool:
        """Say whether a node is grown with the next level; in memory, the others are put aside."""
        if self.reports.in_memory and not self.reconstructs(node):
            self.aside.append(node)
            return False
        return super().waits(node)

    def tree(self) -> Tree:
        """Return the tree; subtrees of nodes that were put aside are grown now, on records in memory."""
        tree = super().tree()
        if not self.aside:
            return tree
        routes = self.routes(self.aside)
        records = routes.follow(self.reports, routes.names)
        codes, labels = empty_bins(self.features, len(self.reports)), Labels.of(self.reports)
        reads = np.array([node.reads for node in self.nodes])
        everybody = np.arange(len(self.reports), dtype=np.int32)
        for j in range(len(codes)):
            column, own = np.full(len(reads), j), np.ascontiguousarray(reads[:, j])
            codes[j] = bins_at(records, everybody, routes.readings, column, own)
        for node in self.aside:
            here = np.flatnonzero(records.node == node.number).astype(np.int32)
            limits = replace(self.stops, max_depth=self.limits.max_depth - node.depth)
            own = np.ascontiguousarray(codes[:, here])
            tree = tree.grafted(node.number, grown_tree(own, self.features, labels.of_records(here), limits))
        return tree


class GlobalGrowth(ByClassGrowth):
    """Global: the reports of all classes are reconstructed together, once, at the root."""

    def reconstructed(self, column: int, counts: Floats) -> Association:
        """Reconstruct a column from all classes together and associate its report cells with intervals."""
        together = np.repeat(counts.sum(axis=0, keepdims=True), self.classes, axis=0)
        p = self.distributions(column, together[:1])
        return associated(self.cells[column], together, np.repeat(p, self.classes, axis=0))


class LocalGrowth(ByClassGrowth):
    """Local: the reports of each class are reconstructed again at every node that is not small."""

    def reconstructs(self, node: GrowingNode) -> bool:
        """Say whether distributions are reconstructed from the reports at a node: at the root and at large nodes."""
        return node.number == 0 or node.people >= max(SMALLEST_LOCAL_NODE, LOCAL_SHARE * self.people)


def paper_intervals(records: int) -> int:
    """Return AS00's number of intervals: 100 records in each on average, but 10 intervals at least and 100 at most."""
    return int(np.clip(records / 100, 10, 100))


# --- compiled ---------------------------------------------------------------------------------------------------------


@njit(cache=True)
def by_rank(counts: Any, blocks: Any, shares: Any) -> Any:
    """Return first, start and thresholds of the `Association` that fills intervals with cells in their order.

    A boundary within a millionth of the block from a cell's edge is at the edge.

    counts: of reports, [y', cell]. blocks: where each block of cells begins, and the end.
    shares: of a block's reports that go to each interval, [y', block, interval].
    """
    (classes, cells), size = counts.shape, shares.shape[2]
    first, start = np.empty((classes, cells), np.int32), np.empty(classes * cells + 1, np.int32)
    thresholds, used = np.empty(shares.size, np.uint32), 0
    for y in range(classes):
        for block in range(blocks.size - 1):
            total = 0.0
            for cell in range(blocks[block], blocks[block + 1]):
                total += counts[y, cell]
            interval, below, bound, edge = 0, 0.0, shares[y, block, 0] * total, 1e-6 * total
            for cell in range(blocks[block], blocks[block + 1]):
                above = below + counts[y, cell]
                while interval < size - 1 and bound <= below + edge:
                    interval += 1
                    bound += shares[y, block, interval] * total
                first[y, cell], start[y * cells + cell] = interval, used
                while interval < size - 1 and bound < above - edge:
                    thresholds[used] = min((bound - below) / counts[y, cell] * 4294967296.0, 4294967295.0)
                    used, interval = used + 1, interval + 1
                    bound += shares[y, block, interval] * total
                below = above
    start[classes * cells] = used
    return first, start, thresholds[:used].copy()
