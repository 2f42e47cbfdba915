"""Growing, pruning and applying a tree."""

from __future__ import annotations

from math import lgamma, log, log2, pi
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.special import xlogy

from sfumato.domain import Floats
from sfumato.mining.tree.splits import (
    LEAF,
    Binned,
    best_split,
    histogram_of,
    refined_cut,
    sides_of,
    true_counts,
)


class Bounds(NamedTuple):
    """When a node stays a leaf; `bits`: at this description length or below, as a leaf, it is not worth a split."""

    depth: int
    leaf: float
    split: float
    bits: float
    nodes: int
    classes: int


class Nodes(NamedTuple):
    """A tree as arrays, the root first, children after their parents; column −1 marks a leaf; reported classes are
    counted."""

    column: Any
    place: Any
    cut: Any
    left: Any
    right: Any
    missing_left: Any
    bins: Any
    counts: Any
    gains: Any


def empty_nodes(most: int, bins: int, classes: int) -> Nodes:
    none = np.full((4, most), LEAF, np.int32)
    return Nodes(
        none[0], none[1], np.full(most, np.nan), none[2], none[3], np.zeros(most, bool), np.zeros((most, bins), bool),
        np.zeros((most, classes)), np.zeros(most),
    )  # fmt: skip


def grow(data: Binned, bounds: Bounds, order: npt.NDArray[np.int32]) -> tuple[Nodes, int]:
    """The nodes of a tree grown depth first on the records in `order`, and how many they are.

    The smaller child's histogram is counted, the larger one's is its parent's less that; weights are such that sums
    and differences of them are exact.
    """
    classes = bounds.classes
    nodes, used = empty_nodes(bounds.nodes, int(data.sizes.max()) + 1, classes), 1
    waiting = [(0, order, 0, histogram_of(data, order, classes))]
    nodes.counts[0] = waiting[0][-1][0].sum(axis=0)
    while waiting:
        node, records, depth, histogram = waiting.pop()
        if used + 2 > bounds.nodes or stays_leaf(nodes.counts[node], depth, data.shares, bounds):
            continue
        left, right = split_node(data, bounds, nodes, node, histogram, records)
        if not (left.size and right.size):
            continue
        nodes.left[node], nodes.right[node] = used, used + 1
        small, large = ((used, left), (used + 1, right))[:: 1 if left.size <= right.size else -1]
        counted = histogram_of(data, small[1], classes)
        nodes.counts[small[0]] = counted[0].sum(axis=0)
        nodes.counts[large[0]] = nodes.counts[node] - nodes.counts[small[0]]
        waiting += [(*large, depth + 1, histogram - counted), (*small, depth + 1, counted)]
        used += 2
    return nodes, used


def stays_leaf(told: Floats, depth: int, shares: Floats, bounds: Bounds) -> bool:
    """Whether a node with these counts of reported classes is too deep, too small, pure or not worth a split."""
    counts = true_counts(told, shares)
    total = counts.sum()
    if depth >= bounds.depth or total < bounds.split or counts.max() >= total * (1 - 1e-12):
        return True
    return bool(code_length(counts) <= bounds.bits)


def split_node(
    data: Binned, bounds: Bounds, nodes: Nodes, node: int, table: Floats, records: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The records of both sides of the best split, noted in `nodes`; none on one side where the node stays a leaf."""
    told = nodes.counts[node]
    split = best_split(data.sizes, data.categorical, table, told, data.shares, bounds.leaf)
    gain, j, place, missing_left, bins = split
    if j == LEAF:
        return records, records[:0]
    exact = data.values is not None and not data.categorical[j]
    cut = refined_cut(data, records, split, table, told, bounds.leaf) if exact else np.nan
    left, right = sides_of(data, records, split, cut)
    if left.size and right.size:
        nodes.column[node], nodes.place[node], nodes.cut[node] = j, place, cut
        nodes.missing_left[node], nodes.bins[node], nodes.gains[node] = missing_left, bins, gain
    return left, right


def code_length(counts: Floats) -> Floats:
    """Bits for the classes of nodes (Mehta, Rissanen, Agrawal 1995): entropy plus the price of their k−1 shares."""
    classes, parts = counts.shape[-1], np.maximum(counts, 0.0)
    total = parts.sum(axis=-1)
    bits = (xlogy(total, total) - xlogy(parts, parts).sum(axis=-1)) / log(2)
    if classes > 1:
        price = 0.5 * classes * log2(pi) - lgamma(classes / 2) / log(2)
        bits += 0.5 * (classes - 1) * np.log2(np.maximum(total / 2, 1.0)) + price
    return np.where(total > 0, bits, 0.0)


def prune_by_code_length(column: Any, left: Any, right: Any, counts: Floats, sizes: Floats) -> None:
    """Bottom-up: keep a split only if its two sides, with the split itself, take fewer bits than a leaf.

    leaf: 1 + code length; split: 1 + log2(columns) + log2(cuts) + both sides.
    """
    bits = 1.0 + code_length(counts)
    of_split = 1.0 + np.log2(sizes.size) + np.log2(np.maximum(sizes - 1.0, 1.0))
    for node in np.flatnonzero(column != LEAF)[::-1]:
        as_split = of_split[column[node]] + bits[left[node]] + bits[right[node]]
        if bits[node] <= as_split:
            column[node], left[node], right[node] = LEAF, LEAF, LEAF
        else:
            bits[node] = as_split


@njit(cache=True)
def leaves_of(
    values: Any, column: Any, cut: Any, left: Any, right: Any, missing_left: Any, bins: Any, categorical: Any
) -> Any:
    """The leaf of each record; values[j, i] is a number, or a category's code (−1 missing) where `categorical`."""
    found = np.zeros(values.shape[1], np.int64)
    for i in range(values.shape[1]):
        node = 0
        while column[node] != LEAF:
            j = column[node]
            value = values[j, i]
            if categorical[j]:
                goes_left = bins[node, int(value)] if value >= 0 else missing_left[node]
            else:
                goes_left = missing_left[node] if np.isnan(value) else value < cut[node]
            node = left[node] if goes_left else right[node]
        found[i] = node
    return found
