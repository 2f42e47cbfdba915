"""`Microdata`: a data owner's table as numbers, one float column a field, and the way back to the table.

Categories become codes 0 … k − 1 in the order of their class shares, so that trees can cut them like numbers (for two
classes no set of categories splits better than an interval of such codes: Breiman et al. 1984). Missing values are NaN.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.domain import Categories, Codes, Floats, Interval, as_numbers, at_row, is_missing, the_value
from sfumato.microdata.table.forms import Column, ColumnForm, read_form
from sfumato.tables import frame_like, native_columns

Mask = npt.NDArray[np.bool_]
Kind = Literal["float", "integer", "category"]
MOST_DECIMALS = 6
"""The most decimals up to which numbers count as having a fixed number of them; finer ones count as continuous. Chosen
by judgement."""

MOST_LABELS = 20
"""Up to so many different labels a column is never taken for an identifier, however few records there are. Chosen by
judgement; more misses names in small tables, fewer takes categories of small tables for names."""

MOST_CLASSES = 20
"""A numeric target of more different values is a number to be predicted, otherwise classes. Chosen by judgement."""

GROUPS = 25
"""The most groups into which a numeric target is cut where classes are needed. Chosen by judgement: enough to follow
the number, few enough that leaves hold several of them."""


@dataclass(frozen=True)
class Field:
    """The name of a column and the values it may have.

    ``kind``: "float", "integer" or "category". ``low`` and ``high``: the bounds of its numbers, or of its codes.
    ``step``: the distance between its values (0: any). ``labels``: the label of each code. ``ordered``: whether the
    labels came in an order of their own.
    """

    name: str
    kind: Kind
    low: float
    high: float
    step: float
    labels: tuple[Hashable, ...] = ()
    ordered: bool = False

    def snap(self, values: Floats, lower: Floats | float, upper: Floats | float) -> Floats:
        """Round values to the field's steps and clip them to [lower, upper], which lie on steps themselves."""
        if self.step:
            per = np.rint(1 / self.step)
            values = np.rint(values * per) / per
        return np.clip(values, lower, upper)

    def shown(self, value: float) -> Hashable:
        """Return a value as the table has it: a label, or a number (whole ones as int)."""
        return self.labels[int(value)] if self.kind == "category" else float(value) if value % 1 else int(value)


@dataclass(frozen=True)
class Origin:
    """The table that records were read from, kept so that released ones are written in the same kind and types.

    ``forms``: by column what is needed to write it back.
    """

    table: Any
    forms: Mapping[str, ColumnForm]

    def rebuild(self, new: Mapping[str, Column]) -> Any:
        """Return a table of the same kind with these columns; a column that had no value at all stays as it was."""
        rows = len(next(iter(new.values())))
        columns = {name: form.back(new.get(name, form.values[:rows])) for name, form in self.forms.items()}
        return frame_like(self.table, columns, keep_types=True)


