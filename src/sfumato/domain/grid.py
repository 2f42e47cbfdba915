"""Spaces of integer codes behind numbers: equally spaced ones, and cells between edges."""

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
    """Equally spaced numbers: ``value = origin + step · code`` for codes 0..size-1.

    In whole numbers, so that every language computes the same: ``value = (first + stride · code) / per``, and the code
    of a number x is (x · per − first) / stride, rounded half to even, all in double precision.
    """

    origin: float
    step: float
    size: int
    integer: bool = False

    @classmethod
    def over(cls, domain: Interval, step: float, beyond: int = 0, *, integer: bool | None = None) -> Grid:
        """Steps from the domain's lower end to its upper one, and ``beyond`` more to each side."""
        check_codes(domain.width / step + 1 + 2 * beyond)
        points = math.floor(domain.width / step + 1e-9) + 1
        origin = _decimal(float(domain.low)) - beyond * _decimal(step)
        whole = domain.integer and step == int(step) if integer is None else integer
        return cls(float(origin), float(step), points + 2 * beyond, whole)

    @cached_property
    def whole(self) -> tuple[int, int, int]:
        """(first, stride, per): origin and step as the decimals that they print as, over one denominator."""
        for read in (_decimal, Fraction):
            origin, step = read(self.origin), read(self.step)
            per = math.lcm(origin.denominator, step.denominator)
            if all(number < EXACT for number in (abs(origin * per), step * per, per)):
                break
        return int(origin * per), int(step * per), per

    @cached_property
    def floats(self) -> tuple[float, float, float]:
        """``whole`` as the doubles that the arithmetic uses."""
        first, stride, per = self.whole
        return float(first), float(stride), float(per)

    @cached_property
    def values(self) -> Floats:
        return np.asarray(self.number(np.arange(self.size)))

    def number(self, codes: Any) -> Any:
        """(first + stride · code) / per: the nearest float to the decimal number meant."""
        first, stride, per = self.floats
        return (first + stride * codes) / per

    @cached_property
    def edges(self) -> Floats:
        """Half a step around every value: size + 1 edges."""
        return np.asarray(self.number(np.arange(self.size + 1) - 0.5), dtype=np.float64)

    def encode(self, values: ArrayLike) -> Codes:
        """The nearest code; numbers beyond the ends go to the end codes, NaN is −1."""
        numbers = as_numbers(values)
        first, stride, per = self.floats
        missing = np.isnan(numbers)
        with np.errstate(over="ignore"):
            place = np.rint((np.where(missing, self.origin, numbers) * per - first) / stride)
        return np.where(missing, MISSING, np.clip(place, 0, self.size - 1)).astype(np.int64)

    def code_of(self, number: float) -> int:
        """``encode`` of one known number."""
        first, stride, per = self.floats
        return min(max(round((number * per - first) / stride), 0), self.size - 1)

    def value_of(self, code: int) -> float:
        """``decode`` of one code."""
        number = float(self.number(code))
        return round(number) if self.integer else number

    def decode(self, codes: Codes) -> NDArray[Any]:
        missing = codes < 0
        values = np.asarray(self.number(codes), dtype=np.float64)
        if missing.any():
            return with_gaps(values, missing)
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

    @cached_property
    def whole(self) -> tuple[list[int], int]:
        """(edges · per, per): the edges in whole numbers."""
        for read in (_decimal, Fraction):
            edges = [read(bound) for bound in self.bounds]
            per = math.lcm(*(edge.denominator for edge in edges))
            if per < EXACT and all(abs(edge * per) < EXACT for edge in edges):
                break
        return [int(edge * per) for edge in edges], per

    def code_of(self, number: float) -> int:
        """``encode`` of one known number."""
        return min(max(bisect_right(self.bounds, number) - 1, 0), self.size - 1)

    def value_of(self, code: int) -> float:
        """``decode`` of one code."""
        return (self.bounds[code] + self.bounds[code + 1]) / 2

    def encode(self, values: ArrayLike) -> Codes:
        """The cell [e_i, e_{i+1}) that holds a number; numbers beyond the ends go to the end cells, NaN is −1."""
        numbers = as_numbers(values)
        place = np.clip(np.searchsorted(self.edges, numbers, side="right") - 1, 0, self.size - 1)
        return np.where(np.isnan(numbers), MISSING, place).astype(np.int64)

    def decode(self, codes: Codes) -> NDArray[Any]:
        return np.where(codes < 0, np.nan, self.values[codes])


def check_codes(size: float) -> None:
    """Refuse a space of too many codes before memory is taken for it."""
    if not size <= MOST_CODES:
        raise ValueError(
            f"a grid of {size:,.6g} steps is finer than the {MOST_CODES:,} that can be held; use a larger step="
        )


def _decimal(number: float) -> Fraction:
    """The decimal number that a float prints as."""
    return Fraction(repr(float(number)))
