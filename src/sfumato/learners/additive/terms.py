"""Terms of an additive model: products of one or two factors, each a function of one column that a person can read.

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
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.learners.tree.text import number

MOST_LABELS = 30
"""Labels of a category that may have factors: the most common ones. By judgement; more labels are rare ones, each of
which takes time and seldom pays for itself."""


@dataclass(frozen=True)
class CellPoints:
    """The cells of one column as factors read them.

    column: its index among all columns.
    labels: of a category, one a cell; None for a column of numbers.
    middle, width: of each cell, in the column's units; a cell of a single value has width 0. Zeros for a category.
    low: the low end of the column. unit: the width of the column.
    """

    column: int
    labels: tuple[Any, ...] | None
    middle: Floats
    width: Floats
    low: float
    unit: float

    @classmethod
    def of(cls, column: int, axis: Axis, cut: ColumnCells) -> CellPoints:
        """Return the points of a column that is cut into cells.

        A cell of whole numbers gets a width at which values spread evenly have the variance of the numbers inside.
        """
        if cut.labels is not None:
            return cls(column, cut.labels, np.zeros(cut.size), np.zeros(cut.size), 0.0, 1.0)
        assert cut.edges is not None
        if cut.identity:
            return cls._of_clear(column, axis, cut)
        edges = cut.edges
        width = np.diff(edges)
        if cut.integer:
            width = np.sqrt(np.maximum(np.rint(width) ** 2 - 1.0, 0.0))
        middle = (edges[1:] + edges[:-1]) / 2
        return cls(column, None, middle, width, float(axis.domain.low), max(float(axis.domain.width), LEAST_DOUBLE))

    @classmethod
    def _of_clear(cls, column: int, axis: Axis, cut: ColumnCells) -> CellPoints:
        """Return the points of a clear column: mean and spread of the values that occur in each cell."""
        values, often = axis.column.values, axis.column.occurring
        assert values is not None and often is not None and cut.edges is not None
        cell = np.searchsorted(cut.edges[1:-1], values, side="right")
        people = np.maximum(np.bincount(cell, often, cut.size), LEAST_DOUBLE)
        middle = np.bincount(cell, often * values, cut.size) / people
        variance = np.bincount(cell, often * (values - middle[cell]) ** 2, cut.size) / people
        low, high = (float(values[0]), float(values[-1])) if values.size else (0.0, 0.0)
        return cls(column, None, middle, np.sqrt(12.0 * variance), low, max(high - low, LEAST_DOUBLE))


class FactorOnCells(NamedTuple):
    """A factor over the cells of its column.

    mean: over each cell. deviation: standard deviation within each cell, with the sign of the factor's slope.
    slope_by_knot: derivative of the mean by the knot, in widths of the column; None for a factor without a free knot.
    """

    mean: Floats
    deviation: Floats
    slope_by_knot: Floats | None


@dataclass(frozen=True)
class Factor:
    """A function of one column: linear, a hinge, or 1 for one label.

        linear   sign·(x − knot)/unit
        hinge    max(sign·(x − knot)/unit, 0)
        label    [x = labels[label]]

    column: index of the column. knot: where the factor is 0. unit: the width of the column. sign: 1 where it rises
    with x, −1 where it falls. labels: those of a category, else None. fill: the factor of a missing value.
    """

    column: int
    knot: float
    unit: float = 1.0
    sign: int = 1
    hinge: bool = False
    labels: tuple[Any, ...] | None = None
    label: int = 0
    fill: float = 0.0

    def on(self, points: CellPoints) -> FactorOnCells:
        """Return the mean, deviation and slope of the factor in each cell of its column, values spread evenly there."""
        if self.labels is not None:
            mean = (np.arange(points.middle.size) == self.label).astype(float)
            return FactorOnCells(mean, np.zeros_like(mean), None)
        centre, width = self.sign * (points.middle - self.knot) / self.unit, points.width / self.unit
        deviation = self.sign * width / np.sqrt(12.0)
        if not self.hinge:
            return FactorOnCells(centre, deviation, None)
        share = np.where(width > 0, np.clip(centre / np.maximum(width, LEAST_DOUBLE) + 0.5, 0.0, 1.0), centre > 0)
        mean = np.where((share > 0) & (share < 1), share**2 * width / 2, share * centre)
        return FactorOnCells(mean, share * deviation, -self.sign * share)

    def values(self, columns: Sequence[npt.NDArray[Any]]) -> Floats:
        """Evaluate the factor for every record; `fill` where the value is missing or its label unknown.

        columns: the values of all columns.
        """
        if self.labels is not None:
            codes = encode_known(self.labels, columns[self.column])
            return np.where(codes < 0, self.fill, (codes == self.label).astype(float))
        x = as_numbers(columns[self.column])
        values = self.start + self.slope * x
        values = np.maximum(values, 0.0) if self.hinge else values
        return np.where(np.isnan(x), self.fill, values)

    @property
    def slope(self) -> float:
        """By how much a linear factor rises for each unit of x."""
        return self.sign / self.unit

    @property
    def start(self) -> float:
        """A linear factor at x = 0; of a hinge, its line at x = 0."""
        return -self.slope * self.knot

    def device_term(self) -> dict[str, Any]:
        """Return the factor as a device computes it (see `learners.device`)."""
        stated = {"column": self.column, "missing": [self.fill]}
        if self.labels is not None:
            scores = [[float(code == self.label)] for code in range(len(self.labels))]
            return {**stated, "labels": list(self.labels), "scores": scores}
        line = {"peak": [self.start], "curve": [0.0], "mean": [0.0], "slope": [self.slope]}
        return {**stated, **line, **({"least": 0.0} if self.hinge else {})}

    def words(self, names: Sequence[str]) -> str:
        """Write the factor as a formula, in the column's own units. names: of all columns."""
        name = names[self.column]
        if self.labels is not None:
            return f"[{name} = {self.labels[self.label]}]"
        first, second = (name, number(self.knot)) if self.sign > 0 else (number(self.knot), name)
        if self.hinge:
            return f"max({first} − {second}, 0)"
        return f"({first} − {second})" if self.knot else name

    def to_dict(self) -> dict[str, Any]:
        """Return the factor as plain data."""
        shared = {"column": self.column, "missing": self.fill}
        if self.labels is not None:
            return {**shared, "labels": list(self.labels), "label": self.label}
        return {**shared, "knot": self.knot, "unit": self.unit, "sign": self.sign, "hinge": self.hinge}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: int) -> Self:
        """Read a factor from plain data and check it. columns: how many columns there are."""
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
    """A product of one or two factors, which are of different columns."""

    factors: tuple[Factor, ...]

    @property
    def knots(self) -> list[float]:
        """The values at which the term's hinges bend, in the columns' own units."""
        return [factor.knot for factor in self.factors if factor.hinge]

    @property
    def columns(self) -> tuple[int, ...]:
        """The column of each factor, by its index."""
        return tuple(factor.column for factor in self.factors)

    def moved(self, knots: Sequence[float]) -> Term:
        """Return the term with hinges that bend at other values, given in the order of its factors."""
        left = iter(knots)
        return Term(tuple(replace(each, knot=float(next(left))) if each.hinge else each for each in self.factors))

    def values(self, columns: Sequence[npt.NDArray[Any]]) -> Floats:
        """Evaluate the term for every record. columns: the values of all columns."""
        values = self.factors[0].values(columns)
        for factor in self.factors[1:]:
            values = values * factor.values(columns)
        return values

    @property
    def unit(self) -> float:
        """The product of the factors' units: β/unit is the coefficient in the columns' own units."""
        return float(np.prod([factor.unit for factor in self.factors]))

    def words(self, names: Sequence[str]) -> str:
        """Write the term as a formula, in the columns' own units. names: of all columns."""
        return " · ".join(factor.words(names) for factor in self.factors)

    def to_dict(self) -> dict[str, Any]:
        """Return the term as plain data."""
        return {"factors": [factor.to_dict() for factor in self.factors]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: int) -> Self:
        """Read a term from plain data and check it. columns: how many columns there are."""
        factors = tuple(Factor.from_dict(each, columns) for each in given_rows(data, "factors"))
        if not factors:
            raise ValueError("a term has no factors")
        return cls(factors)
