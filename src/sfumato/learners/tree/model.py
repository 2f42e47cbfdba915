"""A tree: its nodes, what can be read from them, and how it grows on records in bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.counts import Reports, encode_known
from sfumato.domain import as_numbers
from sfumato.domain.checked import given_flags, given_numbers, given_rows, given_wholes
from sfumato.evidence import ColumnCells
from sfumato.learners.classes import class_codes_in, true_class_shares
from sfumato.learners.tree.splits import (
    LEAF,
    Binned,
    Bounds,
    Nodes,
    bin_and_class,
    grow,
    leaves_of,
    prune_by_code_length,
    true_counts,
)

Records = npt.NDArray[np.int32]
Values = npt.NDArray[np.float64]
Shares = npt.NDArray[np.float64]
Bins = npt.NDArray[Any]
CLEAR: Shares = np.zeros((0, 0))
"""Stands for reported classes that are the true ones."""
CLEAR_BINS = 254
"""Bins of a clear column between quantiles: with one for missing values they fit a byte."""
MOST_BINS = 100_000_000
"""Nodes times labels of a tree that is read from a file: a hundred megabytes, more than anybody ships."""


@dataclass(frozen=True)
class Feature:
    """One column as a tree sees it: bins between edges, or one bin a label."""

    name: str
    edges: npt.NDArray[np.float64] | None = None
    labels: tuple[Any, ...] | None = None
    integer: bool = False

    @property
    def categorical(self) -> bool:
        """Whether the column holds labels."""
        return self.labels is not None

    @property
    def size(self) -> int:
        """How many bins, the one for missing values apart."""
        if self.labels is not None:
            return len(self.labels)
        assert self.edges is not None
        return len(self.edges) - 1


@dataclass
class Tree:
    """Nodes as arrays, the root first, children after their parents; column −1 marks a leaf.

    Whose value is missing goes left where ``missing_left``. Where nobody's was (``parts``) nothing says where they
    belong: they are told by both sides, each with its part of the people.
    """

    column: npt.NDArray[np.int32]
    cut: npt.NDArray[np.float64]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    missing_left: npt.NDArray[np.bool_]
    bins: npt.NDArray[np.bool_]
    counts: npt.NDArray[np.float64]
    gains: npt.NDArray[np.float64]
    parts: npt.NDArray[np.bool_]

    @classmethod
    def leaf(cls, counts: npt.NDArray[np.float64]) -> Tree:
        """Return a tree of one leaf with these class counts."""
        none, nothing = np.full(1, LEAF, np.int32), np.zeros(1, bool)
        nodes = none, np.full(1, np.nan), none.copy(), none.copy(), nothing, nothing[:, None], counts, np.zeros(1)
        return cls(*nodes, nothing.copy())

    @classmethod
    def from_growth(cls, nodes: Nodes, used: int, features: list[Feature], shares: Shares) -> Tree:
        """Return the tree of grown nodes, the first ``used`` of them, on values in the place of bins.

        A numeric cut without a refined threshold lies at the edge of its bin. Reported classes become true ones.
        """
        column, place, cut, left, right, missing_left, bins, counts, gains, parts = (part[:used] for part in nodes)
        for j, feature in enumerate(features):
            if feature.edges is not None:
                here = np.flatnonzero((column == j) & np.isnan(cut))
                cut[here] = feature.edges[place[here] + 1]
        counts = np.maximum(true_counts(counts, shares), 0.0)
        return cls(column, cut, left, right, missing_left, bins, counts, gains, parts)

    def finished(self, features: list[Feature], prune: bool) -> Tree:
        """Return the tree as it is given out, its nodes numbered from the root by left sides first.

        A split that leaves one side empty is none. prune: return the subtree with the shortest description.
        """
        people = self.counts.sum(axis=1)
        empty = (self.column != LEAF) & ((people[self.left] == 0) | (people[self.right] == 0))
        self.column[empty], self.left[empty], self.right[empty] = LEAF, LEAF, LEAF
        if prune:
            sizes = np.array([feature.size for feature in features], dtype=np.float64)
            prune_by_code_length(self.column, self.left, self.right, self.counts, sizes)
        return self.compact()

    def compact(self) -> Tree:
        """Return the tree without the nodes that cannot be reached from the root."""
        kept, waiting = [], [0]
        while waiting:
            node = waiting.pop()
            kept.append(node)
            if self.column[node] != LEAF:
                waiting += [int(self.right[node]), int(self.left[node])]
        place = np.full(self.column.size, LEAF, np.int32)
        place[kept] = np.arange(len(kept))
        tree = Tree(*(part[kept] for part in vars(self).values()))
        leaf = tree.column == LEAF
        tree.left, tree.right = (np.where(leaf, LEAF, place[side]) for side in (tree.left, tree.right))
        tree.cut[leaf], tree.missing_left[leaf], tree.bins[leaf], tree.gains[leaf] = np.nan, False, False, 0.0
        tree.parts[leaf] = False
        return tree

    def grafted(self, node: int, other: Tree) -> Tree:
        """Return this tree with `other` in the place of a leaf."""
        shift = np.int32(self.column.size - 1)  # the root of `other` takes the leaf's place, node k becomes k + shift
        widest = max(self.bins.shape[1], other.bins.shape[1])
        left, right = (np.where(side < 0, LEAF, side + shift) for side in (other.left, other.right))
        here = replace(self, bins=_widened(self.bins, widest))
        moved = replace(other, left=left, right=right, bins=_widened(other.bins, widest))
        pairs = list(zip(vars(here).values(), vars(moved).values(), strict=True))
        tree = Tree(*(np.concatenate([part, added[1:]]) for part, added in pairs))
        for part, (_, added) in zip(vars(tree).values(), pairs, strict=True):
            part[node] = added[0]
        return tree

    @property
    def n_leaves(self) -> int:
        """How many leaves."""
        return int(np.sum(self.column == LEAF))

    def depth(self) -> int:
        """Return how many splits the deepest leaf is below the root."""
        depths = np.zeros(self.column.size, int)
        for node in np.flatnonzero(self.column != LEAF):
            depths[[self.left[node], self.right[node]]] = depths[node] + 1
        return int(depths.max())

    def leaves(self, values: npt.NDArray[np.float64], categorical: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return the node at which each record ends; ``values``: one row a column, labels as codes (see `compared`)."""
        return leaves_of(  # type: ignore[no-any-return]
            values, self.column, self.cut, self.left, self.right, self.missing_left, self.bins, categorical
        )

    def parts_of(self, node: int) -> tuple[float, float]:
        """Return which parts of the people of a node are on its left and on its right."""
        left, right = (float(self.counts[side[node]].sum()) for side in (self.left, self.right))
        return (left / (left + right), right / (left + right)) if left + right > 0 else (0.5, 0.5)

    def scores(self, values: Values, categorical: npt.NDArray[np.bool_]) -> Values:
        """Return the class counts of each record's leaf; of one that goes several ways the weighed mean of shares."""
        found = np.asarray(self.counts[self.leaves(values, categorical)])
        asked = np.unique(self.column[self.parts])
        unknown = np.isnan(values) | (categorical[:, None] & (values < 0))
        several = np.flatnonzero(unknown[asked].any(axis=0))
        if several.size:
            found[several] = self._shares(values[:, several], unknown[:, several], categorical)
        return found

    def _shares(self, values: Values, unknown: npt.NDArray[np.bool_], categorical: npt.NDArray[np.bool_]) -> Values:
        """Return class shares of records by all the ways that they go; children come after their parents."""
        weights, found = {0: np.ones(values.shape[1])}, np.zeros((values.shape[1], self.counts.shape[1]))
        for node, j in enumerate(self.column.tolist()):
            weight = weights.pop(node, None)
            if weight is None:
                continue
            if j == LEAF:
                people = self.counts[node].sum()
                found += np.outer(weight, self.counts[node] / people if people > 0 else 1 / found.shape[1])
                continue
            known = np.where(unknown[j], 0, values[j]).astype(int) if categorical[j] else values[j]
            goes_left = self.bins[node, known] if categorical[j] else known < self.cut[node]
            lost = self.parts_of(node)[0] if self.parts[node] else float(self.missing_left[node])
            on_left = weight * np.where(unknown[j], lost, goes_left)
            for side, part in ((self.left[node], on_left), (self.right[node], weight - on_left)):
                weights[int(side)] = weights.get(int(side), 0.0) + part
        return found

    def importances(self, columns: int) -> npt.NDArray[np.float64]:
        """Return each column's share of the decrease of the gini index."""
        inner = self.column != LEAF
        found = np.bincount(self.column[inner], weights=self.gains[inner], minlength=columns).astype(float)
        return found / found.sum() if found.sum() > 0 else found

    def to_dict(self) -> dict[str, Any]:
        return {
            "attribute": self.column.tolist(),
            "cut": [None if np.isnan(cut) else float(cut) for cut in self.cut],
            "left": self.left.tolist(),
            "right": self.right.tolist(),
            "missing_left": self.missing_left.tolist(),
            "left_bins": [
                np.flatnonzero(bins).tolist() if np.isnan(cut) and j != LEAF else []
                for bins, cut, j in zip(self.bins, self.cut, self.column, strict=True)
            ],
            "bins": int(self.bins.shape[1]),
            "counts": self.counts.tolist(),
            "gains": self.gains.tolist(),
            "parts": self.parts.tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], features: Sequence[Feature], classes: int) -> Tree:
        """Read the tree that ``to_dict`` wrote; refuse children before their parents and tests of unknown columns."""
        nodes = len(given_rows(data, "attribute"))
        if not nodes:
            raise ValueError("the tree has no node")
        column = given_wholes(data, "attribute", LEAF, len(features) - 1)
        left, right = (given_wholes(data, side, LEAF, nodes - 1, nodes) for side in ("left", "right"))
        inner = np.flatnonzero(column != LEAF)
        if (left[inner] <= inner).any() or (right[inner] <= inner).any():
            raise ValueError("a node of the tree does not come before its children")
        return cls(
            column.astype(np.int32),
            _numbers_or_nan(data, "cut", nodes),
            left.astype(np.int32),
            right.astype(np.int32),
            given_flags(data, "missing_left", nodes),
            _left_bins(data, nodes, features),
            given_numbers(data, "counts", (nodes, classes), 0.0),
            given_numbers(data, "gains", (nodes,)),
            given_flags(data, "parts", nodes) if "parts" in data else np.zeros(nodes, bool),
        )


