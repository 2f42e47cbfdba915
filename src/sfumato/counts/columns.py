"""Columns of reports, every report as a base code, whatever the kind of table it came in."""

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
MOST_VALUES = 1 << 20  # clear numbers of which more than so many differ are read on a grid of so many cells
WORTH_COMPILING = 1 << 16
BaseCodes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Counted:
    """How many people have each base code, and of each level how many have none."""

    histogram: Codes
    missing: Codes


@dataclass(frozen=True, eq=False)
class Column:
    """One column: the base code of every report, and what the codes mean.

    ``levels`` maps each level to its channel ({} for a clear column) and ``starts`` gives its first base code.
    Clear numbers have ``edges`` between their codes, and the ``values`` that occur, each ``occurring`` so often; clear
    labels have ``labels``. Where the
    reports are elsewhere there are no ``codes``, but what is ``known`` of them.
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
    known: Counted | None = None

    @cached_property
    def size(self) -> int:
        """How many base codes there are."""
        if self.levels:
            return int(self.starts[-1]) + list(self.levels.values())[-1].outputs.size
        return len(self.labels) if self.labels is not None else len(self.edges) - 1  # type: ignore[arg-type]

    @cached_property
    def counted(self) -> Counted:
        """How many people have each code, of all that there are, not only of those whose codes are here."""
        if self.known is not None:
            return self.known
        levels = max(len(self.levels), 1)
        return Counted(*(part[0] for part in code_counts(self, np.zeros(self.present.size, np.int64), 1, levels)))

    @property
    def present(self) -> BaseCodes:
        """The codes, which are in memory."""
        assert self.codes is not None, f"the reports of {self.name!r} are not in memory"
        return self.codes

    @cached_property
    def has_missing(self) -> bool:
        return bool((self.present < 0).any() if self.known is None else self.known.missing.any())

    @property
    def histogram(self) -> Codes:
        """How many people have each code."""
        return self.counted.histogram

    @property
    def people(self) -> Codes:
        """How many reports came through each level."""
        ends = np.append(self.starts, self.size)
        sent = [self.histogram[low:high].sum() for low, high in pairwise(ends.tolist())]
        return np.asarray(sent + self.counted.missing, np.int64)

    def decoded(self) -> NDArray[Any]:
        """The reports that the codes stand for."""
        found = np.empty(self.present.size, dtype=object)
        for place, channel in enumerate(self.levels.values()):
            of_level = slice(None) if self.level is None else self.level == place
            found[of_level] = channel.outputs.decode(self.ranks[of_level])
        return found

    @cached_property
    def ranks(self) -> BaseCodes:
        """The code of every report within its own level, −1 where it is missing."""
        if len(self.levels) < 2:
            return self.present
        return np.where(self.present < 0, MISSING, self.present - self.starts[self.level]).astype(np.int32)


def code_counts(column: Column, group: Codes, groups: int, levels: int) -> tuple[Codes, Codes]:
    """How many people of each group have each base code, and how many of each level have none."""
    width, kernels = column.size + levels, kernels_for(group.size)
    level = np.zeros(0, np.int32) if column.level is None else column.level
    if kernels:
        found = np.zeros((groups, width), np.int64)
        kernels.count_codes(column.present, level, group, column.size, found)
    else:
        codes = np.where(column.present < 0, column.size + (level if level.size else 0), column.present)
        found = np.bincount(group * width + codes, minlength=groups * width).reshape(groups, width)
    return found[:, : column.size], found[:, column.size :]


def columns_in(table: Any) -> dict[str, NDArray[Any]]:
    """The columns of any kind of table by name."""
    if isinstance(table, dict) and all(isinstance(column, np.ndarray) and column.ndim for column in table.values()):
        return table
    if not is_table(table) and np.ndim(table) != 2:
        shape = np.shape(table)
        raise ValueError(f"reports has shape {shape}; give a table, or one row a person and one column an attribute")
    return read_columns(table)


def reports_in(table: Any, channels: Any) -> dict[str, NDArray[Any]]:
    """The columns of reports; what they say of their origin is checked where a plan is to read them, and left out."""
    columns = columns_in(table)
    if PLAN_COLUMN not in columns:
        return columns
    if isinstance(channels, Plan):
        channels.check_origin(columns[PLAN_COLUMN])
    return {name: column for name, column in columns.items() if name != PLAN_COLUMN}


def clear_column(name: str, values: NDArray[Any], planned: tuple[Hashable, ...] = ()) -> Column:
    """Read a column sent as it is: numbers in up to 1,024 runs of about equal counts, labels one by one; where nobody
    answered, the labels that were planned, if any."""
    of_labels = values.dtype.kind not in "iuf"
    if of_labels or (planned and np.isnan(values).all()):
        labels = known_labels(values) if of_labels else planned
        return Column(name, None, encode_known(labels, values).astype(np.int32), labels=labels)
    numbers = as_numbers(values)
    known = numbers[~np.isnan(numbers)]
    integer = bool(known.size) and bool(np.all(known == np.rint(known)))
    found = np.unique(known, return_counts=True)
    if found[0].size > MOST_VALUES:
        span = (float(found[0][0]), float(found[0][-1]))
        found = on_grid(np.bincount(grid_cells(known, *span), minlength=MOST_VALUES), *span)
    column = clear_numbers(name, *found, integer=integer)
    return replace(column, codes=run_codes(column, numbers))


def clear_numbers(name: str, values: Floats, counts: Codes, *, integer: bool) -> Column:
    """What a column of clear numbers means, from the values that occur and how often."""
    edges = quantile_edges(values, counts, CLEAR_BASE_CELLS)
    return Column(name, None, edges=edges, integer=integer, values=values, occurring=counts)


def run_codes(column: Column, numbers: Floats) -> BaseCodes:
    """The run that each number of a clear column lies in, −1 where it is missing."""
    assert column.edges is not None
    place = np.searchsorted(column.edges[1:-1], numbers, side="right")
    return np.where(np.isnan(numbers), MISSING, place).astype(np.int32)


def grid_cells(numbers: Floats, low: float, high: float) -> Codes:
    """The cell of each number among MOST_VALUES equal ones: for numbers of which more than so many differ."""
    return np.minimum((numbers - low) * (MOST_VALUES / (high - low)), MOST_VALUES - 1).astype(np.int64)


def on_grid(counts: Codes, low: float, high: float) -> tuple[Floats, Codes]:
    """The middles of the grid's cells that hold any number, and how many."""
    filled = np.flatnonzero(counts)
    middles = low + (filled + 0.5) * ((high - low) / MOST_VALUES)
    return np.asarray(middles, np.float64), counts[filled]


