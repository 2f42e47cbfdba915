"""The best split of a node, compiled: histograms of bins and classes, gini's gain, and which records go left.

A split maximises Σ_y L_y²/L + Σ_y R_y²/R, which minimises the weighted gini index of both sides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

LEAF = -1


class Binned(NamedTuple):
    """Records in bins: codes[j, i] is the bin of record i in column j, sizes[j] standing for missing.

    mass[i, y] is how much of record i counts for class y; where `plain`, it counts 1 for group[i] and pairs[i, j] holds
    bin · classes + class. values[j, i], where `exact`, are the numbers among which a cut is placed.
    """

    codes: Any
    sizes: Any
    categorical: Any
    mass: Any
    group: Any
    pairs: Any
    plain: bool
    values: Any
    exact: bool


@njit(cache=True)
def bin_and_class(codes: Any, group: Any, classes: int) -> Any:
    """bin · classes + class of every record, one row a record, so that counting reads each record in one go."""
    columns, records = codes.shape
    pairs = np.empty((records, columns), np.uint16)
    for start in range(0, records, 1024):
        for j in range(columns):
            for i in range(start, min(start + 1024, records)):
                pairs[i, j] = codes[j, i] * classes + group[i]
    return pairs


@njit(cache=True)
def add_histogram(data: Any, order: Any, start: int, end: int, histogram: Any) -> None:
    """histogram[j, bin, y] += mass of the records order[start:end]."""
    columns, bins, classes = histogram.shape
    if data.plain:
        flat, pairs = histogram.reshape(columns, bins * classes), data.pairs
        for i in range(start, end):
            row = pairs[order[i]]
            for j in range(columns):
                flat[j, row[j]] += 1.0
        return
    mass = data.mass
    for j in range(columns):
        column, target = data.codes[j], histogram[j]
        for i in range(start, end):
            record = order[i]
            cell = target[column[record]]
            for y in range(classes):
                cell[y] += mass[record, y]


@njit(cache=True)
def add_counts(data: Any, order: Any, start: int, end: int, counts: Any) -> None:
    """counts[y] += mass of the records order[start:end]."""
    for i in range(start, end):
        record = order[i]
        if data.plain:
            counts[data.group[record]] += 1.0
        else:
            for y in range(counts.size):
                counts[y] += data.mass[record, y]


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
def best_place(table: Any, order: Any, missing_left: bool, counts: Any, least: float, best: float) -> Any:
    """(gain, place) of the cut in one column's ordered bins that gains more than `best`; place −1 if none does."""
    size, classes = order.size, counts.size
    left, right = np.empty(classes), np.empty(classes)
    total, base, found = counts.sum(), purity(counts), -1
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
        if gain > best * (1 + 1e-9) + 1e-9:
            best, found = gain, place
    return best, found


@njit(cache=True)
def best_split(data: Any, histogram: Any, counts: Any, least: float, bins_left: Any) -> Any:
    """(gain, column, place in the order, missing goes left) of the best split; bins_left marks its left bins."""
    majority = np.argmax(counts)
    gain, column, place, missing_left = 0.0, -1, -1, False
    for j in range(data.sizes.size):
        table = histogram[j]
        order = order_of_bins(table, data.sizes[j], data.categorical[j], majority)
        for side in range(2 if table[data.sizes[j]].sum() > 0 else 1):
            higher, found = best_place(table, order, side == 1, counts, least, gain)
            if found >= 0:
                gain, column, place, missing_left = higher, j, found, side == 1
    if column >= 0:
        table, size = histogram[column], data.sizes[column]
        order = order_of_bins(table, size, data.categorical[column], majority)
        missing_left = _mark_left(table, order[: place + 1], size, counts, missing_left, bins_left)
    return gain, column, place, missing_left


@njit(cache=True)
def _mark_left(table: Any, chosen: Any, size: int, counts: Any, missing_left: bool, bins_left: Any) -> bool:
    """Mark the chosen bins; where no record is missing, missing ones go to the larger side."""
    bins_left[:] = False
    on_left = 0.0
    for b in chosen:
        bins_left[b] = True
        on_left += table[b].sum()
    if table[size].sum() <= 0:
        missing_left = on_left >= counts.sum() - on_left
    bins_left[size] = missing_left
    return missing_left


@njit(cache=True)
def refined_cut(
    data: Any, order: Any, start: int, end: int, split: Any, histogram: Any, counts: Any, least: float
) -> float:
    """The best threshold among the actual values in the two filled bins beside the boundary; NaN if there is none."""
    _, j, place, missing_left = split
    size, after = data.sizes[j], place + 1
    left = np.zeros(counts.size)
    for b in range(place):
        left += histogram[j, b]
    if missing_left:
        left += histogram[j, size]
    while after < size - 1 and np.abs(histogram[j, after]).sum() == 0.0:
        after += 1
    chosen, found = _values_in(data.codes[j], data.values[j], order, start, end, place, after)
    ranks = np.argsort(found, kind="mergesort")
    total, best, cut, right = counts.sum(), -1.0, np.nan, np.empty(counts.size)
    for k in range(found.size - 1):
        add_counts(data, chosen, ranks[k], ranks[k] + 1, left)
        here, following = found[ranks[k]], found[ranks[k + 1]]
        if here == following or left.sum() < least or total - left.sum() < least:
            continue
        for y in range(counts.size):
            right[y] = counts[y] - left[y]
        score = purity(left) + purity(right)
        if score > best * (1 + 1e-12):
            middle = here + (following - here) / 2
            best, cut = score, middle if middle > here else following
    return cut


@njit(cache=True)
def _values_in(column: Any, values: Any, order: Any, start: int, end: int, first: int, second: int) -> Any:
    """The records order[start:end] in two bins of a column, and their values."""
    near = 0
    for i in range(start, end):
        near += column[order[i]] == first or column[order[i]] == second
    chosen, found = np.empty(near, order.dtype), np.empty(near)
    near = 0
    for i in range(start, end):
        if column[order[i]] == first or column[order[i]] == second:
            chosen[near], found[near] = order[i], values[order[i]]
            near += 1
    return chosen, found


@njit(cache=True)
def partition(
    data: Any, j: int, bins_left: Any, cut: float, missing_left: bool, order: Any, start: int, end: int, spare: Any
) -> int:
    """Records of left bins (or, with a cut, of values below it) first; where the right side starts.

    The order within both sides is kept.
    """
    column, values, by_bin = data.codes[j], data.values[j if data.exact else 0], np.isnan(cut)
    kept, moved = start, 0
    for i in range(start, end):
        record = order[i]
        if by_bin:
            goes_left = bins_left[column[record]]
        else:
            goes_left = values[record] < cut or (missing_left and np.isnan(values[record]))
        if goes_left:
            order[kept] = record
            kept += 1
        else:
            spare[moved] = record
            moved += 1
    order[kept : kept + moved] = spare[:moved]
    return kept
