"""The smallest tree over a labelled product of parts: which splits tell its types apart with the fewest nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.mining.tree.boxes import Labels

Box = tuple[tuple[int, int], ...]
MOST_BOXES = 4_000


@dataclass(frozen=True)
class Node:
    """A box of parts, its type if it has one only, else the column and the part before which it is split."""

    box: Box
    type: int
    column: int = -1
    place: int = 0
    below: Node | None = None
    above: Node | None = None
    inner: int = 0
    """How many splits there are from here on."""

    def leaves(self) -> list[Node]:
        if self.below is None or self.above is None:
            return [self]
        return [*self.below.leaves(), *self.above.leaves()]


def smallest_tree(types: Labels) -> Node:
    """The tree of fewest nodes; over very many boxes the one that at each node leaves fewest changes behind."""
    boxes = np.prod([size * (size + 1) // 2 for size in types.shape])
    known: dict[Box, Node] = {}

    def solve(box: Box) -> Node:
        if box not in known:
            known[box] = _split(types, box, solve, exact=bool(boxes <= MOST_BOXES))
        return known[box]

    return solve(tuple((0, size) for size in types.shape))


def _split(types: Labels, box: Box, solve: Any, exact: bool) -> Node:
    inside = types[tuple(slice(*ends) for ends in box)]
    first = int(inside.flat[0])
    if (inside == first).all():
        return Node(box, first)
    places = []
    for j in range(inside.ndim):
        changes = (np.diff(inside, axis=j) != 0).sum(axis=tuple(k for k in range(inside.ndim) if k != j))
        places += [(int(count), j, i) for i, count in enumerate(changes.tolist()) if count]
    if not exact:
        sizes = [inside.size / inside.shape[j] for j in range(inside.ndim)]
        places = [max(places, key=lambda found: found[0] / sizes[found[1]])]
    best: Node | None = None
    for _, j, i in sorted(places, reverse=True):
        low, high = box[j]
        middle = low + i + 1
        below = solve((*box[:j], (low, middle), *box[j + 1 :]))
        if best is not None and below.inner + 1 >= best.inner:
            continue
        above = solve((*box[:j], (middle, high), *box[j + 1 :]))
        if best is None or below.inner + above.inner + 1 < best.inner:
            best = Node(box, -1, j, middle, below, above, below.inner + above.inner + 1)
    assert best is not None
    return best