@dataclass(frozen=True)
class NodeErrors:
    """Standard errors, one a node of a tree: of its cut, and of its most common class's share. NaN where there is none:
    whole numbers and labels are not cut between."""

    cut: Values
    share: Values

    def to_dict(self) -> dict[str, Any]:
        return {name: [None if np.isnan(one) else float(one) for one in part] for name, part in vars(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], nodes: int) -> NodeErrors:
        return cls(_numbers_or_nan(data, "cut", nodes), _numbers_or_nan(data, "share", nodes))


def _numbers_or_nan(data: Mapping[str, Any], key: str, nodes: int) -> Values:
    """Read a number for each node, NaN where none is given."""
    given = given_rows(data, key, nodes)
    numbers = given_numbers({key: [0.0 if one is None else one for one in given]}, key, (nodes,))
    return np.where([one is None for one in given], np.nan, numbers)


def _left_bins(data: Mapping[str, Any], nodes: int, features: Sequence[Feature]) -> npt.NDArray[np.bool_]:
    """Read which labels go left at each node."""
    widest = max((len(feature.labels) for feature in features if feature.labels is not None), default=0) + 1
    if nodes * widest > MOST_BINS:
        raise ValueError(f"a tree of {nodes:,} nodes with {widest - 1:,} labels is larger than sfumato makes")
    bins = np.zeros((nodes, widest), bool)
    for node, chosen in enumerate(given_rows(data, "left_bins", nodes)):
        bins[node, given_wholes({"left_bins": chosen}, "left_bins", 0, widest - 1)] = True
    return bins


