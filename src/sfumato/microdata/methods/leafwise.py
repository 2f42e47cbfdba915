"""Noise leaf by leaf, and the owner's look (Islam & Brankovic 2004).

Values stay inside the leaves' intervals, and classes move inside leaves only, so every cut of the pattern tree scores
as it did. A tree grown again differs only where, by chance, some other cut now scores higher: so the owner looks
whether a tree grown on the release finds the same patterns. Where it does not, that cut's field is dealt or drawn again
for the records of that node. Nothing original is put back.

How values come about is the noise: "donors" (:mod:`sfumato.microdata.methods.sequence`) draws columns one after the
other, "dealt", "rank" and "additive" (:mod:`sfumato.microdata.methods.noise`) each alone; the first two deal numbers
again inside the leaf. What is to survive decides the rest: rules are guarded by dealing inside leaf and class
(:mod:`sfumato.microdata.methods.dealing`) and by the look.
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
from sfumato.microdata.patterns.nodes import Nodes
from sfumato.microdata.patterns.pattern import Grower, Leaves, Pattern
from sfumato.microdata.patterns.rules import Rule, read_off, repair
from sfumato.microdata.table.fields import Mask, Microdata

VALUES_SOUGHT, MOST_PASSES, FEWEST_PASSES, TRIES = 4_000_000, 4, 2, 60
"""How many values trees may be grown on in a search for a better draw (or all values twice, if they are more), how many
times the whole is searched and looked at (tables with more values the fewest times), and how often a node's field is
dealt again: two cuts beside each other are near-ties, so one try in two or three finds the same one."""
LEVELS = 10
"""About how many times cheaper the first cut is than the whole tree."""
LOOSE = 0.25
"""How far a field moves away from the class, as a share of its leaf's ranks."""
SMALL_NODE = 0.2
"""Labels, or a leaf's field away from them, move again where a node holds less than this share of the records;
elsewhere it would stir too much."""


