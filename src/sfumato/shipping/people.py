"""True values on their way into a model: picked by name, checked against the plan, in the order of the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Choice
from sfumato.domain import as_array
from sfumato.plan import Attribute, Plan


class People:
    """Named columns of equal length: the least of a table that the estimators read."""

    def __init__(self, columns: dict[str, NDArray[Any]]) -> None:
        self.columns = list(columns)
        self._columns = columns
        self.shape = (len(next(iter(columns.values()))), len(columns))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __len__(self) -> int:
        return self.shape[0]


def people_of(table: Any, names: Sequence[str], plan: Plan | None) -> People:
    """The columns that the model reads; others are left alone, a missing one or a value outside the plan is named."""
    given = _column_names(table)
    for name in names:
        if name not in given:
            raise ValueError(f"column {name!r} is missing; the model reads {', '.join(names)}")
    columns = {name: np.atleast_1d(_column(table, name)) for name in names}
    if len({column.size for column in columns.values()}) > 1:
        raise ValueError("the columns differ in length; give one value a person in each")
    for name, values in columns.items():
        if plan is not None and name in plan.attributes:
            _check(plan.attributes[name], values)
    return People(columns)


def _column_names(table: Any) -> list[str]:
    if isinstance(table, Mapping):
        return list(table)
    if not hasattr(table, "columns"):
        raise TypeError(f"{type(table).__name__} has no named columns; pass a table or a mapping from name to values")
    return list(getattr(table, "column_names", table.columns))


def _column(table: Any, name: str) -> NDArray[Any]:
    """Numbers as numbers, labels as objects."""
    if type(table).__name__ == "DuckDBPyRelation":
        table = table.select(f'"{name}"').fetchnumpy()
    array = as_array(table[name])
    return array.astype(object) if array.dtype.kind in "US" else array


def _check(attribute: Attribute, values: NDArray[Any]) -> None:
    """The channel's own rule for values outside the domain holds here too."""
    channel = attribute.channel
    if isinstance(channel, Choice):
        channel = next(iter(channel.levels.values()))
    space: Any = channel if channel is not None else attribute.domain
    try:
        if hasattr(space, "encode"):
            space.encode(values)
        else:
            space.clean(values)
    except (ValueError, TypeError) as error:
        raise type(error)(f"column {attribute.name!r}: {error}") from None