def _widened(bins: npt.NDArray[np.bool_], widest: int) -> npt.NDArray[np.bool_]:
    return np.pad(bins, ((0, 0), (0, widest - bins.shape[1])))


# --- growing on records -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    """When to stop growing, and whether to prune.

    max_depth: splits on the way to a leaf. min_leaf, min_split: people of a leaf, and of a node that is split.
    """

    max_depth: int
    min_leaf: float
    min_split: float
    prune: bool

    def least_bits(self, features: Sequence[Feature], classes: int) -> float:
        """Return the fewest bits that a split takes beyond its leaves' entropy: smaller nodes need not be split."""
        if not self.prune:
            return -1.0
        fewest_cuts = max(min(feature.size for feature in features) - 1, 1)
        return float(np.log2(len(features)) + np.log2(fewest_cuts) + 2.0 + 1.65 * min(classes - 1, 1))

    def bounds(self, features: Sequence[Feature], classes: int, nodes: int = 0) -> Bounds:
        """Return these limits for the compiled loops, which make room for so many nodes."""
        bits = self.least_bits(features, classes)
        return Bounds(self.max_depth, self.min_leaf, self.min_split, bits, nodes, classes)


@dataclass(frozen=True)
class Labels:
    """The class that every record reported, how much it counts, and what a reported class tells of true ones.

    Labels that went through a channel L: class y' counts column y' of L⁻¹; summed over any set of records that is an
    unbiased count of the true classes.
    """

    group: npt.NDArray[np.uint8] | npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64] | None
    shares: Shares
    classes: int

    @classmethod
    def of(cls, reports: Reports) -> Labels:
        """Return the classes and weights of reports in memory."""
        group, classes = class_codes_in(reports), len(reports.classes or ())
        small = group.astype(np.uint8) if classes <= 256 else group
        return cls(small, reports.weights, shares_of(reports), classes)

    @classmethod
    def all_weighing(cls, group: npt.NDArray[np.int64], weight: float, classes: int) -> Labels:
        """Return the labels of records whose classes are not blurred and that all weigh the same.

        group: the class of each record, as a code. weight: of every record; it is rounded to so few binary digits that
        sums of it are exact.
        """
        return cls(group, np.full(group.size, float(np.float32(weight))), CLEAR, classes)

    @property
    def total(self) -> float:
        """How much all records weigh."""
        return float(self.group.size if self.weight is None else self.weight.sum())

    def of_records(self, records: Records) -> Labels:
        """Return those of some records."""
        return replace(self, group=self.group[records], weight=None if self.weight is None else self.weight[records])

    def binned(self, codes: Bins, features: Sequence[Feature], values: Values | None) -> Binned:
        """Return what the compiled loops read: bins, classes and, where cuts are placed among them, the values."""
        sizes = np.array([feature.size for feature in features], np.int64)
        categorical = np.array([feature.categorical for feature in features])
        plain = self.weight is None and (sizes.max() + 1) * self.classes <= 1 << 16
        pairs = bin_and_class(codes, self.group, self.classes) if plain else np.zeros((0, 0), np.uint16)
        weight = np.ones(self.group.size) if self.weight is None and not plain else self.weight
        return Binned(codes, sizes, categorical, self.group, weight, self.shares, pairs, values)


