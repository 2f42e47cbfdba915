"""Growing a tree level by level from counts alone: one question a level for all open nodes and all columns.

So every maker of counts, in memory or elsewhere, grows the same tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from sfumato.counts import Reports
from sfumato.domain import Codes, Floats
from sfumato.evidence import Axis, ColumnCells
from sfumato.learners.tree.by_class.routes import (
    Association,
    Histograms,
    Readings,
    RecordsAtNodes,
    Routes,
    Splits,
    ValuesBeside,
)
from sfumato.learners.tree.model import (
    CLEAR_BINS,
    Labels,
    Limits,
    Tree,
    clean_values,
    empty_bins,
    feature_of,
    grown_tree,
    shares_of,
)
from sfumato.learners.tree.splits import LEAF, Bounds, Nodes, beside, best_cut, best_split, empty_nodes, stays_leaf

MOST_COUNTED = 20_000_000
"""Numbers in the histograms that are asked for in one pass: 160 MB. With more open nodes there are more passes."""


@dataclass(eq=False)
class GrowingNode:
    """A node of a growing tree; reads[j] is the association by which its records are read in column j.

    Where its sibling is counted, its own histogram is what that leaves of the whole.
    """

    number: int
    depth: int
    reads: tuple[int, ...]
    settled: frozenset[int] = frozenset()
    people: float = np.inf
    counts: Floats | None = None
    sibling: GrowingNode | None = None
    whole: Floats | None = None
    tables: list[Floats] | None = None
    histogram: Floats | None = None
    column: int = LEAF
    place: int = -1
    cut: float = np.nan
    children: tuple[int, int] = (LEAF, LEAF)
    missing_left: bool = False
    parts: bool = False
    bins: npt.NDArray[np.bool_] | None = None
    gain: float = 0.0

    @property
    def counted(self) -> GrowingNode:
        """The node whose counts are asked for: itself, or its sibling where this one is the rest of their parent."""
        return self if self.sibling is None else self.sibling


class Growth:
    """The growth of a tree on cells as they are; a subclass says what else a cell tells, and where a cut lies.

    cells: of each column. limits: when to stop.
    """

    def __init__(self, reports: Reports, cells: Sequence[ColumnCells], limits: Limits) -> None:
        self.reports, self.cells, self.limits = reports, cells, limits
        self.features = [feature_of(cut) for cut in cells]
        self.classes, self.shares = len(reports.classes or ()), shares_of(reports)
        self.associations = [Association.of_cells(cut.reported) for cut in cells]
        self.sizes = np.array([feature.size for feature in self.features], np.int64)
        self.categorical = np.array([feature.categorical for feature in self.features])
        self._kept: list[RecordsAtNodes] | None = [] if reports.in_memory else None
        self.nodes = [GrowingNode(0, 0, tuple(range(len(cells))))]

    def grow(self) -> Tree:
        """Grow the tree level by level, from counts alone."""
        waiting = self.nodes
        while waiting:
            waiting = [child for some in self._bunches(waiting) for child in self._grow_level(some)]
        return self.tree().finished(self.features, self.limits.prune)

    # --- what a subclass says -----------------------------------------------------------------------------------

    @cached_property
    def stops(self) -> Limits:
        """The limits at which nodes stay leaves (depth, people); some depend on how many people the root has."""
        return self.limits

    def asked(self, node: GrowingNode) -> tuple[int, ...]:
        """Return the associations by which a node's histograms are counted."""
        return node.reads

    def in_bins(self, node: GrowingNode, column: int, table: Floats) -> Floats:
        """Return the histogram of a column's bins, missing ones last, from the counts that were asked for."""
        return table

    def place_cuts(self, routes: Routes, nodes: Sequence[GrowingNode]) -> None:
        """Place the cuts of nodes that were just split, where not at an edge."""

    def sides(self, node: GrowingNode) -> tuple[Floats | None, Floats | None]:
        """Return the class counts of both sides of a split; None where they are not known already."""
        assert node.counts is not None and node.bins is not None
        left = self.histogram(node)[node.column][node.bins].sum(axis=0)
        return left, node.counts - left

    def waits(self, node: GrowingNode) -> bool:
        """Say whether a new node is to be grown with the next level."""
        return node.counts is None or not self._stays_leaf(node)

    # --- a level ------------------------------------------------------------------------------------------------

    @cached_property
    def _bounds(self) -> Bounds:
        return self.stops.bounds(self.features, self.classes)

    def _stays_leaf(self, node: GrowingNode) -> bool:
        assert node.counts is not None
        return stays_leaf(node.counts, node.depth, self.shares, self._bounds)

    def _bunches(self, nodes: Sequence[GrowingNode]) -> Iterator[list[GrowingNode]]:
        """Yield nodes in bunches that one pass can count; siblings, which need one count, stay together."""
        widest = sum(max(cut.reported, cut.size) + 1 for cut in self.cells)
        most = max(1, MOST_COUNTED // (widest * self.classes))
        together: dict[int, list[GrowingNode]] = {}
        for node in nodes:
            together.setdefault(node.counted.number, []).append(node)
        groups = iter(together.values())
        while some := list(chain.from_iterable(islice(groups, most))):
            yield some

    def _grow_level(self, nodes: Sequence[GrowingNode]) -> list[GrowingNode]:
        counted = list({node.counted.number: node.counted for node in nodes}.values())
        routes = self.routes(counted)
        reads = np.array([self.asked(node) for node in counted])
        question = Histograms(routes, np.array([node.number for node in counted]), reads, self.classes)
        tables = question.tables(self.reports.ask([question])[0])
        for k, node in enumerate(counted):
            node.counts, node.histogram = tables[0][k].sum(axis=0), None
            node.tables = [table[k] for table in tables]
        for node in nodes:
            self._split(node)
        split = [node for node in nodes if node.column != LEAF]
        self.place_cuts(routes, split)
        children = [child for node in split for child in self._children(node) if self.waits(child)]
        for node in (*counted, *nodes):
            node.histogram = node.whole = node.tables = None
        return children

    def _split(self, node: GrowingNode) -> None:
        """Find the best split of a node, from the counts that were asked for."""
        if self._stays_leaf(node):
            return
        assert node.counts is not None
        node.gain, node.column, node.place, node.missing_left, node.bins, node.parts = best_split(
            self.sizes, self.categorical, self.histogram(node), node.counts, self.shares, self.stops.min_leaf
        )

    def histogram(self, node: GrowingNode) -> Floats:
        """Return how many people of each reported class are in each bin of each column, missing ones after the last."""
        if node.histogram is None and node.whole is not None:
            node.histogram = node.whole - self.histogram(node.counted)
        elif node.histogram is None:
            node.histogram = np.zeros((len(self.cells), int(self.sizes.max()) + 1, self.classes))
            for j, table in enumerate(node.tables or ()):
                node.histogram[j, : self.sizes[j] + 1] = self.in_bins(node, j, table)
        return node.histogram

    def _children(self, node: GrowingNode) -> list[GrowingNode]:
        """Make the nodes of both sides of a split; where their counts are known only the smaller one is counted."""
        counts, number, whole = self.sides(node), len(self.nodes), self.histogram(node)
        people = [float(whole[node.column][side].sum()) for side in (node.bins, ~node.bins)]  # type: ignore[operator]
        node.children, settled = (number, number + 1), node.settled | {node.column}
        both = [GrowingNode(number + k, node.depth + 1, node.reads, settled, people[k], counts[k]) for k in (0, 1)]
        if counts[0] is not None and counts[1] is not None:
            small = int(counts[1].sum() < counts[0].sum())
            both[1 - small].sibling, both[1 - small].whole = both[small], whole
        self.nodes += both
        return both

    # --- the tree so far ----------------------------------------------------------------------------------------

    def routes(self, nodes: Sequence[GrowingNode]) -> Routes:
        """Return the way from the root to these nodes; records that go elsewhere stop where they leave it."""
        tree, leads = self._arrays(), np.zeros(len(self.nodes), bool)
        leads[[node.number for node in nodes]] = True
        for node in reversed(self.nodes):
            leads[node.number] |= node.column != LEAF and leads[list(node.children)].any()
        column = np.where(leads, tree.column, LEAF).astype(np.int64)
        reads = np.array([node.reads[node.column] for node in self.nodes])
        splits = Splits(column, reads, tree.cut, tree.left, tree.right, tree.missing_left, tree.bins)
        used = {*range(len(self.cells)), *reads[column != LEAF].tolist(), *chain(*(node.reads for node in nodes))}
        cell_of_code = {cut.name: cut.cell_of_code for cut in self.cells}
        return Routes(cell_of_code, Readings.of(self.associations, used), splits, self._kept)

    def tree(self) -> Tree:
        """Return the tree as it is so far."""
        return Tree.from_growth(self._arrays(), len(self.nodes), self.features, self.shares)

    def _arrays(self) -> Nodes:
        tree = empty_nodes(len(self.nodes), int(self.sizes.max()) + 1, self.classes)
        for k, node in enumerate(self.nodes):
            if node.counts is not None:
                tree.counts[k] = node.counts
            if node.column != LEAF:
                tree.column[k], tree.place[k], tree.cut[k], tree.gains[k] = node.column, node.place, node.cut, node.gain
                tree.missing_left[k], tree.bins[k], tree.parts[k] = node.missing_left, node.bins, node.parts
                tree.left[k], tree.right[k] = node.children
        return tree


class CleanGrowth(Growth):
    """Growth on true values: bins between quantiles find the split, the actual values beside it place the cut.

    In memory the same tree is grown on records, depth first: from counts alone it takes three times as long.

    labels: the class and the weight of every record in memory, where they are not those of the reports.
    """

    def __init__(
        self, reports: Reports, axes: Sequence[Axis], limits: Limits, labels: Labels | None = None
    ) -> None:
        super().__init__(reports, [axis.at(CLEAR_BINS) for axis in axes], limits)
        self._labels = labels
        self._left: dict[int, Floats] = {}

    def grow(self) -> Tree:
        """Grow the tree."""
        if not self.reports.in_memory:
            return super().grow()
        codes = empty_bins(self.features, len(self.reports))
        for j, cut in enumerate(self.cells):
            codes[j] = self.reports.cells_of(cut.name, cut.cell_of_code, cut.size)
        labels = Labels.of(self.reports) if self._labels is None else self._labels
        tree = grown_tree(codes, self.features, labels, self.limits, clean_values(self.reports))
        return tree.finished(self.features, self.limits.prune)

    def place_cuts(self, routes: Routes, nodes: Sequence[GrowingNode]) -> None:
        near = [node for node in nodes if not self.categorical[node.column]]
        found = [
            beside(self.histogram(node)[node.column], self.sizes[node.column], node.place, node.missing_left)
            for node in near
        ]
        if not near:
            return
        pairs = zip(near, found, strict=True)
        places: Codes = np.array([(node.number, node.column, node.place, after) for node, (after, _) in pairs])
        slots, values, counts = self.reports.ask([ValuesBeside(routes, places, self.classes)])[0]
        ends = np.searchsorted(slots, np.arange(len(near) + 1))
        for k, (node, (_, left)) in enumerate(zip(near, found, strict=True)):
            here = slice(ends[k], ends[k + 1])
            assert node.counts is not None
            node.cut = best_cut(values[here], counts[here], left, node.counts, self.shares, self.stops.min_leaf)
            self._left[node.number] = left + counts[here][values[here] < node.cut].sum(axis=0)

    def sides(self, node: GrowingNode) -> tuple[Floats | None, Floats | None]:
        assert node.counts is not None
        left = self._left.pop(node.number, None)
        return super().sides(node) if left is None or np.isnan(node.cut) else (left, node.counts - left)
