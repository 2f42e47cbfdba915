"""Sources: tables that are too large for memory, whose rows are read in batches where they are.

A *source* brings its rows in batches to a piece of work: in this process where the engine is embedded (Parquet, DuckDB,
Polars), on the workers where it is a cluster (Spark). What the work returns for each share of the rows is sent back;
the rows are not.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

from sfumato.tables.files import check_source
from sfumato.tables.frames import BATCH_ROWS, PLAN_COLUMN, Result, RowBatch, Source, column_names, kind_of
from sfumato.tables.inputs import Files, check_alike, refusing, table_file

ENGINES = ("arrow", "duckdb", "polars")  # that read paths in this process
DUCKDB_MEMORY = "512MB"
"""Memory of DuckDB's connection for files, beyond which it writes to disk. By judgement: fits the smallest machines
that run a survey; less spills sooner, and is slower (tests/engines/test_memory.py holds the peak)."""


class LocalSource(Source):
    """A table whose rows this process reads, one batch after the other, in the table's order."""

    place: str | None = None  # the column that numbers the rows; None: their order does

    @abstractmethod
    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows in order, as Arrow tables or record batches that have only these columns."""

    def gather(self, work: Callable[[Iterator[RowBatch]], Result], columns: Sequence[str]) -> list[Result]:
        wanted = [*columns, *([self.place] if self.place is not None and self.place not in columns else [])]
        return [work(self._batches(wanted or self.names[:1]))]

    def _batches(self, columns: Sequence[str]) -> Iterator[RowBatch]:
        """Yield the rows in order as batches (``RowBatch``), each with the numbers of its rows in the whole table."""
        before = 0
        for table in self.tables(columns):
            if self.place is None:
                places = np.arange(before, before + table.num_rows)
            else:
                column = table.column(self.place)
                if column.null_count:
                    raise ValueError(f"column {self.place!r} does not number every row; give each a whole number")
                places = np.asarray(column).astype(np.int64)
            before += table.num_rows
            yield RowBatch(places, table)


class TableSource(LocalSource):
    """An Arrow table in memory, read batch by batch as larger tables are."""

    kind = "table"

    def __init__(self, table: Any) -> None:
        self.table, self.names, self.origins = table, list(table.column_names), []

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        yield from self.table.select(list(columns)).to_batches(BATCH_ROWS)


class ParquetSource(LocalSource):
    """A table in Parquet files, which Arrow reads one after the other in batches."""

    kind = "parquet"

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths, first = list(paths), _opened(paths[0])
        self.names = list(first.schema_arrow.names)
        self.origins = []
        for path in self.paths:
            file = _opened(path)
            if missing := [name for name in self.names if name not in file.schema_arrow.names]:
                raise ValueError(f"{path}: column {missing[0]!r} is missing, which {self.paths[0]} has; write it again")
            plan = (file.schema_arrow.metadata or {}).get(PLAN_COLUMN.encode())
            self.origins.append(None if plan is None else plan.decode())
        self._labels = [field.name for field in first.schema_arrow if _is_text(field.type)]

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        for path in self.paths:
            file = _opened(path, [name for name in self._labels if name in columns])
            with refusing(path, "parquet"):
                yield from file.iter_batches(BATCH_ROWS, columns=list(columns), use_threads=False)


def _opened(path: Path, labels: Sequence[str] = ()) -> Any:
    """Open a Parquet file by Arrow; ``labels``: columns of texts that are read as dictionaries, to save memory."""
    from pyarrow import parquet

    check_source(path)
    with refusing(path, "parquet"):
        return parquet.ParquetFile(path, read_dictionary=list(labels), pre_buffer=False)


def _is_text(kind: Any) -> bool:
    """Return whether a column's Arrow type is one of texts, dictionaries of them included."""
    import pyarrow.types as types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind))


class TextSource(LocalSource):
    """A table in files of which some are CSV or JSON Lines, read in batches; a first pass over each finds its columns.

    ``text``: the names of columns that stay texts; ``empty``: further texts that stand for a missing field of a CSV.
    ``convert``: a function from (a block of a file without types, the number of rows before it in its file) to the
    block that is used, for example with types; None: blocks are used as they are.
    """

    kind = "files"

    def __init__(
        self, paths: Files, text: Iterable[str], empty: Iterable[str], convert: Callable[[Any, int], Any] | None
    ) -> None:
        self._files = [table_file(path, text=text, empty=empty) for path in paths]
        self._convert, self.origins = convert, []
        names = {}
        for file in self._files:
            with file.refusing():
                names[file.path] = file.names
        check_alike(names)
        self.names = self._files[0].names

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        for file in self._files:
            before = 0
            with file.refusing():
                for block in file.blocks():
                    chosen = block.select(list(columns))
                    yield chosen if file.typed or self._convert is None else self._convert(chosen, before)
                    before += block.num_rows


