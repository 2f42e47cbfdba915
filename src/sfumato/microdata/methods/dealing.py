"""Dealing inside leaf and class, so that every cut scores as it did.

A leaf's numbers, dealt to its records in the order of what they drew, and in every class those values that belong to
the class: then any cut of any node divides the classes as it did. But exactly so they would tell the class of whoever
has a rare value. So the classes of neighbouring values change places first, inside windows of at least ``WINDOW``
records (a value that more of a leaf's records share is a window of its own), and in the window next to a cut they stand
so that no cut beside it gains: the class that belongs to a side comes last there.
"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.noise import by_group, order_within
from sfumato.microdata.patterns.pattern import Leaves

WINDOW = 5
"""The least number of records among whose neighbouring values classes change places."""


def deal_by_class(
    values: Floats, wish: Floats, true: Codes, y: Codes, leaves: Leaves, place: int, rows: Codes, draws: Draws
) -> Floats:
    """The leaf's values of a number for these records (whole leaves), in the order of their wishes, class by class."""
    values, wish, leaf = values[rows], wish[rows], leaves.leaf[rows]
    order = order_within(values, leaf, draws)
    label = classes_in_windows(true[rows], leaf, values, order, draws)
    _guard_cuts(label, leaves, place, leaf, order)
    classes = int(max(label.max(), y[rows].max())) + 1
    owner, taker = leaf * classes + label, leaf * classes + y[rows]
    served = np.isin(taker, owner)
    dealt = wish if served.all() else deal(values, leaf, wish, leaf, draws)
    if served.any():
        dealt[served] = deal(values, owner, wish[served], taker[served], draws)
    return dealt


def deal(values: Floats, group: Codes, wish: Floats, taker: Codes, draws: Draws) -> Floats:
    """A group's values in their order to its takers in the order of their wishes; as quantiles where there are more
    takers than values, or fewer."""
    given, taken = (np.bincount(each, minlength=int(max(group.max(), taker.max())) + 1) for each in (group, taker))
    ordered = values[by_group(np.argsort(values), group)]
    by_wish = order_within(wish, taker, draws)
    here = taker[by_wish]
    rank = np.arange(here.size) - (np.cumsum(taken) - taken)[here]
    place = (np.cumsum(given) - given)[here] + (2 * rank + 1) * given[here] // (2 * taken[here])
    dealt = np.empty_like(wish)
    dealt[by_wish] = ordered[place]
    return dealt


def deal_categories(values: Floats, wish: Floats, true: Codes, y: Codes, leaf: Codes, draws: Draws) -> Floats:
    """As many records of each leaf and class hold a category as did, up to windows; few of them change for it."""
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
    """In random order, the places of those of each key that are more than the other has of it."""
    order = np.argsort(draws.uniform(key.size))
    allowed, most = np.unique(other, return_counts=True)
    place = np.minimum(np.searchsorted(allowed, key[order]), allowed.size - 1)
    limit = np.where(allowed[place] == key[order], most[place], 0)
    return np.asarray(order[_rank(key[order]) >= limit])


def _rank(key: Codes) -> Codes:
    """How many of the same key stand before each."""
    order = np.argsort(key, kind="stable")
    rank = np.empty(key.size, dtype=np.int64)
    rank[order] = np.arange(key.size) - np.searchsorted(key[order], key[order])
    return rank


def _numbered(key: Codes) -> Codes:
    """Keys made different: the first of a key, the second, and so on."""
    return key * (key.size + 1) + _rank(key)


def classes_in_windows(y: Codes, group: Codes, values: Floats, order: Codes, draws: Draws) -> Codes:
    """Classes exchanged at random between neighbouring values of a group, in windows of at least ``WINDOW`` records;
    ``order`` is that of group and value."""
    window = _windows(values[order], group[order], WINDOW)
    shuffled = np.empty_like(y)
    shuffled[order] = y[order][np.argsort(window + draws.uniform(y.size))]
    return shuffled


def _windows(values: Floats, group: Codes, size: int) -> Codes:
    """The window of each of these records, which stand in the order of group and value: one begins with a group, and
    wherever both what it holds and what is left of the group are large enough; equal values share one."""
    new_group = np.concatenate([[True], group[1:] != group[:-1]])
    first = np.flatnonzero(new_group | np.concatenate([[True], values[1:] != values[:-1]]))
    end = np.searchsorted(group, group[first], "right")
    after = np.searchsorted(first, first + size)
    large = first[np.minimum(after, first.size - 1)] + size <= end
    after = np.where(large & (after < first.size), after, np.searchsorted(first, end)).tolist()
    starts, place = np.zeros(group.size, dtype=np.int64), 0
    while place < first.size:
        starts[first[place]], place = 1, after[place]
    return np.cumsum(starts)


def _guard_cuts(label: Codes, leaves: Leaves, place: int, leaf: Codes, order: Codes) -> None:
    """In the window next to a cut of this field, the class that a side has more of stands nearest to the cut."""
    here, counts = leaf[order], leaves.counts
    for node in np.unique(leaf).tolist():
        begin, end = np.searchsorted(here, node), np.searchsorted(here, node, "right")
        above = order[max(begin, end - WINDOW) : end]
        below = order[begin : min(begin + WINDOW, end)]
        for cut, rows in ((leaves.upper_by[node, place], above), (leaves.lower_by[node, place], below)):
            if cut >= 0:
                left, right = counts[leaves.nodes.left[cut]], counts[leaves.nodes.right[cut]]
                odds = ((left + 0.5) / (left.sum() + 1)) / ((right + 0.5) / (right.sum() + 1))
                label[rows] = label[rows][np.argsort(odds[label[rows]], kind="stable")]
