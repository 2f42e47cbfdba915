"""Columns of reports as whole-number codes, and the counting of codes.

The *base code* of a report is its code in the column's channel, −1 where it is missing. Where people chose a level, the
codes of the levels follow one another. A clear column's base codes are its labels or runs of its numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels import Channel
from sfumato.channels.program.interpreter import kernels_in
from sfumato.domain import (
    MISSING,
    Categories,
    Codes,
    Floats,
    Grid,
    as_array,
    as_numbers,
    is_missing,
    places_of,
    sorted_labels,
)
from sfumato.plan import Plan
from sfumato.tables import CODE_SUFFIX, PLAN_COLUMN, is_table, name_row, read_columns

CLEAR_BASE_CELLS = 1024
"""The most runs into which the numbers of a clear column are cut. Chosen by judgement: cells of estimates and cuts of
trees are unions of runs, far fewer than this; more runs only make counts larger."""

MOST_VALUES = 1 << 20
"""The most different numbers of a clear column that are kept one by one; where more differ they are read on a grid of
as many equal cells (docs/decisions/0024). Bounds the memory of one column's counts to 16 MB."""

WORTH_COMPILING = 1 << 16
"""Reports from which counting waits for the compiled loops to load. Chosen by judgement: NumPy counts fewer in
milliseconds, and loading numba takes longer. Both give the same counts."""

BaseCodes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Counted:
    """How many reports of a column have each code (``histogram``), and how many are missing (``missing``).

    Missing ones are counted by level (the strength of blurring that people chose). Both arrays have a leading axis of
    classes where classes are counted apart.
    """

    histogram: Codes
    missing: Codes


@dataclass(frozen=True, eq=False)
class Column:
    """A column of reports: the base code of every record, and what the codes mean.

    ``channel``: the mechanism that the column went through, None if it is clear. ``codes``: the base codes, −1 where
    the report is missing; None where the reports are not in memory. ``levels`` maps each level to its channel ({} for a
    clear column); ``starts`` holds the first base code of each level, and ``level`` the index of every record's level
    (None where there is one level only). Clear labels have ``labels``. Clear numbers have ``edges``, between which
    their base codes lie, ``integer`` if all are whole, and ``values``, the different numbers, with ``occurring``, how
    often each occurs. ``all_counts``: the counts over the whole table, where the codes are only a part of it or not in
    memory.
    """

    name: str
    channel: Any
    codes: BaseCodes | None = None
    levels: Mapping[Any, Channel] = field(default_factory=dict)
    starts: Codes = field(default_factory=lambda: np.zeros(1, np.int64))
    level: BaseCodes | None = None
    edges: Floats | None = None
    labels: tuple[Hashable, ...] | None = None
    integer: bool = False
    values: Floats | None = None
    occurring: Codes | None = None
    all_counts: Counted | None = None

    @cached_property
    def size(self) -> int:
        """The number of base codes."""
        if self.levels:
            return int(self.starts[-1]) + list(self.levels.values())[-1].outputs.size
        return len(self.labels) if self.labels is not None else len(self.edges) - 1  # type: ignore[arg-type]

    @cached_property
    def counted(self) -> Counted:
        """How often each code occurs and how many reports are missing, over the whole table.

        Also where only a part of the rows is here.
        """
        if self.all_counts is not None:
            return self.all_counts
        levels = max(len(self.levels), 1)
        return Counted(*(part[0] for part in code_counts(self, np.zeros(self.present.size, np.int64), 1, levels)))

    @property
    def present(self) -> BaseCodes:
        """The code of every record's report, which must be in memory; elsewhere an error."""
        assert self.codes is not None, f"the reports of {self.name!r} are not in memory"
        return self.codes

    @cached_property
    def has_missing(self) -> bool:
        """Whether a report of this column is missing, anywhere in the table."""
        return bool((self.present < 0).any() if self.all_counts is None else self.all_counts.missing.any())

    @property
    def histogram(self) -> Codes:
        """The number of reports with each base code, over the whole table."""
        return self.counted.histogram

    @property
    def people(self) -> Codes:
        """The number of records at each level (strength of blurring), those with a missing report included."""
        ends = np.append(self.starts, self.size)
        sent = [self.histogram[low:high].sum() for low, high in pairwise(ends.tolist())]
        return np.asarray(sent + self.counted.missing, np.int64)

    def decoded(self) -> NDArray[Any]:
        """Return the report of every record of a blurred column as a value instead of a code, as an array."""
        reports = np.empty(self.present.size, dtype=object)
        for index, channel in enumerate(self.levels.values()):
            of_level = slice(None) if self.level is None else self.level == index
            reports[of_level] = channel.outputs.decode(self.ranks[of_level])
        return reports

    @cached_property
    def ranks(self) -> BaseCodes:
        """The code of every report among those of its own level (strength of blurring), −1 where it is missing.

        Base codes number the codes of all levels one after the other; these begin at 0 in each.
        """
        if len(self.levels) < 2:
            return self.present
        return np.where(self.present < 0, MISSING, self.present - self.starts[self.level]).astype(np.int32)


