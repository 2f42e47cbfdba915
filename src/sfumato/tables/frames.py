"""The one place that knows frames: tables in memory and in files, read by column and written as the kind they came.

A *table* is a mapping of columns, a pandas, Polars (also lazy), PyArrow or Spark frame, a DuckDB relation, or anything
else that lists its ``columns`` and gives each by name. Reading needs none of these libraries; writing needs narwhals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import as_array, as_numbers, is_categorical
from sfumato.tables.files import write_whole

Columns = dict[str, Any]
Records = list[dict[str, Any]]

KINDS = {"_duckdb": "duckdb", "pyspark": "spark", "numpy": "array"}
TABLE_FILES = (".csv", ".parquet")
LEVEL_SUFFIX, CODE_SUFFIX = ".level", ".code"
"""What the columns beside a report are called: the level that a person chose, and the report as its code."""
PLAN_COLUMN = "sfumato.plan"
"""The column of a CSV of reports, and the key in a Parquet file's metadata, that names the plan they were made by."""


# --- reading ------------------------------------------------------------------------------------------------------


def is_table(data: Any) -> bool:
    """Does it have named columns? Arrays and lists of rows have none."""
    if isinstance(data, Mapping) or is_lazy(data):
        return True
    return not isinstance(data, np.ndarray) and (hasattr(data, "columns") or hasattr(data, "column_names"))


def kind_of(table: Any) -> str:
    """The kind of a table or of its type: "pandas", "polars", "pyarrow", "duckdb", "spark", "mapping", "array" or the
    name of the library that made it; kinds name themselves."""
    if isinstance(table, str):
        return table
    cls = table if isinstance(table, type) else type(table)
    if issubclass(cls, Mapping):
        return "mapping"
    library = cls.__module__.split(".")[0]
    return KINDS.get(library, library)


def column_names(table: Any) -> list[str]:
    """The names as text, in the table's order; x0, x1, … for a two-dimensional array."""
    return [str(name) for name in _labels(table)]


def read_columns(table: Any, names: Iterable[str] | None = None) -> dict[str, NDArray[Any]]:
    """Columns by name, all or those named: numbers as numbers with NaN for missing, everything else as objects.

    A missing column, columns of different length and columns of dates are refused by name.
    """
    table = _in_memory(table)
    labels = _labels(table)
    by_name = dict(zip(map(str, labels), labels, strict=True))
    check_twice([str(label) for label in labels])
    wanted = list(by_name) if names is None else list(names)
    for name in wanted:
        if name not in by_name:
            raise ValueError(f"column {name!r} is missing; the table has {', '.join(by_name)}")
    columns = {name: read_column(_column(table, by_name[name]), name) for name in wanted}
    if len({len(column) for column in columns.values()}) > 1:
        lengths = {name: len(column) for name, column in columns.items()}
        raise ValueError(f"the columns differ in length ({lengths}); give one value a record")
    return columns


def read_column(values: Any, name: str = "x0") -> NDArray[Any]:
    """One column of any kind as `read_columns` gives it."""
    array = np.atleast_1d(as_array(values))
    if array.ndim != 1:
        raise ValueError(f"column {name!r} has shape {array.shape}; give one value a record")
    if array.dtype.kind in "iuf":
        return array
    if array.dtype.kind not in "ObUST":
        raise TypeError(f"column {name!r} is of type {array.dtype}; convert it to numbers or labels first")
    if array.dtype.kind == "O":
        try:
            return as_numbers(array)
        except TypeError:
            return array
    return array.astype(object)


def _in_memory(table: Any) -> Any:
    """Tables that are a promise (DuckDB, Spark, lazy Polars) become real ones."""
    fetch = {"duckdb": "to_arrow_table", "spark": "toArrow", "polars": "collect"}.get(kind_of(table), "")
    return getattr(table, fetch)() if hasattr(table, fetch) else table


def _labels(table: Any) -> list[Any]:
    """The columns as the table itself names them."""
    if isinstance(table, Mapping):
        return list(table)
    if is_table(table):
        if is_lazy(table):
            return list(table.collect_schema().names())
        return list(table.column_names if hasattr(table, "column_names") else table.columns)
    shape = np.shape(table)
    if len(shape) != 2:
        kind = f"{type(table).__module__}.{type(table).__qualname__}"
        raise TypeError(f"{kind} is not a table; pass pandas, Polars, PyArrow, DuckDB or a mapping")
    return [f"x{place}" for place in range(shape[1])]


