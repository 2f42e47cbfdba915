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
    """A list of files that are read one after the other; as text it names the first, and how many more there are."""

    @classmethod
    def named(cls, names: Any) -> Files:
        """Return the files that paths, folders (their Parquet files) and patterns name.

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
    """Return the name of a file in errors."""
    return "standard input" if path == STANDARD_INPUT else str(path)


@contextmanager
def naming(subject: object) -> Iterator[None]:
    """Put what an error is about before the errors raised inside, unless they begin with it.

    ``subject``: a text, a path, or a list of files.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        text, files = str(error), Files(subject if isinstance(subject, list) else ())
        is_named = text.startswith((f"{files or subject}", *(f"{name_of(path)}:" for path in files)))
        raise type(error)(text if is_named else f"{files or subject}: {text}") from None


@contextmanager
def refusing(path: Path, kind: str) -> Iterator[None]:
    """Turn Arrow's errors raised inside into errors in one line that name the file; ``kind``: "csv", "parquet", …"""
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
    """A file of a table that can be read whole or block by block.

    ``content``: the bytes of standard input; None: they are in the file. ``text``: the names of columns that stay texts
    even if they look like numbers or dates; None: all columns of a CSV. ``empty``: texts that stand for a missing field
    of a CSV, besides the empty one.
    """

    kind: str
    typed = True  # whether the format itself says of what type a field is

    def __init__(self, path: Path, content: bytes | None, text: Iterable[str] | None, empty: Iterable[str]) -> None:
        self.path, self._content, self._empty = path, content, list(empty)
        self._text, self._all_text = list(text or ()), text is None

    @abstractmethod
    def read(self) -> Any:
        """Return the whole file as a PyArrow table."""

    @abstractmethod
    def blocks(self) -> Iterator[Any]:
        """Yield the rows in order as PyArrow tables of one schema, which need not be in memory together."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many rows the file has."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of the columns, in their order."""

    def _stream(self) -> Any:
        """Open the content, without its compression, as a stream of bytes."""
        import pyarrow

        if self._content is None:
            return pyarrow.input_stream(str(self.path))
        packed = self._content[:2] == b"\x1f\x8b"
        return pyarrow.input_stream(pyarrow.py_buffer(self._content), compression="gzip" if packed else None)

    def refusing(self) -> AbstractContextManager[None]:
        """Turn Arrow's errors raised inside into errors in one line that name this file."""
        return refusing(self.path, self.kind)


class ParquetFile(TableFile):
    """A Parquet file."""

    kind = "parquet"

    def read(self) -> Any:
        from pyarrow import parquet

        return parquet.read_table(self._path_or_stream())

    def _path_or_stream(self) -> Any:
        """Return what Arrow opens: the path, or the content of standard input."""
        return self.path if self._content is None else self._stream()

    @cached_property
    def _opened(self) -> Any:
        """The file, opened by Arrow."""
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
    """A file of text, which has no metadata: a first pass over its rows counts them and finds the columns' types."""

    @cached_property
    def _scanned(self) -> tuple[Any, int]:
        """(the schema, the number of rows), from the first pass."""
        return self._scan()

    @abstractmethod
    def _scan(self) -> tuple[Any, int]:
        """Read the whole file once, and return (the schema of its rows, how many there are)."""

    @property
    def rows(self) -> int:
        return self._scanned[1]

    @property
    def names(self) -> list[str]:
        return list(self._scanned[0].names)


