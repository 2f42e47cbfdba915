"""Columns of every type as numbers or labels, and the way back to their own type.

Dates, times of day and durations become whole numbers of the largest unit that writes all of them (days, hours, … down
to nanoseconds), decimals numbers, everything else labels. Ordered categories keep their order.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.domain import Codes, as_array, is_categorical, is_missing
from sfumato.tables import read_column

Column = npt.NDArray[Any]
UNITS = (86_400, 3_600, 60, 1)
"""Seconds in a day, an hour, a minute and a second."""
PARTS = ("s", "ms", "us", "ns")
"""NumPy's units of time from a second on, each a thousandth of the one before."""
MIDNIGHT = datetime(1970, 1, 1)
"""The day on which times of day are put to count them; any day will do."""


@dataclass(frozen=True)
class ColumnForm:
    """A column as ``values`` (numbers with NaN, or objects), and what is needed to turn values back into its type.

    dtype    the type of the column's array
    labels   the labels of an ordered category, in their order; () otherwise
    moment   how dates, times or durations were counted; None for other columns
    digits   how many digits decimals have behind the point; None for other columns
    """

    values: Column
    dtype: np.dtype[Any]
    labels: tuple[Hashable, ...] = ()
    moment: Moment | None = None
    digits: int | None = None

    def back(self, values: Column) -> Column:
        """Return values in the column's own type."""
        if self.moment is not None:
            return self.moment.back(values)
        return _like(values, self.dtype) if self.digits is None else _decimals(values, self.digits)


def read_form(column: Any, name: str) -> ColumnForm:
    """Read a column of any type as numbers or labels, with what is needed to write it back in its own type.

    ``name``: the column's, for the TypeError that a column of lists raises.
    """
    labels = _order_of(column)
    array = np.atleast_1d(as_array(_without_zone(column)))
    moments, kind = _of_moments(array) if array.dtype.kind == "O" and not labels else (array, "array")
    if moments.dtype.kind in "mM":
        return _moments(moments, kind)
    values = read_column(array, name)
    if values.dtype.kind == "O" and not all(isinstance(value, Hashable) for value in values.tolist()):
        raise TypeError(f"column {name!r} holds lists; make it numbers or categories first")
    if array.dtype.kind == "O" and values.dtype.kind == "f":
        return ColumnForm(values, array.dtype, digits=_digits(array))
    return ColumnForm(values, array.dtype, labels)


def _like(new: Column, dtype: np.dtype[Any]) -> Column:
    """Return released values in the column's own type where they fit, else as they are.

    Missing values do not fit into integers.
    """
    gaps = bool(np.isnan(new).any()) if new.dtype.kind == "f" else new.dtype.kind == "O" and any(map(is_missing, new))
    fits = not gaps and new.dtype.kind not in "if" if dtype.kind in "bU" else not gaps or dtype.kind == "f"
    return new.astype(dtype) if dtype.kind in "iufbU" and fits else new


def _order_of(column: Any) -> tuple[Hashable, ...]:
    """Return the labels of an ordered category in their order, () for any other column.

    Ordered are pandas' ordered categories, Polars' Enum and Arrow's ordered dictionaries.
    """
    if is_categorical(column):
        categories = getattr(column, "cat", column)
        return tuple(categories.categories.tolist()) if categories.ordered else ()
    if type(getattr(column, "dtype", None)).__name__ == "Enum":
        return tuple(column.dtype.categories.to_list())
    kind = getattr(column, "type", None)
    if getattr(kind, "ordered", False) and len(getattr(column, "chunks", ())) == 1:
        return tuple(column.chunk(0).dictionary.to_pylist())
    return ()


def _without_zone(column: Any) -> Any:
    """Return a pandas column of moments with a time zone in UTC and without zone; any other column as it is."""
    if getattr(getattr(column, "dtype", None), "tz", None) is not None and hasattr(column, "dt"):
        return column.dt.tz_convert("UTC").dt.tz_localize(None)
    return column


