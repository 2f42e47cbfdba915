"""Growing the owner's pattern tree: from options of scikit-learn's trees, or a given tree again on other records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.microdata.table.fields import Microdata


def grow_as_asked(options: Mapping[str, Any], data: Microdata) -> Any:
    """Grow a scikit-learn tree that predicts the target from the numeric attributes, with options that the owner gave.

    ``options``: parameters of scikit-learn's tree, for example {"max_depth": 3}; classes are cut by entropy unless they
    say otherwise. Returns the fitted tree.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    names = np.array([name for name in data.names if name != data.target], dtype=object)
    names = names[[data.numeric[data.index(name)] for name in names]]
    if not names.size:
        raise ValueError("leaves= describes a tree, but the table has no numeric attribute; leave it out")
    usual: dict[str, Any] = {"random_state": 0}
    kind: Any = DecisionTreeRegressor
    if data.response is None:
        kind, usual = DecisionTreeClassifier, {"criterion": "entropy", **usual}
    try:
        tree: Any = kind(**{**usual, **options})
    except TypeError as error:
        raise ValueError(f"leaves={dict(options)!r} is no tree's options: {error}; see scikit-learn's trees") from None
    tree.feature_names_in_ = names
    return grow_again(tree, data)


def grow_again(tree: Any, data: Microdata) -> Any:
    """Grow the owner's tree anew on other records, with the same options and columns; return the fitted tree."""
    from sklearn.base import clone

    names = np.array(getattr(tree, "feature_names_in_", data.names), dtype=object)
    target = data.y if data.response is None else data.X[:, data.response]
    grown = clone(tree).fit(data.X[:, [data.index(name) for name in names]], target)
    grown.feature_names_in_ = names
    return grown
