"""`Risk`: what a release gives away about people, by attacks of intruders and by counts.

Counted are values close to the true ones, how far leaves confine a value, and groups with equal quasi-identifiers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.microdata.draws import Draws
from sfumato.microdata.intruders import IntruderFinding, send_intruders
from sfumato.microdata.patterns.pattern import Leaves
from sfumato.microdata.releasing import Release
from sfumato.microdata.table.fields import Microdata
from sfumato.microdata.table.points import CLOSE
from sfumato.microdata.table.roles import Anonymity, anonymity
from sfumato.prose import percent, sentence


@dataclass(frozen=True)
class Risk:
    """What a release gives away about people: how many intruders find, and how near values are to the truth.

    ``findings``: the results of all intruders, the nearest match first. ``disclosed`` and ``exact``: by field the share
    of released values within CLOSE standard deviations of the true one, and equal to it. ``whole_records``: the share
    of records that did not change. ``confinement``: by field the share of its domain that a leaf leaves open, on
    average. ``confined``: the share of values that a leaf confines to a tenth of the domain. ``before`` and ``after``:
    groups with equal quasi-identifiers in the original and in the release.
    """

    findings: tuple[IntruderFinding, ...]
    disclosed: dict[str, float]
    exact: dict[str, float]
    whole_records: float
    confinement: dict[str, float]
    confined: float
    before: Anonymity
    after: Anonymity

    @property
    def worst(self) -> IntruderFinding:
        """The result of the intruder with the highest risk."""
        return max(self.findings, key=lambda finding: finding.risk)

    @property
    def stated(self) -> float:
        """The risk of the worst intruder: the upper limit of the share of people found, or of what guesses gain."""
        return self.worst.risk

    @property
    def linked(self) -> float:
        """The share of people whose own released record is the nearest to their true values."""
        return self.findings[0].found

    @property
    def linked_by_guessing(self) -> float:
        """The chance that a released record taken at random is a person's own."""
        return self.findings[0].by_guessing

    @property
    def candidates(self) -> int:
        """The number of released records among which intruders look for a person."""
        return round(1 / self.findings[0].by_guessing)

    def to_dict(self, public: bool = False) -> dict[str, Any]:
        """Return the figures as plain data for JSON; ``public``: without those that would help an intruder."""
        shown: dict[str, Any] = {
            "stated": self.stated,
            "worst": self.worst.name,
            "linked": self.linked,
            "linked_by_guessing": self.linked_by_guessing,
            "candidates": self.candidates,
            "intruders": [_shown(finding, public) for finding in self.findings],
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
        """Return sentences on the worst intruder, the nearest match, and groups with equal quasi-identifiers.

        ``public``: without the worst intruder's story and example, which name columns and people.
        """
        worst = self.worst
        gained = (
            f"is right about {percent(worst.found)} of people, about {percent(worst.by_guessing)} without their "
            f"records (at most {percent(worst.risk, up=True)} more)"
            if worst.aim == "guess"
            else f"finds {percent(worst.found)} of people (at most {percent(worst.risk, up=True)}; by guessing "
            f"{percent(worst.by_guessing, 2)})"
        )
        story = "" if public else f" The intruder {worst.story}. For example: {worst.example}."
        alike = f"{percent(self.before.uniques, 0)} of the records were alone with their quasi-identifiers (k = "
        alike += f"{self.before.k}, l = {self.before.l}), {percent(self.after.uniques, 0)} are in the release (k = "
        alike += f"{self.after.k}, l = {self.after.l})."
        return (
            f"Of {len(self.findings)} intruders the worst, {worst.name}, {gained}.{story} An intruder who knows every "
            f"attribute of a person exactly and takes the nearest record finds {percent(self.linked)} (guessing among "
            f"{self.candidates:,}: {percent(self.linked_by_guessing, 2)}). {sentence(alike)}"
        )


def measure_risk(release: Release, draws: Draws) -> Risk:
    """Measure what a release gives away, by sending all intruders and by counting."""
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


def _shown(finding: IntruderFinding, public: bool) -> dict[str, Any]:
    """Return an intruder's result as plain data; ``public``: without story and example, which name columns and people.
    """
    shown = {**asdict(finding), "risk": finding.risk}
    return {key: value for key, value in shown.items() if not public or key not in ("story", "example")}


def _close_and_same(original: Microdata, released: Microdata) -> tuple[dict[str, float], dict[str, float]]:
    """Return two dicts by field: the share of released values close to the true ones, and of those equal to them."""
    close, same = {}, {}
    for index, field in enumerate(original.fields):
        x, y = original.X[:, index], released.X[:, index]
        present = ~np.isnan(x)
        if present.any():
            reach = 0.0 if field.kind == "category" else CLOSE * x[present].std()
            close[field.name] = float((np.abs(x - y)[present] <= reach).mean())
            same[field.name] = float((x == y)[present].mean())
    return close, same


def _confinement(data: Microdata, leaves: Leaves) -> tuple[dict[str, float], float]:
    """Return how closely the leaves of the tree tell where true values lie: (a dict by field, one share over all).

    By field the share of its domain that a leaf leaves open, on average; and the share of values to which a leaf leaves
    a tenth or less.
    """
    width, tight = {}, []
    for index, field in enumerate(data.fields):
        lower, upper = leaves.bounds(index)
        whole = field.high - field.low + field.step
        share = (upper - lower + field.step) / whole if whole > 0 else np.ones_like(lower)
        width[field.name] = float(share.mean())
        tight.append(float((share <= CLOSE).mean()))
    return width, float(np.mean(tight))


def _average(shares: dict[str, float]) -> float:
    """Return the mean of shares by field, 0 where there are no fields."""
    return float(np.mean(list(shares.values()))) if shares else 0.0