# --- moments ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """How a column of dates, times or durations was counted in whole numbers.

    One unit of the numbers is ``step`` ticks of NumPy's type ``fine``. ``dtype``: the column's own type. ``kind``:
    "array" for an array of that type, "objects" for Python's dates, moments or durations, "times" for Python's times of
    day.
    """

    fine: np.dtype[Any]
    dtype: np.dtype[Any]
    step: int
    kind: str

    def back(self, new: Column) -> Column:
        """Return numbers as dates, times or durations of the column's own kind; NaN becomes missing."""
        gaps = np.isnan(new) if new.dtype.kind == "f" else np.zeros(new.shape, dtype=bool)
        ticks = np.rint(np.where(gaps, 0, new)).astype(np.int64) * self.step
        moments = ticks.view(self.fine).astype(self.dtype)
        moments[gaps] = np.array("NaT", dtype=self.dtype)
        if self.kind == "array":
            return moments
        objects = moments.astype(object)
        objects[gaps] = None
        if self.kind == "times":
            objects[~gaps] = [moment.time() for moment in objects[~gaps]]
        return objects


def _of_moments(array: Column) -> tuple[Column, str]:
    """Return Python's dates, moments without zone, times of day or durations as NumPy's, and their kind (see `Moment`).

    Any other column, or one of several kinds, is returned as it is.
    """
    kinds = {type(value) for value in array.tolist() if not is_missing(value)}
    if len(kinds) != 1:
        return array, "array"
    kind, values = kinds.pop(), [None if is_missing(value) else value for value in array.tolist()]
    if kind is date:
        return np.array(values, dtype="datetime64[D]"), "objects"
    if issubclass(kind, datetime) and all(value is None or value.tzinfo is None for value in values):
        return np.array(values, dtype="datetime64[us]"), "objects"
    if kind is timedelta:
        return np.array(values, dtype="timedelta64[us]"), "objects"
    if kind is time and all(value is None or value.tzinfo is None for value in values):
        since = [None if value is None else datetime.combine(MIDNIGHT, value) for value in values]
        return np.array(since, dtype="datetime64[us]"), "times"
    return array, "array"


def _moments(array: Column, kind: str) -> ColumnForm:
    """Read dates, times or durations of NumPy's types as whole numbers of the largest unit that writes all of them.

    ``kind``: what the column held (see `Moment`).
    """
    unit, missing = np.datetime_data(array.dtype)[0], np.isnat(array)
    fine = array.astype(f"{array.dtype.kind}8[{unit if unit in PARTS else 's'}]")
    whole = fine.view(np.int64)
    step = _largest_step(whole[~missing], np.datetime_data(fine.dtype)[0])
    numbers = np.where(missing, np.nan, whole // step)
    return ColumnForm(numbers, array.dtype, moment=Moment(fine.dtype, array.dtype, step, kind))


def _largest_step(whole: Codes, unit: str) -> int:
    """Return the largest of day, hour, …, nanosecond of which every moment is a multiple, in ticks of ``unit``."""
    ticks = 1000 ** PARTS.index(unit)
    steps = [seconds * ticks for seconds in UNITS] + [1000**power for power in reversed(range(PARTS.index(unit)))]
    return next((step for step in steps if not (whole % step).any()), 1)


def _digits(array: Column) -> int | None:
    """Return how many digits Python's decimals in a column have behind the point at most; None without decimals."""
    present = [value for value in array.tolist() if isinstance(value, Decimal) and not is_missing(value)]
    return max(0, *(-int(value.as_tuple().exponent) for value in present)) if present else None


def _decimals(new: Column, digits: int) -> Column:
    """Return numbers as Python's decimals with so many digits behind the point, None for NaN."""
    decimals = np.empty(new.shape, dtype=object)
    decimals[:] = [None if np.isnan(number) else Decimal(f"{number:.{digits}f}") for number in new.tolist()]
    return decimals
