"""Read files of tables: CSV and JSON Lines (both also under gzip) and Parquet, whole or block by block.

Errors name the file, and rows by their number within it, from 1.
"""

from __future__ import annotations

import json
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from sfumato.tables.files import check_extension, check_source
from sfumato.tables.frames import check_twice

STANDARD_INPUT = Path("-")  # the name that stands for it
BLOCK_BYTES = 1 << 24
"""Bytes of a text file in a block. By judgement: 16 MB keep the reader's threads busy; memory grows with it
(bench/large_tables.py holds the peak)."""
BLOCK_ROWS = 1 << 18
"""Rows of a Parquet file in a block. By judgement: as much memory as a block of text (bench/large_tables.py)."""


class Files(list[Path]):
    """A list of paths of files that are read as one table, one after the other.

    ``str()`` names the first, and how many more there are, for errors.
    """

    @classmethod
    def named(cls, names: Any) -> Files:
        """Return the list of files that paths, folders (all Parquet files in them) and patterns such as "*.csv" name.

        "-" is standard input, which must be alone. A name without a file, or a file twice, is an error.
        """
        files = cls()
        for name in [names] if isinstance(names, (str, Path)) else names:
            path, some = Path(name), [Path(name)]
            if path.is_dir():
                some = sorted(path.glob("*.parquet"))
            elif has_magic(str(name)) and not path.exists():
                some = sorted(map(Path, glob(str(name), recursive=True)))
            if not some:
                what = "the folder holds no .parquet file" if path.is_dir() else "no file fits the pattern"
                raise ValueError(f"{name}: {what}; name the files to read")
            for file in some:
                if file in files:
                    raise ValueError(f"{file}: is named twice; name each file once, or its people count twice")
                files.append(file)
        if STANDARD_INPUT in files and len(files) > 1:
            raise ValueError("standard input (-) is read alone; name files, or nothing but -")
        return files

    def __str__(self) -> str:
        more = f" and {len(self) - 1:,} more files" if len(self) > 2 else f" and {self[1]}" if len(self) > 1 else ""
        return f"{name_of(self[0])}{more}"


def name_of(path: Path) -> str:
    """Return what errors call a file: its path, or "standard input"."""
    return "standard input" if path == STANDARD_INPUT else str(path)


@contextmanager
def naming(subject: object) -> Iterator[None]:
    """Put a name before errors that are raised inside this context, so that they say which file they are about.

    ``subject``: what to name: a text, a path, or a list of files. An error that begins with it stays as it is.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        text, files = str(error), Files(subject if isinstance(subject, list) else ())
        is_named = text.startswith((f"{files or subject}", *(f"{name_of(path)}:" for path in files)))
        raise type(error)(text if is_named else f"{files or subject}: {text}") from None


@contextmanager
def refusing(path: Path, kind: str) -> Iterator[None]:
    """Turn errors of Arrow that are raised inside this context into errors in one line that name the file.

    ``path``: the file; ``kind``: what it should be: "csv", "parquet", ….
    """
    import pyarrow

    with naming(name_of(path)):
        try:
            yield
        except UnicodeDecodeError:
            raise ValueError(f"not a readable {kind} file (its text is not UTF-8); save it as UTF-8") from None
        except (pyarrow.ArrowException, OSError) as error:
            first = str(error).splitlines()[0]
            reason = re.sub(r"(got \d+):.*|: invalid value '.*|: Row #.*", r"\1", first).rstrip(". ")  # no values
            raise ValueError(f"not a readable {kind} file ({reason}); write it again, or leave it out") from None


class TableFile(ABC):
    """A file that holds a table (CSV, JSON Lines or Parquet), which can be read whole or block by block.

    ``path``: the file. ``content``: the bytes of standard input; None: they are in the file. ``text``: the names of
    columns that stay texts even if they look like numbers or dates; None: all columns of a CSV. ``empty``: texts that
    stand for a missing field of a CSV, besides the empty one.
    """

    kind: str
    typed = True  # whether the format itself says of what type a field is

    def __init__(self, path: Path, content: bytes | None, text: Iterable[str] | None, empty: Iterable[str]) -> None:
        self.path, self._content, self._empty = path, content, list(empty)
        self._text, self._all_text = list(text or ()), text is None

    @abstractmethod
    def read(self) -> Any:
        """Return the whole file as a PyArrow table in memory."""

    @abstractmethod
    def blocks(self) -> Iterator[Any]:
        """Yield the rows in order as PyArrow tables of one schema, block by block.

        So a file larger than memory can be read.
        """

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many rows the file has, without the header."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of the file's columns, in their order."""

    def _stream(self) -> Any:
        """Open the file, or the bytes of standard input, as a stream of bytes without compression (gzip)."""
        import pyarrow

        if self._content is None:
            return pyarrow.input_stream(str(self.path))
        packed = self._content[:2] == b"\x1f\x8b"
        return pyarrow.input_stream(pyarrow.py_buffer(self._content), compression="gzip" if packed else None)

    def refusing(self) -> AbstractContextManager[None]:
        """Turn errors of Arrow that are raised inside this context into errors in one line that name this file."""
        return refusing(self.path, self.kind)


