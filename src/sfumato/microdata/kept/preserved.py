"""`Preserved`: whether the patterns that were to survive a release are in it.

Patterns are the rules that a tree grown on the release finds, the associations of every two columns, and the rules on
which values may stand together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.microdata.kept.measures import associations, compared
from sfumato.microdata.methods.method import Terms
from sfumato.microdata.patterns.comparison import TreeComparison, compare_trees
from sfumato.microdata.patterns.nodes import TreeNodes
from sfumato.microdata.patterns.rules import Rule
from sfumato.microdata.table.fields import Microdata
from sfumato.prose import percent

CHANCE = 4.0
"""In units of 1/√n, n records: the change of an association that is always allowed (docs/decisions/0027). Between two
samples of n records the largest change of some dozens of associations is up to about 4/√n."""


class PatternWarning(UserWarning):
    """The warning that a pattern that was to survive is not in a release."""


@dataclass(frozen=True)
class Preserved:
    """Which patterns of the original table survived in its release: a tree's rules, associations, rules of columns.

    ``preserve``: what was to survive: "rules", "correlations", "both" or "nothing". ``rules``: the pattern tree beside
    the one grown on the release. ``change``: the mean and the largest change of an association, ``most_changed`` the
    two fields of the latter. ``broken``: how many released records break a rule that the original did not. ``limits``:
    the least share of records under kept rules, and the largest change that is allowed.
    """

    preserve: str
    rules: TreeComparison
    change: dict[str, float]
    most_changed: tuple[str, str] | None
    broken: dict[str, int]
    limits: tuple[float, float]

    @property
    def rules_reached(self) -> bool:
        """Whether enough records are under rules of the tree that the release kept."""
        return self.rules.share_covered >= self.limits[0]

    @property
    def correlations_reached(self) -> bool:
        """Whether no association changed by more than is allowed."""
        return self.change["largest"] <= self.limits[1]

    @property
    def reached(self) -> bool:
        """Whether all patterns that were to survive did."""
        return not self.shortfalls()

    def shortfalls(self) -> list[str]:
        """Return a sentence for each pattern that was to survive and did not, with its figures."""
        shortfalls = []
        if self.preserve in ("rules", "both") and not self.rules_reached:
            kept, total = len(self.rules.kept), len(self.rules.kept) + len(self.rules.lost)
            shortfalls.append(
                f"{kept} of {total} rules are kept, covering {percent(self.rules.share_covered)} of the records "
                f"(asked for: {percent(self.limits[0], 0)})"
            )
        if self.preserve in ("correlations", "both") and not self.correlations_reached and self.most_changed:
            shortfalls.append(
                f"the association of {' and '.join(self.most_changed)} changed by {self.change['largest']:.3f} "
                f"(at most {self.limits[1]:.3f} was asked for)"
            )
        shortfalls += [f"{count} records break the rule {text}" for text, count in self.broken.items()]
        return shortfalls

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON."""
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
    original: Microdata, released: Microdata, tree: TreeNodes, again: TreeNodes,
    rules: tuple[Rule, ...], terms: Terms,
) -> Preserved:
    """Compare a release with the original and return which of the patterns that were to survive did.

    ``tree``: the pattern tree. ``again``: the one grown on the release. ``rules``: which values may stand together.
    """
    compared = compare_trees(tree, again, original.X, original.names, classes=original.predicted)
    change, pair = association_change(original, released)
    broken = {rule.text: int((rule.broken(released.X) & ~rule.broken(original.X)).sum()) for rule in rules}
    most_change = max(terms.limits["correlations"], CHANCE / float(np.sqrt(len(original.y))))
    limits = terms.limits["rules"], most_change
    return Preserved(
        terms.preserve, compared, change, pair, {text: count for text, count in broken.items() if count}, limits
    )


def association_change(original: Microdata, released: Microdata) -> tuple[dict[str, float], tuple[str, str] | None]:
    """Return how much the strengths of association between two fields changed, and which two changed most.

    A dict with the mean and the largest change, and the names of the two (None where no pair can be compared).
    """
    upper = compared(original)
    if not upper[0].size:
        return {"mean": 0.0, "largest": 0.0}, None
    change = np.abs(associations(released) - associations(original))[upper]
    most = int(np.argmax(change))
    names = original.names[upper[0][most]], original.names[upper[1][most]]
    return {"mean": float(change.mean()), "largest": float(change.max())}, names
