"""Columns of every type as numbers or labels, and the way back to the type that came.

Dates, times of day and durations become whole numbers of the largest unit that writes all of them (days, hours, … down
to nanoseconds), decimals numbers, everything else labels. Ordered categories keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
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
    """A column as ``values`` (numbers with NaN, or objects), the order of its labels where it has one, and what turns
    such values back into what came."""

    values: Column
    back: Callable[[Column], Column]
    labels: tuple[Hashable, ...] = ()


def read_form(column: Any, name: str) -> Form:
    """One column of any kind."""
    labels = _order_of(column)
    array = np.atleast_1d(as_array(_without_zone(column)))
    if array.dtype.kind == "O" and not labels:
        array, restore = _of_moments(array)
    else:
        restore = _as_it_is
    if array.dtype.kind in "mM":
        return _moments(array, restore)
    values = read_column(array, name)
    if values.dtype.kind == "O" and not all(isinstance(value, Hashable) for value in values.tolist()):
        raise TypeError(f"column {name!r} holds lists; make it numbers or categories first")
    if array.dtype.kind == "O" and values.dtype.kind == "f":
        return Form(values, _decimals(array))
    return Form(values, lambda new: _like(new, array.dtype), labels)


def _as_it_is(new: Column) -> Column:
    return new


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


def _of_moments(array: Column) -> tuple[Column, Callable[[Column], Column]]:
    """Objects that are all dates, all moments without a zone, all times of day or all durations, as NumPy's; and how
    to make such objects of them again."""
    kinds = {type(value) for value in array.tolist() if not is_missing(value)}
    if len(kinds) != 1:
        return array, _as_it_is
    kind, values = kinds.pop(), [None if is_missing(value) else value for value in array.tolist()]
    if kind is date:
        return np.array(values, dtype="datetime64[D]"), _objects
    if issubclass(kind, datetime) and all(value is None or value.tzinfo is None for value in values):
        return np.array(values, dtype="datetime64[us]"), _objects
    if kind is timedelta:
        return np.array(values, dtype="timedelta64[us]"), _objects
    if kind is time and all(value is None or value.tzinfo is None for value in values):
        since = [None if value is None else datetime.combine(MIDNIGHT, value) for value in values]
        return np.array(since, dtype="datetime64[us]"), lambda new: _mapped(_objects(new), lambda one: one.time())
    return array, _as_it_is


def _objects(new: Column) -> Column:
    found = new.astype(object)
    found[np.isnat(new)] = None
    return found


def _mapped(objects: Column, change: Callable[[Any], Any]) -> Column:
    found = np.empty(objects.shape, dtype=object)
    found[:] = [None if one is None else change(one) for one in objects]
    return found


def _moments(array: Column, restore: Callable[[Column], Column]) -> Form:
    unit, missing = np.datetime_data(array.dtype)[0], np.isnat(array)
    fine = array.astype(f"{array.dtype.kind}8[{unit if unit in PARTS else 's'}]")
    whole = fine.view(np.int64)
    step = _largest_step(whole[~missing], np.datetime_data(fine.dtype)[0])
    numbers = np.where(missing, np.nan, whole // step)

    def back(new: Column) -> Column:
        gaps = np.isnan(new) if new.dtype.kind == "f" else np.zeros(new.shape, dtype=bool)
        ticks = np.rint(np.where(gaps, 0, new)).astype(np.int64) * step
        moments = ticks.view(fine.dtype).astype(array.dtype)
        moments[gaps] = np.array("NaT", dtype=array.dtype)
        return restore(moments)

    return Form(numbers, back)


def _largest_step(whole: Codes, unit: str) -> int:
    """The largest of day, hour, …, nanosecond, in ticks of the unit, of which every moment is a multiple."""
    ticks = 1000 ** PARTS.index(unit)
    steps = [seconds * ticks for seconds in UNITS] + [1000**power for power in reversed(range(PARTS.index(unit)))]
    return next((step for step in steps if not (whole % step).any()), 1)


def _decimals(array: Column) -> Callable[[Column], Column]:
    """Objects that are numbers: decimals come back as decimals of as many digits, other numbers as numbers."""
    known = [value for value in array.tolist() if not is_missing(value)]
    if not any(isinstance(value, Decimal) for value in known):
        return _as_it_is
    digits = max((-int(value.as_tuple().exponent) for value in known if isinstance(value, Decimal)), default=0)

    def back(new: Column) -> Column:
        found = np.empty(new.shape, dtype=object)
        found[:] = [None if np.isnan(one) else Decimal(f"{one:.{max(digits, 0)}f}") for one in new.tolist()]
        return found

    return back
