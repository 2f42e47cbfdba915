"""Growing a tree on binned attributes, compiled.

codes[j, i] is the bin of record i in attribute j (sizes[j] stands for missing), mass[i, y] how much of record i counts
for class y. A split maximises Σ_y L_y²/L + Σ_y R_y²/R, which minimises the weighted gini index of both sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

LEAF = -1


@njit(cache=True)
def code_length(counts: Any, classes: int) -> float:
    """Bits for the classes of a node (Mehta, Rissanen, Agrawal 1995): entropy plus the price of its k−1 shares."""
    total = 0.0
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
def bin_and_class(codes: Any, group: Any, classes: int) -> Any:
    """bin · classes + class of every record, one row a record, so that counting reads each record in one go."""
    attributes, records = codes.shape
    pairs = np.empty((records, attributes), np.uint16)
    for start in range(0, records, 1024):
        for j in range(attributes):
            for i in range(start, min(start + 1024, records)):
                pairs[i, j] = codes[j, i] * classes + group[i]
    return pairs


@njit(cache=True)
def add_histogram(
    codes: Any, mass: Any, pairs: Any, plain: bool, order: Any, start: int, end: int, histogram: Any
) -> None:
    """histogram[j, bin, y] += mass of the records order[start:end]; `plain`: every record counts 1, as `pairs` says."""
    attributes, bins, classes = histogram.shape
    if plain:
        flat = histogram.reshape(attributes, bins * classes)
        for i in range(start, end):
            row = pairs[order[i]]
            for j in range(attributes):
                flat[j, row[j]] += 1.0
        return
    for j in range(attributes):
        column, target = codes[j], histogram[j]
        for i in range(start, end):
            record = order[i]
            cell = target[column[record]]
            for y in range(classes):
                cell[y] += mass[record, y]


@njit(cache=True)
def add_counts(mass: Any, group: Any, plain: bool, order: Any, start: int, end: int, counts: Any) -> None:
    """counts[y] += mass of the records order[start:end]."""
    for i in range(start, end):
        record = order[i]
        if plain:
            counts[group[record]] += 1.0
        else:
            for y in range(counts.size):
                counts[y] += mass[record, y]


@njit(cache=True)
def purity(counts: Any) -> float:
    """Σ_y n_y² / n of non-negative parts."""
    total, squares = 0.0, 0.0
    for y in range(counts.size):
        n = max(counts[y], 0.0)
        total += n
        squares += n * n
    return squares / total if total > 0.0 else 0.0


@njit(cache=True)
def order_of_bins(table: Any, size: int, categorical: bool, majority: int) -> Any:
    """Bins from left to right: by value, or for categories by their share of the node's majority class."""
    order = np.arange(size)
    if categorical:
        share = np.zeros(size)
        for b in range(size):
            total = table[b].sum()
            share[b] = table[b, majority] / total if total > 0 else 2.0
        order = np.argsort(share, kind="mergesort")
    return order


@njit(cache=True)
def best_split(histogram: Any, sizes: Any, categorical: Any, counts: Any, least: float, bins_left: Any) -> Any:
    """(gain, attribute, place in the order, missing goes left) of the best split; bins_left marks its left bins."""
    classes = counts.size
    left, right = np.empty(classes), np.empty(classes)
    total = counts.sum()
    base, majority = purity(counts), np.argmax(counts)
    best_gain, best_attribute, best_place, best_missing = 0.0, -1, -1, False
    for j in range(sizes.size):
        size, table = sizes[j], histogram[j]
        order = order_of_bins(table, size, categorical[j], majority)
        missing_mass = table[size].sum()
        for missing_left in range(2 if missing_mass > 0 else 1):
            for y in range(classes):
                left[y] = table[size, y] if missing_left else 0.0
            for place in range(size - 1):
                cell = table[order[place]]
                moved = 0.0
                for y in range(classes):
                    left[y] += cell[y]
                    moved += abs(cell[y])
                if moved == 0.0:
                    continue
                on_left = left.sum()
                if on_left < least or total - on_left < least:
                    continue
                for y in range(classes):
                    right[y] = counts[y] - left[y]
                gain = purity(left) + purity(right) - base
                if gain > best_gain * (1 + 1e-9) + 1e-9:
                    best_gain, best_attribute, best_place, best_missing = gain, j, place, missing_left == 1
    if best_attribute >= 0:
        order = order_of_bins(histogram[best_attribute], sizes[best_attribute], categorical[best_attribute], majority)
        bins_left[:] = False
        for place in range(best_place + 1):
            bins_left[order[place]] = True
        if histogram[best_attribute, sizes[best_attribute]].sum() <= 0:
            best_missing = _larger_side(histogram[best_attribute], sizes[best_attribute], bins_left, total)
        bins_left[sizes[best_attribute]] = best_missing
    return best_gain, best_attribute, best_place, best_missing


