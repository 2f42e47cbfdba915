"""Read tables of any kind by column, and write tables as the kind that came in.

A *table* is a mapping of columns, a pandas, Polars (also lazy), PyArrow or Spark frame, a DuckDB relation, or anything
else that lists its ``columns`` and gives each by name. Reading needs none of these libraries; writing needs narwhals.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import are_mixed, as_array, as_numbers, is_categorical, texts_of

Columns = dict[str, Any]
Records = list[dict[str, Any]]
Result = TypeVar("Result")
BATCH_ROWS = 1 << 18
"""Rows in a batch of a table whose rows are elsewhere. By judgement: 2 MB a column of numbers; memory grows with it,
and smaller batches call the work more often (tests/engines/test_memory.py holds the peak)."""

KINDS = {"_duckdb": "duckdb", "pyspark": "spark", "numpy": "array"}  # a library's module → the kind of its tables
ONE_TYPE = ("polars", "pyarrow", "duckdb")
"""Kinds of tables whose columns have one type; labels of several kinds are texts there (docs/decisions/0029)."""
LEVEL_SUFFIX = ".level"  # ends the name of the column that holds the level each person chose, beside the reports
CODE_SUFFIX = ".code"  # ends the name of a column that holds reports as codes
PLAN_COLUMN = "sfumato.plan"
"""The column of a CSV of reports, and the key in a Parquet file's metadata, that names the plan of the reports
(docs/decisions/0012)."""


# --- reading ------------------------------------------------------------------------------------------------------


def is_table(data: Any) -> bool:
    """Return whether data are a table with named columns; arrays and lists of rows are not."""
    if isinstance(data, Mapping) or is_lazy(data):
        return True
    return not isinstance(data, np.ndarray) and (hasattr(data, "columns") or hasattr(data, "column_names"))


def kind_of(table: Any) -> str:
    """Return which library a table is of, as text; a type of table, or such a text, can be given instead of the table.

    It is "pandas", "polars", "pyarrow", "duckdb", "spark", "mapping", "array", or the name of another library.
    """
    if isinstance(table, str):
        return table
    cls = table if isinstance(table, type) else type(table)
    if issubclass(cls, Mapping):
        return "mapping"
    library = cls.__module__.split(".")[0]
    return KINDS.get(library, library)


def column_names(table: Any) -> list[str]:
    """Return the names of a table's columns as texts, in their order; x0, x1, … for a two-dimensional array."""
    return [str(name) for name in _labels(table)]


