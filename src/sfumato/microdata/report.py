"""The release report: patterns kept, statistics kept, risk; for the owner, and in a form that may be handed on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.microdata.comparison import TreeComparison, compare_trees
from sfumato.microdata.noise import Draws
from sfumato.microdata.pattern import grow_tree, nodes_of
from sfumato.microdata.releasing import Release
from sfumato.microdata.risk import Risk, measure_risk
from sfumato.microdata.statistics import Bias, associations, find_biases
from sfumato.microdata.utility import Accuracy, accuracies

TYPES = {
    "mean": "means",
    "A": "variances (type A)",
    "B": "correlations between released attributes (type B)",
    "C": "correlations with kept columns and the class (type C)",
    "D": "shapes of the distributions (type D)",
}


@dataclass(frozen=True)
class ReleaseReport:
    """What was measured. ``str()`` is prose, ``to_dict()`` JSON, ``to_html()`` one page; ``public=True`` leaves out
    what would help an intruder: amounts, leaves, rules, single attributes at risk, notes on the input."""

    method: str
    records: int
    attributes: tuple[str, ...]
    amount: dict[str, float]
    rules: TreeComparison | None
    accuracy: tuple[Accuracy, ...]
    association_change: dict[str, float]
    biases: tuple[Bias, ...]
    risk: Risk
    shrunk_leaves: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]

    def statistics(self) -> dict[str, tuple[int, int, float]]:
        """For each type of bias: how many lie within chance, of how many, and the largest."""
        found = {}
        for kind in TYPES:
            those = [bias for bias in self.biases if bias.type == kind]
            if those:
                largest = max(those, key=lambda bias: abs(bias.bias)).bias
                found[kind] = sum(bias.within for bias in those), len(those), largest
        return found

    def to_dict(self, *, public: bool = False) -> dict[str, Any]:
        """Plain values, ready for JSON; numbers that are not finite become None."""
        shown: dict[str, Any] = {
            "method": self.method,
            "records": self.records,
            "attributes": list(self.attributes),
            "patterns": {
                "rules": None if self.rules is None else self.rules.to_dict(),
                "accuracy": [vars(one) for one in self.accuracy],
                "association_change": self.association_change,
            },
            "statistics": {
                TYPES[kind]: {"within_chance": good, "of": total, "largest": largest}
                for kind, (good, total, largest) in self.statistics().items()
            },
            "risk": self.risk.to_dict(public),
        }
        if not public:
            shown["amount"] = self.amount
            shown["biases"] = [bias.to_dict() for bias in self.biases]
            shown["kept_rules"] = [] if self.rules is None else [str(rule) for rule in self.rules.kept]
            shown["lost_rules"] = [] if self.rules is None else [str(rule) for rule in self.rules.lost]
            shown["shrunk_leaves"] = list(self.shrunk_leaves)
            shown["notes"] = list(self.notes)
        cleaned: dict[str, Any] = _finite(shown)
        return cleaned

    def to_html(self, *, public: bool = False) -> str:
        from sfumato.microdata.page import page_of

        return page_of(self, public=public)

    def __str__(self) -> str:
        return "\n".join([self.patterns_in_words(), self.statistics_in_words(), self.risk_in_words(), *self.notes])

    def patterns_in_words(self) -> str:
        tree = "" if self.rules is None else f"A tree grown on the release: {self.rules}. "
        each = (f"{one.classifier} {one.released:.1%} (original {one.original:.1%})" for one in self.accuracy)
        scores = ", ".join(each)
        change = self.association_change["mean"]
        return (
            f"Patterns. {tree}Accuracy on original records after training on the release: {scores or 'not measured'}. "
            f"The strength of association between two attributes changed by {change:.3f} on average."
        )

    def statistics_in_words(self) -> str:
        parts = [
            f"{TYPES[kind]} {good} of {total} within chance (largest change {largest:+.3f})"
            for kind, (good, total, largest) in self.statistics().items()
        ]
        return "Statistics. " + ("; ".join(parts) or "There is no numeric attribute to compare") + "."

    def risk_in_words(self) -> str:
        shown = self.risk.to_dict(public=True)
        return (
            f"Risk. An intruder who knows every attribute of a person exactly finds that person's record in "
            f"{self.risk.linked:.1%} of cases (guessing among {self.risk.candidates:,}: "
            f"{self.risk.linked_by_guessing:.2%}). {shown['values_within_a_tenth_of_a_deviation']:.0%} of the "
            f"released values lie within a tenth of a standard deviation of the truth, "
            f"{shown['values_unchanged']:.0%} equal it, and {self.risk.whole_records:.1%} of the records are unchanged."
        )


def report_on(release: Release) -> ReleaseReport:
    """Measure a release; the measurements repeat, because their own randomness is fixed."""
    original, released, draws = release.original, release.released, Draws(0)
    kept = np.isin(original.names, release.kept)
    return ReleaseReport(
        method=release.method,
        records=len(original.y),
        attributes=tuple(original.names),
        amount=release.amount,
        rules=_rules(release),
        accuracy=tuple(accuracies(original, released, draws)),
        association_change=_association_change(release),
        biases=tuple(find_biases(original, released, kept)) if len(original.y) > 2 else (),
        risk=measure_risk(original, released, release.leaves, draws),
        shrunk_leaves=tuple(vars(fit) for fit in release.leaf_fits if fit.reason),
        notes=release.notes,
    )


def _rules(release: Release) -> TreeComparison:
    """The pattern tree (or, for a whole-table method, the default tree) against one grown on the release."""
    original, released = release.original, release.released
    before = grow_tree(original.X, original.y) if release.tree is None else release.tree
    after = release.regrow(released.X, released.y)
    first, second = (nodes_of(tree, original.names) for tree in (before, after))
    return compare_trees(first, second, original.X, original.names, classes=original.classes)


def _association_change(release: Release) -> dict[str, float]:
    upper = np.triu_indices(len(release.original.fields), 1)
    if not upper[0].size:
        return {"mean": 0.0, "largest": 0.0}
    change = np.abs(associations(release.released) - associations(release.original))[upper]
    return {"mean": float(change.mean()), "largest": float(change.max())}


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
