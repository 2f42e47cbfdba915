"""Questions about reports whose answers for parts of the people can be merged into the answer for all, and folds.

A fold is a fixed part of the records (for example one that is held out). Which fold a record is in, and every other
random choice about it, follows from a hash of its place under a seed:

    fold = mix(mix(mix(seed ⊕ salt·0x9E3779B9) ⊕ ⌊place/2³²⌋) ⊕ place mod 2³²) mod folds,    all modulo 2³²,
    mix(h): h ⊕= h >> 16; h = h·0x21F0AAAD mod 2³²; h ⊕= h >> 15; h = h·0x735A2D97 mod 2³²; h ⊕= h >> 15.

A record's place is its row, from 0, in the whole table, whoever reads which part of it. Both factors are below 2³¹, so
no product leaves a signed 64-bit integer: SQL repeats it with *, %, >> and xor.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from operator import add
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.counts.columns import Column, Tally, only, tally, value_places
from sfumato.counts.tallies import Counts
from sfumato.domain import Codes, Floats, as_numbers

if TYPE_CHECKING:
    from sfumato.counts.reports import Reports

MOST_DENSE = 200_000_000
"""The most combinations of cells that are counted in one array: 1.6 GB of floats. Chosen by judgement; more are refused
with the advice to ask for the combinations that occur."""


# --- folds ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fold:
    """A fixed part of the records, drawn by a hash: the folds with these numbers, of ``of`` folds of about equal size.

    For judging on some people what was fitted on the others.

    ``numbers``: one number from 0 to of − 1, or several. ``of``: how many folds there are. ``salt``: folds with
    different salts are drawn independently of each other. ``~Fold(…)`` is the part of all other records.

    >>> len(Fold(range(0, 3), 10).numbers), (~Fold(0, 5)).numbers
    (3, (1, 2, 3, 4))
    """

    numbers: tuple[int, ...]
    of: int
    salt: int = 0

    def __init__(self, numbers: int | Sequence[int], of: int, salt: int = 0) -> None:
        chosen = (numbers,) if isinstance(numbers, int) else tuple(numbers)
        if of < 1 or any(not 0 <= number < of for number in chosen):
            raise ValueError(f"fold {numbers} of {of} does not exist; folds are numbered from 0 to {of - 1}")
        object.__setattr__(self, "numbers", chosen)
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "salt", salt)

    def __invert__(self) -> Fold:
        return Fold([number for number in range(self.of) if number not in self.numbers], self.of, self.salt)

    def holds(self, hashes: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Return which records are in this part, one truth value each; ``hashes`` are theirs from `fold_hash`."""
        inside = np.zeros(self.of, dtype=bool)
        inside[list(self.numbers)] = True
        return np.asarray(inside[hashes % np.uint32(self.of)])


def fold_hash(seed: int, place: NDArray[Any], salt: int = 0) -> NDArray[np.uint32]:
    """Return a 32-bit hash of each record's place (its row in the whole table), which decides its folds.

    ``seed`` and ``salt``: numbers, each of which gives other hashes. The formula heads this module.
    """
    start = _mix(np.uint64((seed ^ (salt * 0x9E3779B9)) & 0xFFFFFFFF))
    places = np.asarray(place).astype(np.uint64)
    high = places >> np.uint64(32)
    begun = _mix(start ^ high) if high.any() else _mix(start)
    return np.asarray(_mix(begun ^ (places & np.uint64(0xFFFFFFFF))), dtype=np.uint32)


def _mix(h: Any) -> Any:
    """Return 32-bit numbers with their bits mixed, the step of `fold_hash` (mix(h) at the head of this module)."""
    low = np.uint64(0xFFFFFFFF)
    h = h ^ (h >> np.uint64(16))
    h = (h * np.uint64(0x21F0AAAD)) & low
    h = h ^ (h >> np.uint64(15))
    h = (h * np.uint64(0x735A2D97)) & low
    return h ^ (h >> np.uint64(15))


# --- questions ------------------------------------------------------------------------------------------------------


