"""A data owner's table as numbers: one float column a field, one code a class, and the way back to the table.

Categories become codes 0..k-1, ordered by their class shares, so that an interval of codes is a meaningful set (for two
classes no set of categories splits better than such an interval: Breiman et al. 1984). Missing values are NaN.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.domain import Categories, Codes, Floats, Interval, as_numbers, at_row, is_missing, the_value
from sfumato.microdata.table.forms import Column, Form, read_form
from sfumato.tables import frame_like, native_columns

Mask = npt.NDArray[np.bool_]
Kind = Literal["float", "integer", "category"]
MOST_DECIMALS = 6
MOST_LABELS = 20
"""Up to so many labels a column is one of categories, whatever the number of records."""
MOST_CLASSES = 20
"""A target of more different numbers is a number, not a class."""
GROUPS = 25


@dataclass(frozen=True)
class Field:
    """What a column may hold: numbers from low to high in steps (0: any), or labels at the codes low..high."""

    name: str
    kind: Kind
    low: float
    high: float
    step: float
    labels: tuple[Hashable, ...] = ()
    ordered: bool = False  # labels in an order of their own

    def snap(self, values: Floats, lower: Floats | float, upper: Floats | float) -> Floats:
        """The nearest values of the field's type that lie inside [lower, upper] (bounds of that type)."""
        if self.step:
            per = np.rint(1 / self.step)
            values = np.rint(values * per) / per
        return np.clip(values, lower, upper)

    def shown(self, value: float) -> Hashable:
        """A value as the table has it."""
        return self.labels[int(value)] if self.kind == "category" else float(value) if value % 1 else int(value)


@dataclass(frozen=True)
class Origin:
    """The table that was read, and the form of each of its columns."""

    table: Any
    forms: Mapping[str, Form]

    def rebuild(self, new: Mapping[str, Column]) -> Any:
        """Return a table of the same kind with these columns; one without any value stays without."""
        rows = len(next(iter(new.values())))
        columns = {name: form.back(new.get(name, form.values[:rows])) for name, form in self.forms.items()}
        return frame_like(self.table, columns, keep_types=True)


@dataclass(frozen=True)
class Microdata:
    """Records of a table: X[record, field], y[record] a code into ``classes``.

    A target that is a number is a field too, and the classes are groups of its values; without a target all records are
    of one class.
    """

    fields: tuple[Field, ...]
    X: Floats
    target: str | None
    classes: tuple[Hashable, ...]
    y: Codes
    origin: Origin

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.fields]

    @property
    def numeric(self) -> Mask:
        return np.array([field.kind != "category" for field in self.fields])

    @property
    def response(self) -> int | None:
        """The place of a target that is a number."""
        return self.names.index(self.target) if self.target in self.names else None

    @property
    def predicted(self) -> tuple[Hashable, ...]:
        """What a leaf of the pattern tree says."""
        return self.classes if self.response is None else (f"its mean of {self.target}",)

    def index(self, name: str) -> int:
        if name not in self.names:
            raise ValueError(f"column {name!r} is not an attribute of the table; it has {', '.join(self.names)}")
        return self.names.index(name)

    def with_values(self, X: Floats, y: Codes) -> Microdata:
        return replace(self, X=X, y=y)

    def without(self, place: int) -> Microdata:
        """The same records less one field."""
        fields = (*self.fields[:place], *self.fields[place + 1 :])
        return replace(self, fields=fields, X=np.delete(self.X, place, axis=1))

    def take(self, rows: npt.ArrayLike) -> Microdata:
        return self.with_values(self.X[np.asarray(rows)], self.y[np.asarray(rows)])

    def arranged(self) -> Microdata:
        """The same records, categories coded in the order of these records' own class shares."""
        free = [field.kind == "category" and not field.ordered for field in self.fields]
        named = [_sorted(field) if use else field for field, use in zip(self.fields, free, strict=True)]
        plain = self.like(tuple(named))
        fields = [
            _by_class(field, codes, self.y) if use else field
            for field, codes, use in zip(named, plain.X.T, free, strict=True)
        ]
        return plain.like(tuple(fields))

    def like(self, fields: tuple[Field, ...]) -> Microdata:
        """The same records in the codes of fields that differ in the order of their labels alone."""
        X = self.X.copy()
        for place, (own, other) in enumerate(zip(self.fields, fields, strict=True)):
            if own.labels != other.labels:
                code = {label: code for code, label in enumerate(other.labels)}
                new, known = np.array([code[label] for label in own.labels], dtype=float), ~np.isnan(X[:, place])
                X[known, place] = new[X[known, place].astype(np.int64)]
        return replace(self, fields=fields, X=X)

    def to_table(self) -> Any:
        """The same kind of table that was read, with these values."""
        columns = {field.name: _decoded(field, values) for field, values in zip(self.fields, self.X.T, strict=True)}
        if self.target is None or self.target in columns:
            return self.origin.rebuild(columns)
        return self.origin.rebuild({**columns, self.target: Categories(self.classes).decode(self.y)})


def read_forms(table: Any) -> dict[str, Form]:
    """The columns of a table with at least one record, as numbers or labels."""
    forms = {name: read_form(column, name) for name, column in native_columns(table).items()}
    lengths = {name: len(form.values) for name, form in forms.items()}
    if not forms or not min(lengths.values()):
        raise ValueError("the table is empty; give it at least two records")
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns differ in length ({lengths}); give one value a record")
    return forms


