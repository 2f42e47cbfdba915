"""What changed first between a tree and those grown on releases, and where a tree nearly took another attribute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from reproductions import Rows
from reproductions.ib04.choices import Choice
from sfumato.domain import Floats
from sfumato.microdata.patterns.c45 import best_cuts
from sfumato.microdata.patterns.nodes import TreeNodes, nodes_of

CHANGES = ("another attribute", "cut moved", "leaf cut", "cut gone")


class Changed(Protocol):
    """An experiment with the changes that came first in its runs."""

    @property
    def name(self) -> str: ...

    @property
    def tree(self) -> str: ...

    @property
    def how(self) -> str: ...

    @property
    def changes(self) -> Counter[str]: ...


def first_changes(choice: Choice, grown: list[Any]) -> Counter[str]:
    each = [topmost_changes(choice.nodes, nodes_of(tree), choice.data.X) for tree in grown]
    return Counter(change for several in each for change in several)


def topmost_changes(ours: TreeNodes, theirs: TreeNodes, X: Floats) -> list[str]:
    """What differs first on the ways down two trees: another attribute tested, the same one cut elsewhere (other
    records on its sides), a leaf cut further, or a cut gone."""
    found, pairs = [], [(0, 0, np.arange(len(X)))]
    while pairs:
        mine, other, records = pairs.pop()
        inner = ours.left[mine] >= 0, theirs.left[other] >= 0
        if not any(inner):
            continue
        if not all(inner):
            found.append("cut gone" if inner[0] else "leaf cut")
        elif ours.feature[mine] != theirs.feature[other]:
            found.append("another attribute")
        else:
            column = X[records, ours.feature[mine]]
            left = ours.goes_left(mine, column)
            if np.array_equal(left, theirs.goes_left(other, column)):
                pairs += [(int(ours.left[mine]), int(theirs.left[other]), records[left])]
                pairs += [(int(ours.right[mine]), int(theirs.right[other]), records[~left])]
            else:
                found.append("cut moved")
    return found


def change_rows(found: Iterable[Changed]) -> Rows:
    """How often which change came first, over all choices and runs."""
    rows: dict[tuple[str, str, str], Counter[str]] = {}
    for one in found:
        rows.setdefault((one.name, one.tree, one.how), Counter()).update(one.changes)
    heads = ("experiment", "tree", "noise")
    return [dict(zip(heads, key, strict=True)) | {kind: count[kind] for kind in CHANGES} for key, count in rows.items()]


def near_ties(choice: Choice, within: float = 0.1) -> tuple[int, int]:
    """Of a C4.5 tree's tests, those where another attribute reaches the best gain ratio to a tenth; and all tests."""
    nodes, X = choice.nodes, choice.data.X
    y = np.unique(choice.data.y, return_inverse=True)[1]
    close, here = 0, [(0, np.arange(len(X)))]
    while here:
        node, records = here.pop()
        if nodes.left[node] < 0:
            continue
        order = np.argsort(X[records], axis=0, kind="stable").T
        cuts = best_cuts(np.take_along_axis(X[records].T, order, axis=1), y[records][order], 2, choice.tree.min_cases)
        second, best = np.sort(np.append(cuts.ratio[cuts.able()], 0.0))[-2:]
        close += second >= (1 - within) * best
        left = nodes.goes_left(node, X[records, nodes.feature[node]])
        here += [(int(nodes.left[node]), records[left]), (int(nodes.right[node]), records[~left])]
    return close, int((~nodes.is_leaf).sum())