class Question(ABC):
    """A question about reports, such as how often each code occurs; the base class of all that `Reports.ask` answers.

    The answers for parts of the people can be merged into that for all. It is sent to where the reports are, so it must
    be picklable.
    """

    by_class: bool = True
    """Whether the classes of the records are read."""
    key: Hashable = None
    """Questions with the same key have the same answer, which may be kept; None: the answer is not kept."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that must be read to answer.

        Besides the class (if ``by_class``), the weights and the places (row numbers) of records.
        """

    @abstractmethod
    def of(self, part: Reports) -> Any:
        """Return the answer for a part of the people, whose reports are in memory."""

    def merged(self, answers: Sequence[Any]) -> Any:
        """Return the answer for all people from the answers for the parts; by default their sum."""
        return reduce(add, answers)


@dataclass(frozen=True, eq=False)
class CellMapping:
    """How the codes of a column's reports are grouped into cells (intervals of numbers, or categories) to be counted.

    ``cell_of_code``: the index of every base code's cell; None: every code is its own cell. ``count``: the number of
    cells. ``missing``: whether missing reports have a cell of their own, after the others.
    """

    cell_of_code: NDArray[np.int32] | None
    count: int
    missing: bool

    @property
    def all(self) -> int:
        """The number of cells, the one for missing reports included where there is one."""
        return self.count + self.missing

    @property
    def key(self) -> Hashable:
        """A hashable value that is equal for equal mappings, by which answers are kept."""
        return (None if self.cell_of_code is None else self.cell_of_code.tobytes(), self.count, self.missing)


