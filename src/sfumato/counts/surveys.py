"""The first pass over reports that are elsewhere: what a table in memory shows at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.counts.columns import MOST_VALUES, Counted, grid_cells
from sfumato.counts.parts import labels_in
from sfumato.counts.questions import Question
from sfumato.counts.reports import Reports
from sfumato.domain import Codes, Floats, as_numbers, is_missing
from sfumato.tables import PLAN_COLUMN, read_column


@dataclass(frozen=True, eq=False)
class Numbers:
    """The clear numbers of a column: those that occur and how often, or None once they are too many."""

    values: Floats | None
    counts: Codes
    low: float
    high: float
    integer: bool
    missing: int

    def __add__(self, other: Numbers) -> Numbers:
        values = counts = None
        if self.values is not None and other.values is not None:
            together = np.concatenate([self.values, other.values])
            values, place = np.unique(together, return_inverse=True)
            counts = np.bincount(place, np.concatenate([self.counts, other.counts]), values.size).astype(np.int64)
        if values is None or values.size > MOST_VALUES:
            values, counts = None, np.zeros(0, np.int64)
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Numbers(
            values, counts, low, high, self.integer and other.integer, self.missing + other.missing  # type: ignore[arg-type]
        )


@dataclass(frozen=True, eq=False)
class Surveyed:
    """The answer of the first pass for some people."""

    rows: int
    classes: Counter[Any]
    coded: dict[str, Counted]
    labels: dict[str, Counter[Any]]
    numbers: dict[str, Numbers]
    largest: float
    origins: set[Any]

    def __add__(self, other: Surveyed) -> Surveyed:
        coded = {
            name: Counted(a.histogram + b.histogram, a.missing + b.missing, a.people + b.people)
            for (name, a), b in zip(self.coded.items(), other.coded.values(), strict=True)
        }
        labels = {name: self.labels[name] + other.labels[name] for name in self.labels}
        numbers = {name: self.numbers[name] + other.numbers[name] for name in self.numbers}
        return Surveyed(
            self.rows + other.rows, self.classes + other.classes, coded, labels, numbers,
            max(self.largest, other.largest), self.origins | other.origins,
        )


@dataclass(frozen=True, eq=False)
class Surveying(Question):
    """What there is: asked before anything else."""

    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    def of(self, part: Any) -> Surveyed:
        coded = {name: part.column(name).counted for name in self.names if part.channels[name] is not None}
        labels: dict[str, Counter[Any]] = {}
        numbers: dict[str, Numbers] = {}
        for name in self.names:
            if part.channels[name] is None:
                found = self._clear(part, name)
                if isinstance(found, Numbers):
                    numbers[name] = found
                else:
                    labels[name] = found
        classes = Counter[Any]()
        if part.target is not None and part.label_channel is None:
            classes = counted_labels(part.raw(part.target))
            if any(is_missing(label) for label in classes):
                raise ValueError(f"column {part.target!r} has a missing class; drop those reports or name a class")
        largest = 0.0 if part.weights is None else float(part.weights.max(initial=0.0))
        origins = set(counted_labels(part.raw(PLAN_COLUMN))) if PLAN_COLUMN in part._given else set()
        return Surveyed(len(part), classes, coded, labels, numbers, largest, origins)

    @staticmethod
    def _clear(part: Any, name: str) -> Any:
        if name in part._given and labels_in(part.raw(name))[0] is not None:
            return counted_labels(part.raw(name))
        values = part.values(name)
        if values.dtype.kind not in "iuf":
            return Counter(values.tolist())
        numbers = as_numbers(values)
        known = numbers[~np.isnan(numbers)]
        found, counts = np.unique(known, return_counts=True)
        low, high = (float(found[0]), float(found[-1])) if found.size else (np.inf, -np.inf)
        integer = bool(np.all(known == np.rint(known)))
        return Numbers(found, counts, low, high, integer, numbers.size - known.size)


@dataclass(frozen=True, eq=False)
class Gridding(Question):
    """How many numbers of a clear column lie in each cell of a grid: for those of which too many differ."""

    name: str
    low: float
    high: float
    by_class = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def of(self, part: Reports) -> Codes:
        numbers = as_numbers(part.values(self.name))
        cells = grid_cells(numbers[~np.isnan(numbers)], self.low, self.high)
        return np.bincount(cells, minlength=MOST_VALUES)


def counted_labels(column: Any) -> Counter[Any]:
    """How often each label occurs in an Arrow column."""
    labels, indices = labels_in(column)
    if labels is None:
        return Counter(read_column(column).tolist())
    counts = np.bincount(indices[indices >= 0], minlength=labels.size).tolist()
    found = Counter({label: count for label, count in zip(labels.tolist(), counts, strict=True) if count})
    if (indices < 0).any():
        found[None] = int((indices < 0).sum())
    return found
