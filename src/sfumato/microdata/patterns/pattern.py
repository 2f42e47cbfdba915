"""The pattern tree, whose rules are to survive a release: growing it, and the interval of each field in each leaf.

The interval of a tested field ends at the last observed value on the leaf's side of a cut, not at the cut itself: a
tree that is grown again on values inside these intervals can then find the same cut between the same two values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.patterns.nodes import TreeNodes, nodes_of
from sfumato.microdata.table.fields import Mask, Microdata

PRUNING = 1.0
"""The price of a leaf in units of ln(n·p) of log-likelihood (n records, p columns): about what the best of n·p cuts
gains by chance, as the largest of m χ² values of one degree of freedom is about 2 ln m. Larger prunes more."""


# --- leaves and their intervals ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leaves:
    """The records in each node of a tree, and the interval that its path leaves to each field.

    ``leaf[record]``: its leaf. ``lower[node, field]`` and ``upper[node, field]``: the interval; ``lower_by`` and
    ``upper_by``: the nodes whose cuts set its ends (−1: the domain does). ``last_left[node]`` and
    ``first_right[node]``: the values next to the node's cut. ``order[start[v]:stop[v]]``: the records of node v.
    ``counts[node, class]``.
    """

    nodes: TreeNodes
    leaf: Codes
    lower: Floats
    upper: Floats
    lower_by: Codes
    upper_by: Codes
    last_left: Floats
    first_right: Floats
    order: Codes
    start: Codes
    stop: Codes
    counts: Codes

    def records(self, node: int) -> Codes:
        """Return the indices of the records that pass through a node."""
        return self.order[self.start[node] : self.stop[node]]

    @property
    def size(self) -> Codes:
        """The number of records in each node."""
        return self.stop - self.start

    @property
    def tested(self) -> Mask:
        """Which columns are tested on the way from the root to each node, as truth values [node, field]."""
        return np.asarray((self.lower_by >= 0) | (self.upper_by >= 0))

    def bounds(self, field: int) -> tuple[Floats, Floats]:
        """Return two arrays, the lower and the upper end of the interval of one field in each record's leaf."""
        return self.lower[self.leaf, field], self.upper[self.leaf, field]


def find_leaves(nodes: TreeNodes, data: Microdata, *, observed: bool = True) -> Leaves:
    """Find the leaf of each record, and the interval that each path leaves to each field.

    ``observed``: intervals end at the last observed value next to a cut; otherwise at the cut.
    """
    leaf, inner = nodes.descend(data.X), np.flatnonzero(~nodes.is_leaf).tolist()
    start, size = _depth_first(nodes, leaf)
    order = np.argsort(start[leaf], kind="stable")
    low, high = np.transpose([(field.low, field.high) for field in data.fields])
    lower, upper = np.tile(low, (nodes.size, 1)), np.tile(high, (nodes.size, 1))
    lower_by, upper_by = (np.full(lower.shape, -1, dtype=np.int64) for _ in range(2))
    last_left, first_right = nodes.threshold.copy(), nodes.threshold.copy()
    for node in inner:
        feature, left, right = nodes.feature[node], nodes.left[node], nodes.right[node]
        below, above = (data.X[order[start[child] : start[child] + size[child]], feature] for child in (left, right))
        values = (below, above) if observed else (below[:0], above[:0])
        ends = _cut_values(nodes, node, *values, data.fields[feature].step)
        last_left[node], first_right[node] = ends
        for child in (left, right):
            for bound in (lower, upper, lower_by, upper_by):
                bound[child] = bound[node]
        if ends[0] <= upper[node, feature]:
            upper[left, feature], upper_by[left, feature] = ends[0], node
        if ends[1] >= lower[node, feature]:
            lower[right, feature], lower_by[right, feature] = ends[1], node
    counts = _class_counts(nodes, leaf, data.y)
    return Leaves(
        nodes, leaf, lower, upper, lower_by, upper_by, last_left, first_right, order, start, start + size, counts
    )


def _class_counts(nodes: TreeNodes, leaf: Codes, y: Codes) -> Codes:
    """Count the records of each class in each node: [node, class]."""
    classes = int(y.max()) + 1
    counts = np.bincount(leaf * classes + y, minlength=nodes.size * classes).reshape(nodes.size, classes)
    for node in np.flatnonzero(~nodes.is_leaf)[::-1].tolist():
        counts[node] = counts[nodes.left[node]] + counts[nodes.right[node]]
    return counts


