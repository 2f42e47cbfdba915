"""Noise leaf by leaf, and the owner's look: does a tree grown on the release find the same patterns?

Noise inside the leaves' intervals leaves the score of every cut of the pattern tree as it was (labels move inside
leaves only). A tree grown again differs only where, by chance, some other cut now scores higher. There the noise of
that cut's field is drawn again for the records of that node; every second time the labels of a small node move again
too, because a leaf may have been cut where its minority happened to fall together. Nothing original is put back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.fields import Mask, Microdata
from sfumato.microdata.noise import Draws, Room, blur, blur_labels
from sfumato.microdata.pattern import Leaves, Nodes, nodes_of
from sfumato.microdata.terms import Terms

SMALL_NODE = 0.1
"""Labels are moved again in nodes that hold less than this share of the records; elsewhere it would stir too much."""


@dataclass(frozen=True)
class Leafwise:
    """Fresh draws of a column, of the classes of some records, and of the whole release."""

    data: Microdata
    leaves: Leaves
    terms: Terms
    draws: Draws

    def column(self, place: int) -> Floats:
        """One field with noise where the terms want it."""
        column = self.data.X[:, place]
        if self.terms.kept[place]:
            return column.copy()
        room = Room(self.data.fields[place], *self.leaves.bounds(place), self.leaves.leaf)
        amount = np.full(column.shape, self.terms.amount[place])
        blurred = blur(column, amount, room, self.terms.noise, self.draws)
        tested = self.leaves.tested[self.leaves.leaf, place]
        every = np.ones_like(tested)
        wanted = {"all": every, "tested": tested, "untested": ~tested, "none": ~every}[self.terms.perturb]
        return np.where(wanted, blurred, column)

    def classes(self, rows: Codes | slice) -> Codes:
        return blur_labels(self.data.y[rows], self.leaves.leaf[rows], self.terms.labels, self.draws)

    def release(self, y: Codes, regrow: Callable[[Floats, Codes], Any]) -> tuple[Floats, Codes]:
        """All columns, drawn again in places at most ``attempts`` times; of all versions the closest is returned."""
        X = np.column_stack([self.column(place) for place in range(len(self.data.fields))])
        pin_all(X, self.leaves, self.terms.kept)
        attempts = self.terms.attempts
        best, fewest = (X, y), len(y) + 1
        for attempt in range(attempts + 1):
            rivals = differences(self.leaves, nodes_of(regrow(X, y)), X) if attempts else []
            affected = sum(records.size for records, _ in rivals)
            if affected < fewest:
                best, fewest = (X.copy(), y.copy()), affected
            if not rivals or attempt == attempts:
                break
            self._draw_again(X, y, rivals, second=attempt % 2 == 1)
        return best

    def _draw_again(self, X: Floats, y: Codes, rivals: list[tuple[Codes, int]], *, second: bool) -> None:
        for records, field in rivals:
            X[records, field] = self.column(field)[records]
            if self.terms.perturb == "none" or (second and records.size < SMALL_NODE * len(y)):
                y[records] = self.classes(records)
        for field in {field for _, field in rivals}:
            pin_cuts(X[:, field], field, self.leaves)


def differences(leaves: Leaves, regrown: Nodes, released: Floats) -> list[tuple[Codes, int]]:
    """The topmost nodes where the regrown tree cuts differently: their records, and the field it cuts instead."""
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


def pin_all(released: Floats, leaves: Leaves, kept: Mask) -> None:
    for field in np.flatnonzero(~kept):
        pin_cuts(released[:, field], int(field), leaves)


def pin_cuts(column: Floats, field: int, leaves: Leaves) -> None:
    """Move the value nearest to each cut, on both sides, onto the value that stood there, so that the cut is found
    at the same place. The record that moves need not be the one whose value it was; the cut itself is the pattern.
    """
    nodes, taken = leaves.nodes, np.zeros(column.shape, dtype=bool)
    lower, upper = leaves.bounds(field)
    for node in np.flatnonzero(~nodes.is_leaf & (nodes.feature == field)):
        for child, value, side in (
            (nodes.left[node], leaves.last_left[node], 1),
            (nodes.right[node], leaves.first_right[node], -1),
        ):
            records = leaves.records(int(child))
            able = (lower[records] <= value) & (value <= upper[records]) & ~taken[records] & ~np.isnan(column[records])
            if able.any():
                nearest = records[able][np.argmax(side * column[records[able]])]
                column[nearest], taken[nearest] = value, True