@dataclass(frozen=True)
class Microdata:
    """Records of a table as numbers: X[record, field], NaN where missing, and y[record], an index into ``classes``.

    ``target``: the column that the classes come from. A numeric target is a field too, and the classes are groups of
    its values; without a target (None) all records are of one class. ``origin``: the table that was read.
    """

    fields: tuple[Field, ...]
    X: Floats
    target: str | None
    classes: tuple[Hashable, ...]
    y: Codes
    origin: Origin

    @property
    def names(self) -> list[str]:
        """The names of the fields."""
        return [field.name for field in self.fields]

    @property
    def numeric(self) -> Mask:
        """Which fields are numbers."""
        return np.array([field.kind != "category" for field in self.fields])

    @property
    def response(self) -> int | None:
        """The index of a numeric target among the fields; None for a target of classes, or without one."""
        return self.names.index(self.target) if self.target in self.names else None

    @property
    def predicted(self) -> tuple[Hashable, ...]:
        """The labels of what a leaf of the tree can predict: the classes, or the mean of a numeric target."""
        return self.classes if self.response is None else (f"its mean of {self.target}",)

    def index(self, name: str) -> int:
        """Return the index of a field by its name; raise ValueError where there is none."""
        if name not in self.names:
            raise ValueError(f"column {name!r} is not an attribute of the table; it has {', '.join(self.names)}")
        return self.names.index(name)

    def with_values(self, X: Floats, y: Codes) -> Microdata:
        """Return the same fields with other values and classes."""
        return replace(self, X=X, y=y)

    def without(self, index: int) -> Microdata:
        """Return the same records without the field with this index."""
        fields = (*self.fields[:index], *self.fields[index + 1 :])
        return replace(self, fields=fields, X=np.delete(self.X, index, axis=1))

    def take(self, rows: npt.ArrayLike) -> Microdata:
        """Return the records in these rows alone. ``rows``: their numbers, or a mask."""
        return self.with_values(self.X[np.asarray(rows)], self.y[np.asarray(rows)])

    def arranged(self) -> Microdata:
        """Return the same records with categories numbered in the order of these records' own class shares.

        So that nothing of other records is in the order that trees cut.
        """
        free = [field.kind == "category" and not field.ordered for field in self.fields]
        named = [_sorted(field) if use else field for field, use in zip(self.fields, free, strict=True)]
        plain = self.like(tuple(named))
        fields = [
            _by_class(field, codes, self.y) if use else field
            for field, codes, use in zip(named, plain.X.T, free, strict=True)
        ]
        return plain.like(tuple(fields))

    def like(self, fields: tuple[Field, ...]) -> Microdata:
        """Return the same records with the codes of other ``fields``, which differ in the order of labels alone."""
        X = self.X.copy()
        for index, (own, other) in enumerate(zip(self.fields, fields, strict=True)):
            if own.labels != other.labels:
                code = {label: code for code, label in enumerate(other.labels)}
                new, present = np.array([code[label] for label in own.labels], dtype=float), ~np.isnan(X[:, index])
                X[present, index] = new[X[present, index].astype(np.int64)]
        return replace(self, fields=fields, X=X)

    def to_table(self) -> Any:
        """Return a table of the kind that was read, with these values."""
        columns = {field.name: _decoded(field, values) for field, values in zip(self.fields, self.X.T, strict=True)}
        if self.target is None or self.target in columns:
            return self.origin.rebuild(columns)
        return self.origin.rebuild({**columns, self.target: Categories(self.classes).decode(self.y)})


def read_forms(table: Any) -> dict[str, ColumnForm]:
    """Read the columns of a table as numbers or labels, with what is needed to write them back.

    An empty table and columns of different length raise ValueError.
    """
    forms = {name: read_form(column, name) for name, column in native_columns(table).items()}
    lengths = {name: len(form.values) for name, form in forms.items()}
    if not forms or not min(lengths.values()):
        raise ValueError("the table is empty; give it at least two records")
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns differ in length ({lengths}); give one value a record")
    return forms


def read_microdata(
    table: Any, target: str | None, domains: Mapping[str, Interval | Categories] | None = None, *,
    forms: Mapping[str, ColumnForm] | None = None,
) -> Microdata:
    """Turn a table into numbers; a column that cannot be released raises an error with its name.

    ``target``: the column that classes come from (None: there is none). ``domains``: by column the values that it may
    have. ``forms``: the columns to take, as `read_forms` read them (None: all).
    """
    forms = read_forms(table) if forms is None else forms
    columns = {name: form.values for name, form in forms.items()}
    if target is not None and target not in columns:
        raise ValueError(f"target {target!r} is not in the table; its columns are {', '.join(columns)}")
    unknown = set(domains or {}) - set(columns)
    if unknown:
        raise ValueError(f"domains names {min(unknown)!r}, which the table lacks; its columns are {', '.join(columns)}")
    empty = [name for name, column in columns.items() if name != target and not has_values(column)]
    if not columns.keys() - {target, *empty}:
        beside = "" if target is None else f" beside the target {target!r}"
        raise ValueError(f"the table has no column with values{beside}; add what is to be released")
    classes, y = _all_alike(columns) if target is None else _classes(target, columns[target])
    explained = {target} if target is not None and not _is_number(columns[target]) else set()
    read = [
        _field(name, values, (domains or {}).get(name), y, forms[name].labels)
        for name, values in columns.items()
        if name not in explained and name not in empty
    ]
    fields, values = zip(*read, strict=True)
    return Microdata(fields, np.column_stack(values), target, classes, y, Origin(table, forms))