def value_places(column: Column, numbers: Floats) -> Codes:
    """The place of each number among the column's values: its own, or on a grid the nearest; 0 if there is none."""
    assert column.values is not None
    if not column.values.size:
        return np.zeros(numbers.size, np.int64)
    above = np.minimum(np.searchsorted(column.values, numbers), column.values.size - 1)
    below = np.maximum(above - 1, 0)
    return np.where(numbers - column.values[below] < column.values[above] - numbers, below, above)


def quantile_edges(unique: Floats, counts: Codes, cells: int) -> Floats:
    """Edges half-way between neighbouring values, at most ``cells`` cells of about equal counts."""
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
    """The labels of a column, sorted where they can be."""
    return sorted_labels(value for value in array.ravel().tolist() if not is_missing(value))


def encode_known(labels: tuple[Any, ...], values: ArrayLike) -> Codes:
    """Codes of labels; missing and unknown labels are −1 (a learner may meet a label that it never saw)."""
    code_of = places_of(labels)
    return np.array([code_of.get(value, MISSING) for value in as_array(values).ravel().tolist()], dtype=np.int64)


def base_codes(
    values: NDArray[Any], channel: Channel, coded: bool, name: str, places: Codes | None = None
) -> BaseCodes:
    """Report codes of values, or of what already are codes; ``places``: the rows that errors name."""
    if not coded:
        return codes_of(values, channel, name, places)
    size = channel.outputs.size
    if values.dtype.kind in "iu" and (not values.size or (values.min() >= MISSING and values.max() < size)):
        return values.astype(np.int32, copy=False)
    name_row(lambda some: _check_codes(some, size), values, name + CODE_SUFFIX, places)
    numbers = as_numbers(values)
    return np.where(np.isnan(numbers), MISSING, numbers).astype(np.int32)


