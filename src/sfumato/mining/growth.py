"""How trees grow on reports: growth is shared, and AS00's three ways differ in which reports are reconstructed together.

    Global   all reports at once
    ByClass  the reports of each class
    Local    the reports of each class again at every node, until nodes are small; an attribute already split on keeps
             the association that the split used
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.mining.association import Intervals
from sfumato.mining.cells import Attribute, AttributeCells, ClearNumber
from sfumato.mining.tree_kernels import LEAF, add_histogram, best_split, grow, partition
from sfumato.mining.tree_model import Feature, Tree

Records = npt.NDArray[np.int64]
CLEAR_BINS = 254
SMALLEST_LOCAL_NODE = 1_000
LOCAL_SHARE = 0.02


@dataclass(frozen=True)
class Limits:
    """When to stop growing, and whether to prune."""

    max_depth: int
    min_leaf: float
    min_split: float
    prune: bool

    def least_bits(self, features: Sequence[Feature], classes: int) -> float:
        """No subtree takes fewer bits than this beyond its leaves' entropy, so smaller nodes need not be split."""
        if not self.prune:
            return -1.0
        fewest_cuts = max(min(feature.size for feature in features) - 1, 1)
        return float(np.log2(len(features)) + np.log2(fewest_cuts) + 2.0 + 1.65 * min(classes - 1, 1))


def paper_intervals(records: int) -> int:
    """AS00: m so that an interval holds 100 points on average, between 10 and 100."""
    return int(np.clip(records / 100, 10, 100))


def feature_of(cells: AttributeCells) -> Feature:
    return Feature(cells.name, cells.edges, cells.labels, cells.integer)


class Growth:
    """Growth on intervals; a subclass says how the records of a node are associated with them."""

    def __init__(
        self,
        attributes: Sequence[Attribute],
        intervals: int,
        group: npt.NDArray[np.int64],
        mass: npt.NDArray[np.float64],
        weight: npt.NDArray[np.float64],
        limits: Limits,
    ) -> None:
        self.cut = [Intervals(a, a.at(intervals if a.noisy else CLEAR_BINS)) for a in attributes]
        self.features = [feature_of(cut.cells) for cut in self.cut]
        self.group, self.mass, self.weight, self.limits = group, mass, weight, limits
        self.sizes = np.array([cut.size for cut in self.cut], np.int64)
        self.categorical = np.array([feature.categorical for feature in self.features])
        self.codes = np.zeros((len(self.cut), group.size), np.uint8)

    def associate(self, records: Records, attribute: int) -> npt.NDArray[np.uint8]:
        """The interval of each of these records in one attribute."""
        raise NotImplementedError

    def grow(self) -> Tree:
        everyone = np.arange(self.group.size)
        for j in range(len(self.cut)):
            self.codes[j] = self.associate(everyone, j)
        return self.finished(self.subtree(everyone, self.limits.max_depth))

    def subtree(self, records: Records, depth: int) -> Tree:
        """Growth below a node without further reconstruction."""
        grown = grow(
            self.codes, self.mass, np.zeros((1, 1)), False, self.sizes, self.categorical, records.copy(), depth,
            self.limits.min_leaf, self.limits.min_split,
            self.limits.least_bits(self.features, self.mass.shape[1]), most_nodes(records.size, self.limits.min_leaf),
        )
        return Tree.from_growth(grown, self.features)

    def finished(self, tree: Tree) -> Tree:
        return tree.pruned(self.features) if self.limits.prune else tree


class GlobalGrowth(Growth):
    def associate(self, records: Records, attribute: int) -> npt.NDArray[np.uint8]:
        nobody = np.zeros(records.size, np.int64)
        return np.asarray(self.cut[attribute].associate(records, nobody, 1, self.weight[records]), np.uint8)


class ByClassGrowth(Growth):
    def associate(self, records: Records, attribute: int) -> npt.NDArray[np.uint8]:
        classes = self.mass.shape[1]
        found = self.cut[attribute].associate(records, self.group[records], classes, self.weight[records])
        return np.asarray(found, np.uint8)


class LocalGrowth(ByClassGrowth):
    def grow(self) -> Tree:
        self.smallest = max(SMALLEST_LOCAL_NODE, LOCAL_SHARE * self.group.size)
        everyone = np.arange(self.group.size)
        return self.finished(self._below(everyone, frozenset(), self.limits.max_depth))

    def _below(self, records: Records, settled: frozenset[int], depth: int) -> Tree:
        if settled and records.size < self.smallest:
            return self.subtree(records, depth)
        for j in range(len(self.cut)):
            if j not in settled:
                self.codes[j, records] = self.associate(records, j)
        split = self._split(records) if depth > 0 else None
        if split is None:
            return self.subtree(records, depth)
        tree, middle, records = split
        kept = settled | {int(tree.attribute[0])}
        for node, side in ((1, records[:middle]), (2, records[middle:])):
            tree = tree.grafted(node, self._below(side, kept, depth - 1))
        return tree

    def _split(self, records: Records) -> tuple[Tree, int, Records] | None:
        """The best split of a node as a tree of three nodes."""
        widest = int(self.sizes.max()) + 1
        histogram = np.zeros((len(self.cut), widest, self.mass.shape[1]))
        add_histogram(self.codes, self.mass, records, 0, records.size, histogram)
        counts, bins = self.mass[records].sum(axis=0), np.zeros(widest, bool)
        gain, j, place, to_left = best_split(histogram, self.sizes, self.categorical, counts, self.limits.min_leaf, bins)
        if j < 0:
            return None
        order = records.copy()
        middle = partition(self.codes[j], bins, order, 0, order.size, np.empty_like(order))
        if middle in (0, order.size):
            return None
        below = self.mass[order[:middle]].sum(axis=0)
        tree = Tree.from_growth(
            (
                np.array([j, LEAF, LEAF], np.int32), np.array([place, -1, -1]), np.full(3, np.nan),
                np.array([1, LEAF, LEAF], np.int32), np.array([2, LEAF, LEAF], np.int32),
                np.array([to_left, False, False]), np.array([bins, bins & False, bins & False]),
                np.array([counts, below, counts - below]), np.array([gain, 0.0, 0.0]),
            ),
            self.features,
        )
        return tree, middle, order


def clean_tree(
    columns: Sequence[Attribute], values: npt.NDArray[np.float64], mass: npt.NDArray[np.float64], limits: Limits
) -> tuple[Tree, list[Feature]]:
    """A tree on true values: bins between quantiles find the split, the actual values beside it place the cut."""
    cells = [attribute.at(CLEAR_BINS) for attribute in columns]
    features = [feature_of(cut) for cut in cells]
    codes = np.empty((len(cells), values.shape[1]), np.uint8)
    for j, (attribute, cut) in enumerate(zip(columns, cells, strict=True)):
        codes[j] = np.where(attribute.codes < 0, cut.size, cut.cell_of_code[np.maximum(attribute.codes, 0)])
    sizes = np.array([cut.size for cut in cells], np.int64)
    categorical = np.array([feature.categorical for feature in features])
    grown = grow(
        codes, mass, values, True, sizes, categorical, np.arange(values.shape[1]), limits.max_depth, limits.min_leaf,
        limits.min_split, limits.least_bits(features, mass.shape[1]), most_nodes(values.shape[1], limits.min_leaf),
    )
    tree = Tree.from_growth(grown, features)
    return (tree.pruned(features) if limits.prune else tree), features


def most_nodes(records: int, min_leaf: float) -> int:
    return int(2 * records / max(min_leaf, 1.0)) + 3


def is_number(attribute: Attribute) -> bool:
    return isinstance(attribute, ClearNumber)
