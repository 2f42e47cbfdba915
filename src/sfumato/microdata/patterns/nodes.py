"""`TreeNodes`: the nodes of a fitted binary tree, of scikit-learn or of this library, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.table.fields import Mask


@dataclass(frozen=True)
class TreeNodes:
    """A fitted binary tree as arrays with one entry a node, parents before children.

    A record goes left where x[feature] <= threshold, or where x is missing and ``missing_left`` is set. ``left`` and
    ``right``: the children's indices, −1 for leaves. ``prediction``: the index of the class that most records of the
    node have. ``single_precision``: whether values are compared as 32-bit floats, as scikit-learn does.
    """

    left: Codes
    right: Codes
    feature: Codes
    threshold: Floats
    missing_left: Mask
    prediction: Codes
    single_precision: bool = True

    @property
    def size(self) -> int:
        """The number of nodes."""
        return int(self.left.size)

    @property
    def is_leaf(self) -> Mask:
        """Which nodes are leaves."""
        return np.asarray(self.left < 0)

    def goes_left(self, node: Codes | int, values: Floats) -> Mask:
        """Return which values of the feature that a node tests go to its left child, as truth values."""
        compared = values.astype(np.float32) if self.single_precision else values
        return np.where(np.isnan(values), self.missing_left[node], compared <= self.threshold[node]).astype(bool)

    def descend(self, X: Floats) -> Codes:
        """Return the leaf that each record X[record, feature] arrives at, as an array of node numbers."""
        node = np.zeros(X.shape[0], dtype=np.int64)
        active = np.flatnonzero(~self.is_leaf[node])
        while active.size:
            here = node[active]
            left = self.goes_left(here, X[active, self.feature[here]])
            node[active] = np.where(left, self.left[here], self.right[here])
            active = active[~self.is_leaf[node[active]]]
        return node


def nodes_of(tree: Any, names: list[str] | None = None, fitted: list[str] | None = None) -> TreeNodes:
    """Return the nodes of a fitted tree: scikit-learn's, one of this library, or anything with such a ``tree_``.

    ``names``: all columns of the table; features are then numbered by them. ``fitted``: the columns that the tree was
    fitted on, where it does not know their names (None: exactly ``names``, in this order).
    """
    if isinstance(tree, TreeNodes):
        return tree
    inner = getattr(tree, "tree_", None)
    if isinstance(inner, TreeNodes):
        nodes = inner
    elif hasattr(inner, "children_left") or hasattr(inner, "cut"):
        nodes = _of_sklearn(inner) if hasattr(inner, "children_left") else _of_ours(inner)
    else:
        raise TypeError(f"{type(tree).__name__} is not a fitted tree; call fit first, or pass a DecisionTreeClassifier")
    if names is None:
        return nodes
    index = _places(tree, names, fitted)
    return replace(nodes, feature=np.where(nodes.is_leaf, 0, index[np.maximum(nodes.feature, 0)]))


def _of_sklearn(inner: Any) -> TreeNodes:
    """Return the nodes of a tree of scikit-learn, from its ``tree_``."""
    left, right = (np.asarray(side, np.int64) for side in (inner.children_left, inner.children_right))
    flags = getattr(inner, "missing_go_to_left", None)
    missing_left = np.zeros(left.size, bool) if flags is None else np.asarray(flags).astype(bool)
    prediction = np.asarray(inner.value).reshape(left.size, -1).argmax(axis=1)
    feature, threshold = np.asarray(inner.feature, np.int64), np.asarray(inner.threshold, np.float64)
    return TreeNodes(left, right, feature, threshold, missing_left, prediction)


def _of_ours(inner: Any) -> TreeNodes:
    """Return the nodes of a tree of this library, from its ``tree_``; its x < cut is x <= the next smaller float."""
    left, right = (np.asarray(side, np.int64) for side in (inner.left, inner.right))
    if np.isnan(inner.cut[left >= 0]).any():
        raise ValueError("the tree tests a set of categories; give its columns as numbers to compare it by intervals")
    below = np.nextafter(np.asarray(inner.cut, float), -np.inf)
    prediction = np.asarray(inner.counts).argmax(axis=1)
    return TreeNodes(left, right, np.asarray(inner.column, np.int64), below, inner.missing_left, prediction, False)


def _places(tree: Any, names: list[str], fitted: Any = None) -> Codes:
    """Return for each feature of a tree its index among ``names``, all columns of the table.

    ``fitted``: the columns that the tree was fitted on, where it does not know their names.
    """
    fitted = getattr(tree, "feature_names_in_", None) if fitted is None else fitted
    if fitted is None and not set(getattr(tree, "attribute_names_", ("",))) - set(names):
        fitted = tree.attribute_names_
    if fitted is None:
        if tree.n_features_in_ != len(names):
            wrong = f"the tree was fitted on {tree.n_features_in_} columns, the table has {len(names)}"
            raise ValueError(f"{wrong}; fit it on the table's columns, or on a table with names")
        return np.arange(len(names))
    unknown = [name for name in fitted if name not in names]
    if unknown:
        raise ValueError(f"the tree tests {unknown[0]!r}, which the table lacks; its attributes are {', '.join(names)}")
    return np.array([names.index(name) for name in fitted])