def _column(table: Any, label: Any) -> Any:
    if isinstance(table, Mapping):
        return table[label]
    if not is_table(table):
        return np.asarray(table)[:, int(label[1:])]
    return table.column(label) if hasattr(table, "column_names") else table[label]


def check_twice(names: Sequence[str]) -> None:
    """No column has the name of another."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"column {name!r} appears twice; rename one of the two")


def name_row(check: Callable[[Any], Any], values: Any, column: str, places: Any = None) -> None:
    """Run a check that refuses a column; its refusal then says in which row, from 1: "row 17, column 'age': …".

    ``places``: the rows that the values stand in, from 0, where they are a part of a table.
    """
    refusal = _refusal(check, values)
    if refusal is None:
        return
    array = np.atleast_1d(as_array(values))
    low, high = 0, len(array)  # the first refused row lies in low..high-1
    while high - low > 1:
        middle = (low + high) // 2
        if _refusal(check, array[low:middle]) is None:
            low = middle
        else:
            high = middle
    found = _refusal(check, array[low : low + 1]) or refusal
    words = re.sub(r" in row [\d,]+", "", str(found))  # the place in what was checked, which nobody knows
    row = low if places is None else int(places[low])
    raise type(found)(f"row {row + 1:,}, column {column!r}: {words}") from None


def _refusal(check: Callable[[Any], Any], values: Any) -> Exception | None:
    try:
        check(values)
    except (ValueError, TypeError) as error:
        return error
    return None


# --- the same kind out --------------------------------------------------------------------------------------------


def map_table(table: Any, convert: Callable[[Columns], Columns]) -> Any:
    """The same kind of table with its columns converted all at once; columns may be added.

    Only the columns' values go into it: no index, no attributes, no metadata, no categories that nobody has.
    """
    if isinstance(table, Mapping):
        return {name: _bare(new) if new is table.get(name) else new for name, new in convert(dict(table)).items()}
    frame = _frame(table)
    before = {name: frame[name].to_native() for name in frame.columns}
    after = convert(before)
    if len(frame) == 0:
        raise ValueError("the table is empty; there is nobody to report")
    columns = {
        name: _bare(new) if new is before.get(name) else _series(name, new, frame.implementation).to_native()
        for name, new in after.items()
    }
    return _as_kind_of(table, _fresh(frame.implementation, columns))


def _bare(column: Any) -> Any:
    """A column with nothing but its values: no index, no name, no attributes, no categories that nobody has."""
    if kind_of(column) == "pyarrow" and hasattr(column.type, "index_type"):
        return column.cast(column.type.value_type).dictionary_encode()
    if kind_of(column) != "pandas":
        return column
    import pandas

    values = column.array if isinstance(column, pandas.Series) else column
    return pandas.Series(values.remove_unused_categories() if is_categorical(values) else values)


def _fresh(implementation: Any, columns: Columns) -> Any:
    """A new frame of a library from its own columns; Arrow's fields without their metadata."""
    if implementation.is_pandas_like():
        return implementation.to_native_namespace().DataFrame(columns)
    if implementation.is_polars():
        return implementation.to_native_namespace().DataFrame(list(columns.values()))
    import pyarrow

    return pyarrow.table(columns)


def frame_like(table: Any, columns: Mapping[str, Any], *, keep_types: bool = False) -> Any:
    """These columns as a table of the same kind as ``table``: a table, its type, or the name of a kind.

    With ``keep_types`` a column gets the type that the column of its name has in ``table``, and as many rows keep the
    index of a pandas table.
    """
    kind = kind_of(table)
    if kind == "mapping":
        return dict(columns)
    if kind == "array":
        return np.column_stack([np.asarray(values) for values in columns.values()])
    backend = kind if kind in ("pandas", "polars", "pyarrow") else "pyarrow"
    series = {name: _series(name, as_array(values), backend).to_native() for name, values in columns.items()}
    built = _fresh(narwhals().Implementation.from_backend(backend), series)
    return _as_kind_of(table, _with_types(built, _in_memory(table)) if keep_types else built)


def to_arrow(table: Any) -> Any:
    """Any table as a PyArrow table."""
    if isinstance(table, Mapping):
        return frame_like("pyarrow", table)
    return table if kind_of(table) == "pyarrow" else _frame(table).to_arrow()


