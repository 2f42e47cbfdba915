"""Columns drawn one after the other, so that what depends on each other still does.

Each value of a column comes from a donor: a true record that looks alike in what the released record has got so far.

    cells of column j    the leaves of a tree that predicts x_j from the class, the record's leaf in the pattern tree
                         and the columns before j, each with at least ``fewest`` records
    x_j of a record      the value of a random donor from its cell, among those inside the interval of its leaf

The released record keeps nothing of its own but its leaf, its class and what the owner keeps; each column has a donor
of its own. Numbers are then dealt out again inside leaf and class, so that every cut scores as it did.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.methods.noise import Draws
from sfumato.microdata.patterns.pattern import Leaves
from sfumato.microdata.table.fields import Field, Mask, Microdata

FEWEST_DONORS = 10
RIDGE = 1.0
MOST_LEARNT_FROM = 30_000
"""Records that a column's tree is grown on; beyond them it only costs."""
SHRINKAGE = 1.0
"""Of boosted trees' leaves: without it, a class of one or two records to learn from makes boosting diverge."""


def draw_in_turn(
    data: Microdata, y: Codes, leaves: Leaves, fewest: Floats, still: Mask, late: list[int], draws: Draws
) -> Floats:
    """Every column drawn from donors, in the table's order; those ``still`` come first and stay as they are, those
    ``late`` are left for whoever derives them."""
    released, places = data.X.copy(), range(len(data.fields))
    drawn = [place for place in places if still[place]]
    learn = np.argsort(draws.uniform(len(y)))[:MOST_LEARNT_FROM]
    for place in places:
        if still[place] or place in late:
            continue
        column = data.X[:, place]
        known = np.flatnonzero(~np.isnan(column))
        if known.size:
            before = _seen(data.X[:, drawn], column, data.y, leaves.leaf, data.y)
            after = _seen(released[:, drawn], column, data.y, leaves.leaf, y)
            few = max(1, int(fewest[place]))
            before, after = with_line(before, after, column, learn)
            cells = grow_cells(before[learn], column[learn], few, data.fields[place])
            lower, upper = leaves.bounds(place)
            wanted, donors = cells.apply(after[known]), cells.apply(before[known])
            released[known, place] = take_from_donors(
                column[known], donors, wanted, lower[known], upper[known], draws
            )
        drawn.append(place)
    return released


def _seen(columns: Floats, values: Floats, true: Codes, leaf: Codes, y: Codes) -> Floats:
    """What a column's tree may look at: the columns drawn, and class and leaf as the column's means in them."""
    return np.column_stack([columns, means_by(values, true)[y], means_by(values, leaf)[leaf]])


def with_line(before: Floats, after: Floats, values: Floats, learn: Codes) -> tuple[Floats, Floats]:
    """One more thing to look at: what a ridge regression on all the others predicts. A tree needs many cuts for it."""
    learn = learn[~np.isnan(values[learn])]
    middle, spread = np.nanmean(before[learn], axis=0), np.nanstd(before[learn], axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    standard, others = (np.nan_to_num((seen - middle) / spread) for seen in (before, after))
    gram = standard[learn].T @ standard[learn] + RIDGE * np.eye(standard.shape[1])
    slope = np.linalg.solve(gram, standard[learn].T @ (values[learn] - values[learn].mean()))
    return np.column_stack([before, standard @ slope]), np.column_stack([after, others @ slope])


def means_by(values: Floats, group: Codes) -> Floats:
    """The mean of the known values in each group."""
    known = ~np.isnan(values)
    count = np.bincount(group[known], minlength=int(group.max()) + 1)
    total = np.bincount(group[known], values[known], minlength=int(group.max()) + 1)
    return np.asarray(total / np.maximum(count, 1))


def grow_cells(seen: Floats, values: Floats, fewest: int, field: Field) -> Any:
    """A tree whose leaves hold records alike in the column's values."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    known = ~np.isnan(values)
    kind = DecisionTreeClassifier if field.kind == "category" else DecisionTreeRegressor
    grown = kind(min_samples_leaf=min(fewest, max(1, int(known.sum()))), random_state=0)
    return grown.fit(seen[known], values[known]) if known.any() else grown.fit(seen, np.zeros(len(values)))


def deal_classes(data: Microdata, X: Floats, y: Codes, leaf: Codes, draws: Draws) -> Codes:
    """The classes of each leaf, dealt among its records by how likely a boosted model of the true records finds them.

    Class after class, those records get it for which log-odds + logistic noise is highest: as if each drew its class by
    its own probability, given how many of the leaf have it.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    learn = np.argsort(draws.uniform(len(y)))[:MOST_LEARNT_FROM]
    present, codes = np.unique(data.y[learn], return_inverse=True)
    if present.size < 2:
        return y.copy()
    model = HistGradientBoostingClassifier(l2_regularization=SHRINKAGE, early_stopping=False, random_state=0)
    model.fit(data.X[learn], codes)
    p = np.zeros((len(y), int(max(y.max(), data.y.max())) + 1))
    p[:, present] = model.predict_proba(X)
    dealt, free = y.copy(), np.ones(len(y), dtype=bool)
    for label in range(p.shape[1]):
        rows = np.flatnonzero(free)
        share = np.clip(p[rows, label] / np.maximum(p[rows, label:].sum(axis=1), 1e-12), 1e-9, 1 - 1e-9)
        u = draws.uniform(rows.size)
        wish = np.log(share / (1 - share)) + np.log(u / (1 - u))
        rows = rows[np.lexsort((-wish, leaf[rows]))]
        rank = np.arange(rows.size) - np.searchsorted(leaf[rows], leaf[rows])
        takers = rows[rank < np.bincount(leaf[y == label], minlength=int(leaf.max()) + 1)[leaf[rows]]]
        dealt[takers], free[takers] = label, False
    return dealt


def take_from_donors(
    values: Floats, cell: Codes, wanted: Codes, lower: Floats, upper: Floats, draws: Draws
) -> Floats:
    """For each wanted cell a random value of that cell inside [lower, upper]; of the whole column where it has none."""
    levels, rank = np.unique(values, return_inverse=True)
    base = levels.size + 1
    ends = [np.searchsorted(levels, lower, "left"), np.searchsorted(levels, upper, "right")]
    pool = np.sort(cell.astype(np.int64) * base + rank)
    first, last = (np.searchsorted(pool, wanted.astype(np.int64) * base + end) for end in ends)
    whole = np.sort(rank)
    none = last <= first
    pool, first = np.concatenate([pool, whole]), np.where(none, pool.size + np.searchsorted(whole, ends[0]), first)
    last = np.where(none, np.maximum(values.size + np.searchsorted(whole, ends[1]), first + 1), last)
    pick = first + np.floor(draws.uniform(wanted.size) * (last - first)).astype(np.int64)
    return np.asarray(levels[pool[np.minimum(pick, pool.size - 1)] % base])