class ParquetFile(TableFile):
    """A Parquet file as a table that can be read whole or block by block."""

    kind = "parquet"

    def read(self) -> Any:
        from pyarrow import parquet

        return parquet.read_table(self._path_or_stream())

    def _path_or_stream(self) -> Any:
        """Return what Arrow opens: the path of the file, or a stream of the bytes of standard input."""
        return self.path if self._content is None else self._stream()

    @cached_property
    def _opened(self) -> Any:
        """The file as Arrow has opened it, with its metadata; opened once."""
        from pyarrow import parquet

        return parquet.ParquetFile(self._path_or_stream(), pre_buffer=False)

    def blocks(self) -> Iterator[Any]:
        import pyarrow

        for batch in self._opened.iter_batches(BLOCK_ROWS, use_threads=False):
            yield pyarrow.Table.from_batches([batch])

    @property
    def rows(self) -> int:
        return int(self._opened.metadata.num_rows)

    @property
    def names(self) -> list[str]:
        return list(self._opened.schema_arrow.names)


class TextFile(TableFile):
    """A file of text (CSV, JSON Lines), which has no metadata: a first pass counts its rows and finds its columns."""

    @cached_property
    def _scanned(self) -> tuple[Any, int]:
        """(the Arrow schema of the columns, the number of rows), found by one pass over the file."""
        return self._scan()

    @abstractmethod
    def _scan(self) -> tuple[Any, int]:
        """Read the whole file once; return (the Arrow schema of its columns, the number of rows)."""

    @property
    def rows(self) -> int:
        return self._scanned[1]

    @property
    def names(self) -> list[str]:
        return list(self._scanned[0].names)


class CsvFile(TextFile):
    """A CSV file as a table that can be read whole or block by block.

    The first rows decide the columns' types; where a later row does not fit, all columns become texts.
    """

    kind = "csv"
    typed = False

    def read(self) -> Any:
        from pyarrow import csv

        return self._with_types(lambda types: csv.read_csv(self._stream(), convert_options=self._options(types)))

    def _options(self, types: Mapping[str, Any]) -> Any:
        """Return Arrow's options for reading this CSV: the columns' types by name, and the texts that mean missing."""
        from pyarrow import csv

        return csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=["", *self._empty])

    def _with_types(self, read: Any) -> Any:
        """Call ``read`` with types of columns and return its result: first with those that Arrow infers.

        If a row does not fit these, it is called again with all columns as texts. ``read``: a function of a dict from
        name to Arrow type.
        """
        import pyarrow
        from pyarrow import csv

        try:
            if not self._all_text:
                return read(dict.fromkeys(self._text, pyarrow.string()))
        except pyarrow.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise
        with csv.open_csv(self._stream()) as reader:
            names = reader.schema.names
        return read(dict.fromkeys(names, pyarrow.string()))

    def _reader(self, types: Mapping[str, Any]) -> Any:
        """Open the file for reading block by block; ``types``: the columns' Arrow types by name."""
        from pyarrow import csv

        options = csv.ReadOptions(block_size=BLOCK_BYTES)
        return csv.open_csv(self._stream(), read_options=options, convert_options=self._options(types))

    def _scan(self) -> tuple[Any, int]:
        def count(types: Mapping[str, Any]) -> tuple[Any, int]:
            with self._reader(types) as reader:
                return reader.schema, sum(batch.num_rows for batch in reader)

        scanned: tuple[Any, int] = self._with_types(count)
        return scanned

    def blocks(self) -> Iterator[Any]:
        import pyarrow

        schema = self._scanned[0]
        with self._reader(dict(zip(schema.names, schema.types, strict=True))) as reader:
            for batch in reader:
                yield pyarrow.Table.from_batches([batch])


