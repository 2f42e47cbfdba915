"""Privacy breaches by example: a report and a property whose probability it moves too far (EGS03 §3).

An upward ρ1-to-ρ2 breach is a property Q and a report y with P[Q] ≤ ρ1 and P[Q|y] ≥ ρ2; a downward one is the
upward breach of the opposite property, from 1 − ρ2 to 1 − ρ1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.domain import Categories, Floats

SEARCHED_REPORTS = 600
SEARCHED_VALUES = 250


@dataclass(frozen=True)
class Breach:
    """Whether a ρ1-to-ρ2 breach can happen, and if so one that does; true in a condition when it can."""

    rho1: float
    rho2: float
    gamma: float
    possible: bool
    direction: Literal["up", "down", ""] = ""
    report: Any = None
    claim: str = ""
    prior: float | None = None
    posterior: float | None = None
    assumption: str = ""

    @property
    def excluded(self) -> bool:
        return not self.possible

    def __bool__(self) -> bool:
        return self.possible

    @classmethod
    def none(cls, rho1: float, rho2: float, gamma: float) -> Breach:
        return cls(rho1, rho2, gamma, possible=False)

    @classmethod
    def by_bound(cls, rho1: float, rho2: float, gamma: float) -> Breach:
        """γ permits it, and no table is at hand to show one."""
        return cls(rho1, rho2, gamma, possible=True, assumption="the bound γ does not exclude it")

    def __str__(self) -> str:
        span = f"{self.rho1:.3g} to {self.rho2:.3g}"
        if not self.possible:
            return f"No report can move a belief from {span} or back, whatever the prior is (γ = {self.gamma:.4g})."
        if not self.claim:
            return f"γ = {self.gamma:.4g} does not exclude that a report moves a belief from {span}."
        assert self.prior is not None and self.posterior is not None
        proof = f"a report of {_shown(self.report)}"
        if self.posterior >= 1 - 1e-9:
            moved = f"proves that {self.claim}, which had a probability of {self.prior:.2%} before"
        elif self.posterior <= 1e-9:
            moved = f"rules out that {self.claim}, which had a probability of {self.prior:.2%} before"
        else:
            word = "raises" if self.direction == "up" else "lowers"
            moved = f"{word} the probability that {self.claim} from {self.prior:.2%} to {self.posterior:.2%}"
        return f"{proof} {moved}{f' ({self.assumption})' if self.assumption else ''}."

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the report as it would be sent."""
        report = self.report.item() if isinstance(self.report, np.generic) else self.report
        names = ["rho1", "rho2", "possible", "direction", "claim", "prior", "posterior", "assumption"]
        return {**{name: getattr(self, name) for name in names}, "report": report, "text": str(self)}


def find_breach(law: Floats, prior: Floats, channel: Any, rho1: float, rho2: float) -> Breach | None:
    """A breach under this prior: for each report the likeliest values are gathered up to the prior's limit."""
    rows = _searched_rows(law, prior)
    groups = np.arange(prior.size) * min(SEARCHED_VALUES, prior.size) // prior.size
    weight = np.bincount(groups, prior)
    inside = np.zeros((rows.size, weight.size))
    np.add.at(inside.T, groups, (law[rows] * prior).T)
    posterior = inside / inside.sum(axis=1, keepdims=True)
    up = _best_set(posterior, weight, rho1)
    down = _best_set(posterior, weight, 1 - rho2)
    best = None
    if up is not None and up[2] >= rho2 - 1e-12:
        best = ("up", rows[up[0]], up[1], up[3], up[2])
    elif down is not None and down[2] >= 1 - rho1 - 1e-12:
        best = ("down", rows[down[0]], ~down[1], 1 - down[3], 1 - down[2])
    if best is None:
        return None
    direction, row, members, before, after = best
    label = channel.outputs.decode(np.array([row]))[0]
    words = describe_property(channel.inputs, members[groups])
    return Breach(rho1, rho2, np.inf, True, direction, label, words, float(before), float(after))  # type: ignore[arg-type]


def adversarial_breach(law: Floats, channel: Any, rho1: float, rho2: float) -> Breach:
    """The breach that a suitable prior makes possible: P[x1] = ρ1, P[x2] = 1 − ρ1 for the row's extreme values."""
    high, low = law.max(axis=1), law.min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(high > 0, high / low, 0.0)
    row = int(np.argmax(ratio))
    likely, unlikely = int(np.argmax(law[row])), int(np.argmin(law[row]))
    after = law[row, likely] * rho1 / (law[row, likely] * rho1 + law[row, unlikely] * (1 - rho1))
    one, other = (channel.inputs.decode(np.array([code]))[0] for code in (likely, unlikely))
    label = channel.outputs.decode(np.array([row]))[0]
    assumption = f"for somebody who is sure that it is either {_shown(one)} or {_shown(other)}"
    words = f"the answer is {_shown(one)}"
    return Breach(rho1, rho2, float(ratio[row]), True, "up", label, words, rho1, float(after), assumption)


def _searched_rows(law: Floats, prior: Floats) -> Any:
    """Reports that can occur, thinned evenly to a searchable number, ends included."""
    rows = np.flatnonzero(law @ prior > 0)
    if rows.size <= SEARCHED_REPORTS:
        return rows
    return rows[np.linspace(0, rows.size - 1, SEARCHED_REPORTS).astype(int)]


def _best_set(posterior: Floats, weight: Floats, limit: float) -> tuple[int, Any, float, float] | None:
    """(report, members, posterior, prior) of the set with prior at most ``limit`` and the highest posterior."""
    order = np.argsort(-posterior / np.maximum(weight, 1e-300), axis=1, kind="stable")
    mass = np.cumsum(weight[order], axis=1)
    taken = mass <= limit + 1e-12
    reached = np.where(taken, np.take_along_axis(posterior, order, axis=1), 0.0).sum(axis=1)
    if not taken.any():
        return None
    report = int(np.argmax(np.round(reached, 12)))
    members = np.zeros(weight.size, dtype=bool)
    members[order[report][taken[report]]] = True
    members &= posterior[report] > 0
    return report, members, float(posterior[report][members].sum()), float(weight[members].sum())


def describe_property(space: Any, members: Any) -> str:
    """A set of true codes in words: the answer is …, is at least …, lies between …."""
    codes = np.flatnonzero(members)
    if isinstance(space, Categories):
        labels = [_shown(label) for label in space.decode(codes[:5])]
        return f"the answer is {' or '.join(labels)}" + (" or another of a few" if codes.size > 5 else "")
    low, high = (float(space.values[code]) for code in (codes[0], codes[-1]))
    if codes.size < codes[-1] - codes[0] + 1:
        outside = np.setdiff1d(np.arange(codes[0], codes[-1]), codes)
        gap_low, gap_high = (float(space.values[code]) for code in (outside[0], outside[-1]))
        return f"the value is at most {gap_low:.6g} or at least {gap_high:.6g}"
    if codes[-1] == space.size - 1:
        return f"the value is at least {low:.6g}"
    if codes[0] == 0:
        return f"the value is at most {high:.6g}"
    return f"the value lies between {low:.6g} and {high:.6g}"


def _shown(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return f"{value:.6g}" if isinstance(value, float) else repr(value) if isinstance(value, str) else str(value)
