"""Columns drawn one after the other from donors, so that dependence between columns survives.

Each value of a column comes from a donor: a true record that is like the released one in the columns drawn so far.

    cells of column j    the leaves of a tree that predicts x_j from the class, the record's leaf in the pattern tree
                         and the columns before j, each with at least ``fewest`` records
    x_j of a record      the value of a random donor from its cell, among those inside the interval of its leaf; the
                         records of a cell use its donors evenly, as a sample without replacement would

The released record keeps nothing of its own but its leaf, its class and the columns that the owner keeps; each column
has a donor of its own. Numbers are then dealt out again inside leaf and class, so that every cut scores as it did.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.noise import by_group
from sfumato.microdata.patterns.pattern import Leaves
from sfumato.microdata.table.fields import Field, Mask, Microdata

Singles = npt.NDArray[np.float32]
RIDGE = 1.0
"""The ridge of the straight line, in units of one record of standardised columns: enough to keep it solvable, too
little to matter among more records than columns."""

MOST_LEARNT_FROM = 30_000
"""The most records that a column's tree is grown on, to bound the time. Chosen by judgement: cells of ten records are
small enough by then."""

OTHERS = 3
"""Inputs of a column's tree beside the columns drawn before: a straight line of all of them, and the column's means by
class and by leaf."""

SHRINKAGE = 1.0
"""The L2 penalty of boosted trees' leaves: with 0, a class of one or two records to learn from makes boosting
diverge."""


def draw_in_turn(
    data: Microdata, y: Codes, leaves: Leaves, fewest: Floats, still: Mask, late: list[int], draws: Draws
) -> Floats:
    """Draw every column of a release in turn, each value from a donor: a true record alike in the columns before.

    Returns the values X[record, field]; columns are in the table's order.

    ``y``: the released classes. ``fewest``: the fewest donors, by field. ``still``: fields that stay as they are, on
    which the others may depend from the start. ``late``: fields that follow from others and are not drawn here.
    """
    released, indices, first = data.X.copy(), range(len(data.fields)), np.flatnonzero(still)
    before, after = (np.empty((len(y), OTHERS + len(indices)), np.float32, order="F") for _ in range(2))
    width = OTHERS + first.size
    before[:, OTHERS:width] = after[:, OTHERS:width] = data.X[:, first]
    learn = np.argsort(draws.uniform(len(y)))[:MOST_LEARNT_FROM]
    for index in indices:
        if still[index] or index in late:
            continue
        column = data.X[:, index]
        present = np.flatnonzero(~np.isnan(column))
        if present.size:
            by_class, by_leaf = means_by(column, data.y), means_by(column, leaves.leaf)
            for inputs, label in ((before, data.y), (after, y)):
                inputs[:, 1], inputs[:, 2] = by_class[label], by_leaf[leaves.leaf]
            add_line(before[:, :width], after[:, :width], column, learn)
            few = max(1, int(fewest[index]))
            cells = grow_cells(before[learn, :width], column[learn], few, data.fields[index])
            wanted, donors = (cells.apply(inputs[:, :width])[present] for inputs in (after, before))
            lower, upper = (bound[present] for bound in leaves.bounds(index))
            released[present, index] = take_from_donors(column[present], donors, wanted, lower, upper, draws)
        before[:, width], after[:, width] = column, released[:, index]
        width += 1
    return released


def add_line(before: Singles, after: Singles, values: Floats, learn: Codes) -> None:
    """Write a ridge regression's predictions of a column into the first input of its tree, in place.

    The regression is on all other inputs. A tree would need many cuts for a straight line. ``before`` and ``after``:
    inputs of the true and of the released records. ``values``: the column to predict. ``learn``: the true records to
    learn from.
    """
    learn = learn[~np.isnan(values[learn])]
    if not learn.size:
        before[:, 0] = after[:, 0] = 0.0
        return
    sample = before[learn, 1:].astype(float)
    present = ~np.isnan(sample)
    count = np.maximum(present.sum(axis=0), 1)
    middle = np.where(present, sample, 0.0).sum(axis=0) / count
    centred = np.where(present, sample - middle, 0.0)
    spread = np.sqrt((centred**2).sum(axis=0) / count)
    spread = np.where(spread > 0, spread, 1.0)
    standard = centred / spread
    gram = standard.T @ standard + RIDGE * np.eye(standard.shape[1])
    slope = np.linalg.solve(gram, standard.T @ (values[learn] - values[learn].mean())) / spread
    for inputs in (before, after):
        line = np.zeros(len(inputs))
        for column, centre, steep in zip(inputs[:, 1:].T, middle, slope, strict=True):
            line += steep * np.where(np.isnan(column), 0.0, column - centre)
        inputs[:, 0] = line


def means_by(values: Floats, group: Codes) -> Floats:
    """Return an array with the mean of each group's values, missing ones aside; 0 for a group without any."""
    present = ~np.isnan(values)
    count = np.bincount(group[present], minlength=int(group.max()) + 1)
    total = np.bincount(group[present], values[present], minlength=int(group.max()) + 1)
    return np.asarray(total / np.maximum(count, 1))


