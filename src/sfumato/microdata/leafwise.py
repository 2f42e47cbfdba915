"""Noise leaf by leaf, and the owner's look (Islam & Brankovic 2004, MATHS §6).

Noise inside the leaves' intervals leaves the score of every cut of the pattern tree as it was (labels move inside
leaves only). A tree grown again differs only where, by chance, some other cut now scores higher: so the owner looks
whether a tree grown on the release finds the same patterns. Where it does not, the noise of that cut's field is drawn
again for the records of that node; every second time the labels of a small node move again too, because a leaf may have
been cut where its minority happened to fall together. Nothing original is put back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.domain import Codes, Floats
from sfumato.microdata.fields import Microdata
from sfumato.microdata.noise import Draws, Room, blur, blur_labels, crowded
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
        ranked = crowded(column, room.group) & (self.terms.noise == "rank")
        blurred = blur(column, self.terms.amount[place], room, ranked, self.draws)
        tested = self.leaves.tested[self.leaves.leaf, place]
        every = np.ones_like(tested)
        wanted = {"all": every, "tested": tested, "untested": ~tested, "none": ~every}[self.terms.perturb]
        return np.where(wanted, blurred, column)

    def classes(self, rows: Codes | slice) -> Codes:
        return blur_labels(self.data.y[rows], self.leaves.leaf[rows], self.terms.labels, self.draws)

    def release(self, y: Codes, regrow: Callable[[Floats, Codes], Any]) -> tuple[Floats, Codes]:
        """All columns, drawn again in places at most ``attempts`` times; of all versions the closest is returned."""
        X = np.column_stack([self.column(place) for place in range(len(self.data.fields))])
        pin_cuts(X, np.flatnonzero(~self.terms.kept), self.leaves)
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
        for records, place in rivals:
            X[records, place] = self.column(place)[records]
            if self.terms.perturb == "none" or (second and records.size < SMALL_NODE * len(y)):
                y[records] = self.classes(records)
        pin_cuts(X, [place for _, place in rivals], self.leaves)


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


def pin_cuts(X: Floats, places: npt.ArrayLike, leaves: Leaves) -> None:
    """Move the value nearest to each cut of these fields, on both sides, onto the value that stood there, so that the
    cut is found at the same place. The record that moves need not be the one whose value it was; the cut itself is the
    pattern."""
    nodes, taken = leaves.nodes, np.zeros(X.shape, dtype=bool)
    for node in np.flatnonzero(~nodes.is_leaf & np.isin(nodes.feature, places)):
        place = nodes.feature[node]
        for child, value, side in (
            (nodes.left[node], leaves.last_left[node], 1),
            (nodes.right[node], leaves.first_right[node], -1),
        ):
            records = leaves.records(int(child))
            leaf, column = leaves.leaf[records], X[records, place]
            able = (leaves.lower[leaf, place] <= value) & (value <= leaves.upper[leaf, place])
            able &= ~taken[records, place] & ~np.isnan(column)
            if able.any():
                nearest = records[able][np.argmax(side * column[able])]
                X[nearest, place], taken[nearest, place] = value, True
