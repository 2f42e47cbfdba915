"""Dealing a leaf's true values to its records, inside leaf and class, so that every cut scores as it did.

The values of each class in a leaf are dealt to the released records of that class, in the order of the values they
drew: then any cut of any node divides the classes as it did. Exactly so a rare value would give its owner's class away.
So the classes of neighbouring values are exchanged first, inside windows of at least ``WINDOW`` records (a value that
more of a leaf's records share is a window of its own). In the window next to a cut they are ordered so that no cut
beside it gains: the class that belongs to a side stands nearest to the cut.
"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.noise import by_group, order_within
from sfumato.microdata.patterns.pattern import Leaves

WINDOW = 5
"""The fewest records in a window, inside which classes are exchanged (docs/decisions/0027): larger hides classes better
and moves cuts further."""


def deal_by_class(
    values: Floats, wish: Floats, true: Codes, y: Codes, leaves: Leaves, index: int, rows: Codes, draws: Draws
) -> Floats:
    """Give each leaf's true values of a field out again to its records, class by class, so that cuts score as they did.

    The values of a class go to the released records of that class, in the order of the values that these drew
    (``wish``). ``values``: the true values; ``true``: the true classes. ``y``: the released classes. ``index``: the
    field. ``rows``: the records, all of each leaf. Returns the new values of ``rows``.
    """
    values, wish, leaf = values[rows], wish[rows], leaves.leaf[rows]
    order = order_within(values, leaf, draws)
    label = classes_in_windows(true[rows], leaf, values, order, draws)
    _guard_cuts(label, leaves, index, leaf, order)
    classes = int(max(label.max(), y[rows].max())) + 1
    owner, taker = leaf * classes + label, leaf * classes + y[rows]
    served = np.isin(taker, owner)
    dealt = wish if served.all() else deal(values, leaf, wish, leaf, draws)
    if served.any():
        dealt[served] = deal(values, owner, wish[served], taker[served], draws)
    return dealt


def deal(values: Floats, group: Codes, wish: Floats, taker: Codes, draws: Draws) -> Floats:
    """Give each group's values out to the records that take from it: the smallest to the one with the smallest wish.

    Returns a value for each record. ``wish``: the number that gives the records' order.
    ``group``: the group of each value. ``taker``: the group of each wish. Where a group has more or fewer takers than
    values, they get its quantiles.
    """
    size = int(max(group.max(), taker.max())) + 1
    given, taken = (np.bincount(groups, minlength=size) for groups in (group, taker))
    ordered = values[by_group(np.argsort(values), group)]
    by_wish = order_within(wish, taker, draws)
    here = taker[by_wish]
    rank = np.arange(here.size) - (np.cumsum(taken) - taken)[here]
    index = (np.cumsum(given) - given)[here] + (2 * rank + 1) * given[here] // (2 * taken[here])
    dealt = np.empty_like(wish)
    dealt[by_wish] = ordered[index]
    return dealt


def deal_categories(values: Floats, wish: Floats, true: Codes, y: Codes, leaf: Codes, draws: Draws) -> Floats:
    """Return the categories that records drew (``wish``), made as frequent in each leaf and class as the true ones.

    As few as possible are changed. Parameters as in `deal_by_class`, for codes of categories; classes are exchanged in
    windows first.
    """
    classes, base = int(max(true.max(), y.max())) + 1, int(max(values.max(), wish.max())) + 1
    owner = leaf * classes + classes_in_windows(true, leaf, values, order_within(values, leaf, draws), draws)
    taker = leaf * classes + y
    have, want = taker * base + wish.astype(np.int64), owner * base + values.astype(np.int64)
    spare, lacking = _beyond(have, want, draws), _beyond(want, have, draws)
    _, takes, gives = np.intersect1d(_numbered(taker[spare]), _numbered(owner[lacking]), return_indices=True)
    dealt = wish.copy()
    dealt[spare[takes]] = values[lacking[gives]]
    return dealt


def _beyond(key: Codes, other: Codes, draws: Draws) -> Codes:
    """Return, in random order, the indices of the surplus entries of ``key``.

    Of each number these are as many as ``key`` has it more often than ``other``.
    """
    order = np.argsort(draws.uniform(key.size))
    allowed, most = np.unique(other, return_counts=True)
    index = np.minimum(np.searchsorted(allowed, key[order]), allowed.size - 1)
    limit = np.where(allowed[index] == key[order], most[index], 0)
    return np.asarray(order[_rank(key[order]) >= limit])


def _rank(key: Codes) -> Codes:
    """Return for each key how many equal ones stand before it: 0 for the first of its kind."""
    order = np.argsort(key, kind="stable")
    rank = np.empty(key.size, dtype=np.int64)
    rank[order] = np.arange(key.size) - np.searchsorted(key[order], key[order])
    return rank


def _numbered(key: Codes) -> Codes:
    """Return a number for each key that is its own: equal keys get different ones, by how many stand before."""
    return key * (key.size + 1) + _rank(key)


def classes_in_windows(y: Codes, group: Codes, values: Floats, order: Codes, draws: Draws) -> Codes:
    """Return the classes of records, exchanged at random between neighbouring values, so that values do not tell them.

    Inside a group (leaf), in windows of at least ``WINDOW`` records.
    ``order``: the records sorted by group and value.
    """
    window = _windows(values[order], group[order], WINDOW)
    shuffled = np.empty_like(y)
    shuffled[order] = y[order][np.argsort(window + draws.uniform(y.size))]
    return shuffled


def _windows(values: Floats, group: Codes, size: int) -> Codes:
    """Return the number of the window (run of neighbouring values) of each record; they are sorted by group and value.

    A window begins with a group, and wherever the one before and the rest of the group have at least ``size`` records.
    Equal values are in one window.
    """
    new_group = np.concatenate([[True], group[1:] != group[:-1]])
    first = np.flatnonzero(new_group | np.concatenate([[True], values[1:] != values[:-1]]))
    end = np.searchsorted(group, group[first], "right")
    after = np.searchsorted(first, first + size)
    large = first[np.minimum(after, first.size - 1)] + size <= end
    after = np.where(large & (after < first.size), after, np.searchsorted(first, end)).tolist()
    starts, index = np.zeros(group.size, dtype=np.int64), 0
    while index < first.size:
        starts[first[index]], index = 1, after[index]
    return np.cumsum(starts)


def _guard_cuts(label: Codes, leaves: Leaves, index: int, leaf: Codes, order: Codes) -> None:
    """Order the classes of the few records next to each cut of a field, in place, so that the cut stays where it is.

    Nearest to the cut comes the class that its side has more of. ``label``: the classes. ``index``: the field.
    ``order``: the records sorted by leaf and value.
    """
    here, counts = leaf[order], leaves.counts
    for node in np.unique(leaf).tolist():
        begin, end = np.searchsorted(here, node), np.searchsorted(here, node, "right")
        above = order[max(begin, end - WINDOW) : end]
        below = order[begin : min(begin + WINDOW, end)]
        for cut, rows in ((leaves.upper_by[node, index], above), (leaves.lower_by[node, index], below)):
            if cut >= 0:
                left, right = counts[leaves.nodes.left[cut]], counts[leaves.nodes.right[cut]]
                odds = ((left + 0.5) / (left.sum() + 1)) / ((right + 0.5) / (right.sum() + 1))
                label[rows] = label[rows][np.argsort(odds[label[rows]], kind="stable")]
