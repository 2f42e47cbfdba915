"""What a value may be: the domains people answer in, and the spaces of integer codes behind them.

A *domain* is what a person knows: an interval of numbers, a set of categories, a set of items. A *space* is what a
channel computes with: every value of it has an integer code 0..size-1, and −1 stands for a missing value.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
MISSING = -1


class Space(Protocol):
    """Values with integer codes 0..size-1; −1 is missing."""

    @property
    def size(self) -> int: ...
    def encode(self, values: ArrayLike) -> Codes: ...
    def decode(self, codes: Codes) -> NDArray[Any]: ...


@dataclass(frozen=True)
class Interval:
    """Numbers from ``low`` to ``high``, both included; with ``integer=True`` the whole numbers among them."""

    low: float
    high: float
    integer: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = getattr(self, name)
            if isinstance(bound, bool) or not isinstance(bound, (int, float, np.integer, np.floating)):
                raise TypeError(f"{name}={bound!r} is not a number; give the interval's bounds as numbers")
            if not math.isfinite(bound):
                raise ValueError(f"{name}={bound} is not finite; give the smallest and largest value people may have")
            if self.integer and bound != int(bound):
                raise ValueError(f"{name}={bound} is not a whole number; round it or drop integer=True")
        if self.low >= self.high:
            raise ValueError(f"low={self.low} is not below high={self.high}; swap or correct the bounds")

    @property
    def width(self) -> float:
        return float(self.high) - float(self.low)

    def clean(self, values: ArrayLike, *, clamp: bool = False) -> Floats:
        """Values as floats (missing: NaN), checked against the domain; outside values are clamped only when asked."""
        numbers = as_numbers(values)
        outside = (numbers < self.low) | (numbers > self.high)
        if np.isinf(numbers).any() and not clamp:
            raise ValueError("a value is infinite; mark it as missing (NaN) or correct it")
        if outside.any():
            if not clamp:
                worst = numbers[outside].flat[0]
                raise ValueError(f"value {worst:.15g} is outside {self}; correct it or clamp with outside='clamp'")
            numbers = np.clip(numbers, self.low, self.high)
        if self.integer:
            broken = numbers != np.rint(numbers)
            broken &= ~np.isnan(numbers)
            if broken.any():
                raise ValueError(f"value {numbers[broken].flat[0]:.15g} is not whole; round it or drop integer=True")
        return numbers

    def __str__(self) -> str:
        low, high = (_spelt(float(bound)) for bound in (self.low, self.high))
        return f"{'integers' if self.integer else 'numbers'} from {low} to {high}"


@dataclass(frozen=True)
class Categories:
    """A fixed list of labels (text, numbers or booleans); the code of a label is its place in the list."""

    labels: tuple[Hashable, ...]

    def __init__(self, labels: Iterable[Hashable]) -> None:
        if isinstance(labels, str):
            raise TypeError(f"categories={labels!r} is one text; give a list of labels")
        found = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
        if not found:
            raise ValueError("categories is empty; list at least one label")
        if any(is_missing(label) for label in found):
            raise ValueError("a category is missing (None or NaN); leave it out, missing values need no label")
        if len(set(found)) < len(found):
            twice = next(label for label in found if found.count(label) > 1)
            raise ValueError(f"category {twice!r} is listed twice; keep one of the two")
        object.__setattr__(self, "labels", found)

    @property
    def size(self) -> int:
        return len(self.labels)

    @cached_property
    def _code_of(self) -> dict[Hashable, int]:
        return {label: code for code, label in enumerate(self.labels)}

    @cached_property
    def _sorted_numbers(self) -> tuple[Floats, Codes] | None:
        if not all(isinstance(label, (int, float)) for label in self.labels):
            return None
        numbers = np.array(self.labels, dtype=float)
        order = np.argsort(numbers)
        return numbers[order], order.astype(np.int64)

    def encode(self, values: ArrayLike) -> Codes:
        """Codes of labels; missing is −1; an unknown label is an error that names it."""
        array = as_array(values)
        if array.dtype.kind in "iufb" and self._sorted_numbers is not None:
            return self._encode_numbers(array.astype(float))
        return self._encode_labels(array)

    def _encode_numbers(self, array: Floats) -> Codes:
        numbers, order = cast("tuple[Floats, Codes]", self._sorted_numbers)
        place = np.minimum(np.searchsorted(numbers, array), numbers.size - 1)
        known, missing = numbers[place] == array, np.isnan(array)
        if not np.all(known | missing):
            self._refuse(array[~(known | missing)].flat[0].item())
        return np.where(missing, MISSING, order[place]).astype(np.int64)

    def _encode_labels(self, array: NDArray[Any]) -> Codes:
        if array.dtype.kind == "U":
            labels, inverse = np.unique(array, return_inverse=True)
            codes = np.array([self._code(label) for label in labels.tolist()], dtype=np.int64)
            return codes[inverse].reshape(array.shape)
        return np.array([self._code(label) for label in array.ravel().tolist()], dtype=np.int64).reshape(array.shape)

    def _code(self, label: Hashable) -> int:
        code = self._code_of.get(label)
        if code is None:
            if is_missing(label):
                return MISSING
            self._refuse(label)
        return cast(int, code)

    def _refuse(self, label: object) -> None:
        shown = ", ".join(repr(known) for known in self.labels[:6]) + (", …" if self.size > 6 else "")
        raise ValueError(f"unknown category {label!r}; the declared categories are {shown}")

    @cached_property
    def _label_array(self) -> NDArray[Any]:
        kinds = {type(label) for label in self.labels}
        if len(kinds) == 1 and kinds <= {int, float, bool, str}:
            return np.array(self.labels)
        array = np.empty(self.size, dtype=object)
        array[:] = self.labels
        return array

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Labels of codes; where some are missing, numbers become float with NaN and text becomes object with None."""
        labels = self._label_array
        missing = codes < 0
        if not missing.any():
            return labels[codes]
        found = labels[codes].astype(float if labels.dtype.kind in "if" else object)
        found[missing] = np.nan if found.dtype.kind == "f" else None
        return found

    def __str__(self) -> str:
        return f"{self.size} categories"


