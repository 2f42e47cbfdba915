"""Columns of every type as numbers or labels, and the way back to the type that came.

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
"""Days, hours, minutes and seconds in seconds; finer units are tried after them."""
PARTS = ("s", "ms", "us", "ns")
MIDNIGHT = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Form:
    """A column as ``values`` (numbers with NaN, or objects), and what such values need to become what came.

    dtype    of the array that came
    labels   of an ordered category, in their order
    moment   how dates, times or durations were counted, if it holds such
    digits   of decimals, if it holds such
    """

    values: Column
    dtype: np.dtype[Any]
    labels: tuple[Hashable, ...] = ()
    moment: Moment | None = None
    digits: int | None = None

    def back(self, new: Column) -> Column:
        """Return such values as what came."""
        if self.moment is not None:
            return self.moment.back(new)
        return _like(new, self.dtype) if self.digits is None else _decimals(new, self.digits)


def read_form(column: Any, name: str) -> Form:
    """Read one column of any kind."""
    labels = _order_of(column)
    array = np.atleast_1d(as_array(_without_zone(column)))
    moments, kind = _of_moments(array) if array.dtype.kind == "O" and not labels else (array, "array")
    if moments.dtype.kind in "mM":
        return _moments(moments, kind)
    values = read_column(array, name)
    if values.dtype.kind == "O" and not all(isinstance(value, Hashable) for value in values.tolist()):
        raise TypeError(f"column {name!r} holds lists; make it numbers or categories first")
    if array.dtype.kind == "O" and values.dtype.kind == "f":
        return Form(values, array.dtype, digits=_digits(array))
    return Form(values, array.dtype, labels)


def _like(new: Column, dtype: np.dtype[Any]) -> Column:
    """Values in the type of the array that came, where they fit into it."""
    gaps = bool(np.isnan(new).any()) if new.dtype.kind == "f" else new.dtype.kind == "O" and any(map(is_missing, new))
    fits = not gaps and new.dtype.kind not in "if" if dtype.kind in "bU" else not gaps or dtype.kind == "f"
    return new.astype(dtype) if dtype.kind in "iufbU" and fits else new


def _order_of(column: Any) -> tuple[Hashable, ...]:
    """The labels of an ordered category in their order: pandas' ordered, Polars' Enum, Arrow's ordered dictionary."""
    if is_categorical(column):
        held = getattr(column, "cat", column)
        return tuple(held.categories.tolist()) if held.ordered else ()
    if type(getattr(column, "dtype", None)).__name__ == "Enum":
        return tuple(column.dtype.categories.to_list())
    kind = getattr(column, "type", None)
    if getattr(kind, "ordered", False) and len(getattr(column, "chunks", ())) == 1:
        return tuple(column.chunk(0).dictionary.to_pylist())
    return ()


def _without_zone(column: Any) -> Any:
    """Moments of pandas with a time zone as those of UTC; its own arrays hold them as objects."""
    if getattr(getattr(column, "dtype", None), "tz", None) is not None and hasattr(column, "dt"):
        return column.dt.tz_convert("UTC").dt.tz_localize(None)
    return column


# --- moments ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """Moments as numbers of ``step`` ticks of the type ``fine``; they came as an "array" of ``dtype``, as its
    "objects", or as objects that are "times" of day."""

    fine: np.dtype[Any]
    dtype: np.dtype[Any]
    step: int
    kind: str

    def back(self, new: Column) -> Column:
        """Return numbers as moments of the kind that came."""
        gaps = np.isnan(new) if new.dtype.kind == "f" else np.zeros(new.shape, dtype=bool)
        ticks = np.rint(np.where(gaps, 0, new)).astype(np.int64) * self.step
        moments = ticks.view(self.fine).astype(self.dtype)
        moments[gaps] = np.array("NaT", dtype=self.dtype)
        if self.kind == "array":
            return moments
        found = moments.astype(object)
        found[gaps] = None
        if self.kind == "times":
            found[~gaps] = [one.time() for one in found[~gaps]]
        return found


def _of_moments(array: Column) -> tuple[Column, str]:
    """Objects that are all dates, all moments without a zone, all times of day or all durations, as NumPy's; and what
    they were."""
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


def _moments(array: Column, kind: str) -> Form:
    unit, missing = np.datetime_data(array.dtype)[0], np.isnat(array)
    fine = array.astype(f"{array.dtype.kind}8[{unit if unit in PARTS else 's'}]")
    whole = fine.view(np.int64)
    step = _largest_step(whole[~missing], np.datetime_data(fine.dtype)[0])
    numbers = np.where(missing, np.nan, whole // step)
    return Form(numbers, array.dtype, moment=Moment(fine.dtype, array.dtype, step, kind))


def _largest_step(whole: Codes, unit: str) -> int:
    """The largest of day, hour, …, nanosecond, in ticks of the unit, of which every moment is a multiple."""
    ticks = 1000 ** PARTS.index(unit)
    steps = [seconds * ticks for seconds in UNITS] + [1000**power for power in reversed(range(PARTS.index(unit)))]
    return next((step for step in steps if not (whole % step).any()), 1)


def _digits(array: Column) -> int | None:
    """How many digits the decimals among the objects have behind the point; None where there is none."""
    known = [value for value in array.tolist() if isinstance(value, Decimal) and not is_missing(value)]
    return max(0, *(-int(value.as_tuple().exponent) for value in known)) if known else None


def _decimals(new: Column, digits: int) -> Column:
    found = np.empty(new.shape, dtype=object)
    found[:] = [None if np.isnan(one) else Decimal(f"{one:.{digits}f}") for one in new.tolist()]
    return found