@dataclass(frozen=True, eq=False)
class Counting(Question):
    """The question how many people are in each combination of some columns' cells (groups of report codes).

    Answer: an array of counts N[(fold,) cell of the first column, …, cell of the last (, class)].

    ``names``: the columns. ``cells``: how each one's codes are grouped. ``by_class``: count each class apart.
    ``by_fold``: count apart for each of so many folds. ``fold``: count these records only. ``squared``: sum the squares
    of the records' weights instead of the weights.
    """

    names: tuple[str, ...]
    cells: tuple[CellMapping, ...]
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
        flat, shape = part.places_in(self.columns, self.cells, self.by_class, self.by_fold)
        size = prod(shape)
        if size > MOST_DENSE:
            raise ValueError(f"{size:,} combinations of cells are too many to lay out; ask for .combinations(…)")
        sums = part.summed(flat, size, squared=self.squared, fold=self.fold)
        return sums.reshape(shape).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of columns' cells (groups of report codes) that occur, sorted, and how many people are in each.

    ``rows[i, column]``: the cell of each column. ``counts[i]``: the people, or ``counts[i, class]`` by class.
    """

    rows: NDArray[np.int32]
    counts: Floats


@dataclass(frozen=True, eq=False)
class Combining(Question):
    """The question which combinations of columns' cells occur, and how many people are in each.

    The answer is a `Combinations`; for columns with more combinations than an array can hold. ``squared``: sum the
    squares of the records' weights instead.
    """

    names: tuple[str, ...]
    cells: tuple[CellMapping, ...]
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
        occurring, index = np.unique(flat[chosen], return_inverse=True)
        groups = len(part.classes) if self.by_class and part.classes is not None else 1
        if self.by_class and part.class_codes is not None:
            index = index * groups + part.class_codes[chosen]
        weight = part.weight(self.squared)
        counts = np.bincount(index, only(weight, chosen), minlength=occurring.size * groups)
        rows = np.column_stack(np.unravel_index(occurring, shape)).astype(np.int32)
        shaped = counts.astype(float).reshape(occurring.size, groups)
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
    """The question how many reports of one column have each report code (the number of a report among all possible).

    The answer is a list with one tuple for each level (how strongly people chose to blur): two arrays of counts,
    histogram[class, code] and missing[class], and where records have weights a third entry, their sums of squares
    (`Weighed`). A class is a label of the column that a learner predicts; one row for all unless ``by_class``.
    """

    name: str
    by_class: bool = False
    fold: Fold | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def of(self, part: Reports) -> list[tuple[Any, ...]]:
        column, weights, squares = part.column(self.name), part.weight(), part.weight(squared=True)
        chosen = np.ones(len(part), bool) if self.fold is None else part.chosen(self.fold)
        group = part.class_codes if self.by_class else None
        rows = 1 if group is None else len(part.classes or ())
        tallies = []
        for index, channel in enumerate(column.levels.values()):
            own = chosen if column.level is None else chosen & (column.level == index)
            codes, groups = column.ranks[own], only(group, own)
            level = tally(channel, codes, groups, rows, only(weights, own), only(squares, own))
            tallies.append((level.histogram, level.missing, *([] if level.weighed is None else [level.weighed])))
        return tallies

    def merged(self, answers: Sequence[Any]) -> Any:
        return [tuple(reduce(add, parts) for parts in zip(*level, strict=True)) for level in zip(*answers, strict=True)]


@dataclass(frozen=True, eq=False)
class Valuing(Question):
    """The question how many people of each class have each value of a column of numbers that are not blurred.

    Answer: an array of counts N[value, class].
    """

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


# --- asking ---------------------------------------------------------------------------------------------------------


class CountableReports(ABC):
    """A table of reports that can be counted, in memory or elsewhere; the base class of `Reports`.

    Its methods put counts in words as questions; a subclass defines `column` and `ask`, which answers them.
    """

    names: tuple[str, ...]
    channels: dict[str, Any]
    classes: tuple[Hashable, ...] | None

    @abstractmethod
    def column(self, name: str | int) -> Column:
        """Return the column of this name or number: the code of every report, and what the codes mean."""

    @abstractmethod
    def ask(self, questions: Sequence[Question]) -> list[Any]:
        """Return a list of the answers to several questions, made in one pass over the reports."""

    def prepare(self, questions: Sequence[Question]) -> None:  # noqa: B027 (in memory there is nothing to prepare)
        """Announce questions that will be asked one by one, to save passes over the reports.

        Where the reports are not in memory, all of them are answered in one pass and the answers kept.
        """

    def selected(self, names: Iterable[str]) -> Self:
        """Return the same reports with the columns in ``names`` alone, in this order."""
        other = copy(self)
        other.names = tuple(names)
        for name in other.names:
            if name not in self.names:
                raise ValueError(f"column {name!r} is missing; the reports have {', '.join(self.names)}")
        other.channels = {name: self.channels[name] for name in other.names}
        return other

    @property
    def people(self) -> float:
        """The number of people that the reports stand for: the records, or the sum of their weights."""
        return float(self.counts(by_class=False))

    def counting(
        self, columns: Sequence[str | int] | str | int = (), cells: Sequence[Any] | Mapping[Any, Any] | None = None,
        *, by_class: bool = True, fold: Fold | None = None, by_fold: int | None = None, squared: bool = False,
        missing: bool | None = None,
    ) -> Counting:
        """Return the question whose answer `counts` returns, to be asked with others in one pass (`ask`).

        The parameters are those of `counts`.
        """
        by_class = by_class and self.classes is not None
        return Counting(*self._cut(columns, cells, missing), by_class, fold, by_fold, squared)

    def counts(
        self, columns: Sequence[str | int] | str | int = (), cells: Sequence[Any] | Mapping[Any, Any] | None = None,
        **options: Any,
    ) -> NDArray[Any]:
        """Count the people in each combination of cells of some columns.

        N[(fold,) cell of the first column, …, cell of the last (, class)] = Σ weights of the records there.

        ``columns``: names or numbers of columns. ``cells``: for each column the cell of every base code, or an object
        with ``cell_of_code`` and ``reported``, the number of cells (None: each code is a cell). Missing reports go to a
        last extra cell, which a column has when a report of it is missing (``missing=True``: always).
        ``by_class=False``: all classes together. ``fold``: only the records of this `Fold`. ``by_fold``: count apart
        for each of so many folds. ``squared=True``: sum the squares of the weights.

        >>> import sfumato as sf
        >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
        >>> reports = sf.Reports({"smokes": ["yes", "no", "no"], "age": [30, 30, 50]}, {"smokes": coin})
        >>> reports.counts(["smokes", "age"]).astype(int).tolist()  # yes, no × 30, 50
        [[1, 0], [1, 1]]
        """
        counts: NDArray[Any] = self.ask([self.counting(columns, cells, **options)])[0]
        return counts

    def combinations(
        self, columns: Sequence[str | int], cells: Sequence[Any] | Mapping[Any, Any] | None = None, *,
        by_class: bool = True, fold: Fold | None = None, squared: bool = False, missing: bool | None = None,
    ) -> Combinations:
        """Count the people in those combinations of columns' cells (groups of report codes) that occur.

        For columns where all combinations would be too many for an array. The parameters are those of `counts`. Returns
        `Combinations`: the cells ``rows[i, column]`` and the people ``counts[i]`` (or ``counts[i, class]``).
        """
        question = Combining(*self._cut(columns, cells, missing), by_class and self.classes is not None, fold, squared)
        combinations: Combinations = self.ask([question])[0]
        return combinations

    def of(self, name: str | int, *, by_class: bool = False, fold: Fold | None = None) -> Counts:
        """Count how many reports of one column have each report code, as `Counts`, for reconstruction.

        ``name``: the column's name or number. ``by_class``: count the classes apart. ``fold``: only these records.
        """
        return self.tallies([name], by_class=by_class, fold=fold)[0]

    def tallies(
        self, names: Sequence[str | int], *, by_class: bool = False, fold: Fold | None = None
    ) -> list[Counts]:
        """Count how many reports have each report code in several columns, in one pass; return one `Counts` a column.

        ``names``: names or numbers of columns; the others are those of `of`.
        """
        columns = [self.blurred(name) for name in names]
        by_class = by_class and self.classes is not None
        answers = self.ask([Tallying(column.name, by_class, fold) for column in columns])
        return [
            Counts(
                {
                    level: Tally(channel, *parts)
                    for (level, channel), parts in zip(column.levels.items(), answer, strict=True)
                },
                self.classes if by_class else None,
            )
            for column, answer in zip(columns, answers, strict=True)
        ]

    def tallied(self, *, by_class: bool = False) -> dict[str, Counts]:
        """Count how many reports have each report code in every blurred column, in one pass; return `Counts` by name.

        ``by_class``: count the classes apart.
        """
        names = [name for name, channel in self.channels.items() if channel is not None]
        return dict(zip(names, self.tallies(names, by_class=by_class), strict=True))

    def blurred(self, name: str | int) -> Column:
        """Return a blurred column by name or number, its codes and what they mean; ValueError where it is not blurred.
        """
        column = self.column(name)
        if not column.levels:
            raise ValueError(f"column {column.name!r} is sent in the clear; count it with .counts([{column.name!r}])")
        return column

    def value_counts(self, names: Sequence[str]) -> list[Floats]:
        """Count the people of each class with each value, for columns of numbers that are not blurred.

        Returns a list with one array N[value, class] for each name; values in the order of ``column(name).values``.
        """
        return self.ask([Valuing(name) for name in names])

    def _cut(self, columns: Any, cells: Any, missing: bool | None) -> tuple[tuple[str, ...], tuple[CellMapping, ...]]:
        """Return (the names of the columns, how each one's report codes are grouped), as questions hold them.

        ``columns``: names or numbers. ``cells``: the groups of codes that are counted as one (an interval of numbers, a
        category), in the forms that `counts` takes. ``missing``: as in `counts`.
        """
        wanted: list[str | int] = [columns] if isinstance(columns, (str, int)) else list(columns)
        if isinstance(cells, Mapping):
            cells = [cells.get(name) for name in wanted]
        cells = [None] * len(wanted) if cells is None else cells
        read = [self.column(name) for name in wanted]
        return tuple(column.name for column in read), tuple(
            cells_of_column(column, mapping, column.has_missing if missing is None else missing)
            for column, mapping in zip(read, cells, strict=True)
        )


def cells_of_column(column: Column, cells: Any, missing: bool) -> CellMapping:
    """Return how a column's codes are grouped into cells (intervals of numbers, or categories) to be counted.

    ``cells``: the cell of every code, or an object with ``cell_of_code`` and ``reported`` (the number of cells), or
    None (every code is its own cell). ``missing``: whether missing reports have a cell of their own.
    """
    if cells is None:
        return CellMapping(None, column.size, missing)
    mapping = np.asarray(getattr(cells, "cell_of_code", cells), dtype=np.int32)
    if mapping.shape != (column.size,):
        raise ValueError(f"cells of {column.name!r} map {mapping.size} codes, there are {column.size}; map every code")
    return CellMapping(mapping, int(getattr(cells, "reported", int(mapping.max(initial=-1)) + 1)), missing)
