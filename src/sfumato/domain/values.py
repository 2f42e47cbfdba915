"""Turn values of any kind into arrays and numbers, recognise missing ones, and write values into errors."""

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
MISSING = -1  # the code of a missing value: no other code is negative
MOST_CODES = 1 << 20
"""Codes in a space at most. By judgement: a program with a table of a million words is 20 MB of text, which a device
can still read; devices in JavaScript check the same number (client/static/check/laws.js)."""


def is_categorical(values: Any) -> bool:
    """Return whether values are a pandas column (or bare array) of the type category."""
    return type(getattr(values, "dtype", None)).__name__ == "CategoricalDtype"


def as_array(values: ArrayLike) -> NDArray[Any]:
    """Return values as a NumPy array: from lists, scalars, NumPy, and columns of pandas, Polars or PyArrow."""
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
    """Return values as an array of floats, NaN where missing.

    A text, date or truth value raises TypeError that names its row.
    """
    array = as_array(values)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "O":
        return _numbers_of_objects(array)
    if array.size == 0:
        return array.astype(np.float64)
    raise TypeError(f"{the_value(array.flat[0])} is of type {array.dtype}; convert the column to numbers first")


def _numbers_of_objects(array: NDArray[Any]) -> Floats:
    """Return an array of Python objects as floats, NaN where missing; the first that is no number raises TypeError."""
    numbers = np.empty(array.shape)
    for row, value in enumerate(array.flat):
        if is_missing(value):
            numbers.flat[row] = np.nan
        elif isinstance(value, (int, float, np.integer, np.floating, Decimal)) and not isinstance(value, bool):
            numbers.flat[row] = float(value)
        else:
            row, value = _no_number(array, row)
            where = at_row(row if array.ndim else None)
            raise TypeError(f"{the_value(value)}{where} is not a number; convert the column to numbers first")
    return numbers


def _no_number(array: NDArray[Any], first: int) -> tuple[int, Any]:
    """Return (row, value) of the first text that cannot be read as a number; of row ``first`` if all can.

    One such text in a file makes texts of its whole column, and is the one that an error should name.
    """
    for row, value in enumerate(array.flat):
        try:
            float(value if isinstance(value, str) else "0")
        except ValueError:
            return row, value
    return first, array.flat[first]


def is_missing(value: object) -> bool:
    """Return whether a value stands for a missing one: None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def with_gaps(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """Return values with those that the mask ``missing`` marks left out: numbers become floats with NaN there.

    Anything else becomes objects with None there.
    """
    gapped = np.asarray(values).astype(float if values.dtype.kind in "iuf" else object)
    gapped[missing] = np.nan if gapped.dtype.kind == "f" else None
    return gapped


# --- how errors speak of values -----------------------------------------------------------------------------------

VALUES_SHOWN: ContextVar[bool] = ContextVar("values are shown", default=False)  # whether errors may print values


@contextmanager
def showing_values(shown: bool = True) -> Iterator[None]:
    """Let errors raised inside this context print the value that they are about; elsewhere they do not.

    For reports, and for answers that only their owner sees. Everywhere else a value may be somebody's true answer, and
    errors end up in logs: they name its row and the reason only.
    """
    before = VALUES_SHOWN.set(shown or VALUES_SHOWN.get())
    try:
        yield
    finally:
        VALUES_SHOWN.reset(before)


def named(value: object) -> str:
    """Return a value as text for an error, with a blank before it; "" where errors must not show values."""
    if not VALUES_SHOWN.get():
        return ""
    plain = value.item() if isinstance(value, np.generic) else value
    return f" {plain:.15g}" if isinstance(plain, float) else f" {plain!r}"


def the_value(value: object) -> str:
    """Return how an error begins that is about a value: "value 112", or "the value" where errors must not show values.
    """
    return f"{'value' if VALUES_SHOWN.get() else 'the value'}{named(value)}"


def at_row(row: int | None) -> str:
    """Return " in row 17" for an error; ``row`` counts from 0, the text from 1; "" where there are no rows (None)."""
    return "" if row is None else f" in row {row + 1:,}"


def refuse(bad: NDArray[np.bool_], numbers: Floats, first_row: int, why: str) -> None:
    """Raise ValueError for the first bad number, if there is one; it names the number's row and says ``why``.

    ``bad``: a mask; ``first_row``: the number of the first row in the whole table, from 0.
    """
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        where = at_row(first_row + row if numbers.ndim else None)
        raise ValueError(f"{the_value(numbers.flat[row])}{where} {why}")
