"""Two trees compared rule by rule, as IB04 does: same attributes, same conditional values, same cases, same class.

A rule is a leaf: the interval that its path leaves to each attribute it tests, and the class it predicts. Two
conditions are the same when the reference records cannot tell them apart: as many of them lie below either end.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.domain import Floats
from sfumato.microdata.patterns.nodes import Nodes, nodes_of
from sfumato.prose import percent

ALMOST = 0.94
"""IB04 calls trees with 329 of 349 cases under kept rules "very similar", and with 316 of 349 no longer."""


@dataclass(frozen=True)
class LeafRule:
    """IF low < attribute <= high for each condition THEN class; ``cases`` reference records fall under it."""

    conditions: tuple[tuple[str, float, float], ...]
    prediction: Any
    cases: int

    def __str__(self) -> str:
        parts = [_condition(name, low, high) for name, low, high in self.conditions]
        return f"if {' and '.join(parts) or 'anything'} then {self.prediction} ({self.cases} cases)"


@dataclass(frozen=True)
class TreeComparison:
    """Which rules of the first tree the second one has too, and how many reference records they cover."""

    kept: tuple[LeafRule, ...]
    lost: tuple[LeafRule, ...]
    new: tuple[LeafRule, ...]
    same_attributes: bool

    @property
    def share_kept(self) -> float:
        return len(self.kept) / (len(self.kept) + len(self.lost))

    @property
    def share_covered(self) -> float:
        covered, total = (sum(rule.cases for rule in rules) for rules in (self.kept, self.kept + self.lost))
        return covered / max(total, 1)

    @property
    def identical(self) -> bool:
        return not self.lost and not self.new

    @property
    def almost_the_same(self) -> bool:
        """Identical, or the kept rules cover at least 94 % of the records."""
        return self.identical or self.share_covered >= ALMOST

    def to_dict(self) -> dict[str, Any]:
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
    """The rules of a tree with their cases among the reference records."""
    nodes = nodes_of(tree, names)
    labels = getattr(tree, "classes_", None) if classes is None else classes
    count = np.bincount(nodes.descend(np.asarray(X, float)), minlength=nodes.size)
    intervals, found = _intervals(nodes), []
    for leaf in np.flatnonzero(nodes.is_leaf).tolist():
        conditions = tuple(sorted((names[place], low, high) for place, (low, high) in intervals[leaf].items()))
        prediction = nodes.prediction[leaf] if labels is None else labels[nodes.prediction[leaf]]
        prediction = prediction.item() if hasattr(prediction, "item") else prediction
        found.append(LeafRule(conditions, prediction, int(count[leaf])))
    return found


def compare_trees(
    first: Any, second: Any, X: Any, names: list[str] | None = None, *, classes: Any = None
) -> TreeComparison:
    """Compare any two trees on the reference records X (a matrix, or a table whose columns have the names)."""
    if names is None:
        names = [str(name) for name in getattr(X, "columns", range(np.shape(X)[1]))]
    reference = np.asarray(X, dtype=float)
    ranked = {name: np.sort(column[~np.isnan(column)]) for name, column in zip(names, reference.T, strict=True)}
    ours, theirs = (
        [(rule, _place(rule, ranked)) for rule in rules_of(tree, reference, names, classes)] for tree in (first, second)
    )
    kept, lost = (_among(ours, theirs, found) for found in (True, False))
    tested = [{name for rule, _ in rules for name, _, _ in rule.conditions} for rules in (ours, theirs)]
    return TreeComparison(kept, lost, _among(theirs, ours, False), tested[0] == tested[1])


def _place(rule: LeafRule, ranked: dict[str, Floats]) -> Hashable:
    """What two rules must share to be the same: how many reference records lie below each end of an interval, too."""
    shape = tuple((name, np.isinf(low), np.isinf(high)) for name, low, high in rule.conditions)
    below = tuple(int(ranked[name].searchsorted(end, "right")) for name, *ends in rule.conditions for end in ends)
    return rule.prediction, shape, below


def _among(
    rules: list[tuple[LeafRule, Hashable]], others: list[tuple[LeafRule, Hashable]], found: bool
) -> tuple[LeafRule, ...]:
    """The rules that stand among the others, or that do not."""
    places = {place for _, place in others}
    return tuple(rule for rule, place in rules if (place in places) == found)


def _intervals(nodes: Nodes) -> list[dict[int, tuple[float, float]]]:
    """For each node the interval (low, high] that its path leaves to every attribute tested on it."""
    found: list[dict[int, tuple[float, float]]] = [{} for _ in range(nodes.size)]
    for node in np.flatnonzero(~nodes.is_leaf):
        attribute, cut = int(nodes.feature[node]), float(nodes.threshold[node])
        low, high = found[node].get(attribute, (-np.inf, np.inf))
        found[nodes.left[node]] = {**found[node], attribute: (low, min(high, cut))}
        found[nodes.right[node]] = {**found[node], attribute: (max(low, cut), high)}
    return found


def _condition(name: str, low: float, high: float) -> str:
    if np.isinf(low):
        return f"{name} <= {high:.6g}"
    return f"{name} > {low:.6g}" if np.isinf(high) else f"{low:.6g} < {name} <= {high:.6g}"