def has_values(column: Column) -> bool:
    """Return whether a column has any value that is not missing."""
    return not all(map(is_missing, column.tolist()))


def _classes(target: str, column: Column) -> tuple[tuple[Hashable, ...], Codes]:
    """Return the classes of a target (labels, or groups of its numbers) and every record's index among them."""
    values = column.tolist()
    gaps = sum(map(is_missing, values))
    if gaps:
        raise ValueError(f"target {target!r} is missing in {gaps} records; drop them or give them a class of their own")
    labels = sorted(set(values), key=lambda label: (str(type(label)), label))
    if len(labels) < 2:
        raise ValueError(f"target {target!r} is the same in every record; a pattern needs two classes")
    return _groups(as_numbers(column)) if _is_number(column) else (tuple(labels), Categories(labels).encode(column))


def _all_alike(columns: Mapping[str, Column]) -> tuple[tuple[Hashable, ...], Codes]:
    """Return (one class, index 0 for every record), where there is no target."""
    return ("any",), np.zeros(len(next(iter(columns.values()))), dtype=np.int64)


def _is_number(column: Column) -> bool:
    """Return whether a target column is a number to be predicted, and not classes.

    It is if its type is numeric and it has more than MOST_CLASSES different values.
    """
    return column.dtype.kind in "iuf" and np.unique(column).size > MOST_CLASSES