def code_counts(column: Column, group: Codes, groups: int, levels: int) -> tuple[Codes, Codes]:
    """Count how many reports of a column have each code, apart for each group of records (such as a class).

    ``group`` is the group of every record, 0 … groups − 1. Returns two arrays, histogram[group, base code] and
    missing[group, level], where ``levels`` is the number of levels.
    """
    width, kernels = column.size + levels, kernels_for(group.size)
    level = np.zeros(0, np.int32) if column.level is None else column.level
    if kernels:
        counts = np.zeros((groups, width), np.int64)
        kernels.count_codes(column.present, level, group, column.size, counts)
    else:
        codes = np.where(column.present < 0, column.size + (level if level.size else 0), column.present)
        counts = np.bincount(group * width + codes, minlength=groups * width).reshape(groups, width)
    return counts[:, : column.size], counts[:, column.size :]


def columns_in(table: Any) -> dict[str, NDArray[Any]]:
    """Read the columns of any kind of table in memory, by name; a matrix gives columns x0, x1, …"""
    if isinstance(table, dict) and all(isinstance(column, np.ndarray) and column.ndim for column in table.values()):
        return table
    if not is_table(table) and np.ndim(table) != 2:
        shape = np.shape(table)
        raise ValueError(f"reports has shape {shape}; give a table, or one row a person and one column an attribute")
    return read_columns(table)


def reports_in(table: Any, channels: Any) -> dict[str, NDArray[Any]]:
    """Read the columns of a table of reports, without the one that names the plan they were made by.

    Where ``channels`` is a plan, reports that say they were made by another are refused.
    """
    columns = columns_in(table)
    if PLAN_COLUMN not in columns:
        return columns
    if isinstance(channels, Plan):
        channels.check_origin(columns[PLAN_COLUMN])
    return {name: column for name, column in columns.items() if name != PLAN_COLUMN}


def clear_column(name: str, values: NDArray[Any], planned: tuple[Hashable, ...] = ()) -> Column:
    """Read a column of answers that were sent as they are, not blurred, as codes (whole numbers) to be counted.

    Numbers are cut into at most CLEAR_BASE_CELLS runs of about equal counts; every label has its own code. ``planned``
    are the labels of the plan, which are used where every entry is missing.
    """
    of_labels = values.dtype.kind not in "iuf"
    if of_labels or (planned and np.isnan(values).all()):
        labels = known_labels(values) if of_labels else planned
        return Column(name, None, encode_known(labels, values).astype(np.int32), labels=labels)
    numbers = as_numbers(values)
    present = numbers[~np.isnan(numbers)]
    integer = bool(present.size) and bool(np.all(present == np.rint(present)))
    value_counts = np.unique(present, return_counts=True)
    if value_counts[0].size > MOST_VALUES:
        span = (float(value_counts[0][0]), float(value_counts[0][-1]))
        value_counts = on_grid(np.bincount(grid_cells(present, *span), minlength=MOST_VALUES), *span)
    column = clear_numbers(name, *value_counts, integer=integer)
    return replace(column, codes=run_codes(column, numbers))


def clear_numbers(name: str, values: Floats, counts: Codes, *, integer: bool) -> Column:
    """Make a column of numbers that are not blurred, without the codes of single records.

    ``values``: the different numbers, sorted. ``counts``: how often each occurs. ``integer``: whether all are whole.
    """
    edges = quantile_edges(values, counts, CLEAR_BASE_CELLS)
    return Column(name, None, edges=edges, integer=integer, values=values, occurring=counts)


def run_codes(column: Column, numbers: Floats) -> BaseCodes:
    """Return for each number the code of the interval between the column's edges that holds it, −1 for NaN."""
    assert column.edges is not None
    runs = np.searchsorted(column.edges[1:-1], numbers, side="right")
    return np.where(np.isnan(numbers), MISSING, runs).astype(np.int32)


def grid_cells(numbers: Floats, low: float, high: float) -> Codes:
    """Return the index of each number's cell among MOST_VALUES equal cells from ``low`` to ``high``."""
    return np.minimum((numbers - low) * (MOST_VALUES / (high - low)), MOST_VALUES - 1).astype(np.int64)


