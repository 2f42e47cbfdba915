"""Terms: products of one or two factors, each a function of one column, that a person can read.

    (x − a)          linear, a the low end of the column
    max(x − c, 0)    a hinge, from a knot c on; max(c − x, 0): up to a knot
    [x = label]      1 for one label of a category

A factor is measured in widths of its column, so that coefficients of different terms compare. Over a cell a factor has
its mean, the deviation of its values within the cell, and the slope of its mean by the knot: all change smoothly as a
knot moves through the cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sfumato.counts import encode_known
from sfumato.domain import Floats, as_numbers
from sfumato.domain.checked import given_flag, given_labels, given_numbers, given_rows, given_whole
from sfumato.evidence import Axis, ColumnCells
from sfumato.learners.tree.text import number

LEAST_WIDTH = 1e-300


@dataclass(frozen=True)
class CellPoints:
    """Where the cells of one column are: the middle and the width of each, or the labels; ``unit``: the column's width.

    A cell of a single value has no width.
    """

    column: int
    labels: tuple[Any, ...] | None
    middle: Floats
    width: Floats
    low: float
    unit: float

    @classmethod
    def of(cls, column: int, axis: Axis, cut: ColumnCells) -> CellPoints:
        if cut.labels is not None:
            return cls(column, cut.labels, np.zeros(cut.size), np.zeros(cut.size), 0.0, 1.0)
        assert cut.edges is not None
        if cut.identity:
            return cls._of_clear(column, axis, cut)
        edges = cut.edges
        width = np.diff(edges)
        if cut.integer:  # so wide that its variance is that of the whole numbers inside
            width = np.sqrt(np.maximum(np.rint(width) ** 2 - 1.0, 0.0))
        middle = (edges[1:] + edges[:-1]) / 2
        return cls(column, None, middle, width, float(axis.domain.low), max(float(axis.domain.width), LEAST_WIDTH))

    @classmethod
    def _of_clear(cls, column: int, axis: Axis, cut: ColumnCells) -> CellPoints:
        """Mean and deviation of the values that occur in each cell."""
        values, often = axis.column.values, axis.column.occurring
        assert values is not None and often is not None and cut.edges is not None
        place = np.searchsorted(cut.edges[1:-1], values, side="right")
        people = np.maximum(np.bincount(place, often, cut.size), LEAST_WIDTH)
        middle = np.bincount(place, often * values, cut.size) / people
        variance = np.bincount(place, often * (values - middle[place]) ** 2, cut.size) / people
        low, high = (float(values[0]), float(values[-1])) if values.size else (0.0, 0.0)
        return cls(column, None, middle, np.sqrt(12.0 * variance), low, max(high - low, LEAST_WIDTH))


class OnCells(NamedTuple):
    """A factor over the cells of its column."""

    mean: Floats
    deviation: Floats
    slope_by_knot: Floats | None


@dataclass(frozen=True)
class Factor:
    """One factor; ``sign`` −1 looks down from the knot. ``fill`` stands for a missing value."""

    column: int
    knot: float
    unit: float = 1.0
    sign: int = 1
    hinge: bool = False
    labels: tuple[Any, ...] | None = None
    label: int = 0
    fill: float = 0.0

    def on(self, points: CellPoints) -> OnCells:
        if self.labels is not None:
            mean = (np.arange(points.middle.size) == self.label).astype(float)
            return OnCells(mean, np.zeros_like(mean), None)
        centre, width = self.sign * (points.middle - self.knot) / self.unit, points.width / self.unit
        deviation = self.sign * width / np.sqrt(12.0)
        if not self.hinge:
            return OnCells(centre, deviation, None)
        share = np.where(width > 0, np.clip(centre / np.maximum(width, LEAST_WIDTH) + 0.5, 0.0, 1.0), centre > 0)
        mean = np.where((share > 0) & (share < 1), share**2 * width / 2, share * centre)
        return OnCells(mean, share * deviation, -self.sign * share)

    def values(self, columns: Sequence[npt.NDArray[Any]]) -> Floats:
        """The factor of every record; `fill` where the value is missing or its label unknown."""
        if self.labels is not None:
            codes = encode_known(self.labels, columns[self.column])
            return np.where(codes < 0, self.fill, (codes == self.label).astype(float))
        x = as_numbers(columns[self.column])
        found = self.start + self.pace * x
        found = np.maximum(found, 0.0) if self.hinge else found
        return np.where(np.isnan(x), self.fill, found)

    @property
    def pace(self) -> float:
        """What the factor rises by for each unit of x."""
        return self.sign / self.unit

    @property
    def start(self) -> float:
        """The factor at x = 0, were it no hinge."""
        return -self.pace * self.knot

    def device_term(self) -> dict[str, Any]:
        """Return the factor as a device computes it (see `learners.device`)."""
        stated = {"column": self.column, "missing": [self.fill]}
        if self.labels is not None:
            scores = [[float(code == self.label)] for code in range(len(self.labels))]
            return {**stated, "labels": list(self.labels), "scores": scores}
        line = {"peak": [self.start], "curve": [0.0], "mean": [0.0], "slope": [self.pace]}
        return {**stated, **line, **({"least": 0.0} if self.hinge else {})}

    def words(self, names: Sequence[str]) -> str:
        name = names[self.column]
        if self.labels is not None:
            return f"[{name} = {self.labels[self.label]}]"
        first, second = (name, number(self.knot)) if self.sign > 0 else (number(self.knot), name)
        if self.hinge:
            return f"max({first} − {second}, 0)"
        return f"({first} − {second})" if self.knot else name

    def to_dict(self) -> dict[str, Any]:
        shared = {"column": self.column, "missing": self.fill}
        if self.labels is not None:
            return {**shared, "labels": list(self.labels), "label": self.label}
        return {**shared, "knot": self.knot, "unit": self.unit, "sign": self.sign, "hinge": self.hinge}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: int) -> Self:
        column = given_whole(data, "column", 0, columns - 1)
        fill = float(given_numbers({"missing": [data.get("missing")]}, "missing", (1,))[0])
        if "labels" in data:
            labels = given_labels(data, "labels")
            return cls(column, 0.0, labels=labels, label=given_whole(data, "label", 0, len(labels) - 1), fill=fill)
        knot, unit = given_numbers({"knot": [data.get("knot"), data.get("unit")]}, "knot", (2,)).tolist()
        if unit <= 0:
            raise ValueError("the unit of a factor is not above zero")
        sign = given_whole(data, "sign", -1, 1) or 1
        return cls(column, knot, unit, sign, given_flag(data, "hinge"), fill=fill)


@dataclass(frozen=True)
class Term:
    """The product of its factors, which are of different columns."""

    factors: tuple[Factor, ...]

    @property
    def knots(self) -> list[float]:
        """The knots that are free to move."""
        return [factor.knot for factor in self.factors if factor.hinge]

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(factor.column for factor in self.factors)

    def moved(self, knots: Sequence[float]) -> Term:
        """With its hinges at other knots."""
        left = iter(knots)
        return Term(tuple(replace(each, knot=float(next(left))) if each.hinge else each for each in self.factors))

    def values(self, columns: Sequence[npt.NDArray[Any]]) -> Floats:
        found = self.factors[0].values(columns)
        for factor in self.factors[1:]:
            found = found * factor.values(columns)
        return found

    @property
    def unit(self) -> float:
        """What one of the term is in the columns' own units."""
        return float(np.prod([factor.unit for factor in self.factors]))

    def words(self, names: Sequence[str]) -> str:
        return " · ".join(factor.words(names) for factor in self.factors)

    def to_dict(self) -> dict[str, Any]:
        return {"factors": [factor.to_dict() for factor in self.factors]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: int) -> Self:
        factors = tuple(Factor.from_dict(each, columns) for each in given_rows(data, "factors"))
        if not factors:
            raise ValueError("a term has no factors")
        return cls(factors)
