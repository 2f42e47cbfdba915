"""Comparison of two trees rule by rule, as in IB04: same attributes, same conditions, same cases, same class.

A rule is a leaf: the interval that its path leaves to each attribute it tests, and the class it predicts. Two
conditions are the same if as many reference records lie below the ends of both.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.domain import Floats
from sfumato.microdata.patterns.nodes import TreeNodes, nodes_of
from sfumato.prose import percent

ALMOST = 0.94
"""IB04 calls trees with 329 of 349 cases under kept rules "very similar", and with 316 of 349 no longer."""


@dataclass(frozen=True)
class LeafRule:
    """A rule of a tree: if low < attribute <= high for each condition, then the class is ``prediction``.

    ``conditions``: (attribute, low, high), infinite where an end is open. ``cases``: how many reference records meet
    them.
    """

    conditions: tuple[tuple[str, float, float], ...]
    prediction: Any
    cases: int

    def __str__(self) -> str:
        parts = [_condition(name, low, high) for name, low, high in self.conditions]
        return f"if {' and '.join(parts) or 'anything'} then {self.prediction} ({self.cases} cases)"


@dataclass(frozen=True)
class TreeComparison:
    """How far two trees have the same rules: those of the first that the second has too (``kept``) or lacks (``lost``).

    ``new``: the rules that the second has besides.
    ``same_attributes``: whether both test the same attributes.
    """

    kept: tuple[LeafRule, ...]
    lost: tuple[LeafRule, ...]
    new: tuple[LeafRule, ...]
    same_attributes: bool

    @property
    def share_kept(self) -> float:
        """The share of the first tree's rules that are kept."""
        return len(self.kept) / (len(self.kept) + len(self.lost))

    @property
    def share_covered(self) -> float:
        """The share of reference records under kept rules."""
        covered, total = (sum(rule.cases for rule in rules) for rules in (self.kept, self.kept + self.lost))
        return covered / max(total, 1)

    @property
    def identical(self) -> bool:
        """Whether both trees have the same rules."""
        return not self.lost and not self.new

    @property
    def almost_the_same(self) -> bool:
        """Whether the trees are identical, or kept rules cover at least 94 % of the records."""
        return self.identical or self.share_covered >= ALMOST

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of the comparison as plain data for JSON."""
        return {
            "identical": self.identical, "almost_the_same": self.almost_the_same,
            "rules": len(self.kept) + len(self.lost), "rules_kept": len(self.kept), "rules_new": len(self.new),
            "share_of_rules_kept": self.share_kept, "share_of_records_covered": self.share_covered,
            "same_attributes": self.same_attributes,
        }

    def __str__(self) -> str:
        words = "the same tree" if self.identical else "almost the same tree" if self.almost_the_same else "other trees"
        total = len(self.kept) + len(self.lost)
        return f"{words}: {len(self.kept)} of {total} rules kept, covering {percent(self.share_covered)} of the records"


def rules_of(tree: Any, X: Floats, names: list[str], classes: Any = None) -> list[LeafRule]:
    """Return the rules of a tree, one a leaf.

    ``tree``: a fitted tree of scikit-learn or of this library. ``X``: the reference records, among which cases are
    counted. ``names``: the columns of X. ``classes``: labels of the predictions (None: those of the tree).
    """
    nodes = nodes_of(tree, names)
    labels = getattr(tree, "classes_", None) if classes is None else classes
    count = np.bincount(nodes.descend(np.asarray(X, float)), minlength=nodes.size)
    intervals, rules = _intervals(nodes), []
    for leaf in np.flatnonzero(nodes.is_leaf).tolist():
        conditions = tuple(sorted((names[index], low, high) for index, (low, high) in intervals[leaf].items()))
        prediction = nodes.prediction[leaf] if labels is None else labels[nodes.prediction[leaf]]
        prediction = prediction.item() if hasattr(prediction, "item") else prediction
        rules.append(LeafRule(conditions, prediction, int(count[leaf])))
    return rules


def compare_trees(
    first: Any, second: Any, X: Any, names: list[str] | None = None, *, classes: Any = None
) -> TreeComparison:
    """Compare the rules of two trees: which of the first's the second has too; return a `TreeComparison`.

    ``first`` and ``second``: fitted trees of scikit-learn or of this library. ``X``: the reference records, a matrix or
    a table. ``names``: the columns of X (None: the table's). ``classes``: labels of the predictions (None: those of the
    trees).

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = [[20.0], [30.0], [40.0], [50.0]], ["young", "young", "old", "old"]
    >>> tree = DecisionTreeClassifier().fit(X, y)
    >>> print(compare_trees(tree, tree, X, ["age"]))
    the same tree: 2 of 2 rules kept, covering 100.0 % of the records
    """
    if names is None:
        names = [str(name) for name in getattr(X, "columns", range(np.shape(X)[1]))]
    reference = np.asarray(X, dtype=float)
    ranked = {name: np.sort(column[~np.isnan(column)]) for name, column in zip(names, reference.T, strict=True)}
    ours, theirs = (
        [(rule, _place(rule, ranked)) for rule in rules_of(tree, reference, names, classes)] for tree in (first, second)
    )
    kept, lost = (_among(ours, theirs, wanted) for wanted in (True, False))
    tested = [{name for rule, _ in rules for name, _, _ in rule.conditions} for rules in (ours, theirs)]
    return TreeComparison(kept, lost, _among(theirs, ours, False), tested[0] == tested[1])


def _place(rule: LeafRule, ranked: dict[str, Floats]) -> Hashable:
    """Return a hashable key that rules of two trees share if they count as the same.

    The prediction, the attributes tested, which ends are open, and how many records lie below each end. ``ranked``: the
    sorted values of each attribute.
    """
    shape = tuple((name, np.isinf(low), np.isinf(high)) for name, low, high in rule.conditions)
    below = tuple(int(ranked[name].searchsorted(end, "right")) for name, *ends in rule.conditions for end in ends)
    return rule.prediction, shape, below


def _among(
    rules: list[tuple[LeafRule, Hashable]], others: list[tuple[LeafRule, Hashable]], wanted: bool
) -> tuple[LeafRule, ...]:
    """Return those of ``rules`` that are among the others (``wanted``), or that are not.

    Each rule comes with its key (`_place`), by which rules are compared.
    """
    keys = {key for _, key in others}
    return tuple(rule for rule, key in rules if (key in keys) == wanted)


def _intervals(nodes: TreeNodes) -> list[dict[int, tuple[float, float]]]:
    """Return for each node a dict of the intervals (low, high] that the cuts on the way to it leave, by attribute.

    Only of attributes that are tested on the way.
    """
    intervals: list[dict[int, tuple[float, float]]] = [{} for _ in range(nodes.size)]
    for node in np.flatnonzero(~nodes.is_leaf):
        attribute, cut = int(nodes.feature[node]), float(nodes.threshold[node])
        low, high = intervals[node].get(attribute, (-np.inf, np.inf))
        intervals[nodes.left[node]] = {**intervals[node], attribute: (low, min(high, cut))}
        intervals[nodes.right[node]] = {**intervals[node], attribute: (max(low, cut), high)}
    return intervals


def _condition(name: str, low: float, high: float) -> str:
    """Return a condition low < name <= high as text."""
    if np.isinf(low):
        return f"{name} <= {high:.6g}"
    return f"{name} > {low:.6g}" if np.isinf(high) else f"{low:.6g} < {name} <= {high:.6g}"
