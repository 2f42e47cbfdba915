"""The smallest tree over a labelled product of parts: which splits tell its types apart with the fewest nodes.

    splits(box) = 0 if the box has one type only, else 1 + min over columns and places of splits(below) + splits(above)

Boxes of equal extents are solved together, small ones first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sfumato.learners.tree.rule.boxes import BoxTypes

Box = tuple[tuple[int, int], ...]
"""The first part and the one after the last, of each column."""
Extents = tuple[int, ...]
"""How many parts of each column there are in a box."""
MOST_BOXES = 20_000
"""Boxes for which the exact smallest tree is computed. By judgement; more take longer, with fewer some trees are larger
than they need be."""


@dataclass(frozen=True)
class BoxNode:
    """A node of a tree over boxes: a leaf of one type, or a split.

    box: its range of parts in each column. type: of a leaf; −1 for a split.
    column, place: of a split, its column and the first part above it. below, above: its sides; None for a leaf.
    inner: how many splits there are from here on.
    """

    box: Box
    type: int
    column: int = -1
    place: int = 0
    below: BoxNode | None = None
    above: BoxNode | None = None
    inner: int = 0

    def leaves(self) -> list[BoxNode]:
        """Return the leaves from here on, lower sides first."""
        if self.below is None or self.above is None:
            return [self]
        return [*self.below.leaves(), *self.above.leaves()]


def smallest_tree(types: BoxTypes) -> BoxNode:
    """Return the tree of fewest nodes whose leaves have one type each.

    Over very many boxes it need not be the smallest: each node is split where neighbours differ most.

    types: of every box of parts.
    """
    exact = np.prod([size * (size + 1) // 2 for size in types.shape]) <= MOST_BOXES
    return _grow(types, tuple((0, size) for size in types.shape), _splits_needed(types) if exact else None)


def _splits_needed(types: BoxTypes) -> dict[Extents, NDArray[np.int64]]:
    """Return how many splits every box needs, by its extents and then by where it begins."""
    needed: dict[Extents, NDArray[np.int64]] = {}
    pure: dict[Extents, NDArray[np.bool_]] = {}
    for extents in product(*(range(1, size + 1) for size in types.shape)):
        shape = tuple(size - extent + 1 for size, extent in zip(types.shape, extents, strict=True))
        halves = [(needed[below], needed[above], j, k) for j, k, below, above in _halves(extents)]
        choices = [_beginnings(below, shape) + _beginnings(above, shape, j, k) for below, above, j, k in halves]
        if not choices:
            needed[extents], pure[extents] = np.zeros(shape, np.int64), np.ones(shape, bool)
            continue
        j, k, below, above = next(_halves(extents))
        apart = np.diff(types, axis=j)[tuple(slice(size) for size in shape)] != 0
        pure[extents] = _beginnings(pure[below], shape) & _beginnings(pure[above], shape, j, k) & ~apart
        needed[extents] = np.where(pure[extents], 0, 1 + np.min(choices, axis=0))
    return needed


def _halves(extents: Extents) -> Iterator[tuple[int, int, Extents, Extents]]:
    """Yield the column, the place, the extents below and the extents above of every split of a box."""
    for j, extent in enumerate(extents):
        for k in range(1, extent):
            yield j, k, (*extents[:j], k, *extents[j + 1 :]), (*extents[:j], extent - k, *extents[j + 1 :])


def _beginnings(values: NDArray, shape: Extents, j: int = 0, k: int = 0) -> NDArray:  # type: ignore[type-arg]
    """Return the values of the boxes that begin k parts further along column j.

    values: of boxes of equal extents, by where they begin. shape: how many beginnings are wanted in each column.
    """
    return values[tuple(slice(k * (i == j), size + k * (i == j)) for i, size in enumerate(shape))]


def _grow(types: BoxTypes, box: Box, needed: dict[Extents, NDArray[np.int64]] | None) -> BoxNode:
    """Return the tree of a box. needed: see `_splits_needed`; None: the place where neighbours differ most is split."""
    inside = types[tuple(slice(*ends) for ends in box)]
    first = int(inside.flat[0])
    if (inside == first).all():
        return BoxNode(box, first)
    _, j, k = min((_cost(types, box, j, k, needed), j, k) for j, k, *_ in _halves(inside.shape))
    middle = box[j][0] + k
    below, above = (
        _grow(types, (*box[:j], ends, *box[j + 1 :]), needed) for ends in ((box[j][0], middle), (middle, box[j][1]))
    )
    return BoxNode(box, -1, j, middle, below, above, below.inner + above.inner + 1)


def _cost(types: BoxTypes, box: Box, j: int, k: int, needed: dict[Extents, NDArray[np.int64]] | None) -> float:
    """Return the cost of splitting a box at a place: how many splits both sides need.

    Where ``needed`` is None: minus the share of neighbours across the place that differ in type.

    j, k: the column of the split, and how many parts lie below it.
    """
    inside = types[tuple(slice(*ends) for ends in box)]
    if needed is None:
        return -float(np.mean(np.take(inside, k, j) != np.take(inside, k - 1, j)))
    starts = [low for low, _ in box]
    *_, below, above = next(each for each in _halves(inside.shape) if each[:2] == (j, k))
    further = (*starts[:j], starts[j] + k, *starts[j + 1 :])
    return int(needed[below][tuple(starts)] + needed[above][further])