@dataclass(frozen=True)
class Leafwise:
    """Fresh draws of a column, of the classes of some records, and of the whole release."""

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
        """Whether numbers are dealt again: what the release is made of is ours to choose, not the owner's own law."""
        return self.noise in ("donors", "dealt")

    @cached_property
    def moves(self) -> Mask:
        """[record, field]: what may move."""
        return may_move(self.leaves, self.data.y, self.tested, self.untested)

    @property
    def still(self) -> Mask:
        """Columns that nobody draws."""
        return np.asarray(self.terms.kept | (self.terms.amount == 0))

    @property
    def read_off(self) -> dict[int, int]:
        """Columns read off another one, and which."""
        return {second: first for second, first in read_off(self.rules).items() if not self.still[second]}

    def classes(self, rows: Codes | slice) -> Codes:
        return blur_labels(self.data.y[rows], self.leaves.leaf[rows], self.labels, self.draws)

    def release(self, y: Codes, pattern: Pattern) -> tuple[Floats, Codes, Nodes | None]:
        """All columns, drawn again in places at most ``attempts`` times; of all versions the closest is returned, and
        the tree that was grown on it (if any was)."""
        spread = spread_rare(self.data, self.leaves, self.rules, self.still, self.draws)
        source = self.data.with_values(spread, self.data.y)
        X = self.columns(source, y)
        parts = pattern.grower.in_parts and self.deals
        passes = MOST_PASSES if X.size < VALUES_SOUGHT else FEWEST_PASSES
        rounds = min(self.terms.attempts, passes) if parts else self.terms.attempts + bool(self.terms.attempts)
        best: tuple[Floats, Codes, Nodes | None] = (X, y, None)
        fewest, rivals = len(y) + 1, [Rival(0, 0)]
        for look in range(rounds):
            if parts:
                self._settle(X, y, source, self._search(X, y, source, rivals, pattern.grower))
            elif look:
                self._draw_again(X, y, source, rivals, look - 1)
                self._settle(X, y, source, [rival.place for rival in rivals])
            regrown = pattern.grower.grow(X, y)
            rivals = differences(self.leaves, regrown, X)
            affected = sum(self.leaves.size[rival.node] for rival in rivals)
            if affected < fewest:
                best, fewest = (X.copy(), y.copy(), regrown), affected
            if not rivals:
                break
        return best

    def _search(self, X: Floats, y: Codes, source: Microdata, rivals: list[Rival], grower: Grower) -> list[int]:
        """From each rival's node downwards, deal again until the node's own cut is the best one there; inside a leaf,
        until no tree grows. Which fields were dealt."""
        nodes, left, dealt = self.leaves.nodes, max(VALUES_SOUGHT, 2 * X.size), set()
        waiting = [rival.node for rival in rivals]
        while waiting and left > 0:
            node = waiting.pop()
            records, inner = self.leaves.records(node), not nodes.is_leaf[node]
            levels = 1 if inner else max(1, LEVELS - int(np.log2(len(y) / max(records.size, 1))))
            for attempt in range(TRIES):
                top = grower.grow(X[records], y[records], n=len(y), depth=1 if inner else None)
                found = differences(self.leaves, top, X, node)
                left -= records.size * X.shape[1] * levels // LEVELS
                if not found or left < 0:
                    break
                self._draw_again(X, y, source, found, attempt)
                dealt |= {rival.place for rival in found}
            if inner:
                waiting += [int(nodes.left[node]), int(nodes.right[node])]
        return sorted(dealt)

    def columns(self, source: Microdata, y: Codes) -> Floats:
        """Every column once."""
        places, every = range(len(self.data.fields)), np.arange(len(y))
        if self.noise == "donors":
            late = list(self.read_off)
            X = draw_in_turn(source, y, self.leaves, self.terms.amount, self.still, late, self.draws)
            if self.labels == "rpt" and self.data.response is None:
                y[:] = deal_classes(source, X, y, self.leaves.leaf, self.draws)
        else:
            X = np.column_stack([self.blurred(place) for place in places])
        for place in places:
            if self.data.numeric[place] and self.deals:
                self._deal(X, y, source, place, every)
        self._settle(X, y, source, places)
        return X

    def blurred(self, place: int) -> Floats:
        """One field with noise of its own."""
        column = self.data.X[:, place]
        if self.still[place]:
            return column.copy()
        room = Room(self.data.fields[place], *self.leaves.bounds(place), self.leaves.leaf)
        ranked = crowded(column, room.group) & (self.noise != "additive")
        return blur(column, self.terms.amount[place], room, ranked, self.draws)

    def _deal(self, X: Floats, y: Codes, source: Microdata, place: int, rows: Codes) -> None:
        """Deal the leaf's own values of a field again, in the order of what the records have."""
        values, true, leaf = source.X[:, place], self.data.y, self.leaves.leaf
        rows = rows[~np.isnan(values[rows])]
        if self.still[place] or place in self.read_off or not rows.size:
            return
        if not self.data.numeric[place]:
            X[rows, place] = deal_categories(values[rows], X[rows, place], true[rows], y[rows], leaf[rows], self.draws)
        elif self.terms.guards_rules:
            X[rows, place] = deal_by_class(values, X[:, place], true, y, self.leaves, place, rows, self.draws)
        else:
            X[rows, place] = deal(values[rows], leaf[rows], X[rows, place], leaf[rows], self.draws)

    def _settle(self, X: Floats, y: Codes, source: Microdata, places: npt.ArrayLike) -> None:
        """What was not to move goes back, rules hold, cuts stand where they stood."""
        X[:] = np.where(self.moves, X, self.data.X)
        repair(X, y, source, self.leaves, self.rules, self.still, self.draws)
        pin_cuts(X, np.setdiff1d(places, [*self.read_off, *np.flatnonzero(self.still)]), self.leaves)
        repair(X, y, source, self.leaves, self.rules, self.still, self.draws)

    def _draw_again(self, X: Floats, y: Codes, source: Microdata, rivals: list[Rival], attempt: int) -> None:
        """Every second time a small leaf may lose what ties its fields to the class, in the end a large one too."""
        for rival in rivals:
            place, records = self.read_off.get(rival.place, rival.place), self.leaves.records(rival.node)
            second = attempt % 2 == 1 and records.size < SMALL_NODE * len(y)
            if self.deals:
                if (second or attempt >= TRIES // 2) and self.leaves.nodes.is_leaf[rival.node]:
                    self._loosen(X, place, records)
                else:
                    self._deal(X, y, source, place, records)
                continue
            X[records, place] = self.blurred(place)[records]
            if not (self.tested or self.untested) or second:
                y[records] = self.classes(records)

    def _loosen(self, X: Floats, place: int, records: Codes) -> None:
        """Inside a leaf, where the pattern has no cut, a field may be moved away from the class."""
        rows = records[~np.isnan(X[records, place])]
        if not self.still[place] and rows.size:
            one = np.zeros(rows.size, dtype=np.int64)
            X[rows, place] = rank_noise(X[rows, place], one, LOOSE, self.draws, smooth=False)


def spread_rare(data: Microdata, leaves: Leaves, rules: list[Rule], still: Mask, draws: Draws) -> Floats:
    """Numbers that fewer than five records share lie anywhere between their neighbours, in the same order: nobody's own
    figure is released. Values next to a cut stay, and columns that are kept or bound by rules."""
    X, bound = data.X.copy(), {*np.flatnonzero(still).tolist(), *(place for rule in rules for place in rule.places)}
    for place, field in enumerate(data.fields):
        known = np.flatnonzero(~np.isnan(X[:, place]))
        if field.kind == "category" or place in bound or not known.size:
            continue
        levels, code, count = np.unique(X[known, place], return_inverse=True, return_counts=True)
        cuts = ~leaves.nodes.is_leaf & (leaves.nodes.feature == place)
        rare = (count < WINDOW) & ~np.isin(levels, [leaves.last_left[cuts], leaves.first_right[cuts]])
        middle = (levels[1:] + levels[:-1]) / 2
        low, high = np.concatenate([levels[:1], middle]), np.concatenate([middle, levels[-1:]])
        moved = low[code] + draws.uniform(known.size) * (high - low)[code]
        X[known, place] = np.where(rare[code], field.snap(moved, field.low, field.high), X[known, place])
    return X


@dataclass(frozen=True)
class Rival:
    """A node of the pattern tree where another tree cuts differently, and the field it cuts instead."""

    node: int
    place: int


def differences(leaves: Leaves, regrown: Nodes, released: Floats, below: int = 0) -> list[Rival]:
    """The topmost nodes below one (and this one) where the tree regrown there cuts differently."""
    found, pairs = [], [(below, 0)]
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
            found.append(Rival(ours, int(regrown.feature[theirs])))
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
