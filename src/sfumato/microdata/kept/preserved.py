"""What was asked to survive, and whether it did: rules that a tree grown on the release still finds, associations of
every two columns, and values that may stand together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.microdata.kept.measures import associations, compared
from sfumato.microdata.methods.method import Terms
from sfumato.microdata.patterns.comparison import TreeComparison, compare_trees
from sfumato.microdata.patterns.nodes import Nodes
from sfumato.microdata.patterns.rules import Rule
from sfumato.microdata.table.fields import Microdata
from sfumato.prose import percent

CHANCE = 4.0
"""Of some dozens of associations the worst differs by up to 4/√n between two samples of n records; less than that is
never held against a release."""


class PatternWarning(UserWarning):
    """What a release was to preserve is not in it."""


@dataclass(frozen=True)
class Preserved:
    """``preserve`` is what was asked for; ``limits`` the share of records under kept rules and the largest change."""

    preserve: str
    rules: TreeComparison
    change: dict[str, float]
    most_changed: tuple[str, str] | None
    broken: dict[str, int]
    limits: tuple[float, float]

    @property
    def rules_reached(self) -> bool:
        return self.rules.share_covered >= self.limits[0]

    @property
    def correlations_reached(self) -> bool:
        return self.change["largest"] <= self.limits[1]

    @property
    def reached(self) -> bool:
        return not self.shortfalls()

    def shortfalls(self) -> list[str]:
        """What was asked for and not reached, with its figures."""
        found = []
        if self.preserve in ("rules", "both") and not self.rules_reached:
            kept, total = len(self.rules.kept), len(self.rules.kept) + len(self.rules.lost)
            found.append(
                f"{kept} of {total} rules are kept, covering {percent(self.rules.share_covered)} of the records "
                f"(asked for: {percent(self.limits[0], 0)})"
            )
        if self.preserve in ("correlations", "both") and not self.correlations_reached and self.most_changed:
            found.append(
                f"the association of {' and '.join(self.most_changed)} changed by {self.change['largest']:.3f} "
                f"(at most {self.limits[1]:.3f} was asked for)"
            )
        found += [f"{count} records break the rule {text}" for text, count in self.broken.items()]
        return found

    def to_dict(self) -> dict[str, Any]:
        return {
            "asked_for": self.preserve, "reached": self.reached, "shortfalls": self.shortfalls(),
            "share_of_records_under_kept_rules": self.rules.share_covered, "least_rules": self.limits[0],
            "largest_change_of_association": self.change["largest"], "most_changed": self.most_changed,
            "most_change": self.limits[1], "records_that_break_a_rule": self.broken,
        }

    def __str__(self) -> str:
        what = "rules and correlations" if self.preserve == "both" else self.preserve
        lost = "; ".join(self.shortfalls())
        return f"Asked to preserve {what}: " + (f"not reached. {lost[:1].upper()}{lost[1:]}." if lost else "reached.")


def judge(
    original: Microdata, released: Microdata, tree: Nodes, again: Nodes,
    rules: tuple[Rule, ...], terms: Terms,
) -> Preserved:
    """Compare a release with the original by what was asked for; ``again`` is the pattern tree grown on the release."""
    compared = compare_trees(tree, again, original.X, original.names, classes=original.predicted)
    change, pair = association_change(original, released)
    broken = {rule.text: int((rule.broken(released.X) & ~rule.broken(original.X)).sum()) for rule in rules}
    most_change = max(terms.limits["correlations"], CHANCE / float(np.sqrt(len(original.y))))
    limits = terms.limits["rules"], most_change
    return Preserved(
        terms.preserve, compared, change, pair, {text: count for text, count in broken.items() if count}, limits
    )


def association_change(original: Microdata, released: Microdata) -> tuple[dict[str, float], tuple[str, str] | None]:
    """How far the strength of association of two fields moved, on average and at most, and for which two."""
    upper = compared(original)
    if not upper[0].size:
        return {"mean": 0.0, "largest": 0.0}, None
    change = np.abs(associations(released) - associations(original))[upper]
    most = int(np.argmax(change))
    names = original.names[upper[0][most]], original.names[upper[1][most]]
    return {"mean": float(change.mean()), "largest": float(change.max())}, names
