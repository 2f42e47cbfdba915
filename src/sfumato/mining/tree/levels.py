"""Growing a tree level by level from counts alone: one question a level for all open nodes and all columns.

So every maker of counts, in memory or elsewhere, grows the same tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sfumato.counts import Reports
from sfumato.domain import Codes, Floats
from sfumato.mining.tree.kernels import Bounds, Nodes, empty_nodes, stays_leaf
from sfumato.mining.tree.model import CLEAR_BINS, Limits, Tree, feature_of, shares_of
from sfumato.mining.tree.routes import Association, Found, Histograms, Readings, Routes, Splits, ValuesBeside
from sfumato.mining.tree.splits import LEAF, beside, best_cut, best_split
from sfumato.reconstruction import Axis, ColumnCells

MOST_COUNTED = 20_000_000  # places of the histograms that are asked for in one pass


@dataclass(eq=False)
class Node:
    """A node of a growing tree; reads[j] is the association by which its records are read in column j."""

    number: int
    depth: int
    reads: tuple[int, ...]
    settled: frozenset[int] = frozenset()
    people: float = np.inf
    counts: Floats | None = None
    histogram: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    column: int = LEAF
    place: int = -1
    cut: float = np.nan
    children: tuple[int, int] = (LEAF, LEAF)
    missing_left: bool = False
    bins: npt.NDArray[np.bool_] | None = None
    gain: float = 0.0


class Growth:
    """Growth on cells as they are; a subclass says what else a cell tells, and where a cut lies."""

    def __init__(self, reports: Reports, cells: Sequence[ColumnCells], limits: Limits) -> None:
        self.reports, self.cells, self.limits = reports, cells, limits
        self.features = [feature_of(cut) for cut in cells]
        self.classes, self.shares = len(reports.classes or ()), shares_of(reports)
        self.associations = [Association.of_cells(cut.reported) for cut in cells]
        self.sizes = np.array([feature.size for feature in self.features], np.int64)
        self.categorical = np.array([feature.categorical for feature in self.features])
        self._kept: list[Found] | None = [] if reports.in_memory else None
        self.nodes = [Node(0, 0, tuple(range(len(cells))))]

    def grow(self) -> Tree:
        waiting = self.nodes
        while waiting:
            waiting = [child for some in self._bunches(waiting) for child in self._grow_level(some)]
        return self.tree().finished(self.features, self.limits.prune)

    # --- what a subclass says -----------------------------------------------------------------------------------

    @cached_property
    def stops(self) -> Limits:
        """The limits of growth, once the root is counted."""
        return self.limits

    def asked(self, node: Node) -> tuple[int, ...]:
        """The associations by which a node's histograms are counted."""
        return node.reads

    def in_bins(self, node: Node, column: int, table: Floats) -> Floats:
        """The histogram of a column's bins, missing ones last, from the counts that were asked for."""
        return table

    def place_cuts(self, routes: Routes, nodes: Sequence[Node]) -> None:
        """Place the cuts of nodes that were just split, where not at an edge."""

    def sides(self, node: Node) -> tuple[Floats | None, Floats | None]:
        """The class counts of both sides of a split, as far as they are known already."""
        assert node.counts is not None and node.bins is not None
        left = node.histogram[node.column][node.bins].sum(axis=0)
        return left, node.counts - left

    def waits(self, node: Node) -> bool:
        """Whether a new node is to be grown with the next level."""
        return node.counts is None or not self._stays_leaf(node)

    # --- a level ------------------------------------------------------------------------------------------------

    @cached_property
    def _bounds(self) -> Bounds:
        return self.stops.bounds(self.features, self.classes)

    def _stays_leaf(self, node: Node) -> bool:
        return bool(stays_leaf(node.counts, node.depth, self.shares, self._bounds))

    def _bunches(self, nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
        widest = sum(max(cut.reported, cut.size) + 1 for cut in self.cells)
        most = max(1, MOST_COUNTED // (widest * self.classes))
        return (nodes[start : start + most] for start in range(0, len(nodes), most))

    def _grow_level(self, nodes: Sequence[Node]) -> list[Node]:
        routes = self.routes()
        reads = np.array([self.asked(node) for node in nodes])
        question = Histograms(routes, np.array([node.number for node in nodes]), reads, self.classes)
        tables = question.tables(self.reports.ask([question])[0])
        for k, node in enumerate(nodes):
            self._split(node, [table[k] for table in tables])
        split = [node for node in nodes if node.column != LEAF]
        self.place_cuts(routes, split)
        return [child for node in split for child in self._children(node) if self.waits(child)]

    def _split(self, node: Node, tables: list[Floats]) -> None:
        """Find the best split of a node, from the counts that were asked for."""
        node.counts = tables[0].sum(axis=0)
        if self._stays_leaf(node):
            return
        node.histogram = np.zeros((len(tables), int(self.sizes.max()) + 1, self.classes))
        for j, table in enumerate(tables):
            node.histogram[j, : self.sizes[j] + 1] = self.in_bins(node, j, table)
        node.bins = np.zeros(node.histogram.shape[1], bool)
        node.gain, node.column, node.place, node.missing_left = best_split(
            self.sizes, self.categorical, node.histogram, node.counts, self.shares, self.stops.min_leaf, node.bins
        )

    def _children(self, node: Node) -> list[Node]:
        counts, number = self.sides(node), len(self.nodes)
        people = [float(node.histogram[node.column][side].sum()) for side in (node.bins, ~node.bins)]  # type: ignore
        node.histogram, node.children = node.histogram[:0], (number, number + 1)
        settled = node.settled | {node.column}
        self.nodes += [
            Node(number + side, node.depth + 1, node.reads, settled, people[side], counts[side]) for side in (0, 1)
        ]
        return self.nodes[-2:]

    # --- the tree so far ----------------------------------------------------------------------------------------

    def routes(self) -> Routes:
        tree = self._arrays()
        reads = np.array([node.reads[node.column] for node in self.nodes])
        splits = Splits(tree.column, reads, tree.cut, tree.left, tree.right, tree.missing_left, tree.bins)
        cell_of_code = {cut.name: cut.cell_of_code for cut in self.cells}
        return Routes(cell_of_code, Readings.of(self.associations), splits, self._kept)

    def tree(self) -> Tree:
        return Tree.from_growth(self._arrays(), len(self.nodes), self.features, self.shares)

    def _arrays(self) -> Nodes:
        tree: Nodes = empty_nodes(len(self.nodes), int(self.sizes.max()) + 1, self.classes)
        for k, node in enumerate(self.nodes):
            if node.counts is not None:
                tree.counts[k] = node.counts
            if node.column != LEAF:
                tree.column[k], tree.place[k], tree.cut[k], tree.gains[k] = node.column, node.place, node.cut, node.gain
                tree.missing_left[k], tree.bins[k] = node.missing_left, node.bins
                tree.left[k], tree.right[k] = node.children
        return tree


class CleanGrowth(Growth):
    """Growth on true values: bins between quantiles find the split, the actual values beside it place the cut."""

    def __init__(self, reports: Reports, axes: Sequence[Axis], limits: Limits) -> None:
        super().__init__(reports, [axis.at(CLEAR_BINS) for axis in axes], limits)
        self._left: dict[int, Floats] = {}

    def place_cuts(self, routes: Routes, nodes: Sequence[Node]) -> None:
        near = [node for node in nodes if not self.categorical[node.column]]
        found = [
            beside(node.histogram[node.column], self.sizes[node.column], node.place, node.missing_left) for node in near
        ]
        if not near:
            return
        pairs = zip(near, found, strict=True)
        places: Codes = np.array([(node.number, node.column, node.place, after) for node, (after, _) in pairs])
        slots, values, counts = self.reports.ask([ValuesBeside(routes, places, self.classes)])[0]
        ends = np.searchsorted(slots, np.arange(len(near) + 1))
        for k, (node, (_, left)) in enumerate(zip(near, found, strict=True)):
            here = slice(ends[k], ends[k + 1])
            node.cut = best_cut(values[here], counts[here], left, node.counts, self.shares, self.stops.min_leaf)
            self._left[node.number] = left + counts[here][values[here] < node.cut].sum(axis=0)

    def sides(self, node: Node) -> tuple[Floats | None, Floats | None]:
        assert node.counts is not None
        left = self._left.pop(node.number, None)
        return super().sides(node) if left is None or np.isnan(node.cut) else (left, node.counts - left)