def read_microdata(
    table: Any, target: str | None, domains: Mapping[str, Interval | Categories] | None = None, *,
    forms: Mapping[str, Form] | None = None,
) -> Microdata:
    """Check the table and turn it into numbers; what cannot be released is refused by name.

    ``forms``: the columns to take, as `read_forms` read them; all of them otherwise.
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
    """Whether anybody's value is known; a column without any has nothing to blur and is released as it is."""
    return not all(map(is_missing, column.tolist()))


def _classes(target: str, column: Column) -> tuple[tuple[Hashable, ...], Codes]:
    values = column.tolist()
    gaps = sum(map(is_missing, values))
    if gaps:
        raise ValueError(f"target {target!r} is missing in {gaps} records; drop them or give them a class of their own")
    labels = sorted(set(values), key=lambda label: (str(type(label)), label))
    if len(labels) < 2:
        raise ValueError(f"target {target!r} is the same in every record; a pattern needs two classes")
    return _groups(as_numbers(column)) if _is_number(column) else (tuple(labels), Categories(labels).encode(column))


def _all_alike(columns: Mapping[str, Column]) -> tuple[tuple[Hashable, ...], Codes]:
    return ("any",), np.zeros(len(next(iter(columns.values()))), dtype=np.int64)


def _is_number(column: Column) -> bool:
    return column.dtype.kind in "iuf" and np.unique(column).size > MOST_CLASSES


def _groups(values: Floats) -> tuple[tuple[Hashable, ...], Codes]:
    """A number's values in at most 25 groups of as many records, ten or more in each."""
    shares = np.linspace(0, 1, int(np.clip(values.size // 10, 2, GROUPS)) + 1)[1:-1]
    cuts = np.unique(np.quantile(values, shares, method="higher"))
    names = [f"below {cuts[0]:g}", *(f"{a:g} to {b:g}" for a, b in pairwise(cuts)), f"{cuts[-1]:g} or more"]
    return tuple(names), np.searchsorted(cuts, values, "right")


def _field(
    name: str, column: Column, domain: Interval | Categories | None, y: Codes, ordered: tuple[Hashable, ...] = ()
) -> tuple[Field, Floats]:
    if isinstance(domain, Categories) or column.dtype.kind in "Ob" or ordered:
        return _category(name, column, domain, y, ordered)
    values = as_numbers(column)
    known = values[~np.isnan(values)]
    if np.isinf(known).any():
        raise ValueError(f"column {name!r} holds an infinite value; mark it as missing or correct it")
    step = _step(known)
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    if domain is not None:
        if known.size and (low < domain.low or high > domain.high):
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
    """Labels as codes: in their own order where they have one, else by class shares."""
    found = {label for label in column.tolist() if not is_missing(label)}
    labels = list(domain.labels) if isinstance(domain, Categories) else list(ordered) or sorted(found, key=str)
    codes = Categories(labels or ["missing"]).encode(column)
    place = np.arange(len(labels)) if ordered else _order_by_class(codes, y, len(labels))
    arranged = tuple(labels[old] for old in np.argsort(place))
    numbers = np.where(codes < 0, np.nan, place[codes] if labels else 0).astype(float)
    return Field(name, "category", 0.0, float(max(len(labels) - 1, 0)), 1.0, arranged, bool(ordered)), numbers


def _sorted(field: Field) -> Field:
    """Labels by name: an order that no record has a part in."""
    return replace(field, labels=tuple(sorted(field.labels, key=str)))


def _by_class(field: Field, column: Floats, y: Codes) -> Field:
    codes = np.where(np.isnan(column), -1, column).astype(np.int64)
    place = _order_by_class(codes, y, len(field.labels))
    return replace(field, labels=tuple(field.labels[old] for old in np.argsort(place)[: len(field.labels)]))


def is_almost_unique(distinct: int, records: int) -> bool:
    """Whether a column of labels names people rather than groups of them."""
    return distinct > MOST_LABELS and distinct > 0.5 * records


def _order_by_class(codes: Codes, y: Codes, size: int) -> Codes:
    """The place of each category along the first principal axis of the categories' class shares."""
    counts = np.zeros((max(size, 1), int(y.max()) + 1))
    np.add.at(counts, (codes[codes >= 0], y[codes >= 0]), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    weights = counts.sum(axis=1, keepdims=True)
    centred = shares - (weights * shares).sum(axis=0) / max(weights.sum(), 1)
    axis = np.linalg.svd(np.sqrt(weights) * centred, full_matrices=False)[2][0]
    return np.argsort(np.argsort(centred @ axis, kind="stable"))


def _step(known: Floats) -> float:
    """1 for whole numbers, 10^-d where d decimals write every value exactly, 0 for anything finer."""
    sample = known if known.size <= 10_000 else known[:: known.size // 10_000]
    for decimals in range(MOST_DECIMALS + 1):
        if np.array_equal(sample, np.round(sample, decimals)) and np.array_equal(known, np.round(known, decimals)):
            return float(10.0**-decimals)
    return 0.0


def _decoded(field: Field, values: Floats) -> Column:
    missing = np.isnan(values)
    if field.kind == "category":
        if missing.all():
            return np.full(values.shape, None, dtype=object)
        return Categories(field.labels).decode(np.where(missing, -1, values).astype(np.int64))
    whole = field.kind == "integer" and not missing.any()
    return np.rint(values).astype(np.int64) if whole else values
