"""What an intruder gains from a release: linkage, interval disclosure, confinement by the leaves, exact matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.domain import Floats
from sfumato.microdata.fields import Microdata
from sfumato.microdata.noise import Draws
from sfumato.microdata.pattern import Leaves

TARGETS, CANDIDATES = 1_000, 20_000
CLOSE = 0.1
MOST_INDICATORS = 20


@dataclass(frozen=True)
class Risk:
    """Shares of records or values; by field where a value can be at risk."""

    linked: float
    linked_by_guessing: float
    candidates: int
    disclosed: dict[str, float]
    exact: dict[str, float]
    whole_records: float
    confinement: dict[str, float]
    confined: float

    def to_dict(self, public: bool = False) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "linked": self.linked,
            "linked_by_guessing": self.linked_by_guessing,
            "candidates": self.candidates,
            "values_within_a_tenth_of_a_deviation": _average(self.disclosed),
            "values_unchanged": _average(self.exact),
            "records_unchanged": self.whole_records,
        }
        if not public:
            shown |= {
                "disclosed_by_attribute": self.disclosed,
                "unchanged_by_attribute": self.exact,
                "width_left_by_the_leaf": self.confinement,
                "values_confined_to_a_tenth": self.confined,
            }
        return shown


def measure_risk(original: Microdata, released: Microdata, leaves: Leaves | None, draws: Draws) -> Risk:
    linked, candidates = linkage(original, released, draws)
    close, same = _close_and_same(original, released)
    unchanged = ((original.X == released.X) | np.isnan(original.X)).all(axis=1) & (original.y == released.y)
    confinement, confined = ({}, 0.0) if leaves is None else _confinement(original, leaves)
    return Risk(linked, 1 / candidates, candidates, close, same, float(unchanged.mean()), confinement, confined)


def linkage(original: Microdata, released: Microdata, draws: Draws) -> tuple[float, int]:
    """Share of records whose own released record is the nearest one, ties shared; and among how many candidates.

    The intruder knows all fields of a person exactly and looks for the nearest released record, numbers in
    standard deviations, categories equal or not. Large tables are sampled: 1,000 people among 20,000 candidates.
    """
    rows = np.argsort(draws.uniform(len(original.y)))[:CANDIDATES]
    known, seen = (points(data.take(rows), original) for data in (original, released))
    hits = []
    for start in range(0, min(TARGETS, rows.size), 100):
        own = np.arange(start, min(start + 100, TARGETS, rows.size))
        distance = (known[own] ** 2).sum(axis=1)[:, None] + (seen**2).sum(axis=1) - 2 * known[own] @ seen.T
        mine = distance[np.arange(own.size), own][:, None]
        slack = 1e-9 * (1 + np.abs(mine))
        nearer, equal = (distance < mine - slack).sum(axis=1), (np.abs(distance - mine) <= slack).sum(axis=1)
        hits.append(np.where(nearer == 0, 1 / np.maximum(equal, 1), 0.0))
    return float(np.concatenate(hits).mean()), int(rows.size)


def points(data: Microdata, reference: Microdata) -> Floats:
    """Records as points: numbers by the reference's standard deviation, categories as indicators."""
    columns = []
    for place, field in enumerate(data.fields):
        column, whole = data.X[:, place], reference.X[:, place]
        known = whole[~np.isnan(whole)]
        middle, deviation = (known.mean(), known.std()) if known.size else (0.0, 0.0)
        filled = np.where(np.isnan(column), middle, column)
        if field.kind == "category" and len(field.labels) <= MOST_INDICATORS:
            columns += [(column == code) / np.sqrt(2) for code in range(len(field.labels))]
        elif deviation > 0:
            columns.append((filled - middle) / deviation)
    return np.column_stack(columns) if columns else np.zeros((len(data.y), 1))


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
        whole = field.width + field.step
        share = (upper - lower + field.step) / whole if whole > 0 else np.ones_like(lower)
        width[field.name] = float(share.mean())
        tight.append(float((share <= CLOSE).mean()))
    return width, float(np.mean(tight))


def _average(shares: dict[str, float]) -> float:
    return float(np.mean(list(shares.values()))) if shares else 0.0