def on_grid(counts: Codes, low: float, high: float) -> tuple[Floats, Codes]:
    """Return (the middles, the counts) of those cells of a fine grid from ``low`` to ``high`` that hold numbers.

    ``counts``: of all MOST_VALUES cells. The middles then stand for the numbers.
    """
    filled = np.flatnonzero(counts)
    middles = low + (filled + 0.5) * ((high - low) / MOST_VALUES)
    return np.asarray(middles, np.float64), counts[filled]


def value_places(column: Column, numbers: Floats) -> Codes:
    """Return for each number the index of the nearest of the column's different values; 0 where it has no values."""
    assert column.values is not None
    if not column.values.size:
        return np.zeros(numbers.size, np.int64)
    above = np.minimum(np.searchsorted(column.values, numbers), column.values.size - 1)
    below = np.maximum(above - 1, 0)
    return np.where(numbers - column.values[below] < column.values[above] - numbers, below, above)


def quantile_edges(unique: Floats, counts: Codes, cells: int) -> Floats:
    """Return edges, as an array, that cut sorted different values into at most ``cells`` cells of about equal counts.

    Edges lie half-way between neighbouring values; ``counts`` says how often each value occurs.
    """
    if unique.size == 0:
        return np.array([0.0, 1.0])
    if unique.size > cells:
        below = np.cumsum(counts)
        targets = np.arange(1, cells) * (below[-1] / cells)
        cuts = np.unique(np.searchsorted(below, targets) + 1)
        cuts = cuts[cuts < unique.size]
    else:
        cuts = np.arange(1, unique.size)
    inner = unique[cuts - 1] + (unique[cuts] - unique[cuts - 1]) / 2
    ends = (unique[0], unique[-1]) if unique.size > 1 else (unique[0] - 0.5, unique[0] + 0.5)
    return np.concatenate([[ends[0]], inner, [ends[1]]])


def known_labels(array: NDArray[Any]) -> tuple[Any, ...]:
    """Return the different labels of a column without the missing ones, sorted where they can be compared."""
    return sorted_labels(value for value in array.ravel().tolist() if not is_missing(value))


def encode_known(labels: tuple[Any, ...], values: ArrayLike) -> Codes:
    """Return the index of each value among ``labels``; −1 for a missing value and for one that is not among them."""
    code_of = places_of(labels)
    return np.array([code_of.get(value, MISSING) for value in as_array(values).ravel().tolist()], dtype=np.int64)


def base_codes(
    values: NDArray[Any], channel: Channel, coded: bool, name: str, places: Codes | None = None
) -> BaseCodes:
    """Return the report codes of a column, −1 for missing.

    ``coded``: the values are report codes already, and are only checked. ``name`` and ``places`` (the row numbers of
    the values in the whole table) are for errors.
    """
    if not coded:
        return codes_of(values, channel, name, places)
    size = channel.outputs.size
    if values.dtype.kind in "iu" and (not values.size or (values.min() >= MISSING and values.max() < size)):
        return values.astype(np.int32, copy=False)
    name_row(lambda some: _check_codes(some, size), values, name + CODE_SUFFIX, places)
    numbers = as_numbers(values)
    return np.where(np.isnan(numbers), MISSING, numbers).astype(np.int32)


def _check_codes(values: NDArray[Any], size: int) -> None:
    """Raise ValueError unless every value is a whole number from −1 (missing) to size − 1, or NaN."""
    codes = as_numbers(values)
    wrong = ~np.isnan(codes) & ((codes != np.rint(codes)) | (codes < MISSING) | (codes >= size))
    if wrong.any():
        raise ValueError(f"{codes[wrong][0]:g} is no report code; codes are 0 to {size - 1}, and −1 for missing")


def kernels_for(size: int) -> Any:
    """Return the module of compiled loops for counting ``size`` reports; None where NumPy counts them instead.

    That is where numba is not installed, or the reports are too few to wait until it is loaded.
    """
    worth = size >= WORTH_COMPILING or "sfumato.counts.kernels" in sys.modules
    return kernels_in("sfumato.counts.kernels") if worth else None


def codes_of(
    reports: NDArray[Any], channel: Channel, name: str = "reports", places: Codes | None = None
) -> BaseCodes:
    """Return the report codes of values as a flat array, −1 for missing.

    A value that the channel cannot report raises an error that names the column ``name`` and the row (``places`` are
    the row numbers of the values in the whole table).
    """
    flat, space = reports.reshape(-1), channel.outputs
    if not isinstance(space, Categories) and flat.dtype.kind == "f" and np.isinf(flat).any():
        name_row(_check_finite, flat, name, places)
    kernels = kernels_for(flat.size)
    if kernels and isinstance(space, Grid) and flat.dtype.kind in "fiu":
        numbers = np.ascontiguousarray(flat, dtype=np.float64)
        return np.asarray(kernels.nearest_codes(numbers, *space.floats, space.size))
    try:
        return np.atleast_1d(channel.encode_reports(flat)).ravel().astype(np.int32)
    except (ValueError, TypeError):
        name_row(channel.encode_reports, flat, name, places)
        raise