@dataclass(frozen=True)
class Items:
    """The items a basket may hold: ``Items(1000)`` for the items 0..999, or a list of labels."""

    labels: Sequence[Hashable] = field(repr=False)

    def __init__(self, items: int | Iterable[Hashable]) -> None:
        if isinstance(items, (int, np.integer)) and not isinstance(items, bool):
            if items < 1:
                raise ValueError(f"Items({items}) holds no item; give a positive number or a list of labels")
            object.__setattr__(self, "labels", range(int(items)))
        else:
            object.__setattr__(self, "labels", Categories(cast("Iterable[Hashable]", items)).labels)

    @property
    def size(self) -> int:
        return len(self.labels)

    def __str__(self) -> str:
        return f"sets of {self.size} items"


@dataclass(frozen=True)
class Grid:
    """Equally spaced numbers: ``value = origin + step · code`` for codes 0..size-1."""

    origin: float
    step: float
    size: int
    integer: bool = False

    @cached_property
    def values(self) -> Floats:
        return self.number(np.arange(self.size))

    @cached_property
    def units(self) -> tuple[float, float] | None:
        """(origin in steps, steps per 1) where both are whole: then numbers are exact quotients and print cleanly."""
        per = float(np.rint(1 / self.step))
        start = float(np.rint(self.origin * per))
        whole = math.isclose(per * self.step, 1, rel_tol=1e-12)
        return (start, per) if whole and math.isclose(start / per, self.origin, abs_tol=1e-12) else None

    def number(self, codes: Codes) -> Floats:
        """origin + step · code, as the nearest float to the decimal number meant."""
        if self.units is None:
            return np.asarray(self.origin + self.step * codes, dtype=np.float64)
        start, per = self.units
        return np.asarray((start + codes) / per, dtype=np.float64)

    @cached_property
    def edges(self) -> Floats:
        """Half a step around every value: size + 1 edges."""
        return np.asarray(self.origin + self.step * (np.arange(self.size + 1) - 0.5), dtype=np.float64)

    def encode(self, values: ArrayLike) -> Codes:
        """The nearest code; numbers beyond the ends go to the end codes, NaN is −1."""
        numbers = as_numbers(values)
        missing = np.isnan(numbers)
        place = np.clip(np.rint((np.where(missing, self.origin, numbers) - self.origin) / self.step), 0, self.size - 1)
        return np.where(missing, MISSING, place).astype(np.int64)

    def decode(self, codes: Codes) -> NDArray[Any]:
        missing = codes < 0
        values = self.number(codes)
        if missing.any():
            return np.where(missing, np.nan, values)
        return np.rint(values).astype(np.int64) if self.integer else values


@dataclass(frozen=True)
class Cells:
    """Consecutive intervals between edges; the value of a cell is its midpoint."""

    bounds: tuple[float, ...]

    @property
    def size(self) -> int:
        return len(self.bounds) - 1

    @cached_property
    def edges(self) -> Floats:
        return np.array(self.bounds)

    @cached_property
    def values(self) -> Floats:
        return (self.edges[:-1] + self.edges[1:]) / 2

    def encode(self, values: ArrayLike) -> Codes:
        """The cell [e_i, e_{i+1}) that holds a number; numbers beyond the ends go to the end cells, NaN is −1."""
        numbers = as_numbers(values)
        place = np.clip(np.searchsorted(self.edges, numbers, side="right") - 1, 0, self.size - 1)
        return np.where(np.isnan(numbers), MISSING, place).astype(np.int64)

    def decode(self, codes: Codes) -> NDArray[Any]:
        return np.where(codes < 0, np.nan, self.values[codes])


def _spelt(bound: float) -> str:
    """A bound with up to twelve digits, thousands set off where it is whole."""
    return f"{bound:,.0f}" if bound.is_integer() and abs(bound) < 1e15 else f"{bound:.12g}"


def is_missing(value: object) -> bool:
    """None, NaN, NaT and pandas' NA."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(value)


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
    raise TypeError(f"value {array.flat[0]!s} is of type {array.dtype}; convert the column to numbers first")


def _numbers_of_objects(array: NDArray[Any]) -> Floats:
    numbers = np.empty(array.shape)
    for place, value in enumerate(array.flat):
        if is_missing(value):
            numbers.flat[place] = np.nan
        elif isinstance(value, (int, float, np.integer, np.floating, Decimal)) and not isinstance(value, bool):
            numbers.flat[place] = float(value)
        else:
            raise TypeError(f"value {value!r} is not a number; convert the column to numbers first")
    return numbers