class JsonLines(TextFile):
    """A JSON Lines file as a table: one object a line, a row each; a key that a line leaves out is missing in its row.
    """

    kind = "jsonl"

    def read(self) -> Any:
        import pyarrow

        return self._checked(lambda: pyarrow.concat_tables(self._parsed(), promote_options="permissive"))

    def _parsed(self) -> Iterator[Any]:
        """Yield the blocks of lines as PyArrow tables, whose columns and types may differ from block to block."""
        for block in self._lines():
            table = self._table(block)
            dates = [field.name for field in table.schema if field.name in self._text and "time" in str(field.type)]
            yield self._table(block, dates) if dates else table

    def _table(self, block: bytes, texts: Sequence[str] = ()) -> Any:
        """Parse a block of lines, as bytes, as a PyArrow table; ``texts``: columns that stay texts."""
        import pyarrow
        from pyarrow import json as arrow_json

        schema = pyarrow.schema([(name, pyarrow.string()) for name in texts])
        return arrow_json.read_json(
            pyarrow.py_buffer(block),
            read_options=arrow_json.ReadOptions(block_size=len(block) + 1),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema if texts else None),
        )

    def _lines(self) -> Iterator[bytes]:
        """Yield the file in blocks of whole lines, as bytes; a file without lines is an error."""
        stream, unfinished, any_lines = self._stream(), b"", False
        while chunk := stream.read(BLOCK_BYTES):
            whole, _, unfinished = (unfinished + chunk).rpartition(b"\n")
            if whole.strip():
                any_lines = True
                yield whole
        if unfinished.strip():
            yield unfinished
        elif not any_lines:
            raise ValueError("no rows; write one object a line")

    def _checked(self, work: Any) -> Any:
        """Call ``work`` and return its result; where Arrow fails inside, an error names the first unreadable line."""
        import pyarrow

        try:
            return work()
        except pyarrow.ArrowException:
            self._refuse_line()
            raise

    def _refuse_line(self) -> None:
        """Raise ValueError for the first line that is no JSON object, or whose values are of other kinds than before.
        """
        lines = (line for block in self._lines() for line in block.split(b"\n") if line.strip())
        kinds: dict[str, str] = {}
        for row, line in enumerate(lines, 1):
            try:
                fields = json.loads(line)
            except ValueError:
                fields = None
            if not isinstance(fields, dict):
                raise ValueError(f"row {row:,}: not a JSON object; write one object a line")
            for name, value in fields.items():
                kind = _kind(value)
                if value is not None and kinds.setdefault(name, kind) != kind:
                    raise ValueError(f"row {row:,}, column {name!r}: {kind}, but {kinds[name]} before; write one kind")

    def _scan(self) -> tuple[Any, int]:
        import pyarrow

        def count() -> tuple[Any, int]:
            schema, rows = pyarrow.schema([]), 0
            for table in self._parsed():
                schema = pyarrow.unify_schemas([schema, table.schema], promote_options="permissive")
                rows += table.num_rows
            return schema, rows

        scanned: tuple[Any, int] = self._checked(count)
        return scanned

    def blocks(self) -> Iterator[Any]:
        import pyarrow

        empty = self._scanned[0].empty_table()
        for table in self._parsed():
            yield pyarrow.concat_tables([empty, table], promote_options="permissive")


