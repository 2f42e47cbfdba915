"""The sets of numbers that codes (whole numbers from 0) stand for: equally spaced numbers, and intervals between edges.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.domain.interval import Interval
from sfumato.domain.values import MISSING, MOST_CODES, Codes, Floats, as_numbers, with_gaps

EXACT = 1 << 53  # whole numbers below this are exact as floats


@dataclass(frozen=True)
class Grid:
    """A set of equally spaced numbers, on which numeric reports lie: value = origin + step · code, code = 0..size-1.

    ``step``: the distance between neighbours. Values are computed with the whole numbers of ``whole``, so that every
    language gets the same: value = (first + stride · code)/per, and the code of a number x is (x · per − first)/stride,
    rounded half to even, all in double precision.
    """

    origin: float
    step: float
    size: int
    integer: bool = False  # whether values are written as whole numbers

    @classmethod
    def over(cls, domain: Interval, step: float, beyond: int = 0, *, integer: bool | None = None) -> Grid:
        """Build the grid of numbers from a domain's lower end to its upper one, and ``beyond`` steps more to each side.

        ``step``: the distance between neighbours. ``integer``: whether values are whole numbers; None: they are if
        those of the domain and the step are.
        """
        check_codes(domain.width / step + 1 + 2 * beyond)
        points = math.floor(domain.width / step + 1e-9) + 1
        origin = _decimal(float(domain.low)) - beyond * _decimal(step)
        whole = domain.integer and step == int(step) if integer is None else integer
        return cls(float(origin), float(step), points + 2 * beyond, whole)

    @cached_property
    def whole(self) -> tuple[int, int, int]:
        """(first, stride, per): the grid as exact whole numbers, so that every language computes the same values.

        origin = first/per and step = stride/per, as the decimal numbers that origin and step print as.
        """
        for read in (_decimal, Fraction):
            origin, step = read(self.origin), read(self.step)
            per = math.lcm(origin.denominator, step.denominator)
            if all(number < EXACT for number in (abs(origin * per), step * per, per)):
                break
        return int(origin * per), int(step * per), per

    @cached_property
    def floats(self) -> tuple[float, float, float]:
        """(first, stride, per) as floats, for the arithmetic: origin = first/per and step = stride/per."""
        first, stride, per = self.whole
        return float(first), float(stride), float(per)

    @cached_property
    def values(self) -> Floats:
        """All numbers of the grid, an array in rising order."""
        return np.asarray(self.number(np.arange(self.size)))

    def number(self, codes: Any) -> Any:
        """Return the numbers that stand at these codes (0 is the lowest): (first + stride · code)/per.

        A code need not be whole, or on the grid: a half lies between two numbers.
        """
        first, stride, per = self.floats
        return (first + stride * codes) / per

    @cached_property
    def edges(self) -> Floats:
        """The size + 1 numbers half-way between neighbours on the grid, and half a step beyond both ends, as an array.
        """
        return np.asarray(self.number(np.arange(self.size + 1) - 0.5), dtype=np.float64)

    def encode(self, values: ArrayLike) -> Codes:
        """Return for every number the code of the nearest one on the grid (0 is the lowest); −1 where missing.

        Numbers beyond the ends get the end codes.
        """
        numbers = as_numbers(values)
        first, stride, per = self.floats
        missing = np.isnan(numbers)
        with np.errstate(over="ignore"):
            nearest = np.rint((np.where(missing, self.origin, numbers) * per - first) / stride)
        return np.where(missing, MISSING, np.clip(nearest, 0, self.size - 1)).astype(np.int64)

    def code_of(self, number: float) -> int:
        """Return the code of the number on the grid that is nearest to one number (0 is the lowest).

        ``number``: not missing.
        """
        first, stride, per = self.floats
        return min(max(round((number * per - first) / stride), 0), self.size - 1)

    def value_of(self, code: int) -> float:
        """Return the number that stands at one code of the grid (0 is the lowest), whole where the grid's numbers are.
        """
        number = float(self.number(code))
        return round(number) if self.integer else number

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Return the numbers on the grid at these codes (0 is the lowest); NaN where a code is −1 (missing).

        The result is an array, of whole numbers where the grid's are and none is missing.
        """
        missing = codes < 0
        values = np.asarray(self.number(codes), dtype=np.float64)
        if missing.any():
            return with_gaps(values, missing)
        return np.rint(values).astype(np.int64) if self.integer else values


@dataclass(frozen=True)
class Cells:
    """Neighbouring intervals (cells) of numbers; the code of a cell is its index, its value its midpoint."""

    bounds: tuple[float, ...]  # the edges, in rising order

    @property
    def size(self) -> int:
        """How many intervals (cells) there are."""
        return len(self.bounds) - 1

    @cached_property
    def edges(self) -> Floats:
        """The ends of the intervals as an array in rising order, one more than there are intervals."""
        return np.array(self.bounds)

    @cached_property
    def values(self) -> Floats:
        """The midpoint of every interval, as an array."""
        return (self.edges[:-1] + self.edges[1:]) / 2

    @cached_property
    def whole(self) -> tuple[list[int], int]:
        """(edges times per as a list, per): the intervals' ends as exact whole numbers, the same in every language.

        The edges are taken as the decimal numbers that they print as.
        """
        for read in (_decimal, Fraction):
            edges = [read(bound) for bound in self.bounds]
            per = math.lcm(*(edge.denominator for edge in edges))
            if per < EXACT and all(abs(edge * per) < EXACT for edge in edges):
                break
        return [int(edge * per) for edge in edges], per

    def code_of(self, number: float) -> int:
        """Return the index of the interval that holds one number, the end one for a number beyond the ends.

        ``number``: not missing.
        """
        return min(max(bisect_right(self.bounds, number) - 1, 0), self.size - 1)

    def value_of(self, code: int) -> float:
        """Return the midpoint of the interval with this code (index)."""
        return (self.bounds[code] + self.bounds[code + 1]) / 2

    def encode(self, values: ArrayLike) -> Codes:
        """Return the index of the interval [e_i, e_{i+1}) that holds each number, as an array; −1 where missing.

        Numbers beyond the ends go to the end intervals.
        """
        numbers = as_numbers(values)
        cells = np.clip(np.searchsorted(self.edges, numbers, side="right") - 1, 0, self.size - 1)
        return np.where(np.isnan(numbers), MISSING, cells).astype(np.int64)

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Return the midpoints of the intervals with these codes (indices), an array; NaN where a code is −1 (missing).
        """
        return np.where(codes < 0, np.nan, self.values[codes])


def check_codes(size: float) -> None:
    """Raise ValueError for a grid of too many numbers, before memory is taken for it."""
    if not size <= MOST_CODES:
        raise ValueError(
            f"a grid of {size:,.6g} steps is finer than the {MOST_CODES:,} that can be held; use a larger step="
        )


def _decimal(number: float) -> Fraction:
    """Return the decimal number that a float prints as, as an exact fraction: 0.1 is 1/10."""
    return Fraction(repr(float(number)))
