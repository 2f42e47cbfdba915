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

from sfumato.counts import Reports
from sfumato.mining.estimator import class_codes_in, true_class_shares
from sfumato.mining.tree.association import Intervals
from sfumato.mining.tree.kernels import Bounds, grow
from sfumato.mining.tree.model import Feature, Tree
from sfumato.mining.tree.splits import LEAF, Binned, bin_and_class
from sfumato.reconstruction import Axis, ColumnCells

Records = npt.NDArray[np.int32]
Values = npt.NDArray[np.float64]
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
    def of(cls, reports: Reports) -> ClassMass:
        group, classes = class_codes_in(reports), len(reports.classes or ())
        small = group.astype(np.uint8) if classes <= 256 else group
        if reports.weights is None and reports.label_channel is None and classes <= 200:
            return cls(small, np.ones(group.size), np.zeros((1, classes)), True)
        weight = np.ones(group.size) if reports.weights is None else reports.weights
        shares = true_class_shares(reports)
        return cls(small, weight, np.ascontiguousarray(shares[group] * weight[:, None]), False)

    def of_records(self, records: Records) -> ClassMass:
        mass = self.mass if self.plain else self.mass[records]
        return ClassMass(self.group[records], self.weight[records], mass, self.plain)

    def binned(self, codes: npt.NDArray[np.uint8], features: Sequence[Feature], values: Values | None) -> Binned:
        """What the compiled loops read: bins, classes and, where cuts are placed among them, the values."""
        sizes = np.array([feature.size for feature in features], np.int64)
        categorical = np.array([feature.categorical for feature in features])
        pairs = bin_and_class(codes, self.group, self.classes) if self.plain else np.zeros((1, 1), np.uint16)
        exact = np.zeros((1, 1)) if values is None else values
        return Binned(codes, sizes, categorical, self.mass, self.group, pairs, self.plain, exact, values is not None)

    @classmethod
    def soft(cls, mass: npt.NDArray[np.float64]) -> ClassMass:
        return cls(np.zeros(mass.shape[0], np.uint8), mass.sum(axis=1), np.ascontiguousarray(mass), False)


def paper_intervals(records: int) -> int:
    """AS00: m so that an interval holds 100 points on average, between 10 and 100."""
    return int(np.clip(records / 100, 10, 100))


def feature_of(cells: ColumnCells) -> Feature:
    return Feature(cells.name, cells.edges, cells.labels, cells.integer)


def grown_tree(
    codes: npt.NDArray[np.uint8],
    features: list[Feature],
    labels: ClassMass,
    limits: Limits,
    values: Values | None = None,
) -> Tree:
    """A tree on records in bins; cuts are refined among the actual values where they are given."""
    records = codes.shape[1]
    most = int(2 * records / max(limits.min_leaf, 1.0)) + 3
    bits = limits.least_bits(features, labels.classes)
    bounds = Bounds(limits.max_depth, limits.min_leaf, limits.min_split, bits, most)
    nodes, used = grow(labels.binned(codes, features, values), bounds, np.arange(records, dtype=np.int32))
    return Tree.from_growth(nodes, used, features)


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


def clean_tree(axes: Sequence[Axis], values: Values, labels: ClassMass, limits: Limits) -> tuple[Tree, list[Feature]]:
    """A tree on true values: bins between quantiles find the split, the actual values beside it place the cut."""
    cells = [axis.at(CLEAR_BINS) for axis in axes]
    features = [feature_of(cut) for cut in cells]
    codes = np.empty((len(cells), values.shape[1]), np.uint8)
    for j, (axis, cut) in enumerate(zip(axes, cells, strict=True)):
        codes[j] = np.where(axis.codes < 0, cut.size, cut.cell_of_code[np.maximum(axis.codes, 0)])
    tree = grown_tree(codes, features, labels, limits, values)
    return (tree.pruned(features) if limits.prune else tree), features


def clean_values(reports: Reports, axis: Axis) -> Values:
    """Numbers as they are, categories as codes."""
    values = reports.values(axis.name) if axis.column.labels is None else axis.codes
    return np.asarray(values, dtype=np.float64)
