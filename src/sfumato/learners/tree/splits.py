"""A tree grown on records in bins: histograms of bins and classes, the best split of a node, growing and pruning.

A split maximises Σ_y L_y²/L + Σ_y R_y²/R, which minimises the weighted gini index of both sides.
"""

from __future__ import annotations

from math import lgamma, log, log2, pi
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.special import xlogy

from sfumato.domain import Codes, Floats

LEAF = -1
"""Stands for the column that a leaf tests."""
NO_SPLIT = (0.0, LEAF, -1, False, np.zeros(0, bool), False)
"""The split of a node that no split improves."""
Split = tuple[float, int, int, bool, npt.NDArray[np.bool_], bool]
"""Gain, column, place in the order of its bins, whether missing values go left, the bins that do, and whether nobody's
value was missing, so that nothing says where they belong."""


class Binned(NamedTuple):
    """Records in bins: codes[j, i] is the bin of record i in column j, sizes[j] standing for missing.

    Record i reported class group[i] and counts weight[i]; where that is None, it counts 1 and pairs[i, j] holds
    bin · classes + class. shares[y', y] is how much of a reported class counts for a true one (empty: they are the
    same). values[j, i], if any, are the numbers among which a cut is placed.
    """

    codes: npt.NDArray[Any]
    sizes: Codes
    categorical: npt.NDArray[np.bool_]
    group: npt.NDArray[Any]
    weight: Floats | None
    shares: Floats
    pairs: npt.NDArray[np.uint16]
    values: Floats | None


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
    parts: Any


# --- counting ---------------------------------------------------------------------------------------------------------


def bin_and_class(codes: npt.NDArray[Any], group: npt.NDArray[Any], classes: int) -> npt.NDArray[np.uint16]:
    """Return bin · classes + class of every record, one row a record, so that counting reads each in one go."""
    pairs = np.empty(codes.shape[::-1], np.uint16)
    for j, column in enumerate(codes):
        pairs[:, j] = column.astype(np.uint16) * np.uint16(classes) + group
    return pairs


def histogram_of(data: Binned, records: npt.NDArray[np.int32], classes: int) -> Floats:
    """Sum how much the records of each reported class weigh in each bin of each column, as [column, bin, class]."""
    found = np.zeros((data.sizes.size, int(data.sizes.max()) + 1, classes))
    if data.weight is None:
        _count_pairs(data.pairs, records, found.reshape(data.sizes.size, -1))
    else:
        _sum_weights(data.codes, data.group, data.weight, records, found)
    return found


@njit(cache=True)
def _count_pairs(pairs: Any, records: Any, found: Any) -> None:
    for record in records:
        row = pairs[record]
        for j in range(row.size):
            found[j, row[j]] += 1.0


@njit(cache=True)
def _sum_weights(codes: Any, group: Any, weight: Any, records: Any, found: Any) -> None:
    for j in range(codes.shape[0]):
        column, target = codes[j], found[j]
        for record in records:
            target[column[record], group[record]] += weight[record]


def true_counts(reported: Floats, shares: Floats) -> Floats:
    """Return counts of true classes from those of reported ones, Σ_y' reported[…, y'] · shares[y', y]."""
    return reported @ shares if shares.size else reported


# --- which bins go left -----------------------------------------------------------------------------------------------


def best_split(
    sizes: Codes, categorical: npt.NDArray[np.bool_], reported: Floats, told: Floats, shares: Floats, least: float
) -> Split:
    """Return the first of the splits that gain most, among those that leave `least` people on both sides.

    sizes: bins of each column. reported[column, bin, y'] and told[y'] count reported classes, of the bins and of all.
    """
    histogram, counts = true_counts(reported, shares), true_counts(told, shares)
    orders = {int(j): order_of_bins(histogram[j, : sizes[j]], counts) for j in np.flatnonzero(categorical)}
    ordered = histogram.copy() if orders else histogram
    for j, order in orders.items():
        ordered[j, : order.size] = histogram[j, order]
    gain, column, side, place = best_place(ordered, counts, sizes, least)
    if column == LEAF:
        return NO_SPLIT
    size, bins = int(sizes[column]), np.zeros(histogram.shape[1], bool)
    bins[orders[column][: place + 1] if column in orders else slice(place + 1)] = True
    on_left, missing = histogram[column, bins].sum(), histogram[column, size].sum()
    bins[size] = side if missing > 0 else on_left >= counts.sum() - on_left  # where none is missing, the larger side
    return gain, column, place, bool(bins[size]), bins, not missing > 0


