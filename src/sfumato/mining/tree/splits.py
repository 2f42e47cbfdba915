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

    Record i reported class group[i] and counts weight[i]; where `plain`, it counts 1 and pairs[i, j] holds
    bin · classes + class. shares[y', y] is how much of a reported class counts for a true one (empty: they are the
    same). values[j, i], where `exact`, are the numbers among which a cut is placed.
    """

    codes: Any
    sizes: Any
    categorical: Any
    group: Any
    weight: Any
    shares: Any
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
    """histogram[j, bin, y'] += weight of the records order[start:end]."""
    columns, bins, classes = histogram.shape
    if data.plain:
        flat, pairs = histogram.reshape(columns, bins * classes), data.pairs
        for i in range(start, end):
            row = pairs[order[i]]
            for j in range(columns):
                flat[j, row[j]] += 1.0
        return
    for j in range(columns):
        column, target = data.codes[j], histogram[j]
        for i in range(start, end):
            record = order[i]
            target[column[record], data.group[record]] += data.weight[record]


@njit(cache=True)
def add_counts(data: Any, order: Any, start: int, end: int, counts: Any) -> None:
    """counts[y'] += weight of the records order[start:end]."""
    for i in range(start, end):
        record = order[i]
        counts[data.group[record]] += 1.0 if data.plain else data.weight[record]


@njit(cache=True)
def true_counts(reported: Any, shares: Any) -> Any:
    """Counts of true classes, one row a cell, from those of reported ones: Σ_y' reported[·, y'] · shares[y', y]."""
    if shares.size == 0:
        return reported
    found = np.zeros(reported.shape)
    for row in range(reported.shape[0]):
        for told in range(reported.shape[1]):
            if reported[row, told] != 0.0:
                for y in range(reported.shape[1]):
                    found[row, y] += reported[row, told] * shares[told, y]
    return found


@njit(cache=True)
def true_count(reported: Any, shares: Any) -> Any:
    """The same for the counts of one cell."""
    return true_counts(reported.reshape(1, -1), shares)[0]


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
def best_split(
    sizes: Any, categorical: Any, reported: Any, told: Any, shares: Any, least: float, bins_left: Any
) -> Any:
    """(gain, column, place in the order, missing goes left) of the best split; bins_left marks its left bins.

    reported[j, bin, y'] and told[y'] count reported classes.
    """
    flat = reported.reshape(-1, told.size)
    histogram, counts = true_counts(flat, shares).reshape(reported.shape), true_count(told, shares)
    majority = np.argmax(counts)
    gain, column, place, missing_left = 0.0, -1, -1, False
    for j in range(sizes.size):
        table = histogram[j]
        order = order_of_bins(table, sizes[j], categorical[j], majority)
        for side in range(2 if table[sizes[j]].sum() > 0 else 1):
            higher, found = best_place(table, order, side == 1, counts, least, gain)
            if found >= 0:
                gain, column, place, missing_left = higher, j, found, side == 1
    if column >= 0:
        table, size = histogram[column], sizes[column]
        order = order_of_bins(table, size, categorical[column], majority)
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
def beside(table: Any, size: int, place: int, missing_left: bool) -> Any:
    """(the filled bin that follows the boundary after `place`, the counts of all that is left of bin `place`)."""
    after, left = place + 1, np.zeros(table.shape[1])
    for b in range(place):
        left += table[b]
    if missing_left:
        left += table[size]
    while after < size - 1 and np.abs(table[after]).sum() == 0.0:
        after += 1
    return after, left


@njit(cache=True)
def best_cut(values: Any, rows: Any, left: Any, told: Any, shares: Any, least: float) -> float:
    """The best threshold among sorted values, rows[k, y'] counted at values[k], with `left` below them; NaN if none."""
    counts = true_count(told, shares)
    total, best, cut, below = counts.sum(), -1.0, np.nan, left.copy()
    for k in range(values.size - 1):
        below += rows[k]
        here, following = values[k], values[k + 1]
        if here == following:
            continue
        on_left = true_count(below, shares)
        if on_left.sum() < least or total - on_left.sum() < least:
            continue
        score = purity(on_left) + purity(counts - on_left)
        if score > best * (1 + 1e-12):
            middle = here + (following - here) / 2
            best, cut = score, middle if middle > here else following
    return cut


@njit(cache=True)
def refined_cut(data: Any, order: Any, start: int, end: int, split: Any, table: Any, told: Any, least: float) -> Any:
    """The best threshold among the actual values in the two filled bins beside the boundary; NaN if there is none."""
    _, j, place, missing_left = split
    after, left = beside(table[j], data.sizes[j], place, missing_left)
    chosen, found = _values_in(data.codes[j], data.values[j], order, start, end, place, after)
    ranks = np.argsort(found, kind="mergesort")
    rows = np.zeros((found.size, told.size))
    for k in range(found.size):
        add_counts(data, chosen, ranks[k], ranks[k] + 1, rows[k])
    return best_cut(found[ranks], rows, left, told, data.shares, least)


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