def _depth_first(nodes: TreeNodes, leaf: Codes) -> tuple[Codes, Codes]:
    """Return two arrays by node: where its records start, and how many they are, in an order with subtrees together.

    ``leaf``: the leaf of each record.
    """
    start, size = np.zeros(nodes.size, np.int64), np.bincount(leaf, minlength=nodes.size)
    inner = np.flatnonzero(~nodes.is_leaf).tolist()
    for node in reversed(inner):
        size[node] = size[nodes.left[node]] + size[nodes.right[node]]
    for node in inner:
        start[nodes.left[node]] = start[node]
        start[nodes.right[node]] = start[node] + size[nodes.left[node]]
    return start, size


def _cut_values(nodes: TreeNodes, node: int, below: Floats, above: Floats, step: float) -> tuple[float, float]:
    """Return the two values next to a node's cut: the largest on its left and the smallest on its right.

    ``below`` and ``above``: the values on each side. For a side without values, the value next to the cut in the
    field's ``step`` or in floats.
    """
    below, above = below[~np.isnan(below)], above[~np.isnan(above)]
    if below.size and above.size:
        return float(below.max()), float(above.min())
    near = np.float32(nodes.threshold[node])
    beside = np.array([np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))], float)
    if step:
        per = np.rint(1 / step)
        turns = np.append((beside[1:] + beside[:-1]) / 2, nodes.threshold[node])  # single precision turns over between
        beside = ((np.floor(turns * per)[:, None] + np.arange(-1, 3)) / per).ravel()
    left = nodes.goes_left(node, beside)
    last, first = beside[left].max(initial=-np.inf), beside[~left].min(initial=np.inf)
    return (float(below.max()) if below.size else float(last), float(above.min()) if above.size else float(first))


# --- the pattern tree -------------------------------------------------------------------------------------------------


def grow_tree(
    X: Floats, y: Codes, *, pruned: bool = True, n: int | None = None, depth: int | None = None
) -> Any:
    """Grow the default tree whose rules a release keeps, for classes; return scikit-learn's fitted tree.

    Cuts are by entropy, and leaves have at least max(5, 0.4·√n) records.

    ``pruned``: by minimal cost complexity, so that a leaf must raise the log-likelihood by ln(n·p); noise does so
    rarely. ``n``: the number of records of the whole table, where ``X`` holds those of one node alone: the tree is then
    the one below that node. ``depth``: the most levels (None: any).
    """
    from sklearn.tree import DecisionTreeClassifier

    whole = n or len(y)
    price = PRUNING * np.log(whole * X.shape[1]) / (len(y) * np.log(2)) if pruned else 0.0
    fewest = _fewest(whole)
    grown = DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=fewest, ccp_alpha=price, max_depth=depth, random_state=0
    )
    return grown.fit(X, y)


def grow_number_tree(
    X: Floats, target: Floats, *, pruned: bool = True, n: int | None = None, depth: int | None = None
) -> Any:
    """Grow the default tree whose rules a release keeps, for a numeric target; return scikit-learn's fitted tree.

    The parameters are those of `grow_tree`. Pruned, a leaf must lower the sum of squares by ln(n·p) times the variance
    inside the leaves.
    """
    from sklearn.tree import DecisionTreeRegressor

    whole = n or len(target)
    fewest = _fewest(whole)
    grown = DecisionTreeRegressor(min_samples_leaf=fewest, max_depth=depth, random_state=0).fit(X, target)
    if not pruned:
        return grown
    inside = float(((target - grown.predict(X)) ** 2).sum()) / max(len(target) - grown.get_n_leaves(), 1)
    price = PRUNING * np.log(whole * X.shape[1]) * inside / len(target)
    return DecisionTreeRegressor(min_samples_leaf=fewest, ccp_alpha=price, random_state=0).fit(X, target)


def _fewest(n: int) -> int:
    """Return how many records a leaf must have at least in a table of n records: max(5, 0.4·√n)."""
    return int(max(5, round(0.4 * n**0.5)))


def grow_c45(X: Floats, y: Codes, **options: Any) -> Any:
    """Grow a classification tree after Quinlan's C4.5; return it fitted. Other options are ignored."""
    from sfumato.microdata.patterns.c45 import C45Tree

    return C45Tree().fit(X, y)


