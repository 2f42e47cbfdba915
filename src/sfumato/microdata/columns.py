"""Columns out of a table and back into one of the same kind: pandas, Polars, PyArrow, DuckDB, or a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.domain import as_array, as_numbers, is_missing


@dataclass(frozen=True)
class RawColumn:
    kind: Literal["float", "integer", "category"]
    values: npt.NDArray[Any]


def read_columns(table: Any) -> dict[str, RawColumn]:
    """Every column by name; an empty table, one that is none, and columns of dates or lists are refused."""
    if isinstance(table, Mapping):
        columns = {str(name): _of_array(str(name), as_array(values)) for name, values in table.items()}
    else:
        frame = _frame(table)
        columns = {name: _of_series(frame[name]) for name in frame.columns}
    lengths = {name: len(column.values) for name, column in columns.items()}
    if not lengths or min(lengths.values()) == 0:
        raise ValueError("the table is empty; there is nothing to release")
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns differ in length ({lengths}); give one value a record")
    return columns


def write_columns(table: Any, new: Mapping[str, npt.NDArray[Any]]) -> Any:
    """A table of the same kind, column order and column types with the new values."""
    if isinstance(table, Mapping):
        return {name: new[str(name)] for name in table}
    nw = _narwhals()
    frame = _frame(table)
    series = [_series(nw, frame[name], new[name]) for name in frame.columns]
    released = frame.with_columns(series).to_native()
    if frame.implementation.is_pyarrow():
        released = released.cast(frame.to_native().schema)
    if _is_duckdb(table):
        import duckdb

        return duckdb.from_arrow(released)
    return released


def _frame(table: Any) -> Any:
    if _is_duckdb(table):
        table = table.to_arrow_table() if hasattr(table, "to_arrow_table") else table.arrow()
    try:
        return _narwhals().from_native(table, eager_only=True)
    except TypeError:
        kind = f"{type(table).__module__}.{type(table).__qualname__}"
        raise TypeError(f"{kind} is not a table; pass pandas, Polars, PyArrow, DuckDB or a mapping") from None


def _is_duckdb(table: Any) -> bool:
    return type(table).__module__.split(".")[0] in ("duckdb", "_duckdb")


def _of_series(series: Any) -> RawColumn:
    nw = _narwhals()
    if series.dtype.is_integer():
        whole = series.to_numpy() if series.null_count() == 0 else as_numbers(series.cast(nw.Float64).to_numpy())
        return RawColumn("integer", whole)
    if series.dtype.is_numeric():
        return RawColumn("float", as_numbers(series.cast(nw.Float64).to_numpy()))
    if series.dtype.is_temporal() or series.dtype.is_nested():
        raise TypeError(f"column {series.name!r} holds {series.dtype}; make it numbers or categories first")
    return _of_array(series.name, np.array(series.to_list(), dtype=object))


def _of_array(name: str, values: npt.NDArray[Any]) -> RawColumn:
    if values.ndim != 1:
        raise ValueError(f"column {name!r} has shape {values.shape}; give one value a record")
    if values.dtype.kind in "iu":
        return RawColumn("integer", values)
    if values.dtype.kind == "f":
        return RawColumn("float", values)
    if values.dtype.kind in "mM":
        raise TypeError(f"column {name!r} holds dates; make them numbers or categories first")
    known = [value for value in values.tolist() if not is_missing(value)]
    if known and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        return RawColumn("float", as_numbers(values))
    return RawColumn("category", values)


def _series(nw: Any, old: Any, values: npt.NDArray[Any]) -> Any:
    plain = values.tolist() if values.dtype.kind in "OUb" else values
    series = nw.new_series(old.name, plain, backend=old.implementation)
    if values.dtype.kind == "f" and not old.implementation.is_pandas_like():
        series = series.fill_nan(None)
    return series if series.dtype == old.dtype or old.dtype == nw.Object else series.cast(old.dtype)


def _narwhals() -> Any:
    try:
        import narwhals.stable.v2 as nw
    except ImportError:
        raise ImportError("tables need narwhals; install sfumato[tables], or pass a mapping of columns") from None
    return nw