@njit(cache=True)
def best_place(table: Any, counts: Any, sizes: Any, least: float) -> Any:
    """Return (gain, column, side, place) of the first split that gains most; column −1 if none gains anything.

    Bins up to `place` go left, on side 1 with the missing ones. Loops alone: they are compiled in a tenth of the time
    that sums of arrays take.
    """
    columns, _, classes = table.shape
    left, total = np.zeros(classes), 0.0
    for y in range(classes):
        total += counts[y]
    whole, gain, column, on, at = purity_of_sides(left, counts), 0.0, LEAF, 0, 0
    for j in range(columns):
        missing = 0.0
        for y in range(classes):
            missing += table[j, sizes[j], y]
        for side in range(2 if missing > 0.0 else 1):
            for y in range(classes):
                left[y] = side * table[j, sizes[j], y]
            on_left = side * missing
            for place in range(sizes[j] - 1):
                for y in range(classes):
                    left[y] += table[j, place, y]
                    on_left += table[j, place, y]
                if on_left >= least and total - on_left >= least:
                    higher = purity_of_sides(left, counts) - whole
                    if higher > gain * (1 + 1e-9) + 1e-9:
                        gain, column, on, at = higher, j, side, place
    return gain, column, on, at


@njit(cache=True)
def purity_of_sides(left: Any, counts: Any) -> float:
    """Return Σ_y L_y²/L + Σ_y R_y²/R of the non-negative parts of the counts on both sides."""
    of_left, of_right, on_left, on_right = 0.0, 0.0, 1e-300, 1e-300
    for y in range(counts.size):
        here, there = max(left[y], 0.0), max(counts[y] - left[y], 0.0)
        on_left, of_left = on_left + here, of_left + here * here
        on_right, of_right = on_right + there, of_right + there * there
    return of_left / on_left + of_right / on_right


def order_of_bins(table: Floats, counts: Floats) -> Codes:
    """Return categories from left to right, by their share of the node's majority class; empty ones last."""
    total = table.sum(axis=1)
    share = np.divide(table[:, np.argmax(counts)], total, out=np.full(total.size, 2.0), where=total > 0)
    return np.argsort(share, kind="stable")


# --- where among values the cut lies ----------------------------------------------------------------------------------


def beside(table: Floats, size: int, place: int, missing_left: bool) -> tuple[int, Floats]:
    """Return the filled bin that follows the boundary after `place`, and the counts of all left of bin `place`."""
    filled = np.flatnonzero(np.abs(table[place + 1 : size - 1]).sum(axis=1))
    after = place + 1 + int(filled[0]) if filled.size else size - 1
    return after, table[:place].sum(axis=0) + (table[size] if missing_left else 0.0)


def best_cut(values: Floats, rows: Floats, left: Floats, told: Floats, shares: Floats, least: float) -> float:
    """Return the best threshold among sorted values, rows[k, y'] of them at values[k] and `left` below; NaN if none."""
    if not values.size:
        return float("nan")
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    table = np.vstack([np.add.reduceat(rows, starts), np.zeros(told.size)])
    table[0] += left
    counted, counts = true_counts(table, shares), true_counts(told, shares)
    _, column, _, place = best_place(counted[None], counts, np.array([starts.size]), least)
    if column == LEAF:
        return float("nan")
    here, following = (float(value) for value in values[starts[place : place + 2]])
    middle = here + (following - here) / 2
    return middle if middle > here else following