@dataclass(frozen=True)
class Grower:
    """A way to grow the tree whose rules are to survive, on any records: on the table and again on its release.

    kind      a name in `GROWERS`, or a fitted tree of the owner's, which is grown with its own options
    names     all fields
    inputs    the fields that the tree may test
    response  the index of the field that it predicts (None: the class)
    """

    kind: Any
    names: list[str]
    inputs: list[str]
    response: int | None

    @property
    def in_parts(self) -> bool:
        """Whether the tree below a node can be grown from the node's records alone (with ``n`` and ``depth``)."""
        return isinstance(self.kind, str) and self.kind != "c45"

    def grow(
        self, X: Floats, y: Codes, *, n: int | None = None, depth: int | None = None, pruned: bool = True
    ) -> TreeNodes:
        """Grow the tree on records X[record, field] with classes y, and return its nodes.

        ``n``, ``depth`` and ``pruned`` are those of `grow_tree`.
        """
        grow = GROWERS[self.kind] if isinstance(self.kind, str) else partial(_grow_owners, self.kind)
        inputs = X[:, [self.names.index(name) for name in self.inputs]]
        target = y if self.response is None else X[:, self.response]
        tree = grow(inputs, target, pruned=pruned and depth is None, n=n, depth=depth)
        return nodes_of(tree, self.names, self.inputs)


@dataclass(frozen=True)
class Pattern:
    """The tree whose rules are to survive a release.

    ``tree``: its nodes. ``leaves``: the tree whose leaves confine the noise, the same or a finer one. ``grower``: how
    to grow ``tree`` again.
    """

    tree: TreeNodes
    leaves: TreeNodes
    grower: Grower


def find_pattern(tree: Any, data: Microdata, *, leave_out: Iterable[int] = (), finer: bool = False) -> Pattern:
    """Return the tree whose rules are to survive a release: the owner's, or one grown on all fields.

    ``tree``: the owner's fitted tree, the name of a kind ("c45"), or None. Without a target the tree has no cut.
    ``leave_out``: fields that follow from others, which the tree must not test. ``finer``: noise is confined to the
    leaves of the unpruned tree.
    """
    grower = _grower(tree, data, leave_out)
    indices = [data.index(name) for name in grower.inputs]
    grown_here = isinstance(grower.kind, str)
    if not grown_here and not data.numeric[indices].all():
        text = data.names[indices[int(np.argmin(data.numeric[indices]))]]
        raise ValueError(f"the tree tests {text!r}, a column of categories; leave it out, or fit it on numbers only")
    first = grower.grow(data.X, data.y) if grown_here else nodes_of(tree, data.names)
    leaves = grower.grow(data.X, data.y, pruned=False) if finer and grower.in_parts else first
    return Pattern(first, leaves, grower)


def _grower(tree: Any, data: Microdata, leave_out: Iterable[int]) -> Grower:
    """Return how the tree whose rules are to survive is grown, on which fields.

    ``tree``: the owner's fitted tree, the name of a kind ("c45"), or None. ``leave_out``: fields it must not test.
    """
    if tree is None:
        names = [name for index, name in enumerate(data.names) if index not in {*leave_out, data.response}]
        kind: Any = "nothing" if not names else "classes" if data.response is None else "number"
    elif isinstance(tree, str):
        if data.response is not None or data.target is None:
            raise ValueError(f"leaves={tree!r} explains classes; name a target column of classes, or leave it out")
        names, kind = data.names, tree
    else:
        _check_explains(tree, data)
        nodes_of(tree, data.names)
        names, kind = list(getattr(tree, "feature_names_in_", data.names)), tree
    return Grower(kind, data.names, names, data.response)


def _check_explains(tree: Any, data: Microdata) -> None:
    """Raise ValueError if an owner's tree predicts classes where the target is a number, or a number for classes."""
    from sklearn.base import ClassifierMixin, RegressorMixin

    wrong, needed = (ClassifierMixin, "number; give a regressor") if data.response is not None else (
        RegressorMixin, "column of classes; give a classifier"
    )
    if data.target is not None and isinstance(tree, wrong):
        raise ValueError(f"{type(tree).__name__} does not explain {data.target!r}, a {needed}, or leave leaves= out")


def _no_tree(X: Floats, y: Codes, **options: Any) -> Any:
    """Grow a tree of a single leaf, for tables without a target or without a field to test; return it fitted."""
    return grow_tree(np.zeros((len(y), 1)), np.zeros_like(y))


def _grow_owners(tree: Any, X: Floats, target: Any, **options: Any) -> Any:
    """Grow a tree with the options of the owner's tree on these records; return it fitted. Others are ignored."""
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return clone(tree).fit(X, target)


GROWERS: dict[str, Callable[..., Any]] = {  # by kind of pattern tree, the function that grows it
    "classes": grow_tree, "number": grow_number_tree, "c45": grow_c45, "nothing": _no_tree,
}  # fmt: skip
