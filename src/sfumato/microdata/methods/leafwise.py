"""Noise leaf by leaf, checked by growing the pattern tree again on the result (Islam & Brankovic 2004).

Values stay inside the leaves' intervals, and classes move inside leaves only, so every cut of the pattern tree scores
as it did. A tree grown on the release differs only where, by chance, some other cut now scores higher. Where it does,
that cut's field is dealt or drawn again for the records of that node. No original value is put back.

Four kinds of noise: "donors" (:mod:`sfumato.microdata.methods.sequence`) draws columns one after the other; "dealt",
"rank" and "additive" (:mod:`sfumato.microdata.methods.noise`) move each column alone. The first two deal numbers again
inside the leaf. Where rules are to survive, they are dealt inside leaf and class
(:mod:`sfumato.microdata.methods.dealing`), and the result is checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.dealing import WINDOW, deal, deal_by_class, deal_categories
from sfumato.microdata.methods.laws import may_move
from sfumato.microdata.methods.method import Terms
from sfumato.microdata.methods.noise import Room, blur, blur_labels, crowded, rank_noise
from sfumato.microdata.methods.sequence import deal_classes, draw_in_turn
from sfumato.microdata.patterns.nodes import TreeNodes
from sfumato.microdata.patterns.pattern import Grower, Leaves, Pattern
from sfumato.microdata.patterns.rules import Rule, read_off, repair
from sfumato.microdata.table.fields import Mask, Microdata

VALUES_SOUGHT = 4_000_000
"""Values on which trees may be grown in one search for a better draw (twice all values where that is more). Bounds the
time; with it a release takes about 7 times as long as growing one tree (docs/decisions/0027, bench/release.py)."""

MOST_PASSES = 4
"""How often the whole release is searched and checked. Chosen by judgement: later passes change little."""

FEWEST_PASSES = 2
"""The same for tables of more than VALUES_SOUGHT values, to bound the time."""

TRIES = 60
"""How often one node's field is dealt again (docs/decisions/0027): two cuts beside each other score nearly the same, so
one try in two or three finds the same one."""

LEVELS = 10
"""How many times cheaper growing the first cut is than the whole tree, about; it only serves to count time."""

LOOSE = 0.25
"""How far a field is moved away from the class inside a leaf, as a share of the leaf's ranks. Chosen by judgement:
larger breaks more of the dependence inside the leaf, smaller may leave a cut where the pattern has none."""

SMALL_NODE = 0.2
"""The share of the records below which a node's classes, or a leaf's field against the class, are moved again. Chosen
by judgement: in larger nodes correlations would change."""


@dataclass(frozen=True)
class Leafwise:
    """A release in progress, whose values move inside the leaves of a tree until a tree grown on it has the same rules.

    It draws columns and classes, and parts of them again.
    ``noise``: "donors", "dealt", "rank" or "additive". ``labels``: how classes move (see `InLeaves`). ``tested`` and
    ``untested``: whether fields move that the leaf's path tests, and the others ("mixed": in leaves of several
    classes).
    """

    data: Microdata
    leaves: Leaves
    terms: Terms
    rules: list[Rule]
    draws: Draws
    noise: str
    labels: str
    tested: bool = True
    untested: bool | Literal["mixed"] = True

    @property
    def deals(self) -> bool:
        """Whether each leaf's true numbers are given out to its records again after the noise, in its order."""
        return self.noise in ("donors", "dealt")

    @cached_property
    def moves(self) -> Mask:
        """Which values of records may move, as truth values [record, field]."""
        return may_move(self.leaves, self.data.y, self.tested, self.untested)

    @property
    def still(self) -> Mask:
        """Which fields stay as they are, as truth values: kept ones, and those with an amount of noise of 0."""
        return np.asarray(self.terms.kept | (self.terms.amount == 0))

    @property
    def read_off(self) -> dict[int, int]:
        """The fields whose value another field determines by a rule, with the index of that other one."""
        return {second: first for second, first in read_off(self.rules).items() if not self.still[second]}

    def classes(self, rows: Codes | slice) -> Codes:
        """Draw the released classes of some records (``rows``), moved inside their leaves; one for each."""
        return blur_labels(self.data.y[rows], self.leaves.leaf[rows], self.labels, self.draws)

    def release(self, y: Codes, pattern: Pattern) -> tuple[Floats, Codes, TreeNodes | None]:
        """Draw all columns, and parts of them again until a tree grown on them has the pattern's rules.

        At most as often as was agreed (``attempts``).
        ``y``: the released classes. Returns the version with the fewest records under other cuts: values, classes, and
        the tree grown on it (None if none was).
        """
        spread = spread_rare(self.data, self.leaves, self.rules, self.still, self.draws)
        source = self.data.with_values(spread, self.data.y)
        X = self.columns(source, y)
        parts = pattern.grower.in_parts and self.deals
        passes = MOST_PASSES if X.size < VALUES_SOUGHT else FEWEST_PASSES
        rounds = min(self.terms.attempts, passes) if parts else self.terms.attempts + bool(self.terms.attempts)
        best: tuple[Floats, Codes, TreeNodes | None] = (X, y, None)
        fewest, rivals = len(y) + 1, [Rival(0, 0)]
        for look in range(rounds):
            if parts:
                self._settle(X, y, source, self._search(X, y, source, rivals, pattern.grower))
            elif look:
                self._draw_again(X, y, source, rivals, look - 1)
                self._settle(X, y, source, [rival.column for rival in rivals])
            regrown = pattern.grower.grow(X, y)
            rivals = differences(self.leaves, regrown, X)
            affected = sum(self.leaves.size[rival.node] for rival in rivals)
            if affected < fewest:
                best, fewest = (X.copy(), y.copy(), regrown), affected
            if not rivals:
                break
        return best

    def _search(self, X: Floats, y: Codes, source: Microdata, rivals: list[Rival], grower: Grower) -> list[int]:
        """Give out values again in nodes of the tree where another cut scores higher, until the pattern's is best.

        And in the nodes below them.
        ``rivals``: these nodes. Inside a leaf it is done when no tree grows there. Returns the fields that were dealt.
        """
        nodes, left, dealt = self.leaves.nodes, max(VALUES_SOUGHT, 2 * X.size), set()
        waiting = [rival.node for rival in rivals]
        while waiting and left > 0:
            node = waiting.pop()
            records, inner = self.leaves.records(node), not nodes.is_leaf[node]
            levels = 1 if inner else max(1, LEVELS - int(np.log2(len(y) / max(records.size, 1))))
            for attempt in range(TRIES):
                top = grower.grow(X[records], y[records], n=len(y), depth=1 if inner else None)
                rivals_here = differences(self.leaves, top, X, node)
                left -= records.size * X.shape[1] * levels // LEVELS
                if not rivals_here or left < 0:
                    break
                self._draw_again(X, y, source, rivals_here, attempt)
                dealt |= {rival.column for rival in rivals_here}
            if inner:
                waiting += [int(nodes.left[node]), int(nodes.right[node])]
        return sorted(dealt)

    def columns(self, source: Microdata, y: Codes) -> Floats:
        """Draw every column of the release once; return the values [record, field].

        ``source``: the records whose values are given out. ``y``: the released classes.
        """
        indices, every = range(len(self.data.fields)), np.arange(len(y))
        if self.noise == "donors":
            late = list(self.read_off)
            X = draw_in_turn(source, y, self.leaves, self.terms.amount, self.still, late, self.draws)
            if self.labels == "rpt" and self.data.response is None:
                y[:] = deal_classes(source, X, y, self.leaves.leaf, self.draws)
        else:
            X = np.column_stack([self.blurred(index) for index in indices])
        for index in indices:
            if self.data.numeric[index] and self.deals:
                self._deal(X, y, source, index, every)
        self._settle(X, y, source, indices)
        return X

    def blurred(self, index: int) -> Floats:
        """Return the values of one field (by its index) with noise that does not depend on other fields."""
        column = self.data.X[:, index]
        if self.still[index]:
            return column.copy()
        room = Room(self.data.fields[index], *self.leaves.bounds(index), self.leaves.leaf)
        ranked = crowded(column, room.group) & (self.noise != "additive")
        return blur(column, self.terms.amount[index], room, ranked, self.draws)

    def _deal(self, X: Floats, y: Codes, source: Microdata, index: int, rows: Codes) -> None:
        """Give each leaf's true values of a field out again to its records, in the order of their values in X.
        X is changed in place. ``index``: the field. ``rows``: the records, all of each leaf.
        """
        values, true, leaf = source.X[:, index], self.data.y, self.leaves.leaf
        rows = rows[~np.isnan(values[rows])]
        if self.still[index] or index in self.read_off or not rows.size:
            return
        if not self.data.numeric[index]:
            X[rows, index] = deal_categories(values[rows], X[rows, index], true[rows], y[rows], leaf[rows], self.draws)
        elif self.terms.guards_rules:
            X[rows, index] = deal_by_class(values, X[:, index], true, y, self.leaves, index, rows, self.draws)
        else:
            X[rows, index] = deal(values[rows], leaf[rows], X[rows, index], leaf[rows], self.draws)

    def _settle(self, X: Floats, y: Codes, source: Microdata, indices: npt.ArrayLike) -> None:
        """Put back values that must not move, repair rules between columns, and put true values at cuts, in place.

        ``indices``: the fields whose cuts get the true values next to them, so that they are found at the same place.
        """
        X[:] = np.where(self.moves, X, self.data.X)
        repair(X, y, source, self.leaves, self.rules, self.still, self.draws)
        pin_cuts(X, np.setdiff1d(indices, [*self.read_off, *np.flatnonzero(self.still)]), self.leaves)
        repair(X, y, source, self.leaves, self.rules, self.still, self.draws)

    def _draw_again(self, X: Floats, y: Codes, source: Microdata, rivals: list[Rival], attempt: int) -> None:
        """Draw values again in each node of the tree where another field's cut scores higher (``rivals``), in place.

        Every second attempt in a small leaf moves the field away from the class instead; from half of TRIES on, in any
        leaf.
        """
        for rival in rivals:
            index, records = self.read_off.get(rival.column, rival.column), self.leaves.records(rival.node)
            second = attempt % 2 == 1 and records.size < SMALL_NODE * len(y)
            if self.deals:
                if (second or attempt >= TRIES // 2) and self.leaves.nodes.is_leaf[rival.node]:
                    self._loosen(X, index, records)
                else:
                    self._deal(X, y, source, index, records)
                continue
            X[records, index] = self.blurred(index)[records]
            if not (self.tested or self.untested) or second:
                y[records] = self.classes(records)

    def _loosen(self, X: Floats, index: int, records: Codes) -> None:
        """Move a field's values among the records of a leaf by noise on their ranks, in place.

        So that the field tells less about the class there, and no cut is found inside the leaf.
        """
        rows = records[~np.isnan(X[records, index])]
        if not self.still[index] and rows.size:
            one_group = np.zeros(rows.size, dtype=np.int64)
            X[rows, index] = rank_noise(X[rows, index], one_group, LOOSE, self.draws, smooth=False)


def spread_rare(data: Microdata, leaves: Leaves, rules: list[Rule], still: Mask, draws: Draws) -> Floats:
    """Return the true values with those that fewer than WINDOW records share replaced by random ones nearby.

    They lie between their neighbours, in the same order. So nobody's own figure is released. Values next to a cut stay,
    and columns that are kept or bound by rules.
    """
    X, bound = data.X.copy(), {*np.flatnonzero(still).tolist(), *(index for rule in rules for index in rule.columns)}
    for index, field in enumerate(data.fields):
        present = np.flatnonzero(~np.isnan(X[:, index]))
        if field.kind == "category" or index in bound or not present.size:
            continue
        levels, code, count = np.unique(X[present, index], return_inverse=True, return_counts=True)
        cuts = ~leaves.nodes.is_leaf & (leaves.nodes.feature == index)
        rare = (count < WINDOW) & ~np.isin(levels, [leaves.last_left[cuts], leaves.first_right[cuts]])
        middle = (levels[1:] + levels[:-1]) / 2
        low, high = np.concatenate([levels[:1], middle]), np.concatenate([middle, levels[-1:]])
        moved = low[code] + draws.uniform(present.size) * (high - low)[code]
        X[present, index] = np.where(rare[code], field.snap(moved, field.low, field.high), X[present, index])
    return X


@dataclass(frozen=True)
class Rival:
    """A node of the pattern tree where the tree grown on the release cuts differently, and the field it cuts."""

    node: int
    column: int


def differences(leaves: Leaves, regrown: TreeNodes, released: Floats, below: int = 0) -> list[Rival]:
    """Return a list of the topmost nodes of the pattern tree where the tree grown on the release cuts differently.

    ``regrown``: that tree. ``released``: the released values [record, field]. ``below``: the node from which to look
    down.
    """
    rivals, pairs = [], [(below, 0)]
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
            rivals.append(Rival(ours, int(regrown.feature[theirs])))
    return rivals


def _same_cut(nodes: TreeNodes, ours: int, regrown: TreeNodes, theirs: int, values: Floats) -> bool:
    """Return whether a node of one tree and a node of another divide these records alike.

    ``values``: the records, [record, field]. ``ours`` and ``theirs``: the numbers of the nodes.
    """
    if nodes.left[ours] < 0 or nodes.feature[ours] != regrown.feature[theirs]:
        return False
    column = values[:, nodes.feature[ours]]
    return np.array_equal(nodes.goes_left(ours, column), regrown.goes_left(theirs, column))


def pin_cuts(X: Floats, indices: npt.ArrayLike, leaves: Leaves) -> None:
    """Set the value nearest to each cut of these fields, on both sides, to the true value next to the cut, in place.

    A tree grown again then finds the cut at the same threshold. The record that gets the value need not be the one that
    had it: the cut is part of the pattern, and whose value it was is not.
    """
    nodes, taken = leaves.nodes, np.zeros(X.shape, dtype=bool)
    for node in np.flatnonzero(~nodes.is_leaf & np.isin(nodes.feature, indices)):
        index = nodes.feature[node]
        for child, value, side in (
            (nodes.left[node], leaves.last_left[node], 1),
            (nodes.right[node], leaves.first_right[node], -1),
        ):
            records = leaves.records(int(child))
            leaf, column = leaves.leaf[records], X[records, index]
            able = (leaves.lower[leaf, index] <= value) & (value <= leaves.upper[leaf, index])
            able &= ~taken[records, index] & ~np.isnan(column)
            if able.any():
                nearest = records[able][np.argmax(side * column[able])]
                X[nearest, index], taken[nearest, index] = value, True