def _check_finite(reports: NDArray[Any]) -> None:
    """Raise ValueError if a report is infinite."""
    if np.isinf(reports).any():
        raise ValueError("the report is infinite; mark it as missing (NaN) or drop it")


def place_into(flat: Codes, codes: BaseCodes, cell_of_code: BaseCodes, cells: int, missing: int) -> None:
    """Append one column's cells (groups of codes) to the records' indices in an array of counts, in place.

        flat ← flat·cells + cell_of_code[code]

    ``flat`` is every record's index in the array of all combinations of the columns so far, ``cells`` the number of
    this column's cells. A missing report (code −1) counts as the cell ``missing``.
    """
    kernels = kernels_for(flat.size)
    if kernels:
        kernels.place_into(flat, codes, cell_of_code, cells, missing)
    else:
        flat *= cells
        flat += np.append(cell_of_code, np.int32(missing))[codes]  # code −1 is the last entry


def sum_at(
    flat: Codes, weights: Floats | None, size: int, chosen: NDArray[np.bool_] | None = None
) -> NDArray[Any]:
    """Sum the weights of the records at each index 0 … size − 1 of a flattened array; without weights, count them.

    ``flat``: every record's index in the flattened array of all combinations of cells (or of groups and codes).
    ``chosen`` marks the records that count (None: all). Records with an index below zero are left out.
    """
    kernels = kernels_for(flat.size)
    if kernels:
        mask = np.zeros(0, bool) if chosen is None else chosen
        counted = kernels.count_at(flat, mask, size) if weights is None else kernels.sum_at(flat, weights, mask, size)
        return np.asarray(counted)
    counted_here = flat >= 0 if chosen is None else chosen & (flat >= 0)
    return np.bincount(flat[counted_here], None if weights is None else weights[counted_here], minlength=size)


@dataclass(frozen=True, eq=False)
class Weighed:
    """Sums kept beside those of the weights where records have weights, from which the errors of counts follow.

    ``squares[class, code]``: summed squares of the weights. ``reports[class]`` and ``missing[class]``: how many reports
    were counted and how many were missing, whatever they weigh.
    """

    squares: NDArray[Any]
    reports: NDArray[Any]
    missing: NDArray[Any]

    def __add__(self, other: Weighed) -> Weighed:
        return Weighed(self.squares + other.squares, self.reports + other.reports, self.missing + other.missing)


@dataclass(frozen=True, eq=False)
class Tally:
    """How many reports of one channel have each code, ``histogram[class, code]``, and are missing, ``missing[class]``.

    Where reports have weights both are sums of weights, and ``weighed`` holds the sums of squares that errors need; it
    is None where every report counts once.
    """

    channel: Channel
    histogram: NDArray[Any]
    missing: NDArray[Any]
    weighed: Weighed | None = None

    @property
    def told(self) -> Weighed:
        """The sums of squared weights and the numbers of reports, also where every report counts once (its weight and
        its square are 1)."""
        return self.weighed or Weighed(self.histogram, self.histogram.sum(axis=1), self.missing)


def tally(
    channel: Channel, codes: BaseCodes, group: Codes | None, groups: int, weights: Floats | None,
    squares: Floats | None = None,
) -> Tally:
    """Count how many reports of one channel have each code, apart for each group of records (such as a class).

    ``codes``: report codes, −1 for missing. ``group``: each report's group, 0 … groups − 1 (None: all in group 0).
    ``weights``: people that each report stands for (None: one). ``squares``: the weights' squares, if they were rounded
    apart; None: weights².
    """
    size = channel.outputs.size
    flat = np.zeros(codes.size, np.int64) if group is None else group.copy()
    place_into(flat, codes, np.arange(size, dtype=np.int32), size + 1, size)

    def summed(each: Floats | None) -> NDArray[Any]:
        return sum_at(flat, each, groups * (size + 1)).reshape(groups, size + 1)

    counts = summed(weights)
    if weights is None:
        return Tally(channel, counts[:, :size], counts[:, size])
    people = summed(None)
    squared = summed(weights**2 if squares is None else squares)
    weighed = Weighed(squared[:, :size], people[:, :size].sum(axis=1), people[:, size])
    return Tally(channel, counts[:, :size], counts[:, size], weighed)


def only(values: Any, chosen: Any) -> Any:
    """Return values[chosen]; ``values`` itself where ``chosen`` is None, and None where ``values`` is None."""
    return values if values is None or chosen is None else values[chosen]