@njit(cache=True)
def _larger_side(table: Any, size: int, bins_left: Any, total: float) -> bool:
    on_left = 0.0
    for b in range(size):
        if bins_left[b]:
            on_left += table[b].sum()
    return on_left >= total - on_left


@njit(cache=True)
def refined_cut(
    values: Any,
    column: Any,
    mass: Any,
    group: Any,
    plain: bool,
    order: Any,
    start: int,
    end: int,
    bins: Any,
    below: Any,
    counts: Any,
    least: float,
) -> Any:
    """The best threshold among the actual values in the two filled bins beside the boundary; NaN if there is none."""
    classes = counts.size
    near = 0
    for i in range(start, end):
        near += column[order[i]] == bins[0] or column[order[i]] == bins[1]
    chosen, found = np.empty(near, order.dtype), np.empty(near)
    near = 0
    for i in range(start, end):
        if column[order[i]] == bins[0] or column[order[i]] == bins[1]:
            chosen[near], found[near] = order[i], values[order[i]]
            near += 1
    ranks = np.argsort(found, kind="mergesort")
    left, right = below.copy(), np.empty(classes)
    total, best, cut = counts.sum(), -1.0, np.nan
    for k in range(near - 1):
        place = ranks[k]
        add_counts(mass, group, plain, chosen, place, place + 1, left)
        here, after = found[place], found[ranks[k + 1]]
        if here == after or left.sum() < least or total - left.sum() < least:
            continue
        for y in range(classes):
            right[y] = counts[y] - left[y]
        score = purity(left) + purity(right)
        if score > best * (1 + 1e-12):
            best, cut = score, here + (after - here) / 2
            if cut <= here:
                cut = after
    return cut


@njit(cache=True)
def partition(column: Any, bins_left: Any, order: Any, start: int, end: int, spare: Any) -> int:
    """Records of left bins first, the order within both sides kept; where the right side starts."""
    kept, moved = start, 0
    for i in range(start, end):
        record = order[i]
        if bins_left[column[record]]:
            order[kept] = record
            kept += 1
        else:
            spare[moved] = record
            moved += 1
    order[kept : kept + moved] = spare[:moved]
    return kept


@njit(cache=True)
def partition_by_value(
    values: Any, cut: float, missing_left: bool, order: Any, start: int, end: int, spare: Any
) -> int:
    """As `partition`, by value < cut."""
    kept, moved = start, 0
    for i in range(start, end):
        record = order[i]
        value = values[record]
        if value < cut or (missing_left and np.isnan(value)):
            order[kept] = record
            kept += 1
        else:
            spare[moved] = record
            moved += 1
    order[kept : kept + moved] = spare[:moved]
    return kept