def shares_of(reports: Reports) -> Shares:
    """Return how much of a reported class counts for each true one, or CLEAR where they are the same."""
    return CLEAR if reports.label_channel is None else np.ascontiguousarray(true_class_shares(reports))


def compared(features: Sequence[Feature], columns: Sequence[npt.NDArray[Any]]) -> Values:
    """Return what a tree compares of records of true values, one row a column: numbers, and codes of labels."""
    values = np.empty((len(columns), len(columns[0])))
    for j, (feature, column) in enumerate(zip(features, columns, strict=True)):
        values[j] = as_numbers(column) if feature.labels is None else encode_known(feature.labels, column)
    return values


def feature_of(cells: ColumnCells) -> Feature:
    """Return a column in these cells as a tree sees it."""
    return Feature(cells.name, cells.edges, cells.labels, cells.integer)


def empty_bins(features: Sequence[Feature], records: int) -> Bins:
    """Return room for the bin of every column and record, in the smallest whole numbers that hold all of them."""
    widest = max(feature.size for feature in features)
    return np.empty((len(features), records), np.min_scalar_type(widest))


def grown_tree(
    codes: Bins, features: list[Feature], labels: Labels, limits: Limits, values: Values | None = None
) -> Tree:
    """Grow a tree on records in bins, depth first; cuts are refined among the actual values where they are given.

    codes: the bin of each record, one row a column.
    """
    records = codes.shape[1]
    leaves = min(labels.total / limits.min_leaf if limits.min_leaf > 0 else records, records)
    most = min(int(2 * leaves) + 3, 2 ** min(limits.max_depth + 1, 40) - 1)
    order = np.arange(records, dtype=np.int32)
    nodes, used = grow(labels.binned(codes, features, values), limits.bounds(features, labels.classes, most), order)
    return Tree.from_growth(nodes, used, features, labels.shares)


def clean_values(reports: Reports) -> Values:
    """Return reports of clear columns: numbers as they are, categories as codes, one row a column."""
    columns = [reports.column(name) for name in reports.names]
    numbers = (as_numbers(reports.values(each.name)) if each.labels is None else each.present for each in columns)
    return np.array(list(numbers), float)