class CsvFile(TextFile):
    """A CSV file; the first rows decide the columns' types, and if a later row does not fit, all columns are texts."""

    kind = "csv"
    typed = False

    def read(self) -> Any:
        from pyarrow import csv

        return self._with_types(lambda types: csv.read_csv(self._stream(), convert_options=self._options(types)))

    def _options(self, types: Mapping[str, Any]) -> Any:
        """Return Arrow's options for columns of these types and for this file's texts of missing fields."""
        from pyarrow import csv

        return csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=["", *self._empty])

    def _with_types(self, read: Any) -> Any:
        """Return read(types of columns): with inferred types, or, if a row does not fit these, with all as texts."""
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
        """Open the file as a reader of blocks, with columns of these types."""
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
    """A JSON Lines file: one object a line; a key that a line leaves out is missing there."""

    kind = "jsonl"

    def read(self) -> Any:
        import pyarrow

        return self._checked(lambda: pyarrow.concat_tables(self._parsed(), promote_options="permissive"))

    def _parsed(self) -> Iterator[Any]:
        """Yield the blocks of lines as PyArrow tables, whose schemas may differ."""
        for block in self._lines():
            table = self._table(block)
            dates = [field.name for field in table.schema if field.name in self._text and "time" in str(field.type)]
            yield self._table(block, dates) if dates else table

    def _table(self, block: bytes, texts: Sequence[str] = ()) -> Any:
        """Parse a block of lines as a PyArrow table; the columns in ``texts`` stay texts."""
        import pyarrow
        from pyarrow import json as arrow_json

        schema = pyarrow.schema([(name, pyarrow.string()) for name in texts])
        return arrow_json.read_json(
            pyarrow.py_buffer(block),
            read_options=arrow_json.ReadOptions(block_size=len(block) + 1),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema if texts else None),
        )

    def _lines(self) -> Iterator[bytes]:
        """Yield the file in blocks of whole lines; a file without lines is an error."""
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
        """Return work(); where Arrow fails, the error names the first line that cannot be read."""
        import pyarrow

        try:
            return work()
        except pyarrow.ArrowException:
            self._refuse_line()
            raise

    def _refuse_line(self) -> None:
        """Raise an error that names the first line that is no JSON object, or has other kinds of values than before."""
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
    """Return the kind of a JSON value in words: "a number", "a text", …"""
    kinds = ((bool, "true or false"), ((int, float), "a number"), (str, "a text"), (list, "a list"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "an object")


FORMS: dict[str, type[TableFile]] = {
    ".csv": CsvFile, ".parquet": ParquetFile, ".jsonl": JsonLines, ".ndjson": JsonLines, ".pq": ParquetFile,
}  # fmt: skip
"""Extension → the class that reads the file."""
READABLE = (*FORMS, ".csv.gz", ".jsonl.gz", ".ndjson.gz")  # extensions of the files that can be read


def table_file(path: Path, *, text: Iterable[str] | None = (), empty: Iterable[str] = ()) -> TableFile:
    """Open the file at a path by its extension, standard input by its first bytes (CSV unless they say otherwise).

    ``text`` and ``empty`` are those of ``TableFile``.
    """
    if path == STANDARD_INPUT:
        content = sys.stdin.buffer.read()
        return _form_of(content)(path, content, text, empty)
    extension = check_extension(path, READABLE)
    check_source(path)
    return FORMS[extension.removesuffix(".gz")](path, None, text, empty)


def _form_of(content: bytes) -> type[TableFile]:
    """Return the class that reads the content of standard input, by its first bytes."""
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
    """Read a file as a PyArrow table; in CSV "NA" and "null" are texts as others, unless ``empty`` lists them.

    ``text``: the names of columns that stay texts even if they look like numbers or dates.
    """
    file = table_file(Path(path), text=text, empty=empty)
    with file.refusing():
        table = file.read()
        check_twice(table.column_names)
    return table


def check_alike(names: Mapping[Path, Sequence[str]]) -> None:
    """Raise an error unless every file has the columns of the first, in any order; ``names``: columns by file."""
    (first, wanted), *others = names.items()
    for path, columns in others:
        for name in (*wanted, *columns):
            if name not in columns:
                raise ValueError(f"{path}: column {name!r} is missing, which {first} has; give all files the same ones")
            if name not in wanted:
                raise ValueError(f"{path}: has a column {name!r}, which {first} has not; give all files the same ones")


def joined(tables: Mapping[Path, Any]) -> Any:
    """Return the rows of the tables of several files as one, one after the other; types must fit."""
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