class DuckSource(LocalSource):
    """A DuckDB relation, read in batches; what is beyond the connection's memory limit DuckDB writes to disk."""

    kind = "duckdb"

    def __init__(self, relation: Any, origins: Sequence[str | None] = ()) -> None:
        self.relation, self.names, self.origins = relation, column_names(relation), list(origins)

    @classmethod
    def of_paths(cls, paths: Sequence[Path]) -> DuckSource:
        """Open Parquet files as a table that DuckDB reads, by a connection of its own with limited memory."""
        import duckdb

        origins = ParquetSource(paths).origins
        spilled = str(Path(gettempdir()) / "sfumato-duckdb")
        settings = {"memory_limit": DUCKDB_MEMORY, "temp_directory": spilled, "preserve_insertion_order": True}
        connection = duckdb.connect(config=settings)
        return cls(connection.read_parquet([str(path) for path in paths]), origins)

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        chosen = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        yield from self.relation.project(chosen).to_arrow_reader(BATCH_ROWS)


class PolarsSource(LocalSource):
    """A Polars LazyFrame, read in batches by Polars' streaming engine so that it need not fit in memory."""

    kind = "polars"

    def __init__(self, frame: Any, origins: Sequence[str | None] = ()) -> None:
        self.frame, self.names, self.origins = frame, column_names(frame), list(origins)

    @classmethod
    def of_paths(cls, paths: Sequence[Path]) -> PolarsSource:
        """Open Parquet files as a table that Polars reads."""
        import polars

        return cls(polars.scan_parquet([str(path) for path in paths]), ParquetSource(paths).origins)

    def tables(self, columns: Sequence[str]) -> Iterator[Any]:
        chosen = self.frame.select(list(columns))
        for frame in chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, engine="streaming"):
            yield frame.to_arrow()


# --- finding it -----------------------------------------------------------------------------------------------------


def source_of(
    data: Any, engine: str | None = None, place: str | None = None, *, text: Iterable[str] = (),
    empty: Iterable[str] = (), convert: Callable[[Any, int], Any] | None = None,
) -> Source:
    """Return a ``Source`` that reads a large table in batches, where its rows are.

    ``data``: paths, a DuckDB relation, a Polars LazyFrame or a Spark frame.

    ``engine``: what reads paths: "arrow", "duckdb", "polars" or the address of a Spark cluster; None: Arrow. ``place``:
    the column that numbers the rows; None: their order does. Of CSV and JSON Lines, ``text``: the names of columns that
    stay texts; ``empty``: further texts for a missing field; ``convert``: a function that gives a block its types (see
    ``TextSource``).
    """
    if isinstance(data, Source):
        return data
    if isinstance(data, (str, Path, list, tuple)):
        if engine not in (None, *ENGINES):
            if not re.match(r"spark://|local|yarn|k8s://", str(engine)):
                known = ", ".join(ENGINES)
                raise ValueError(f"engine {engine} is unknown; use memory, {known}, or a Spark cluster (spark://host:7077)")
            spark = import_module("sfumato.tables.spark")
            source: Source = spark.SparkSource.of_paths(spark.session_at(engine), data, place=place)
            return source
        paths = Files.named(data)
        if engine in (None, "arrow") and not all(_is_parquet(path) for path in paths):
            return _placed(TextSource(paths, text, empty, convert), place)
        return _placed(_source_of_parquet(paths, engine or "arrow"), place)
    if engine is not None:
        raise ValueError(f"engine={engine!r} reads paths, and this table has an engine of its own; leave engine out")
    if kind_of(data) == "spark":
        source = import_module("sfumato.tables.spark").SparkSource(data, place=place)
        return source
    return _placed(DuckSource(data) if kind_of(data) == "duckdb" else PolarsSource(data), place)


def _source_of_parquet(paths: Files, engine: str) -> LocalSource:
    """Return the ``Source`` that reads Parquet files by "arrow", "duckdb" or "polars"; other files are an error."""
    for path in paths:
        if not _is_parquet(path):
            raise ValueError(f"{path}: is not Parquet, which {engine} needs here; leave engine out, or write it anew")
    open_paths = {"arrow": ParquetSource, "duckdb": DuckSource.of_paths, "polars": PolarsSource.of_paths}[engine]
    return open_paths(paths)


def _is_parquet(path: Path) -> bool:
    """Return whether a path ends as Parquet files do (.parquet, .pq)."""
    return path.suffix.lower() in (".parquet", ".pq")


def _placed(source: LocalSource, place: str | None) -> LocalSource:
    """Set the column that numbers a table's rows, and return the source; a column that is not there is an error.

    ``place``: the column's name; None: the order of the rows numbers them.
    """
    if place is not None and place not in source.names:
        raise ValueError(f"column {place!r} is not in the table; it has {', '.join(source.names)}")
    source.place = place
    return source
