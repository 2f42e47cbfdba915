"""Tables in and out: pandas, Polars, PyArrow and DuckDB relations leave as the kind they came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Columns = dict[str, Any]


def map_table(table: Any, convert: Callable[[Columns], Columns]) -> Any:
    """The same kind of table with its columns converted all at once; columns may be added."""
    if type(table).__module__.split(".")[0] in ("duckdb", "_duckdb"):
        return _map_duckdb(table, convert)
    nw = _narwhals()
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        kind = f"{type(table).__module__}.{type(table).__qualname__}"
        raise TypeError(f"{kind} is not a table; pass pandas, Polars, PyArrow, DuckDB or a mapping") from None
    before = {name: frame[name].to_native() for name in frame.columns}
    after = convert(before)
    if len(frame) == 0:
        raise ValueError("the table is empty; there is nobody to report")
    kind = frame.implementation
    changed = [_series(nw, name, new, kind) for name, new in after.items() if new is not before.get(name)]
    return frame.with_columns(changed).select(list(after)).to_native()


def _series(nw: Any, name: str, values: Any, kind: Any) -> Any:
    """A column of the wanted kind; gaps become the kind's own null."""
    plain = values.tolist() if values.dtype.kind == "O" else values
    series = nw.new_series(name, plain, backend=kind)
    return series.fill_nan(None) if values.dtype.kind == "f" and not kind.is_pandas_like() else series


def _map_duckdb(relation: Any, convert: Callable[[Columns], Columns]) -> Any:
    import duckdb

    arrow = relation.to_arrow_table() if hasattr(relation, "to_arrow_table") else relation.arrow()
    return duckdb.from_arrow(map_table(arrow, convert))


def _narwhals() -> Any:
    try:
        import narwhals.stable.v2 as nw
    except ImportError:
        raise ImportError("tables need narwhals; install sfumato[tables], or pass a mapping of columns") from None
    return nw
