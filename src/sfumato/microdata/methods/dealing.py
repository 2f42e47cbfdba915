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
from sfumato.microdata.methods.noise import Draws
from sfumato.microdata.patterns.pattern import Leaves

WINDOW = 5
"""The least number of records among whose neighbouring values classes change places."""


def deal_by_class(
    values: Floats, wish: Floats, true: Codes, y: Codes, leaves: Leaves, place: int, rows: Codes, draws: Draws
) -> Floats:
    """The leaf's values of a number for these records (whole leaves), in the order of their wishes, class by class."""
    leaf, classes = leaves.leaf[rows], int(max(true.max(), y.max())) + 1
    label = classes_in_windows(true[rows], leaf, values[rows], WINDOW, draws)
    label = _guarding_cuts(label, values[rows], true, leaves, place, leaf)
    dealt = deal(values[rows], leaf, wish[rows], leaf, draws)
    owner, taker = leaf * classes + label, leaf * classes + y[rows]
    served = np.isin(taker, owner)
    dealt[served] = deal(values[rows], owner, wish[rows][served], taker[served], draws)
    return dealt


def deal(values: Floats, group: Codes, wish: Floats, taker: Codes, draws: Draws) -> Floats:
    """A group's values in their order to its takers in the order of their wishes; as quantiles where there are more
    takers than values, or fewer."""
    given, taken = (np.bincount(each, minlength=int(max(group.max(), taker.max())) + 1) for each in (group, taker))
    ordered = values[np.lexsort((values, group))]
    by_wish = np.lexsort((draws.uniform(wish.size), wish, taker))
    here = taker[by_wish]
    rank = np.arange(here.size) - (np.cumsum(taken) - taken)[here]
    place = (np.cumsum(given) - given)[here] + (2 * rank + 1) * given[here] // (2 * taken[here])
    dealt = np.empty_like(wish)
    dealt[by_wish] = ordered[place]
    return dealt


def deal_categories(values: Floats, wish: Floats, true: Codes, y: Codes, leaf: Codes, draws: Draws) -> Floats:
    """As many records of each leaf and class hold a category as did, up to windows; few of them change for it."""
    classes, base = int(max(true.max(), y.max())) + 1, int(max(values.max(), wish.max())) + 1
    owner = leaf * classes + classes_in_windows(true, leaf, values, WINDOW, draws)
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


def classes_in_windows(y: Codes, group: Codes, values: Floats, size: int, draws: Draws) -> Codes:
    """Classes exchanged at random between neighbouring values of a group, in windows of at least ``size`` records."""
    order = np.lexsort((values, group))
    ordered, of = values[order], group[order]
    new_group = np.concatenate([[True], of[1:] != of[:-1]])
    first = np.flatnonzero(new_group | np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    count = np.diff(first, append=y.size)
    left = np.searchsorted(of, of[first], "right") - first
    starts = _starts(count.tolist(), left.tolist(), new_group[first].tolist(), size)
    window = np.repeat(np.cumsum(starts), count)
    shuffled = np.empty_like(y)
    shuffled[order] = y[order][np.lexsort((draws.uniform(y.size), window))]
    return shuffled


def _starts(count: list[int], left: list[int], new_group: list[bool], size: int) -> list[bool]:
    """Where a window begins: at a new group, and wherever both it and what is left of the group are large enough."""
    starts, held = [], 0
    for here, rest, new in zip(count, left, new_group, strict=True):
        start = new or (held >= size and rest >= size)
        held = here if start else held + here
        starts.append(start)
    return starts


def _guarding_cuts(label: Codes, values: Floats, true: Codes, leaves: Leaves, place: int, leaf: Codes) -> Codes:
    """In the window next to a cut of this field, the class that a side has more of stands nearest to the cut."""
    order = np.lexsort((values, leaf))
    here, found, counts = leaf[order], label.copy(), leaves.class_counts(true)
    for node in np.unique(leaf).tolist():
        begin, end = np.searchsorted(here, node), np.searchsorted(here, node, "right")
        above = order[max(begin, end - WINDOW) : end]
        below = order[begin : min(begin + WINDOW, end)]
        for cut, rows in ((leaves.upper_by[node, place], above), (leaves.lower_by[node, place], below)):
            if cut >= 0:
                left, right = counts[leaves.nodes.left[cut]], counts[leaves.nodes.right[cut]]
                odds = ((left + 0.5) / (left.sum() + 1)) / ((right + 0.5) / (right.sum() + 1))
                found[rows] = found[rows][np.argsort(odds[found[rows]], kind="stable")]
    return found
