"""The tree whose patterns are to survive: one that the owner brings, or one that is grown here."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.leaves import nodes_of
from sfumato.microdata.table import Microdata

PRUNING = 1.0
"""The price of a leaf, in units of ln(n·p) of deviance."""


def grow_tree(X: Floats, y: Codes, *, pruned: bool = True) -> Any:
    """The default pattern tree: entropy cuts, leaves of at least 0.4·√n records and five, pruned (minimal cost
    complexity) so that a leaf must lower the deviance by ln(n·p): noise is no pattern. Unpruned, the same tree goes on
    to smaller leaves."""
    from sklearn.tree import DecisionTreeClassifier

    fewest = max(5, round(0.4 * len(y) ** 0.5))
    price = PRUNING * np.log(X.size) / (len(y) * np.log(2)) if pruned else 0.0
    tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=fewest, ccp_alpha=price, random_state=0)
    return tree.fit(X, y)


@dataclass(frozen=True)
class Pattern:
    """The tree whose rules are to survive, the finer or equal one whose leaves confine the noise, and how to regrow."""

    tree: Any
    leaves: Any
    regrow: Callable[[Floats, Codes], Any]


def find_pattern(tree: Any, data: Microdata) -> Pattern:
    if tree is None:
        return Pattern(grow_tree(data.X, data.y), grow_tree(data.X, data.y, pruned=False), grow_tree)
    from sklearn.base import clone

    nodes_of(tree, data.names)
    names = list(getattr(tree, "feature_names_in_", data.names))
    places = [data.index(name) for name in names]
    if not data.numeric[places].all():
        text = data.names[places[int(np.argmin(data.numeric[places]))]]
        raise ValueError(f"the tree tests {text!r}, a column of categories; leave tree out, or fit it on numbers only")

    def regrow(X: Floats, y: Codes) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            grown = clone(tree).fit(X[:, places], y)
        return nodes_of(_Named(grown, names), data.names)

    return Pattern(tree, tree, regrow)


@dataclass(frozen=True)
class _Named:
    """A tree fitted on a plain matrix, with the names of the columns it stands for."""

    grown: Any
    feature_names_in_: list[str]

    @property
    def tree_(self) -> Any:
        return self.grown.tree_