def read_columns(table: Any, names: Iterable[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return columns of a table as a dict from name to NumPy array: numbers with NaN where missing, all else objects.

    ``names``: which columns; None: all. A column that is not there, columns of different length and columns of dates
    are errors that name them.
    """
    columns = {name: read_column(column, name) for name, column in native_columns(table, names).items()}
    if len({len(column) for column in columns.values()}) > 1:
        lengths = {name: len(column) for name, column in columns.items()}
        raise ValueError(f"the columns differ in length ({lengths}); give one value a record")
    return columns


def native_columns(table: Any, names: Iterable[str] | None = None) -> Columns:
    """Return columns of a table as a dict from name to column, as the table's own library holds it.

    ``names``: which columns; None: all. A column that is not there is an error.
    """
    table = _in_memory(table)
    labels = _labels(table)
    by_name = dict(zip(map(str, labels), labels, strict=True))
    check_twice([str(label) for label in labels])
    wanted = list(by_name) if names is None else list(names)
    for name in wanted:
        if name not in by_name:
            raise ValueError(f"column {name!r} is missing; the table has {', '.join(by_name)}")
    return {name: _column(table, by_name[name]) for name in wanted}


def read_column(values: Any, name: str = "x0") -> NDArray[Any]:
    """Return one column of any library as a NumPy array: numbers with NaN where missing, all else objects.

    Dates are an error; errors call the column ``name``.
    """
    array = np.atleast_1d(as_array(values))
    if array.ndim != 1:
        raise ValueError(f"column {name!r} has shape {array.shape}; give one value a record")
    if array.dtype.kind in "iufb":
        return array
    if array.dtype.kind not in "OUST":
        raise TypeError(f"column {name!r} is of type {array.dtype}; convert it to numbers or labels first")
    if array.dtype.kind == "O":
        try:
            return as_numbers(array)
        except TypeError:
            return array
    return array.astype(object)


def _in_memory(table: Any) -> Any:
    """Return a table with its rows in memory: those of DuckDB, Spark and lazy Polars are fetched, others are there."""
    fetch = {"duckdb": "to_arrow_table", "spark": "toArrow", "polars": "collect"}.get(kind_of(table), "")
    return getattr(table, fetch)() if hasattr(table, fetch) else table


def _labels(table: Any) -> list[Any]:
    """Return the names of a table's columns as the table holds them, not always texts; else raise TypeError."""
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
    return [f"x{column}" for column in range(shape[1])]


def _column(table: Any, label: Any) -> Any:
    """Return one column of a table; ``label``: its name as the table holds it, which need not be a text."""
    if isinstance(table, Mapping):
        return table[label]
    if not is_table(table):
        return np.asarray(table)[:, int(label[1:])]
    return table.column(label) if hasattr(table, "column_names") else table[label]


def check_twice(names: Sequence[str]) -> None:
    """Raise ValueError if two of a table's columns have the same name; ``names``: of all columns."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"column {name!r} appears twice; rename one of the two")


def name_row(check: Callable[[Any], Any], values: Any, column: str, places: Any = None) -> None:
    """Run a check on a column's values, and name the first bad row in its error: "row 17, column 'age': …".

    ``check``: raises an error for bad values. ``places``: the number of each value's row in the whole table, from 0,
    where the values are a part of it; None: they are all of it.
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
    error = _refusal(check, array[low : low + 1]) or refusal
    words = re.sub(r" in row [\d,]+", "", str(error))  # the row among the values that were checked, not in the table
    row = low if places is None else int(places[low])
    raise type(error)(f"row {row + 1:,}, column {column!r}: {words}") from None


def _refusal(check: Callable[[Any], Any], values: Any) -> Exception | None:
    """Return the error that a check raises for values; None if it raises none. The values are not changed."""
    try:
        check(values)
    except (ValueError, TypeError) as error:
        return error
    return None


# --- the same kind out --------------------------------------------------------------------------------------------


def map_table(table: Any, convert: Callable[[Columns], Columns]) -> Any:
    """Return a table of the same library as ``table``, with the columns that ``convert`` makes of its columns.

    ``convert``: a function from a dict of all columns by name to a dict of the new ones. Only values go into the new
    table: no index, no attributes, no metadata, no categories without rows.
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
    """Return a column with nothing but its values: no index, no name, no attributes, no categories without rows."""
    if kind_of(column) == "pyarrow" and hasattr(column.type, "index_type"):
        return column.cast(column.type.value_type).dictionary_encode()
    if kind_of(column) != "pandas":
        return column
    import pandas

    values = column.array if isinstance(column, pandas.Series) else column
    return pandas.Series(values.remove_unused_categories() if is_categorical(values) else values)


def _fresh(implementation: Any, columns: Columns) -> Any:
    """Return a new table of a library (given as narwhals names it) made of that library's columns, without metadata.

    ``columns``: a dict from name to column.
    """
    if implementation.is_pandas_like():
        return implementation.to_native_namespace().DataFrame(columns)
    if implementation.is_polars():
        return implementation.to_native_namespace().DataFrame(list(columns.values()))
    import pyarrow

    return pyarrow.table(columns)


def frame_like(table: Any, columns: Mapping[str, Any], *, keep_types: bool = False) -> Any:
    """Return columns as a table of the same library (pandas, Polars, …) as another table.

    ``table``: the other table, its type, or the library's name; ``columns``: name → values. ``keep_types``: True: a
    column gets the type that the column of its name has in ``table``. No index, no metadata and no categories without
    rows go with it.
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
    """Return any table (pandas, Polars, DuckDB, Spark, a mapping) as a PyArrow table in memory."""
    if isinstance(table, Mapping):
        return frame_like("pyarrow", table)
    return table if kind_of(table) == "pyarrow" else _frame(table).to_arrow()


def as_table(rows: Records, columns: Sequence[str]) -> Any:
    """Return rows as a pandas DataFrame with these columns, or unchanged where pandas is not installed.

    ``rows``: a list with a mapping for each row.
    """
    try:
        import pandas as pd
    except ImportError:
        return rows
    return pd.DataFrame(rows, columns=list(columns))


def columns_as_table(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return columns as a pandas DataFrame; without pandas, a list with a mapping for each row.

    ``columns``: name → values.
    """
    try:
        import pandas as pd
    except ImportError:
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return pd.DataFrame(columns)


def as_records(table: Any) -> Records:
    """Return the rows of a table that `as_table` made as a list of mappings, whether it is a DataFrame or that list."""
    return list(table.to_dict("records")) if hasattr(table, "to_dict") else list(table)


def _frame(table: Any) -> Any:
    """Return any table as a narwhals frame in memory, which is used the same for all libraries; else raise TypeError.
    """
    try:
        return narwhals().from_native(_in_memory(table), eager_only=True)
    except TypeError:
        kind = f"{type(table).__module__}.{type(table).__qualname__}"
        raise TypeError(f"{kind} is not a table; pass pandas, Polars, PyArrow, DuckDB or a mapping") from None


def _series(name: str, values: Any, backend: Any) -> Any:
    """Return a NumPy array as a column of a library, wrapped by narwhals; missing values become the library's own null.

    ``backend``: the library, as narwhals names it.
    """
    nw = narwhals()
    library = nw.Implementation.from_backend(backend)
    plain = values.tolist() if values.dtype.kind in "OU" else values
    if values.dtype.kind == "O" and not library.is_pandas_like() and are_mixed(plain):
        plain = texts_of(values).tolist()
    series = nw.new_series(name, plain, backend=backend)
    if values.dtype.kind == "O" and library.is_pandas_like() and set(map(type, plain)) == {bool, type(None)}:
        series = nw.from_native(series.to_native().astype("boolean"), series_only=True)  # truth values with gaps
    return series.fill_nan(None) if values.dtype.kind == "f" and not series.implementation.is_pandas_like() else series


def _with_types(native: Any, like: Any) -> Any:
    """Return a table whose columns are cast to the types that the columns of the same names have in the table ``like``.

    ``native`` and ``like``: tables of the same library.
    """
    if kind_of(native) == "pyarrow":
        import pyarrow

        names = set(like.schema.names)
        fields = [like.schema.field(f.name) if f.name in names else f for f in native.schema]
        for index, field in enumerate(fields):
            if getattr(field.type, "ordered", False):
                native = native.set_column(index, field.name, _in_order(native.column(index), like.column(field.name)))
        for index, field in enumerate(fields):
            if pyarrow.types.is_null(field.type):
                native = native.set_column(index, field.name, pyarrow.nulls(native.num_rows))
        return native.cast(pyarrow.schema([field.remove_metadata() for field in fields]))
    types = {name: like[name].dtype for name in native.columns if name in like.columns}
    if not hasattr(native, "astype"):
        return native.cast({name: dtype for name, dtype in types.items() if not dtype.is_object()})
    return native.assign(**{name: _pandas_cast(native[name], dtype) for name, dtype in types.items()})


def _in_order(column: Any, like: Any) -> Any:
    """Return a PyArrow column of categories as ordered, its labels in the order that they have in the column ``like``.
    """
    import pyarrow
    from pyarrow import compute

    labels = like.unify_dictionaries().combine_chunks().dictionary
    labels = labels.filter(compute.is_in(labels, column.combine_chunks()))
    indices = compute.index_in(column.combine_chunks(), labels).cast(like.type.index_type)
    return pyarrow.DictionaryArray.from_arrays(indices, labels, ordered=True)


def _pandas_cast(column: Any, dtype: Any) -> Any:
    """Return a pandas column cast to a type, in its time zone, without categories that no row has."""
    if getattr(dtype, "tz", None) is not None and getattr(column.dtype, "tz", None) is None:
        column = column.dt.tz_localize("UTC").dt.tz_convert(dtype.tz)
    cast = column.astype(dtype)
    return cast.cat.remove_unused_categories() if is_categorical(cast) else cast


def _as_kind_of(table: Any, native: Any) -> Any:
    """Return a table in memory as one of the same library as ``table``: a DuckDB relation, a Spark or lazy frame.

    Other tables are returned as they are. ``native``: the table in memory.
    """
    kind = kind_of(table)
    if kind == "duckdb":
        import duckdb

        return duckdb.from_arrow(native)
    if kind == "spark":
        return table.sparkSession.createDataFrame(native)
    return native.lazy() if is_lazy(table) else native


def is_lazy(table: Any) -> bool:
    """Return whether a table is a Polars LazyFrame, whose rows have not been computed yet."""
    return type(table).__name__ == "LazyFrame"


def narwhals() -> Any:
    """Import the library narwhals, which writes tables of many libraries; without it an error says what to install."""
    try:
        import narwhals.stable.v2 as nw
    except ImportError:
        raise ImportError("tables need narwhals; install sfumato[tables], or pass a mapping of columns") from None
    return nw


# --- tables whose rows are elsewhere --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Some rows of a table that is read part by part.

    ``table``: their columns in Arrow; ``places``: the number of each row in the whole table, from 0.
    """

    places: NDArray[np.int64]
    table: Any


class Source(ABC):
    """A table whose rows stay where they are: a function is sent to them, and only its small result comes back.

    It is the base class of tables in files, in DuckDB or Polars, and on Spark clusters.
    """

    kind: ClassVar[str]
    names: list[str]  # of the columns
    origins: list[str | None]
    """The plans that the table's metadata name, one a file, None for a file that names none; [] without metadata."""

    @abstractmethod
    def gather(self, work: Callable[[Iterator[RowBatch]], Result], columns: Sequence[str]) -> list[Result]:
        """Run ``work`` on all rows where they are; return a list of its results, one for each share of the rows.

        A share is what one process or worker reads: all rows on one machine, one part of them on each worker of a
        cluster.

        ``work``: a function from an iterator of batches of rows (``RowBatch``) to a result; ``columns``: which columns
        the batches have. Work and result must be picklable, and the result small. Every row is in exactly one batch of
        one share; batches hold about BATCH_ROWS rows.
        """


def is_source(data: Any) -> bool:
    """Return whether data are a table that is read where its rows are: paths, a DuckDB relation, a lazy or Spark frame.
    """
    if isinstance(data, (list, tuple)):
        return bool(data) and all(isinstance(path, (str, Path)) for path in data)
    return isinstance(data, (str, Path, Source)) or is_lazy(data) or kind_of(data) in ("duckdb", "spark")
