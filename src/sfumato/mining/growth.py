"""How trees grow on reports: AS00's three ways differ in which reports are reconstructed together.

Global   all reports at once
ByClass  the reports of each class
Local    the reports of each class again at every node, until nodes are small; an attribute already split on keeps
         the association that the split used
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sfumato.mining.association import Intervals
from sfumato.mining.cells import Attribute, AttributeCells
from sfumato.mining.tree_kernels import LEAF, add_counts, add_histogram, best_split, bin_and_class, grow, partition
from sfumato.mining.tree_model import Feature, Tree

Records = npt.NDArray[np.int32]
CLEAR_BINS = 254
REPORT_COARSENESS = 0.1
LEAST_LEAF_SHARE = 5e-4
SMALLEST_LOCAL_NODE = 1_000
LOCAL_SHARE = 0.04


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


@dataclass(frozen=True)
class ClassMass:
    """How much of each record counts for each class.

    A record counts 1 (or its weight) for its own class. When labels went through a channel L it counts column y' of
    L⁻¹: summed over any set of records that is an unbiased count of the true classes.
    """

    group: npt.NDArray[np.uint8] | npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    mass: npt.NDArray[np.float64]
    plain: bool

    @property
    def classes(self) -> int:
        return int(self.mass.shape[1])

    @classmethod
    def of(
        cls,
        group: npt.NDArray[np.int64],
        weight: npt.NDArray[np.float64],
        classes: int,
        table: npt.NDArray[np.float64] | None,
    ) -> ClassMass:
        small = group.astype(np.uint8) if classes <= 256 else group
        if table is None and classes <= 200 and bool(np.all(weight == 1.0)):
            return cls(small, weight, np.zeros((1, classes)), True)
        return cls(small, weight, cls.dense(group, weight, classes, table), False)

    @staticmethod
    def dense(
        group: npt.NDArray[np.int64],
        weight: npt.NDArray[np.float64],
        classes: int,
        table: npt.NDArray[np.float64] | None,
    ) -> npt.NDArray[np.float64]:
        """mass[record, class]."""
        shares = np.eye(classes) if table is None else np.linalg.pinv(table)
        return np.ascontiguousarray(shares.T[group] * weight[:, None])

    def of_records(self, records: Records) -> ClassMass:
        mass = self.mass if self.plain else self.mass[records]
        return ClassMass(self.group[records], self.weight[records], mass, self.plain)

    def pairs(self, codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint16]:
        """Bin and class of every record in one number, where records count 1."""
        if not self.plain:
            return np.zeros((1, 1), np.uint16)
        return bin_and_class(codes, self.group, self.classes)  # type: ignore[no-any-return]

    @classmethod
    def soft(cls, mass: npt.NDArray[np.float64]) -> ClassMass:
        return cls(np.zeros(mass.shape[0], np.uint8), mass.sum(axis=1), np.ascontiguousarray(mass), False)


def paper_intervals(records: int) -> int:
    """AS00: m so that an interval holds 100 points on average, between 10 and 100."""
    return int(np.clip(records / 100, 10, 100))


def feature_of(cells: AttributeCells) -> Feature:
    return Feature(cells.name, cells.edges, cells.labels, cells.integer)


class Growth(ABC):
    """Growth on intervals; a subclass says how the records of a node are associated with them."""

    def __init__(
        self,
        attributes: Sequence[Attribute],
        intervals: int,
        labels: ClassMass,
        limits: Limits,
    ) -> None:
        self.cut = [
            Intervals(a, a.at(intervals, REPORT_COARSENESS) if a.noisy else a.at(CLEAR_BINS)) for a in attributes
        ]
        self.features = [feature_of(cut.cells) for cut in self.cut]
        self.labels, self.group, self.weight = labels, labels.group, labels.weight
        least = max(limits.min_leaf, LEAST_LEAF_SHARE * self.group.size)
        self.limits = replace(limits, min_leaf=least, min_split=2 * least)
        self.sizes = np.array([cut.size for cut in self.cut], np.int64)
        self.categorical = np.array([feature.categorical for feature in self.features])
        self.codes = np.zeros((len(self.cut), self.group.size), np.uint8)

    @abstractmethod
    def associate(self, records: Records, attribute: int) -> npt.NDArray[np.uint8]:
        """The interval of each of these records in one attribute."""

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
        grown = grow(
            codes,
            labels.mass,
            labels.group,
            labels.pairs(codes),
            labels.plain,
            np.zeros((1, 1)),
            False,
            self.sizes,
            self.categorical,
            np.arange(records.size, dtype=np.int32),
            depth,
            self.limits.min_leaf,
            self.limits.min_split,
            self.limits.least_bits(self.features, self.labels.classes),
            most_nodes(records.size, self.limits.min_leaf),
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
        whole = records.size == self.group.size
        group, weight = (self.group, self.weight) if whole else (self.group[records], self.weight[records])
        found = self.cut[attribute].associate(records, group, self.labels.classes, weight)
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
        histogram, counts = np.zeros((len(self.cut), widest, self.labels.classes)), np.zeros(self.labels.classes)
        here, bins = self.labels.of_records(records), np.zeros(widest, bool)
        codes = np.ascontiguousarray(self.codes[:, records])
        everyone = np.arange(records.size, dtype=np.int32)
        add_histogram(codes, here.mass, here.pairs(codes), here.plain, everyone, 0, records.size, histogram)
        add_counts(here.mass, here.group, here.plain, everyone, 0, records.size, counts)
        gain, j, place, to_left = best_split(
            histogram, self.sizes, self.categorical, counts, self.limits.min_leaf, bins
        )
        if j < 0:
            return None
        order = records.copy()
        middle = partition(self.codes[j], bins, order, 0, order.size, np.empty_like(order))
        if middle in (0, order.size):
            return None
        below = np.zeros(self.labels.classes)
        add_counts(self.labels.mass, self.group, self.labels.plain, order, 0, middle, below)
        tree = Tree.from_growth(
            (
                np.array([j, LEAF, LEAF], np.int32),
                np.array([place, -1, -1]),
                np.full(3, np.nan),
                np.array([1, LEAF, LEAF], np.int32),
                np.array([2, LEAF, LEAF], np.int32),
                np.array([to_left, False, False]),
                np.array([bins, bins & False, bins & False]),
                np.array([counts, below, counts - below]),
                np.array([gain, 0.0, 0.0]),
            ),
            self.features,
        )
        return tree, middle, order


def clean_tree(
    columns: Sequence[Attribute], values: npt.NDArray[np.float64], labels: ClassMass, limits: Limits
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
        codes,
        labels.mass,
        labels.group,
        labels.pairs(codes),
        labels.plain,
        values,
        True,
        sizes,
        categorical,
        np.arange(values.shape[1], dtype=np.int32),
        limits.max_depth,
        limits.min_leaf,
        limits.min_split,
        limits.least_bits(features, labels.classes),
        most_nodes(values.shape[1], limits.min_leaf),
    )
    tree = Tree.from_growth(grown, features)
    return (tree.pruned(features) if limits.prune else tree), features


def most_nodes(records: int, min_leaf: float) -> int:
    return int(2 * records / max(min_leaf, 1.0)) + 3