@njit(cache=True)
def grow(
    codes: Any,
    mass: Any,
    group: Any,
    pairs: Any,
    plain: bool,
    values: Any,
    refine: bool,
    sizes: Any,
    categorical: Any,
    order: Any,
    max_depth: int,
    least_leaf: float,
    least_split: float,
    least_bits: float,
    most_nodes: int,
) -> Any:
    """Arrays of the nodes of a tree grown depth first, children after their parent.

    A node that takes at most `least_bits` as a leaf is not split.
    """
    classes, widest = mass.shape[1], np.max(sizes) + 1
    attribute = np.full(most_nodes, LEAF, np.int32)
    place, cut = np.full(most_nodes, -1, np.int32), np.full(most_nodes, np.nan)
    left, right = np.full(most_nodes, LEAF, np.int32), np.full(most_nodes, LEAF, np.int32)
    missing_left, bins = np.zeros(most_nodes, np.bool_), np.zeros((most_nodes, widest), np.bool_)
    counts, gains = np.zeros((most_nodes, classes)), np.zeros(most_nodes)
    slots = max_depth + 3
    histograms = np.zeros((slots, sizes.size, widest, classes), np.float64)
    stack = np.zeros((slots + 1, 4), np.int64)
    spare, bins_left = np.empty(order.size, order.dtype), np.zeros(widest, np.bool_)
    add_histogram(codes, mass, pairs, plain, order, 0, order.size, histograms[0])
    add_counts(mass, group, plain, order, 0, order.size, counts[0])
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, 0, order.size, 0
    top, nodes = 1, 1
    while top > 0:
        top -= 1
        node, start, end, depth = stack[top]
        histogram, total = histograms[top], counts[node].sum()
        if depth >= max_depth or total < least_split or nodes + 2 > most_nodes or end - start < 2:
            continue
        if purity(counts[node]) >= total * (1 - 1e-12) or code_length(counts[node], classes) <= least_bits:
            continue
        gain, j, where, to_left = best_split(histogram, sizes, categorical, counts[node], least_leaf, bins_left)
        if j < 0:
            continue
        threshold = np.nan
        if refine and not categorical[j]:
            below, after = np.zeros(classes), where + 1
            for b in range(where):
                below += histogram[j, b]
            while after < sizes[j] - 1 and np.abs(histogram[j, after]).sum() == 0.0:
                after += 1
            if to_left:
                below += histogram[j, sizes[j]]
            threshold = refined_cut(
                values[j],
                codes[j],
                mass,
                group,
                plain,
                order,
                start,
                end,
                (where, after),
                below,
                counts[node],
                least_leaf,
            )
        if np.isnan(threshold):
            middle = partition(codes[j], bins_left, order, start, end, spare)
        else:
            middle = partition_by_value(values[j], threshold, to_left, order, start, end, spare)
        if middle in (start, end):
            continue
        attribute[node], place[node], cut[node] = j, where, threshold
        missing_left[node], bins[node], gains[node] = to_left, bins_left, gain
        first, second = nodes, nodes + 1
        nodes += 2
        left[node], right[node] = first, second
        add_counts(mass, group, plain, order, start, middle, counts[first])
        counts[second] = counts[node] - counts[first]
        for y in range(classes):
            if abs(counts[second, y]) < 1e-9 * total:
                counts[second, y] = 0.0
        other = histograms[top + 1]
        other[:] = 0.0
        if middle - start <= end - middle:
            add_histogram(codes, mass, pairs, plain, order, start, middle, other)
            _subtract(histogram, other)
            small, small_start, small_end, large, large_start, large_end = first, start, middle, second, middle, end
        else:
            add_histogram(codes, mass, pairs, plain, order, middle, end, other)
            _subtract(histogram, other)
            small, small_start, small_end, large, large_start, large_end = second, middle, end, first, start, middle
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = large, large_start, large_end, depth + 1
        top += 1
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = small, small_start, small_end, depth + 1
        top += 1
    return (
        attribute[:nodes],
        place[:nodes],
        cut[:nodes],
        left[:nodes],
        right[:nodes],
        missing_left[:nodes],
        bins[:nodes],
        counts[:nodes],
        gains[:nodes],
    )


@njit(cache=True)
def _subtract(whole: Any, part: Any) -> None:
    for j in range(whole.shape[0]):
        for b in range(whole.shape[1]):
            for y in range(whole.shape[2]):
                rest = whole[j, b, y] - part[j, b, y]
                whole[j, b, y] = rest if abs(rest) > 1e-9 else 0.0


@njit(cache=True)
def prune_by_code_length(attribute: Any, left: Any, right: Any, counts: Any, sizes: Any) -> None:
    """Bottom-up: keep a split only if its two sides, with the split itself, take fewer bits than a leaf.

    leaf: 1 + code length; split: 1 + log2(attributes) + log2(cuts) + both sides.
    """
    nodes, classes = counts.shape
    bits = np.zeros(nodes)
    for node in range(nodes - 1, -1, -1):
        as_leaf = 1.0 + code_length(counts[node], classes)
        if attribute[node] == LEAF:
            bits[node] = as_leaf
            continue
        cuts = max(sizes[attribute[node]] - 1.0, 1.0)
        as_split = 1.0 + np.log2(sizes.size) + np.log2(cuts) + bits[left[node]] + bits[right[node]]
        if as_leaf <= as_split:
            attribute[node], left[node], right[node] = LEAF, LEAF, LEAF
            bits[node] = as_leaf
        else:
            bits[node] = as_split


@njit(cache=True)
def leaves_of(
    values: Any, attribute: Any, cut: Any, left: Any, right: Any, missing_left: Any, bins: Any, categorical: Any
) -> Any:
    """The leaf of each record; values[j, i] is a number, or a category's code (−1 missing) where `categorical`."""
    found = np.zeros(values.shape[1], np.int64)
    for i in range(values.shape[1]):
        node = 0
        while attribute[node] != LEAF:
            j = attribute[node]
            value = values[j, i]
            if categorical[j]:
                goes_left = bins[node, int(value)] if value >= 0 else missing_left[node]
            else:
                goes_left = missing_left[node] if np.isnan(value) else value < cut[node]
            node = left[node] if goes_left else right[node]
        found[i] = node
    return found
