"""What learning asks of reports: questions whose answers for parts of the people add up to the answer for all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.counts.columns import only, tally, value_places
from sfumato.counts.folds import Fold
from sfumato.domain import Codes, Floats, as_numbers

if TYPE_CHECKING:
    from sfumato.counts.reports import Reports

MOST_DENSE = 200_000_000  # more combinations than this are not laid out in one array


class Question(ABC):
    """Asked by `Reports.ask`; it travels to where the reports are, so it must be picklable."""

    by_class: bool = True
    key: Hashable = None
    """Questions with the same key have the same answer, which may be remembered; None: nobody asks this again."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it reads; the class too if it is ``by_class``, weights and places always."""

    @abstractmethod
    def of(self, part: Reports) -> Any:
        """The answer for some people, whose reports are in memory."""

    def merged(self, answers: Sequence[Any]) -> Any:
        """The answer for all, from those for each part of the people; they are added up unless a question says how."""
        return reduce(add, answers)


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column: that of every base code (None: each is its own), how many, and whether missing is one
    more."""

    cell_of_code: NDArray[np.int32] | None
    count: int
    missing: bool

    @property
    def all(self) -> int:
        return self.count + self.missing

    @property
    def key(self) -> Hashable:
        return (None if self.cell_of_code is None else self.cell_of_code.tobytes(), self.count, self.missing)


@dataclass(frozen=True, eq=False)
class Counting(Question):
    """How many people are in each combination of cells: N[(fold,) cell of the first column, … (, class)]."""

    names: tuple[str, ...]
    cells: tuple[Cells, ...]
    by_class: bool = True
    fold: Fold | None = None
    by_fold: int | None = None
    squared: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    @cached_property
    def key(self) -> Hashable:  # type: ignore[override]
        cells = tuple(each.key for each in self.cells)
        return (self.names, cells, self.by_class, self.fold, self.by_fold, self.squared)

    def of(self, part: Reports) -> Floats:
        flat, shape = part.places_in(self.columns, self.cells, self.by_class)
        if self.by_fold is not None:
            flat = flat + part.folds(self.by_fold).astype(np.int64) * prod(shape)
            shape = (self.by_fold, *shape)
        size = prod(shape)
        if size > MOST_DENSE:
            raise ValueError(f"{size:,} combinations of cells are too many to lay out; ask for .combinations(…)")
        found = part.summed(flat, size, squared=self.squared, fold=self.fold)
        return found.reshape(shape).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of cells that occur: ``rows[i]`` (one cell a column, sorted) with ``counts[i]`` (by class)."""

    rows: NDArray[np.int32]
    counts: Floats


@dataclass(frozen=True, eq=False)
class Combining(Question):
    """The same counts, but only of the combinations of cells that occur."""

    names: tuple[str, ...]
    cells: tuple[Cells, ...]
    by_class: bool = True
    fold: Fold | None = None
    squared: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    def of(self, part: Reports) -> Combinations:
        flat, shape = part.places_in(self.columns, self.cells, False)
        if prod(shape) > 2**62:
            raise ValueError(f"{len(shape)} columns have too many combinations of cells to number; use fewer cells")
        chosen = slice(None) if self.fold is None else np.flatnonzero(part.chosen(self.fold))
        found, place = np.unique(flat[chosen], return_inverse=True)
        groups = len(part.classes) if self.by_class and part.classes is not None else 1
        if self.by_class and part.class_codes is not None:
            place = place * groups + part.class_codes[chosen]
        weight = part.weight(self.squared)
        counts = np.bincount(place, only(weight, chosen), minlength=found.size * groups)
        rows = np.column_stack(np.unravel_index(found, shape)).astype(np.int32)
        shaped = counts.astype(float).reshape(found.size, groups)
        return Combinations(rows, shaped if self.by_class and part.classes is not None else shaped[:, 0])

    def merged(self, answers: Sequence[Combinations]) -> Combinations:
        if len(answers) == 1:
            return answers[0]
        rows, counts = np.concatenate([each.rows for each in answers]), np.concatenate([a.counts for a in answers])
        if not len(rows):
            return answers[0]
        order = np.lexsort(rows.T[::-1])
        first = np.append(True, (np.diff(rows[order], axis=0) != 0).any(axis=1))
        return Combinations(rows[order][first], np.add.reduceat(counts[order], np.flatnonzero(first)))


@dataclass(frozen=True, eq=False)
class Tallying(Question):
    """The counts of one column's report codes, for every level (histogram, missing), each by class."""

    name: str
    by_class: bool = False
    fold: Fold | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def of(self, part: Reports) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        column = part.column(self.name)
        chosen = np.ones(len(part), bool) if self.fold is None else part.chosen(self.fold)
        group = part.class_codes if self.by_class else None
        rows = 1 if group is None else len(part.classes or ())
        found = []
        for place, channel in enumerate(column.levels.values()):
            own = chosen if column.level is None else chosen & (column.level == place)
            level = tally(channel, column.ranks[own], only(group, own), rows, only(part.weight(), own))
            found.append((level.histogram, level.missing))
        return found

    def merged(self, answers: Sequence[Any]) -> Any:
        return [tuple(reduce(add, parts) for parts in zip(*level, strict=True)) for level in zip(*answers, strict=True)]


@dataclass(frozen=True, eq=False)
class Valuing(Question):
    """How many people of each class have each of the values that occur in a column of clear numbers."""

    name: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def of(self, part: Reports) -> Floats:
        column, numbers = part.column(self.name), as_numbers(part.values(self.name))
        assert column.values is not None
        classes = 1 if part.classes is None else len(part.classes)
        group: Codes = np.zeros(len(part), np.int64) if part.class_codes is None else part.class_codes
        flat = np.where(np.isnan(numbers), -1, value_places(column, numbers) * classes + group)
        size = column.values.size * classes
        return part.summed(flat, size).reshape(-1, classes).astype(np.float64, copy=False)
