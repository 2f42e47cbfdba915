"""The smallest tree over a labelled product of parts: which splits tell its types apart with the fewest nodes.

    splits(box) = 0 if the box has one type only, else 1 + min over columns and places of splits(below) + splits(above)

Boxes of equal extents are solved together, small ones first.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sfumato.learners.tree.rule.boxes import Labels

Box = tuple[tuple[int, int], ...]
Extents = tuple[int, ...]
MOST_BOXES = 20_000


@dataclass(frozen=True)
class BoxNode:
    """A box of parts, its type if it has one only, else the column and the part before which it is split."""

    box: Box
    type: int
    column: int = -1
    place: int = 0
    below: BoxNode | None = None
    above: BoxNode | None = None
    inner: int = 0
    """How many splits there are from here on."""

    def leaves(self) -> list[BoxNode]:
        if self.below is None or self.above is None:
            return [self]
        return [*self.below.leaves(), *self.above.leaves()]


def smallest_tree(types: Labels) -> BoxNode:
    """The tree of fewest nodes; over very many boxes the one that at each node leaves fewest changes behind."""
    exact = np.prod([size * (size + 1) // 2 for size in types.shape]) <= MOST_BOXES
    return _read(types, tuple((0, size) for size in types.shape), _splits(types) if exact else None)


def _splits(types: Labels) -> dict[Extents, NDArray[np.int64]]:
    """How many splits the boxes of these extents need, by where they begin."""
    found: dict[Extents, NDArray[np.int64]] = {}
    pure: dict[Extents, NDArray[np.bool_]] = {}
    for extents in product(*(range(1, size + 1) for size in types.shape)):
        shape = tuple(size - extent + 1 for size, extent in zip(types.shape, extents, strict=True))
        halves = [(found[one], found[other], j, k) for j, k, one, other in _halves(extents)]
        needed = [_beginnings(one, shape) + _beginnings(other, shape, j, k) for one, other, j, k in halves]
        if not needed:
            found[extents], pure[extents] = np.zeros(shape, np.int64), np.ones(shape, bool)
            continue
        j, k, one, other = next(_halves(extents))
        apart = np.diff(types, axis=j)[tuple(slice(size) for size in shape)] != 0
        pure[extents] = _beginnings(pure[one], shape) & _beginnings(pure[other], shape, j, k) & ~apart
        found[extents] = np.where(pure[extents], 0, 1 + np.min(needed, axis=0))
    return found


def _halves(extents: Extents):  # type: ignore[no-untyped-def]
    """Column, place, extents below and extents above of all splits."""
    for j, extent in enumerate(extents):
        for k in range(1, extent):
            yield j, k, (*extents[:j], k, *extents[j + 1 :]), (*extents[:j], extent - k, *extents[j + 1 :])


def _beginnings(values: NDArray, shape: Extents, j: int = 0, k: int = 0) -> NDArray:  # type: ignore[type-arg]
    """The boxes that begin k parts further along column j."""
    return values[tuple(slice(k * (i == j), size + k * (i == j)) for i, size in enumerate(shape))]


def _read(types: Labels, box: Box, splits: dict[Extents, NDArray[np.int64]] | None) -> BoxNode:
    inside = types[tuple(slice(*ends) for ends in box)]
    first = int(inside.flat[0])
    if (inside == first).all():
        return BoxNode(box, first)
    places = [(_rest(types, box, j, k, splits), j, k) for j, k, *_ in _halves(inside.shape)]
    _, j, k = min(places)
    middle = box[j][0] + k
    below, above = (
        _read(types, (*box[:j], ends, *box[j + 1 :]), splits) for ends in ((box[j][0], middle), (middle, box[j][1]))
    )
    return BoxNode(box, -1, j, middle, below, above, below.inner + above.inner + 1)


def _rest(types: Labels, box: Box, j: int, k: int, splits: dict[Extents, NDArray[np.int64]] | None) -> float:
    """What a split leaves to be split; where that is not known, minus the share of changes along it."""
    inside = types[tuple(slice(*ends) for ends in box)]
    if splits is None:
        return -float(np.mean(np.take(inside, k, j) != np.take(inside, k - 1, j)))
    starts = [low for low, _ in box]
    *_, one, other = next(each for each in _halves(inside.shape) if each[:2] == (j, k))
    further = (*starts[:j], starts[j] + k, *starts[j + 1 :])
    return int(splits[one][tuple(starts)] + splits[other][further])