def refined_cut(
    data: Binned, records: npt.NDArray[np.int32], split: Split, table: Floats, told: Floats, least: float
) -> float:
    """Return the best threshold among the values in the two filled bins beside a split's boundary; NaN if none."""
    _, j, place, missing_left, _, _ = split
    after, left = beside(table[j], int(data.sizes[j]), place, missing_left)
    bins = data.codes[j, records]
    near = records[(bins == place) | (bins == after)]
    assert data.values is not None
    near = near[np.argsort(data.values[j, near], kind="stable")]
    rows = np.zeros((near.size, told.size))
    rows[np.arange(near.size), data.group[near]] = 1.0 if data.weight is None else data.weight[near]
    return best_cut(data.values[j, near], rows, left, told, data.shares, least)


def sides_of(
    data: Binned, records: npt.NDArray[np.int32], split: Split, cut: float
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the records in left bins or, with a cut, of values below it; and the others."""
    _, j, _, missing_left, bins, _ = split
    if np.isnan(cut) or data.values is None:
        return by_bins(data.codes[j], bins, records)  # type: ignore[no-any-return]
    values = data.values[j, records]
    below = (values < cut) | (missing_left & np.isnan(values))
    return records[below], records[~below]


@njit(cache=True)
def by_bins(column: Any, bins: Any, records: Any) -> Any:
    """Return the records whose bin goes left, and the others."""
    left, right, kept = np.empty_like(records), np.empty_like(records), 0
    for i in range(records.size):
        record = records[i]
        left[kept], right[i - kept] = record, record
        kept += bins[column[record]]
    return left[:kept], right[: records.size - kept]


# --- growing, pruning and applying ------------------------------------------------------------------------------------


def empty_nodes(most: int, bins: int, classes: int) -> Nodes:
    """Return room for so many nodes, all of them leaves."""
    none = np.full((4, most), LEAF, np.int32)
    return Nodes(
        none[0], none[1], np.full(most, np.nan), none[2], none[3], np.zeros(most, bool), np.zeros((most, bins), bool),
        np.zeros((most, classes)), np.zeros(most), np.zeros(most, bool),
    )  # fmt: skip


def grow(data: Binned, bounds: Bounds, order: npt.NDArray[np.int32]) -> tuple[Nodes, int]:
    """Grow a tree depth first on the records in `order`; return its nodes and how many they are.

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
    """Say whether a node with these counts of reported classes is too deep, too small, pure or not worth a split."""
    counts = true_counts(told, shares)
    total = counts.sum()
    if depth >= bounds.depth or total < bounds.split or counts.max() >= total * (1 - 1e-12):
        return True
    return bool(code_length(counts) <= bounds.bits)


def split_node(
    data: Binned, bounds: Bounds, nodes: Nodes, node: int, table: Floats, records: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Split a node at its best, noted in `nodes`; return the records of both sides, none on one if it stays a leaf."""
    told = nodes.counts[node]
    split = best_split(data.sizes, data.categorical, table, told, data.shares, bounds.leaf)
    gain, j, place, missing_left, bins, parts = split
    if j == LEAF:
        return records, records[:0]
    exact = data.values is not None and not data.categorical[j]
    cut = refined_cut(data, records, split, table, told, bounds.leaf) if exact else np.nan
    left, right = sides_of(data, records, split, cut)
    if left.size and right.size:
        nodes.column[node], nodes.place[node], nodes.cut[node] = j, place, cut
        nodes.missing_left[node], nodes.bins[node], nodes.gains[node] = missing_left, bins, gain
        nodes.parts[node] = parts
    return left, right


def code_length(counts: Floats) -> Floats:
    """Return the bits that the classes of nodes take: entropy plus the price of their k−1 shares.

    After Mehta, Rissanen and Agrawal (1995). counts: of classes, along the last axis.
    """
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
