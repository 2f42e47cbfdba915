"""What a release gives away: what each of the intruders finds, the worst of them, values close to the truth, how far
the leaves confine a value, and groups of records that are alike."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.microdata.draws import Draws
from sfumato.microdata.intruders import Finding, send_intruders
from sfumato.microdata.patterns.pattern import Leaves
from sfumato.microdata.releasing import Release
from sfumato.microdata.table.fields import Microdata
from sfumato.microdata.table.points import CLOSE
from sfumato.microdata.table.roles import Anonymity, anonymity
from sfumato.prose import percent, sentence


@dataclass(frozen=True)
class Risk:
    """Findings of all intruders, the nearest match first; shares of values by field; groups on the quasi-identifiers
    before and after."""

    findings: tuple[Finding, ...]
    disclosed: dict[str, float]
    exact: dict[str, float]
    whole_records: float
    confinement: dict[str, float]
    confined: float
    before: Anonymity
    after: Anonymity

    @property
    def worst(self) -> Finding:
        """The intruder with the highest risk."""
        return max(self.findings, key=lambda finding: finding.risk)

    @property
    def stated(self) -> float:
        """The risk of the worst: the share of people found, or what guesses gain, at most."""
        return self.worst.risk

    @property
    def linked(self) -> float:
        """The share of people whose own record is the nearest."""
        return self.findings[0].found

    @property
    def linked_by_guessing(self) -> float:
        return self.findings[0].by_guessing

    @property
    def candidates(self) -> int:
        return round(1 / self.findings[0].by_guessing)

    def to_dict(self, public: bool = False) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "stated": self.stated,
            "worst": self.worst.name,
            "linked": self.linked,
            "linked_by_guessing": self.linked_by_guessing,
            "candidates": self.candidates,
            "intruders": [_shown(one, public) for one in self.findings],
            "values_within_a_tenth_of_a_deviation": _average(self.disclosed),
            "values_unchanged": _average(self.exact),
            "records_unchanged": self.whole_records,
            "on_quasi_identifiers": {"before": asdict(self.before), "after": asdict(self.after)},
        }
        if not public:
            shown |= {
                "disclosed_by_attribute": self.disclosed,
                "unchanged_by_attribute": self.exact,
                "width_left_by_the_leaf": self.confinement,
                "values_confined_to_a_tenth": self.confined,
            }
        return shown

    def in_words(self, public: bool = False) -> str:
        """The worst with its example, then how the others stand."""
        worst = self.worst
        gained = (
            f"is right about {percent(worst.found)} of people, about {percent(worst.by_guessing)} without their "
            f"records (at most {percent(worst.risk, up=True)} more)"
            if worst.aim == "guess"
            else f"finds {percent(worst.found)} of people (at most {percent(worst.risk, up=True)}; by guessing "
            f"{percent(worst.by_guessing, 2)})"
        )
        told = "" if public else f" The intruder {worst.story}. For example: {worst.example}."
        alike = f"{percent(self.before.uniques, 0)} of the records were alone with their quasi-identifiers (k = "
        alike += f"{self.before.k}, l = {self.before.l}), {percent(self.after.uniques, 0)} are in the release (k = "
        alike += f"{self.after.k}, l = {self.after.l})."
        return (
            f"Of {len(self.findings)} intruders the worst, {worst.name}, {gained}.{told} An intruder who knows every "
            f"attribute of a person exactly and takes the nearest record finds {percent(self.linked)} (guessing among "
            f"{self.candidates:,}: {percent(self.linked_by_guessing, 2)}). {sentence(alike)}"
        )


def measure_risk(release: Release, draws: Draws) -> Risk:
    original, released = release.original, release.released
    close, same = _close_and_same(original, released)
    unchanged = ((original.X == released.X) | np.isnan(original.X)).all(axis=1) & (original.y == released.y)
    confinement, confined = ({}, 0.0) if release.leaves is None else _confinement(original, release.leaves)
    quasi, sensitive = (release.roles.having(role) for role in ("quasi-identifier", "sensitive"))
    return Risk(
        findings=send_intruders(release, draws),
        disclosed=close,
        exact=same,
        whole_records=float(unchanged.mean()),
        confinement=confinement,
        confined=confined,
        before=anonymity(original, quasi, sensitive),
        after=anonymity(released, quasi, sensitive),
    )


def _shown(finding: Finding, public: bool) -> dict[str, Any]:
    """A finding in plain values; stories and examples name columns and people, which is for the owner."""
    shown = {**asdict(finding), "risk": finding.risk}
    return {key: value for key, value in shown.items() if not public or key not in ("story", "example")}


def _close_and_same(original: Microdata, released: Microdata) -> tuple[dict[str, float], dict[str, float]]:
    close, same = {}, {}
    for place, field in enumerate(original.fields):
        x, y = original.X[:, place], released.X[:, place]
        known = ~np.isnan(x)
        if known.any():
            reach = 0.0 if field.kind == "category" else CLOSE * x[known].std()
            close[field.name] = float((np.abs(x - y)[known] <= reach).mean())
            same[field.name] = float((x == y)[known].mean())
    return close, same


def _confinement(data: Microdata, leaves: Leaves) -> tuple[dict[str, float], float]:
    """How much of a field's domain the leaf leaves open, on average; and the share of values left a tenth."""
    width, tight = {}, []
    for place, field in enumerate(data.fields):
        lower, upper = leaves.bounds(place)
        whole = field.high - field.low + field.step
        share = (upper - lower + field.step) / whole if whole > 0 else np.ones_like(lower)
        width[field.name] = float(share.mean())
        tight.append(float((share <= CLOSE).mean()))
    return width, float(np.mean(tight))


def _average(shares: dict[str, float]) -> float:
    return float(np.mean(list(shares.values()))) if shares else 0.0