def as_table(rows: Records, columns: Sequence[str]) -> Any:
    """Rows of results as a pandas DataFrame with these columns; the rows themselves where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        return rows
    return pd.DataFrame(rows, columns=list(columns))


def as_records(table: Any) -> Records:
    """The rows of what `as_table` gave."""
    return list(table.to_dict("records")) if hasattr(table, "to_dict") else list(table)


def _frame(table: Any) -> Any:
    """The table as narwhals holds it, in memory."""
    try:
        return narwhals().from_native(_in_memory(table), eager_only=True)
    except TypeError:
        kind = f"{type(table).__module__}.{type(table).__qualname__}"
        raise TypeError(f"{kind} is not a table; pass pandas, Polars, PyArrow, DuckDB or a mapping") from None


def _series(name: str, values: Any, backend: Any) -> Any:
    """A column of the wanted kind; gaps become the kind's own null."""
    plain = values.tolist() if values.dtype.kind in "OU" else values
    series = narwhals().new_series(name, plain, backend=backend)
    return series.fill_nan(None) if values.dtype.kind == "f" and not series.implementation.is_pandas_like() else series


def _with_types(native: Any, like: Any) -> Any:
    """The frame with its columns cast to the types of another frame of the same library."""
    if kind_of(native) == "pyarrow":
        import pyarrow

        names = set(like.schema.names)
        return native.cast(pyarrow.schema([like.schema.field(f.name) if f.name in names else f for f in native.schema]))
    types = {name: like[name].dtype for name in native.columns if name in like.columns}
    if not hasattr(native, "astype"):
        return native.cast(types)
    return native.astype(types).set_axis(like.index if len(native) == len(like) else native.index)


def _as_kind_of(table: Any, native: Any) -> Any:
    """Back into the promise that the table came as."""
    kind = kind_of(table)
    if kind == "duckdb":
        import duckdb

        return duckdb.from_arrow(native)
    if kind == "spark":
        return table.sparkSession.createDataFrame(native)
    return native.lazy() if is_lazy(table) else native


def is_lazy(table: Any) -> bool:
    return type(table).__name__ == "LazyFrame"


def narwhals() -> Any:
    try:
        import narwhals.stable.v2 as nw
    except ImportError:
        raise ImportError("tables need narwhals; install sfumato[tables], or pass a mapping of columns") from None
    return nw


# --- files --------------------------------------------------------------------------------------------------------


def check_extension(path: Path, allowed: Iterable[str] = TABLE_FILES) -> str:
    """The path's extension in lower case, with what a .gz holds; one outside the list is an error that names it."""
    extension = "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:])
    if extension.lower() not in allowed:
        raise ValueError(f"{path}: unknown extension '{extension}'; use {' or '.join(allowed)}")
    return extension.lower()


def check_target(path: Path, allowed: Iterable[str] = TABLE_FILES, *, apart: Iterable[Path | None] = ()) -> Path:
    """A place that can be written to, checked before the work is done rather than after; ``apart``: what is read, or
    written besides, and must not be this file under whatever name."""
    check_extension(path, allowed)
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; name a file")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: the folder {path.parent} does not exist; create it first")
    for other in apart:
        if other is not None and _is_same(path, other):
            raise ValueError(f"{path}: is the same file as {other}, which would be lost; write to another one")
    return path


def _is_same(one: Path, other: Path) -> bool:
    """One file under two names, links of both kinds included; also where neither is there yet."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def check_source(path: Path, needs: str = "a header and at least one row") -> Path:
    """A file that is there and holds something."""
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; name a file")
    if not path.exists():
        raise ValueError(f"{path}: no such file")
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty; it needs {needs}")
    return path


def write_table(table: Any, path: str | Path) -> None:
    """A table of any kind to CSV or Parquet, by extension; whole or not at all."""
    arrow = to_arrow(table)
    write_tables([arrow], arrow.schema, path)


def write_tables(tables: Iterable[Any], schema: Any, path: str | Path) -> None:
    """PyArrow tables of one schema to one file, one after the other; whole or not at all."""
    place = Path(path)
    extension = check_extension(place)

    def write(part: Path) -> None:
        from pyarrow import csv, parquet

        with csv.CSVWriter(part, schema) if extension == ".csv" else parquet.ParquetWriter(part, schema) as writer:
            for table in tables:
                writer.write_table(table)

    write_whole(place, write)


def write_text(text: str, path: str | Path) -> None:
    """Text to a file, whole or not at all."""
    write_whole(Path(path), lambda part: part.write_text(text, encoding="utf-8"))
