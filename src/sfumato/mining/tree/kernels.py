"""Growing, pruning and applying a tree, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sfumato.mining.tree.splits import (
    LEAF,
    add_counts,
    add_histogram,
    best_split,
    partition,
    purity,
    refined_cut,
    true_count,
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


@njit(cache=True)
def empty_nodes(most: int, bins: int, classes: int) -> Any:
    return Nodes(
        np.full(most, LEAF, np.int32), np.full(most, -1, np.int32), np.full(most, np.nan),
        np.full(most, LEAF, np.int32), np.full(most, LEAF, np.int32), np.zeros(most, np.bool_),
        np.zeros((most, bins), np.bool_), np.zeros((most, classes)), np.zeros(most),
    )


@njit(cache=True)
def grow(data: Any, bounds: Any, order: Any) -> Any:
    """The nodes of a tree grown depth first on the records in `order`, and how many they are.

    The smaller child's histogram is counted, the larger one's is its parent's less that.
    """
    classes, widest = bounds.classes, np.max(data.sizes) + 1
    nodes, used = empty_nodes(bounds.nodes, widest, classes), 1
    histograms = np.zeros((bounds.depth + 3, data.sizes.size, widest, classes))
    stack = np.zeros((bounds.depth + 4, 4), np.int64)
    spare, bins_left = np.empty(order.size, order.dtype), np.zeros(widest, np.bool_)
    add_histogram(data, order, 0, order.size, histograms[0])
    add_counts(data, order, 0, order.size, nodes.counts[0])
    _push(stack, 0, 0, 0, order.size, 0)
    top = 1
    while top > 0:
        top -= 1
        node, start, end, depth = stack[top]
        if used + 2 > bounds.nodes or stays_leaf(nodes.counts[node], depth, data.shares, bounds):
            continue
        middle = split_node(data, bounds, nodes, node, histograms[top], order, start, end, bins_left, spare)
        if middle in (start, end):
            continue
        nodes.left[node], nodes.right[node] = used, used + 1
        count_children(data, nodes, node, order, start, middle)
        small = (used, start, middle) if middle - start <= end - middle else (used + 1, middle, end)
        large = (used + 1, middle, end) if small[0] == used else (used, start, middle)
        histograms[top + 1] = 0.0
        add_histogram(data, order, small[1], small[2], histograms[top + 1])
        histograms[top] -= histograms[top + 1]
        _push(stack, top, large[0], large[1], large[2], depth + 1)
        _push(stack, top + 1, small[0], small[1], small[2], depth + 1)
        top, used = top + 2, used + 2
    return nodes, used


@njit(cache=True)
def _push(stack: Any, top: int, node: int, start: int, end: int, depth: int) -> None:
    stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = node, start, end, depth


@njit(cache=True)
def stays_leaf(told: Any, depth: int, shares: Any, bounds: Any) -> bool:
    """Whether a node with these counts of reported classes is too deep, too small, pure or not worth a split."""
    counts = true_count(told, shares)
    total = counts.sum()
    if depth >= bounds.depth or total < bounds.split or purity(counts) >= total * (1 - 1e-12):
        return True
    return bool(code_length(counts) <= bounds.bits)


@njit(cache=True)
def split_node(
    data: Any, bounds: Any, nodes: Any, node: int, table: Any, order: Any, start: int, end: int, left: Any, spare: Any
) -> Any:
    """Split a node in two, noted in `nodes`; where its right side starts in `order`, `start` where it stays a leaf."""
    told = nodes.counts[node]
    split = best_split(data.sizes, data.categorical, table, told, data.shares, bounds.leaf, left)
    gain, j, place, missing_left = split
    if j < 0:
        return start
    cut = np.nan
    if data.exact and not data.categorical[j]:
        cut = refined_cut(data, order, start, end, split, table, told, bounds.leaf)
    middle = partition(data, j, left, cut, missing_left, order, start, end, spare)
    if start < middle < end:
        nodes.column[node], nodes.place[node], nodes.cut[node] = j, place, cut
        nodes.missing_left[node], nodes.bins[node], nodes.gains[node] = missing_left, left, gain
    return middle


@njit(cache=True)
def count_children(data: Any, nodes: Any, node: int, order: Any, start: int, middle: int) -> None:
    """The class counts of both children; weights are such that sums and differences of them are exact."""
    first, second = nodes.counts[nodes.left[node]], nodes.counts[nodes.right[node]]
    add_counts(data, order, start, middle, first)
    second[:] = nodes.counts[node] - first


@njit(cache=True)
def code_length(counts: Any) -> float:
    """Bits for the classes of a node (Mehta, Rissanen, Agrawal 1995): entropy plus the price of its k−1 shares."""
    classes, total = counts.size, 0.0
    for y in range(classes):
        total += max(counts[y], 0.0)
    if total <= 0.0:
        return 0.0
    bits = 0.0
    for y in range(classes):
        if counts[y] > 0.0:
            bits += counts[y] * np.log2(total / counts[y])
    if classes > 1:
        bits += 0.5 * (classes - 1) * np.log2(max(total / 2.0, 1.0))
        bits += 0.5 * classes * np.log2(np.pi) - log2_gamma_half(classes)
    return bits


@njit(cache=True)
def log2_gamma_half(k: int) -> float:
    """log2 Γ(k/2)."""
    value, x = 0.0, k / 2.0
    while x > 1.0:
        x -= 1.0
        value += np.log2(x)
    return value + (0.5 * np.log2(np.pi) if x == 0.5 else 0.0)


@njit(cache=True)
def prune_by_code_length(column: Any, left: Any, right: Any, counts: Any, sizes: Any) -> None:
    """Bottom-up: keep a split only if its two sides, with the split itself, take fewer bits than a leaf.

    leaf: 1 + code length; split: 1 + log2(columns) + log2(cuts) + both sides.
    """
    bits = np.zeros(column.size)
    for node in range(column.size - 1, -1, -1):
        as_leaf = 1.0 + code_length(counts[node])
        if column[node] == LEAF:
            bits[node] = as_leaf
            continue
        cuts = max(sizes[column[node]] - 1.0, 1.0)
        as_split = 1.0 + np.log2(sizes.size) + np.log2(cuts) + bits[left[node]] + bits[right[node]]
        if as_leaf <= as_split:
            column[node], left[node], right[node] = LEAF, LEAF, LEAF
            bits[node] = as_leaf
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