def _groups(values: Floats) -> tuple[tuple[Hashable, ...], Codes]:
    """Divide a numeric target into classes: at most GROUPS groups of about equally many records, at least ten in each.

    Returns the groups' names and every record's index among them.
    """
    shares = np.linspace(0, 1, int(np.clip(values.size // 10, 2, GROUPS)) + 1)[1:-1]
    cuts = np.unique(np.quantile(values, shares, method="higher"))
    names = [f"below {cuts[0]:g}", *(f"{a:g} to {b:g}" for a, b in pairwise(cuts)), f"{cuts[-1]:g} or more"]
    return tuple(names), np.searchsorted(cuts, values, "right")


def _field(
    name: str, column: Column, domain: Interval | Categories | None, y: Codes, ordered: tuple[Hashable, ...] = ()
) -> tuple[Field, Floats]:
    """Return what values a column may have, and its values as numbers (codes of categories).

    ``domain``: the values that the owner allows (None: those that occur). ``y``: the classes of the records.
    ``ordered``: labels in an order of their own.
    """
    if isinstance(domain, Categories) or column.dtype.kind in "Ob" or ordered:
        return _category(name, column, domain, y, ordered)
    values = as_numbers(column)
    present = values[~np.isnan(values)]
    if np.isinf(present).any():
        raise ValueError(f"column {name!r} holds an infinite value; mark it as missing or correct it")
    step = _step(present)
    low, high = (float(present.min()), float(present.max())) if present.size else (0.0, 0.0)
    if domain is not None:
        if present.size and (low < domain.low or high > domain.high):
            worst = low if low < domain.low else high
            row = int(np.flatnonzero(values == worst)[0])
            where = f"{the_value(worst)}{at_row(row)}"
            raise ValueError(f"column {name!r}: {where} is outside {domain}; correct it or widen the domain")
        per = np.rint(1 / step) if step else 0
        low = float(np.ceil(domain.low * per) / per if per else domain.low)
        high = float(np.floor(domain.high * per) / per if per else domain.high)
    return Field(name, "integer" if step == 1 else "float", low, high, step), values


def _category(
    name: str, column: Column, domain: object, y: Codes, ordered: tuple[Hashable, ...]
) -> tuple[Field, Floats]:
    """Return what labels a column may have, and its values as codes of these, NaN where missing.

    Codes are in the labels' own order (``ordered``, if any), else in that of the classes' shares among them.
    """
    present_labels = {label for label in column.tolist() if not is_missing(label)}
    labels = list(domain.labels) if isinstance(domain, Categories) else list(ordered) or sorted(present_labels, key=str)
    codes = Categories(labels or ["missing"]).encode(column)
    index = np.arange(len(labels)) if ordered else _order_by_class(codes, y, len(labels))
    arranged = tuple(labels[old] for old in np.argsort(index))
    numbers = np.where(codes < 0, np.nan, index[codes] if labels else 0).astype(float)
    return Field(name, "category", 0.0, float(max(len(labels) - 1, 0)), 1.0, arranged, bool(ordered)), numbers


def _sorted(field: Field) -> Field:
    """Return a field of categories with its labels sorted by name, an order that does not depend on the records."""
    return replace(field, labels=tuple(sorted(field.labels, key=str)))


def _by_class(field: Field, column: Floats, y: Codes) -> Field:
    """Return a field of categories with its labels in the order of their class shares among these records.

    ``column``: the codes of the records, NaN where missing. ``y``: their classes.
    """
    codes = np.where(np.isnan(column), -1, column).astype(np.int64)
    index = _order_by_class(codes, y, len(field.labels))
    return replace(field, labels=tuple(field.labels[old] for old in np.argsort(index)[: len(field.labels)]))


def is_almost_unique(distinct: int, records: int) -> bool:
    """Return whether a column of labels names people: more than MOST_LABELS, and more than half as many as records."""
    return distinct > MOST_LABELS and distinct > 0.5 * records


def _order_by_class(codes: Codes, y: Codes, size: int) -> Codes:
    """Return a rank for each category, so that categories with similar shares of classes are neighbours.

    The order is along the first principal axis of the shares. ``codes`` and ``y``: category and class of each record.
    ``size``: how many categories there are.
    """
    counts = np.zeros((max(size, 1), int(y.max()) + 1))
    np.add.at(counts, (codes[codes >= 0], y[codes >= 0]), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    weights = counts.sum(axis=1, keepdims=True)
    centred = shares - (weights * shares).sum(axis=0) / max(weights.sum(), 1)
    axis = np.linalg.svd(np.sqrt(weights) * centred, full_matrices=False)[2][0]
    return np.argsort(np.argsort(centred @ axis, kind="stable"))


def _step(present: Floats) -> float:
    """Return the distance of a column's possible numbers: 10^−d if d decimals write every one (1 for whole numbers).

    0 for finer numbers, which may be any.
    """
    sample = present if present.size <= 10_000 else present[:: present.size // 10_000]
    for decimals in range(MOST_DECIMALS + 1):
        if np.array_equal(sample, np.round(sample, decimals)) and np.array_equal(present, np.round(present, decimals)):
            return float(10.0**-decimals)
    return 0.0


def _decoded(field: Field, values: Floats) -> Column:
    """Return a field's numbers as a column of the table: labels, whole numbers or floats."""
    missing = np.isnan(values)
    if field.kind == "category":
        if missing.all():
            return np.full(values.shape, None, dtype=object)
        return Categories(field.labels).decode(np.where(missing, -1, values).astype(np.int64))
    whole = field.kind == "integer" and not missing.any()
    return np.rint(values).astype(np.int64) if whole else values
