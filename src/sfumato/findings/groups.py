"""Comparison of groups of people, also where the group that people name is blurred itself.

Where the group went through a table R of its own, q_g is the estimate among those who report group g, w_g their share,
and U = R⁻¹, the true groups y have the shares π_y and the estimates p_y,

    π_y = Σ_g U_yg w_g,    p_y = Σ_g U_yg w_g q_g / π_y,

and a contrast Σ_y k_y p_y has variance Σ_g (Σ_y k_y U_yg w_g/π_y)² Var q_g + J Cov(w) Jᵀ, with
J_g = Σ_y k_y U_yg (q_g − p_y)/π_y and Cov(w) = (diag w − wwᵀ)/n. Without a blur U = 1 and J = 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from sfumato.domain import Floats
from sfumato.findings.bars import bar, difference, share
from sfumato.pages.charts import NINETY_PERCENT
from sfumato.prose import finite


@dataclass(frozen=True, eq=False)
class GroupEstimates:
    """The estimates within each group that people report: arrays with a row for each group.

    Columns of ``values`` and ``variances`` are the shares of answers and, last, a mean.
    """

    labels: Sequence[Any]
    values: Floats
    variances: Floats
    people: Floats  # how many report each group
    undo: Floats  # the inverse of the table that blurs the group itself; the unit matrix where it is clear

    @property
    def shares(self) -> Floats:
        """Return the share π of people who truly belong to each group, as an array; with the group's own blur undone.
        """
        return np.asarray(self.undo @ (self.people / self.people.sum()))

    @property
    def present(self) -> list[int]:
        """Return the indices of the groups that truly have people: more than the group's own blur yields by chance."""
        people = self.people / self.people.sum()
        spread = (self.undo**2 @ people - (self.undo @ people) ** 2) / self.people.sum()
        blurred = not np.array_equal(self.undo, np.eye(len(people)))
        least = NINETY_PERCENT * np.sqrt(np.maximum(spread, 0.0)) * blurred
        return np.flatnonzero(self.shares > least).tolist()

    def contrast(self, weights: Mapping[int, float]) -> tuple[Floats, Floats]:
        """Return Σ_y k_y p_y, a weighted sum of the true groups' estimates p_y, and its variance: two arrays.

        ``weights``: the weight k_y by the index y of a group.
        """
        rows, k = list(weights), np.array(list(weights.values()))
        people = self.people / self.people.sum()
        parts = self.undo[rows] / self.shares[rows, None]
        estimates = (parts * people) @ self.values
        drift = (k @ parts)[:, None] * self.values - (k[:, None] * parts).T @ estimates
        spread = (np.diag(people) - np.outer(people, people)) / self.people.sum()
        own = (k @ (parts * people)) ** 2 @ self.variances
        return k @ estimates, own + np.einsum("gk,gh,hk->k", drift, spread, drift)

    def against_others(self, group: int) -> dict[int, float]:
        """Return the weights for `contrast` that compare a group with all other present groups, by group index.

        The group's own weight is 1; the others' sum to −1, in proportion to their shares of the people.
        """
        others = {other: float(self.shares[other]) for other in self.present if other != group}
        total = sum(others.values())
        return {group: 1.0, **{other: -part / total for other, part in others.items()}}


def compare(groups: GroupEstimates, cells: int) -> dict[str, Any]:
    """Compare the present groups: the estimates of each with 90 % bars, and each against the others (of two, one only).

    The first ``cells`` values of each group are shares, and one that follows is a mean. Returns a dict: ``groups`` and
    ``differences`` (lists with the rows of each), ``compared`` (the number of differences of shares), ``stand_out``
    (how many are not within noise) and ``smallest`` (the median of the smallest differences that would stand out, None
    without differences).
    """

    def with_bars(contrast: tuple[Floats, Floats], of_shares: Any) -> dict[str, Any]:
        pairs = [tuple(map(float, pair)) for pair in zip(*contrast, strict=True)]
        mean = [(difference if of_shares is difference else bar)(*pair) for pair in pairs[cells:]]
        return {"rows": [of_shares(*pair) for pair in pairs[:cells]], "mean": mean[0] if mean else None}

    present = groups.present
    shown = [
        {
            "label": groups.labels[y],
            "share": finite(float(groups.shares[y])),
            **with_bars(groups.contrast({y: 1.0}), share),
        }
        for y in present
    ]
    differences = []
    for y in present[:1] if len(present) == 2 else present if len(present) > 2 else []:
        against = groups.labels[present[1]] if len(present) == 2 else None
        contrast = with_bars(groups.contrast(groups.against_others(y)), difference)
        differences.append({"label": groups.labels[y], "against": against, **contrast})
    rows = [row for each in differences for row in each["rows"]]
    return {
        "groups": shown,
        "differences": differences,
        "compared": len(rows),
        "stand_out": sum(not row["within_noise"] for row in rows),
        "smallest": median(NINETY_PERCENT * row["stderr"] for row in rows) if rows else None,
    }
