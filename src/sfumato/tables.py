"""Tables in and out: pandas, Polars, PyArrow and DuckDB relations leave as the kind they came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def map_columns(table: Any, check: Callable[[list[str]], None], convert: Callable[[str, Any], Any]) -> Any:
    """The same kind of table with every column converted; the columns' names are checked first."""
    if type(table).__module__.split(".")[0] in ("duckdb", "_duckdb"):
        return _map_duckdb(table, check, convert)
    nw = _narwhals()
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        kind = f"{type(table).__module__}.{type(table).__qualname__}"
        raise TypeError(f"{kind} is not a table; pass pandas, Polars, PyArrow, DuckDB or a mapping") from None
    check(list(frame.columns))
    if len(frame) == 0:
        raise ValueError("the table is empty; there is nobody to report")
    columns = [_convert(nw, frame[name], convert) for name in frame.columns]
    return frame.with_columns(columns).to_native()


def _convert(nw: Any, column: Any, convert: Callable[[str, Any], Any]) -> Any:
    native = column.to_native()
    converted = convert(column.name, native)
    if converted is native:
        return column
    series = nw.new_series(column.name, _plain(converted), backend=column.implementation)
    gaps = converted.dtype.kind == "f" and not column.implementation.is_pandas_like()
    return series.fill_nan(None) if gaps else series


def _map_duckdb(relation: Any, check: Callable[[list[str]], None], convert: Callable[[str, Any], Any]) -> Any:
    import duckdb

    arrow = relation.to_arrow_table() if hasattr(relation, "to_arrow_table") else relation.arrow()
    return duckdb.from_arrow(map_columns(arrow, check, convert))


def _plain(values: Any) -> Any:
    """Object arrays (text with gaps) as lists, which every frame library reads with its own null."""
    return values.tolist() if values.dtype.kind == "O" else values


def _narwhals() -> Any:
    try:
        import narwhals.stable.v2 as nw
    except ImportError:
        raise ImportError("tables need narwhals; install sfumato[tables], or pass a mapping of columns") from None
    return nw
