"""The domains of numbers: an interval, and several intervals for the numbers of one person."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.domain.values import Floats, as_numbers, refuse


@dataclass(frozen=True)
class Interval:
    """The possible answers to a numeric question: the numbers between two bounds.

    ``low``, ``high``: the smallest and the largest number that people may answer, both included.
    ``integer``: True: only whole numbers are answers.

    >>> import sfumato as sf
    >>> age = sf.Interval(20, 80, integer=True)
    >>> str(age), age.width
    ('integers from 20 to 80', 60.0)
    """

    low: float
    high: float
    integer: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = getattr(self, name)
            if isinstance(bound, bool) or not isinstance(bound, (int, float, np.integer, np.floating)):
                raise TypeError(f"{name}={bound!r} is not a number; give the interval's bounds as numbers")
            if not _is_finite(bound):
                raise ValueError(f"{name} is not finite; give the smallest and the largest value that people may have")
            if self.integer and bound != int(bound):
                raise ValueError(f"{name}={bound} is not a whole number; round it or drop integer=True")
            if isinstance(bound, np.generic):
                object.__setattr__(self, name, bound.item())
        if self.low >= self.high:
            raise ValueError(f"low={self.low} is not below high={self.high}; swap or correct the bounds")
        if not 1e-290 < self.width < 1e290:
            raise ValueError(f"numbers from {self.low:g} to {self.high:g} are too close or too far; use other units")

    @property
    def width(self) -> float:
        """The distance from the smallest to the largest number of the interval, as a float."""
        return float(self.high) - float(self.low)

    def clean(self, values: ArrayLike, *, clamp: bool = False, first_row: int = 0) -> Floats:
        """Return answers as an array of floats, NaN where missing; one outside the domain is an error with its row.

        ``clamp``: True: values outside become the nearest bound instead. ``first_row``: the number of the first value
        in the whole table, from 0.
        """
        numbers = as_numbers(values)
        if not clamp:
            refuse(np.isinf(numbers), numbers, first_row, "is infinite; mark it as missing (NaN) or correct it")
            outside = (numbers < self.low) | (numbers > self.high)
            refuse(outside, numbers, first_row, f"is outside {self}; correct it or clamp with outside='clamp'")
        elif ((numbers < self.low) | (numbers > self.high)).any():
            numbers = np.clip(numbers, self.low, self.high)
        if self.integer:
            broken = (numbers != np.rint(numbers)) & ~np.isnan(numbers)
            refuse(broken, numbers, first_row, "is not whole; round it or drop integer=True")
        return numbers

    def clean_one(self, value: Any, *, clamp: bool = False) -> float:
        """Return one answer, not missing, as a float; a value outside the domain raises ValueError.

        ``clamp``: True: a value outside becomes the nearest bound instead.
        """
        if type(value) in (int, float) and self.low <= value <= self.high and (not self.integer or value == int(value)):
            return float(value)
        return float(self.clean(value, clamp=clamp))

    def __str__(self) -> str:
        low, high = (_spelt(float(bound)) for bound in (self.low, self.high))
        return f"{'integers' if self.integer else 'numbers'} from {low} to {high}"


@dataclass(frozen=True)
class Row:
    """The possible answers to several numeric questions that are blurred together, one number each for one person.

    ``columns``: name → Interval of each number.
    """

    columns: dict[str, Interval]

    def __init__(self, columns: Mapping[str, Interval]) -> None:
        for name, domain in columns.items():
            if not isinstance(domain, Interval):
                raise TypeError(f"column {name!r} is {domain!r}; numbers blurred together need Intervals")
        object.__setattr__(self, "columns", {str(name): domain for name, domain in columns.items()})

    def __hash__(self) -> int:
        return hash(tuple(self.columns.items()))

    def __str__(self) -> str:
        return f"rows of {', '.join(self.columns)}"


def _is_finite(number: Any) -> bool:
    """Return whether a number is finite as a float; a whole number that no float holds is not."""
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number that no float holds
        return False


def _spelt(bound: float) -> str:
    """Return a bound of an interval as text with up to twelve digits, thousands set off where it is whole."""
    return f"{bound:,.0f}" if bound.is_integer() and abs(bound) < 1e15 else f"{bound:.12g}"