def _kind(value: Any) -> str:
    """Return the kind of a JSON value in words for an error: "a number", "a text", "an object"."""
    kinds = ((bool, "true or false"), ((int, float), "a number"), (str, "a text"), (list, "a list"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "an object")


FORMS: dict[str, type[TableFile]] = {
    ".csv": CsvFile, ".parquet": ParquetFile, ".jsonl": JsonLines, ".ndjson": JsonLines, ".pq": ParquetFile,
}  # fmt: skip
"""Extension → the class that reads the file."""
READABLE = (*FORMS, ".csv.gz", ".jsonl.gz", ".ndjson.gz")  # extensions of the files that can be read


def table_file(path: Path, *, text: Iterable[str] | None = (), empty: Iterable[str] = ()) -> TableFile:
    """Return the object that reads the file at a path, by its extension; for "-", standard input, by its first bytes.

    ``text``: the names of columns that stay texts even if they look like numbers or dates (None: all of a CSV);
    ``empty``: further texts that stand for a missing field of a CSV.
    """
    if path == STANDARD_INPUT:
        content = sys.stdin.buffer.read()
        return _form_of(content)(path, content, text, empty)
    extension = check_extension(path, READABLE)
    check_source(path)
    return FORMS[extension.removesuffix(".gz")](path, None, text, empty)


def _form_of(content: bytes) -> type[TableFile]:
    """Return the class that reads standard input (CSV, JSON Lines or Parquet), by the first bytes of its content."""
    import zlib

    if not content.strip():
        raise ValueError("standard input: is empty; it needs a header and at least one row")
    if content[:2] == b"\x1f\x8b":
        try:
            content = zlib.decompressobj(wbits=31).decompress(content, 1024)
        except zlib.error:
            raise ValueError("standard input: not readable gzip; write it again") from None
    if content[:4] == b"PAR1":
        return ParquetFile
    return JsonLines if content.lstrip()[:1] == b"{" else CsvFile


def read_table(path: str | Path, *, text: Iterable[str] = (), empty: Iterable[str] = ()) -> Any:
    """Read a file (CSV, JSON Lines or Parquet, by its extension) as a PyArrow table.

    ``text``: the names of columns that stay texts even if they look like numbers or dates. ``empty``: texts that stand
    for a missing field of a CSV, such as "NA"; without it they are texts as others.
    """
    file = table_file(Path(path), text=text, empty=empty)
    with file.refusing():
        table = file.read()
        check_twice(table.column_names)
    return table


def check_alike(names: Mapping[Path, Sequence[str]]) -> None:
    """Raise ValueError unless all files have the same columns as the first, in any order; ``names``: columns by file.
    """
    (first, wanted), *others = names.items()
    for path, columns in others:
        for name in (*wanted, *columns):
            if name not in columns:
                raise ValueError(f"{path}: column {name!r} is missing, which {first} has; give all files the same ones")
            if name not in wanted:
                raise ValueError(f"{path}: has a column {name!r}, which {first} has not; give all files the same ones")


def joined(tables: Mapping[Path, Any]) -> Any:
    """Return the tables of several files as one PyArrow table, the rows of one file after those of the other.

    ``tables``: PyArrow tables by path; columns or types that do not fit are an error that names the file.
    """
    import pyarrow

    check_alike({path: table.column_names for path, table in tables.items()})
    (first, whole), *others = tables.items()
    for path, table in others:
        for name in whole.column_names:
            parts = [one.select([name]) for one in (whole, table)]
            try:
                pyarrow.concat_tables([part.slice(0, 0) for part in parts], promote_options="permissive")
            except pyarrow.ArrowException:
                before, here = (part.schema.field(name).type for part in parts)
                reason = f"column {name!r} is {here}, but {before} in {first}; write it alike in all files"
                raise ValueError(f"{path}: {reason}") from None
    return pyarrow.concat_tables(tables.values(), promote_options="permissive")
