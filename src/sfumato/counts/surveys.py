"""The first pass over a table that is not in memory: how many rows, which classes, labels and numbers, how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sfumato.counts.columns import MOST_VALUES, Counted, code_counts, grid_cells
from sfumato.counts.parts import Part, labels_in
from sfumato.counts.questions import Question
from sfumato.counts.reports import Reports, check_label_channel
from sfumato.domain import Codes, Floats, as_numbers, codes_of_labels, is_missing, sorted_labels
from sfumato.tables import PLAN_COLUMN, read_column


@dataclass(frozen=True, eq=False)
class NumberCounts:
    """The different numbers of a column that is not blurred and how often each occurs, for some part of the people.

    ``values`` is None (and ``counts`` empty) once more than MOST_VALUES differ. ``low`` and ``high``: the smallest and
    the largest number. ``integer``: whether all are whole. ``missing``: how many are missing.
    """

    values: Floats | None
    counts: Codes
    low: float
    high: float
    integer: bool
    missing: int

    @classmethod
    def of(cls, numbers: Floats) -> Self:
        """Count how often each number occurs; NaN is missing."""
        present = numbers[~np.isnan(numbers)]
        values, counts = np.unique(present, return_counts=True)
        low, high = (float(values[0]), float(values[-1])) if values.size else (np.inf, -np.inf)
        return cls(values, counts, low, high, bool(np.all(present == np.rint(present))), numbers.size - present.size)

    def __add__(self, other: NumberCounts) -> NumberCounts:
        """Return the counts of both parts of the people together."""
        values = counts = None
        if self.values is not None and other.values is not None:
            together = np.concatenate([self.values, other.values])
            values, index = np.unique(together, return_inverse=True)
            counts = np.bincount(index, np.concatenate([self.counts, other.counts]), values.size).astype(np.int64)
        if values is None or values.size > MOST_VALUES:
            values, counts = None, np.zeros(0, np.int64)
        low, high = min(self.low, other.low), max(self.high, other.high)
        integer, missing = self.integer and other.integer, self.missing + other.missing
        return NumberCounts(values, counts, low, high, integer, missing)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Surveyed:
    """What the first pass over a table found in a part of its rows; parts add up.

    ``rows``: the number of records. ``classes``: the labels of the class column. ``coded``: for every blurred column
    the counts of its report codes, one row a class. ``labels`` and ``numbers``: the labels or numbers of every column
    that is not blurred, counted. ``largest``: the largest weight. ``origins``: the identities of the plans that the
    rows name as theirs.
    """

    rows: int
    classes: tuple[Hashable, ...]
    coded: dict[str, Counted]
    labels: dict[str, Counter[Any]]
    numbers: dict[str, NumberCounts]
    largest: float
    origins: set[Any]

    def __add__(self, other: Surveyed) -> Surveyed:
        classes = sorted_labels({*self.classes, *other.classes})
        coded = {name: self._spread(name, classes) for name in self.coded}
        for name, more in ((name, other._spread(name, classes)) for name in coded):
            coded[name] = Counted(coded[name].histogram + more.histogram, coded[name].missing + more.missing)
        labels = {name: self.labels[name] + other.labels[name] for name in self.labels}
        numbers = {name: self.numbers[name] + other.numbers[name] for name in self.numbers}
        largest, origins = max(self.largest, other.largest), self.origins | other.origins
        return Surveyed(self.rows + other.rows, classes, coded, labels, numbers, largest, origins)

    def _spread(self, name: str, classes: tuple[Hashable, ...]) -> Counted:
        """Return the counts of the column ``name`` with one row for each of ``classes``, 0 for classes unseen here."""
        if classes == self.classes:
            return self.coded[name]
        rows = [classes.index(label) for label in self.classes]
        parts = (self.coded[name].histogram, self.coded[name].missing)
        wide = [np.zeros((len(classes), part.shape[1]), np.int64) for part in parts]
        for whole, part in zip(wide, parts, strict=True):
            whole[rows] = part
        return Counted(*wide)


@dataclass(frozen=True, eq=False)
class Surveying(Question):
    """The question of the first pass over a table: which labels, numbers and codes these columns hold, how often each.

    The answer is a `Surveyed`.
    """

    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    def of(self, part: Part) -> Surveyed:  # type: ignore[override]
        classes, group = self._classes(part)
        coded, labels, numbers = dict[str, Counted](), dict[str, Counter[Any]](), dict[str, NumberCounts]()
        for name in self.names:
            if part.channels[name] is not None:
                column = part.column(name)
                coded[name] = Counted(*code_counts(column, group, max(len(classes), 1), len(column.levels)))
                continue
            counted = self._clear(part, name)
            if isinstance(counted, NumberCounts):
                numbers[name] = counted
            else:
                labels[name] = counted
        largest = 0.0 if part.weights is None else float(part.weights.max(initial=0.0))
        origins = set(counted_labels(part.raw(PLAN_COLUMN))) if part.holds(PLAN_COLUMN) else set()
        return Surveyed(len(part), classes, coded, labels, numbers, largest, origins)

    @staticmethod
    def _classes(part: Part) -> tuple[tuple[Hashable, ...], Codes]:
        """Return the classes in a part of the rows, and the index of every record's class among them."""
        if part.target is None:
            return (), np.zeros(len(part), np.int64)
        if part.label_channel is not None:
            part.classes = check_label_channel(part.label_channel)
            assert part.class_codes is not None
            return part.classes, part.class_codes
        labels, indices = labels_in(part.raw(part.target))
        if labels is None:
            labels, indices = codes_of_labels(read_column(part.raw(part.target), part.target))
        if (indices < 0).any() or any(is_missing(label) for label in labels.tolist()):
            raise ValueError(f"column {part.target!r} has a missing class; drop those reports, or give them a class")
        order = sorted_labels(labels.tolist())
        return order, np.array([order.index(label) for label in labels.tolist()], np.int64)[indices]

    @staticmethod
    def _clear(part: Part, name: str) -> NumberCounts | Counter[Any]:
        """Count how often each number or label of a column that is not blurred occurs in a part of the rows."""
        if part.holds(name) and labels_in(part.raw(name))[0] is not None:
            return counted_labels(part.raw(name))
        values = part.values(name)
        if values.dtype.kind not in "iuf":
            return Counter(values.tolist())
        return NumberCounts.of(as_numbers(values))


@dataclass(frozen=True, eq=False)
class Gridding(Question):
    """The question how many numbers of a column lie in each of MOST_VALUES equal cells from ``low`` to ``high``.

    For a column that is not blurred and has more different numbers than that. Answer: an array of counts.
    """

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
    """Count how often each label occurs in an Arrow column, by label; missing ones are counted under None."""
    labels, indices = labels_in(column)
    if labels is None:
        return Counter(read_column(column).tolist())
    counts = np.bincount(indices[indices >= 0], minlength=labels.size).tolist()
    counter = Counter({label: count for label, count in zip(labels.tolist(), counts, strict=True) if count})
    if (indices < 0).any():
        counter[None] = int((indices < 0).sum())
    return counter
