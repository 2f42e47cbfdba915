"""The owner holds both tables, so the owner can look: does a tree grown on the release find the same patterns?

Noise inside the leaves' intervals leaves the score of every cut of the pattern tree as it was (labels move inside
leaves only). A tree grown again differs only where, by chance, some other cut now scores higher. There the noise of
that cut's attribute is drawn again for the records of that node; every second time the labels of a small node move
again too, because a leaf may have been cut where its minority happened to fall together. Nothing original is put back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.leaves import Leaves, Nodes, nodes_of

SMALL_NODE = 0.1
"""Labels are moved again in nodes that hold less than this share of the records; elsewhere it would stir too much."""


@dataclass(frozen=True)
class Redraw:
    """Fresh draws: a tree on a release, a whole column, the labels of some records inside their leaves."""

    tree: Callable[[Floats, Codes], Any]
    column: Callable[[int], Floats]
    labels: Callable[[Codes], Codes]
    labels_only: bool = False


def guard_patterns(X: Floats, y: Codes, leaves: Leaves, redraw: Redraw, attempts: int) -> tuple[Floats, Codes]:
    """The release (X, y), drawn again in places at most ``attempts`` times; of all versions the closest is returned."""
    best, fewest = (X, y), len(y) + 1
    for attempt in range(attempts + 1):
        rivals = differences(leaves, nodes_of(redraw.tree(X, y)), X) if attempts else []
        affected = sum(records.size for records, _ in rivals)
        if affected < fewest:
            best, fewest = (X.copy(), y.copy()), affected
        if not rivals or attempt == attempts:
            break
        for records, attribute in rivals:
            X[records, attribute] = redraw.column(attribute)[records]
            if redraw.labels_only or (attempt % 2 and records.size < SMALL_NODE * len(y)):
                y[records] = redraw.labels(records)
        for attribute in {attribute for _, attribute in rivals}:
            pin_cuts(X[:, attribute], attribute, leaves)
    return best


def differences(leaves: Leaves, regrown: Nodes, released: Floats) -> list[tuple[Codes, int]]:
    """The topmost nodes where the regrown tree cuts differently: their records, and the attribute it cuts instead."""
    found, pairs = [], [(0, 0)]
    nodes = leaves.nodes
    while pairs:
        ours, theirs = pairs.pop()
        if regrown.left[theirs] < 0:
            continue
        records = leaves.records(ours)
        if _same_cut(nodes, ours, regrown, theirs, released[records]):
            pairs += [(int(nodes.left[ours]), int(regrown.left[theirs]))]
            pairs += [(int(nodes.right[ours]), int(regrown.right[theirs]))]
        else:
            found.append((records, int(regrown.feature[theirs])))
    return found


def _same_cut(nodes: Nodes, ours: int, regrown: Nodes, theirs: int, values: Floats) -> bool:
    if nodes.left[ours] < 0 or nodes.feature[ours] != regrown.feature[theirs]:
        return False
    column = values[:, nodes.feature[ours]]
    return np.array_equal(nodes.goes_left(ours, column), regrown.goes_left(theirs, column))


def pin_cuts(column: Floats, attribute: int, leaves: Leaves) -> None:
    """Move the value nearest to each cut, on both sides, onto the value that stood there, so that the cut is found
    at the same place. The record that moves need not be the one whose value it was; the cut itself is the pattern.
    """
    nodes, taken = leaves.nodes, np.zeros(column.shape, dtype=bool)
    lower, upper = leaves.bounds(attribute)
    for node in np.flatnonzero(~nodes.is_leaf & (nodes.feature == attribute)):
        for child, value, side in (
            (nodes.left[node], leaves.last_left[node], 1),
            (nodes.right[node], leaves.first_right[node], -1),
        ):
            records = leaves.records(int(child))
            able = (lower[records] <= value) & (value <= upper[records]) & ~taken[records] & ~np.isnan(column[records])
            if able.any():
                nearest = records[able][np.argmax(side * column[records[able]])]
                column[nearest], taken[nearest] = value, True