def grow_cells(seen: Floats | Singles, values: Floats, fewest: int, field: Field) -> Any:
    """Grow a tree that predicts a column; its leaves are the cells inside which values are drawn from donors.

    ``seen``: the inputs, [record, input]. ``values``: the column. ``fewest``: records in a leaf at least. Returns
    scikit-learn's fitted tree.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    present = ~np.isnan(values)
    kind = DecisionTreeClassifier if field.kind == "category" else DecisionTreeRegressor
    grown = kind(min_samples_leaf=min(fewest, max(1, int(present.sum()))), random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)  # labels may well be many
        return grown.fit(seen[present], values[present]) if present.any() else grown.fit(seen, np.zeros(len(values)))


def deal_classes(data: Microdata, X: Floats, y: Codes, leaf: Codes, draws: Draws) -> Codes:
    """Give each leaf's classes out again to those of its released records whose values they fit; return the classes.

    By the probabilities of a boosted model of the true records. Class after class, the records with the largest
    log-odds + logistic noise get it: as if each drew its class by its own probability, given how many of the leaf have
    it. ``X``: the released values. ``y``: the classes to deal.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    from sfumato.learners.estimator import threads

    learn = np.argsort(draws.uniform(len(y)))[:MOST_LEARNT_FROM]
    present, codes = np.unique(data.y[learn], return_inverse=True)
    if present.size < 2:
        return y.copy()
    model = HistGradientBoostingClassifier(l2_regularization=SHRINKAGE, early_stopping=False, random_state=0)
    telling = ~np.isnan(data.X[learn]).all(axis=0)  # the library takes no column without any value
    if not telling.any():
        return y.copy()
    with threads().limit(limits=1):
        model.fit(data.X[learn][:, telling], codes)
    p = np.zeros((len(y), int(max(y.max(), data.y.max())) + 1))
    p[:, present] = model.predict_proba(X[:, telling])
    dealt, free = y.copy(), np.ones(len(y), dtype=bool)
    for label in range(p.shape[1]):
        rows = np.flatnonzero(free)
        share = np.clip(p[rows, label] / np.maximum(p[rows, label:].sum(axis=1), 1e-12), 1e-9, 1 - 1e-9)
        u = draws.uniform(rows.size)
        wish = np.log(share / (1 - share)) + np.log(u / (1 - u))
        rows = rows[by_group(np.argsort(-wish, kind="stable"), leaf[rows])]
        rank = np.arange(rows.size) - np.searchsorted(leaf[rows], leaf[rows])
        takers = rows[rank < np.bincount(leaf[y == label], minlength=int(leaf.max()) + 1)[leaf[rows]]]
        dealt[takers], free[takers] = label, False
    return dealt


def take_from_donors(
    values: Floats, cell: Codes, wanted: Codes, lower: Floats, upper: Floats, draws: Draws
) -> Floats:
    """Return for each record a value drawn from the donors in its cell (group of alike records), inside [lower, upper].

    Donors are used about equally often.
    ``values`` and ``cell``: the donors' values and cells. ``wanted``: the records' cells. Where a cell has no value
    inside, one of the whole column is drawn.
    """
    levels, rank = np.unique(values, return_inverse=True)
    base, count = levels.size + 1, np.bincount(cell, minlength=int(wanted.max()) + 1)
    pool, last = np.sort(cell.astype(np.int64) * base + rank), np.cumsum(count)[wanted]
    first = last - count[wanted]
    narrow = np.flatnonzero((lower > levels[0]) | (upper < levels[-1]))
    ends = np.searchsorted(levels, lower[narrow], "left"), np.searchsorted(levels, upper[narrow], "right")
    first[narrow], last[narrow] = (np.searchsorted(pool, wanted[narrow].astype(np.int64) * base + end) for end in ends)
    chance = _evenly(first * (pool.size + 1) + last, draws)
    drawn = levels[pool[_pick(first, last, chance, pool.size)] % base]
    none = last <= first
    if none.any():
        whole = np.sort(values)
        first, last = np.searchsorted(whole, lower[none], "left"), np.searchsorted(whole, upper[none], "right")
        drawn[none] = whole[_pick(first, last, chance[none], whole.size)]
    return np.asarray(drawn)


def _evenly(group: Codes, draws: Draws) -> Floats:
    """Draw a number in (0, 1) for each record, spread evenly in its group, so that donors are used about equally often.

    For a group of m records there is one in each interval of length 1/m, in random order.
    """
    _, member, size = np.unique(group, return_inverse=True, return_counts=True)
    order = np.argsort(member + draws.uniform(member.size))
    part = np.empty(member.size, dtype=np.int64)
    part[order] = np.arange(member.size) - (np.cumsum(size) - size)[member[order]]
    return np.asarray((part + draws.uniform(member.size)) / size[member])


def _pick(first: Codes, last: Codes, chance: Floats, size: int) -> Codes:
    """Return one index of each range first … last − 1, chosen by a random number in (0, 1).

    first + ⌊chance·(last − first)⌋, at most size − 1
    """
    step = np.floor(chance * np.maximum(last - first, 1)).astype(np.int64)
    return np.asarray(np.minimum(first + step, size - 1))
