"""Values as they arrive: arrays and numbers of whatever came, what is missing, and how errors name a value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]
MISSING = -1
MOST_CODES = 1 << 20
"""A space has at most so many codes: tables of them, and the programs of devices, stay small enough to hold."""


def is_categorical(values: Any) -> bool:
    """A pandas column (or bare array) of categories."""
    return type(getattr(values, "dtype", None)).__name__ == "CategoricalDtype"


def as_array(values: ArrayLike) -> NDArray[Any]:
    """An array of whatever came: lists, scalars, NumPy, and columns of pandas, Polars or PyArrow."""
    if hasattr(getattr(values, "type", None), "index_type"):
        values = values.cast(values.type.value_type)  # type: ignore[union-attr]  # PyArrow's dictionaries forget which entries are missing
    to_numpy = getattr(values, "to_numpy", None)
    if to_numpy is not None:
        try:
            return np.asarray(to_numpy())
        except ValueError:  # PyArrow copies only when allowed to
            return np.asarray(to_numpy(zero_copy_only=False))
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(float), np.nan)
    array = np.asarray(values)
    if array.dtype.kind == "U" and not isinstance(values, np.ndarray):
        array = np.asarray(values, dtype=object)  # a list that mixes numbers and text must not turn into text
        if all(isinstance(value, str) for value in array.flat):
            array = array.astype(str)
    return array


def as_numbers(values: ArrayLike) -> Floats:
    """Float64 with NaN for missing; text, dates and truth values are refused by name."""
    array = as_array(values)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "O":
        return _numbers_of_objects(array)
    if array.size == 0:
        return array.astype(np.float64)
    raise TypeError(f"{the_value(array.flat[0])} is of type {array.dtype}; convert the column to numbers first")


def _numbers_of_objects(array: NDArray[Any]) -> Floats:
    numbers = np.empty(array.shape)
    for place, value in enumerate(array.flat):
        if is_missing(value):
            numbers.flat[place] = np.nan
        elif isinstance(value, (int, float, np.integer, np.floating, Decimal)) and not isinstance(value, bool):
            numbers.flat[place] = float(value)
        else:
            place, value = _no_number(array, place)
            where = at_row(place if array.ndim else None)
            raise TypeError(f"{the_value(value)}{where} is not a number; convert the column to numbers first")
    return numbers


def _no_number(array: NDArray[Any], first: int) -> tuple[int, Any]:
    """The first entry that no number is read from: one alone makes text of a whole column in a file."""
    for place, value in enumerate(array.flat):
        try:
            float(value if isinstance(value, str) else "0")
        except ValueError:
            return place, value
    return first, array.flat[first]


def is_missing(value: object) -> bool:
    """None, NaN, NaT and pandas' NA."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def with_gaps(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """The same values with gaps: numbers become float with NaN, anything else objects with None."""
    found = np.asarray(values).astype(float if values.dtype.kind in "iuf" else object)
    found[missing] = np.nan if found.dtype.kind == "f" else None
    return found


# --- how errors speak of values -----------------------------------------------------------------------------------

VALUES_SHOWN: ContextVar[bool] = ContextVar("values are shown", default=False)


@contextmanager
def showing_values(shown: bool = True) -> Iterator[None]:
    """Errors inside may print the value that they are about: reports, or answers that only their owner sees.

    Everywhere else a value may be somebody's true answer, and errors end up in logs: they name its row and the reason.
    """
    before = VALUES_SHOWN.set(shown or VALUES_SHOWN.get())
    try:
        yield
    finally:
        VALUES_SHOWN.reset(before)


def named(value: object) -> str:
    """The value behind the noun that stands for it, where it may be shown."""
    if not VALUES_SHOWN.get():
        return ""
    plain = value.item() if isinstance(value, np.generic) else value
    return f" {plain:.15g}" if isinstance(plain, float) else f" {plain!r}"


def the_value(value: object) -> str:
    """"value 112", or "the value" where it must not be shown."""
    return f"{'value' if VALUES_SHOWN.get() else 'the value'}{named(value)}"


def at_row(row: int | None) -> str:
    """" in row 17", counted from 1; nothing for a single value."""
    return "" if row is None else f" in row {row + 1:,}"


def refuse(bad: NDArray[np.bool_], numbers: Floats, first_row: int, why: str) -> None:
    """Name the row of the first bad value, where there are rows."""
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        where = at_row(first_row + place if numbers.ndim else None)
        raise ValueError(f"{the_value(numbers.flat[place])}{where} {why}")