def _check_codes(values: NDArray[Any], size: int) -> None:
    codes = as_numbers(values)
    wrong = ~np.isnan(codes) & ((codes != np.rint(codes)) | (codes < MISSING) | (codes >= size))
    if wrong.any():
        raise ValueError(f"{codes[wrong][0]:g} is no report code; codes are 0 to {size - 1}, and −1 for missing")


def kernels_for(size: int) -> Any:
    """The compiled loops, or None where numba is missing or too few reports would have to wait for it to load."""
    worth = size >= WORTH_COMPILING or "sfumato.counts.kernels" in sys.modules
    return kernels_in("sfumato.counts.kernels") if worth else None


def codes_of(
    reports: NDArray[Any], channel: Channel, name: str = "reports", places: Codes | None = None
) -> BaseCodes:
    """Report codes in one row, −1 for missing; a report that cannot be is refused by its row."""
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
    if np.isinf(reports).any():
        raise ValueError("the report is infinite; mark it as missing (NaN) or drop it")


def place_into(flat: Codes, codes: BaseCodes, cell_of_code: BaseCodes, cells: int, missing: int) -> None:
    """flat ← flat · cells + the cell of each code, in place; missing codes go to the cell ``missing``."""
    kernels = kernels_for(flat.size)
    if kernels:
        kernels.place_into(flat, codes, cell_of_code, cells, missing)
    else:
        flat *= cells
        flat += np.append(cell_of_code, np.int32(missing))[codes]  # code −1 is the last entry


def sum_at(
    flat: Codes, weights: Floats | None, size: int, chosen: NDArray[np.bool_] | None = None
) -> NDArray[Any]:
    """The summed weight at each place (None: how often it occurs), of the chosen; a place below zero does not count."""
    kernels = kernels_for(flat.size)
    if kernels:
        mask = np.zeros(0, bool) if chosen is None else chosen
        counted = kernels.count_at(flat, mask, size) if weights is None else kernels.sum_at(flat, weights, mask, size)
        return np.asarray(counted)
    known = flat >= 0 if chosen is None else chosen & (flat >= 0)
    return np.bincount(flat[known], None if weights is None else weights[known], minlength=size)


@dataclass(frozen=True, eq=False)
class Weighed:
    """What sums of weights do not tell: ``squares[class, code]`` of them, how many ``reports`` of each class they are,
    and how many are ``missing``."""

    squares: NDArray[Any]
    reports: NDArray[Any]
    missing: NDArray[Any]

    def __add__(self, other: Weighed) -> Weighed:
        return Weighed(self.squares + other.squares, self.reports + other.reports, self.missing + other.missing)


@dataclass(frozen=True, eq=False)
class Tally:
    """The reports that came through one channel: ``histogram[class, code]`` and the missing ones of each class.

    Where reports have weights both are sums of these, and ``weighed`` says what makes errors honest.
    """

    channel: Channel
    histogram: NDArray[Any]
    missing: NDArray[Any]
    weighed: Weighed | None = None

    @property
    def told(self) -> Weighed:
        """``weighed``, also where every report counts once."""
        return self.weighed or Weighed(self.histogram, self.histogram.sum(axis=1), self.missing)


def tally(
    channel: Channel, codes: BaseCodes, group: Codes | None, groups: int, weights: Floats | None,
    squares: Floats | None = None,
) -> Tally:
    """Reports by their code (−1: missing) and their group, each counted ``weights`` times (once when None);
    ``squares`` of the weights unless they are the weights' own."""
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
    """The chosen values (None: all) of something that need not be there."""
    return values if values is None or chosen is None else values[chosen]
