"""Files of tables as they are read: CSV and JSON Lines (both also under gzip) and Parquet, whole or block by block.

A file's rows are numbered from 1 within it, and every refusal names the file.
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

STANDARD_INPUT = Path("-")
BLOCK_BYTES = 1 << 24
BLOCK_ROWS = 1 << 18


class Files(list[Path]):
    """Files that are read one after the other; in words they are the first, and how many more."""

    @classmethod
    def named(cls, names: Any) -> Files:
        """The files that paths, folders (their Parquet files) and patterns name; "-" is standard input, alone."""
        found = cls()
        for name in [names] if isinstance(names, (str, Path)) else names:
            path, some = Path(name), [Path(name)]
            if path.is_dir():
                some = sorted(path.glob("*.parquet"))
            elif has_magic(str(name)) and not path.exists():
                some = sorted(map(Path, glob(str(name), recursive=True)))
            if not some:
                what = "the folder holds no .parquet file" if path.is_dir() else "no file fits the pattern"
                raise ValueError(f"{name}: {what}; name the files to read")
            for each in some:
                if each in found:
                    raise ValueError(f"{each}: is named twice; name each file once, or its people count twice")
                found.append(each)
        if STANDARD_INPUT in found and len(found) > 1:
            raise ValueError("standard input (-) is read alone; name files, or nothing but -")
        return found

    def __str__(self) -> str:
        more = f" and {len(self) - 1:,} more files" if len(self) > 2 else f" and {self[1]}" if len(self) > 1 else ""
        return f"{name_of(self[0])}{more}"


def name_of(path: Path) -> str:
    """What errors call a file."""
    return "standard input" if path == STANDARD_INPUT else str(path)


@contextmanager
def naming(subject: object) -> Iterator[None]:
    """Errors about bad input inside are prefixed with what they are about (files in a list), unless they begin so."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text, files = str(error), Files(subject if isinstance(subject, list) else ())
        said = text.startswith((f"{files or subject}", *(f"{name_of(path)}:" for path in files)))
        raise type(error)(text if said else f"{files or subject}: {text}") from None


@contextmanager
def refusing(path: Path, kind: str) -> Iterator[None]:
    """What Arrow cannot read inside is refused by the file's name."""
    import pyarrow

    with naming(name_of(path)):
        try:
            yield
        except UnicodeDecodeError:
            raise ValueError(f"not a readable {kind} file (its text is not UTF-8); save it as UTF-8") from None
        except (pyarrow.ArrowException, OSError) as error:
            told = str(error).splitlines()[0]
            reason = re.sub(r"(got \d+):.*|: invalid value '.*|: Row #.*", r"\1", told).rstrip(". ")  # nobody's values
            raise ValueError(f"not a readable {kind} file ({reason}); write it again, or leave it out") from None


class TableFile(ABC):
    """One file; ``text`` names columns that stay texts even if they look like numbers or dates (None: all of a CSV); a
    field of a CSV is missing where it is empty or one of the texts in ``empty``."""

    kind: str
    typed = True  # fields have types of their own

    def __init__(self, path: Path, content: bytes | None, text: Iterable[str] | None, empty: Iterable[str]) -> None:
        self.path, self._content, self._empty = path, content, list(empty)
        self._text, self._all_text = list(text or ()), text is None

    @abstractmethod
    def read(self) -> Any:
        """All of it as a PyArrow table."""

    @abstractmethod
    def blocks(self) -> Iterator[Any]:
        """Its rows in order, as PyArrow tables of one schema that need not be in memory together."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many rows there are."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The columns, in their order."""

    def _stream(self) -> Any:
        """The content without its compression."""
        import pyarrow

        if self._content is None:
            return pyarrow.input_stream(str(self.path))
        packed = self._content[:2] == b"\x1f\x8b"
        return pyarrow.input_stream(pyarrow.py_buffer(self._content), compression="gzip" if packed else None)

    def refusing(self) -> AbstractContextManager[None]:
        """What cannot be read inside is refused by the file's name."""
        return refusing(self.path, self.kind)


class ParquetFile(TableFile):
    kind = "parquet"

    def read(self) -> Any:
        from pyarrow import parquet

        return parquet.read_table(self._place())

    def _place(self) -> Any:
        return self.path if self._content is None else self._stream()

    @cached_property
    def _opened(self) -> Any:
        from pyarrow import parquet

        return parquet.ParquetFile(self._place(), pre_buffer=False)

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
    """A file that says nothing about itself: a first pass over its rows tells how many there are, and their types."""

    @cached_property
    def _told(self) -> tuple[Any, int]:
        return self._scan()

    @abstractmethod
    def _scan(self) -> tuple[Any, int]:
        """(schema, how many rows) of all of it."""

    @property
    def rows(self) -> int:
        return self._told[1]

    @property
    def names(self) -> list[str]:
        return list(self._told[0].names)


class CsvFile(TextFile):
    """What a column is, the first rows tell; where later rows tell otherwise, all columns are texts."""

    kind = "csv"
    typed = False

    def read(self) -> Any:
        from pyarrow import csv

        return self._with_types(lambda types: csv.read_csv(self._stream(), convert_options=self._options(types)))

    def _options(self, types: Mapping[str, Any]) -> Any:
        from pyarrow import csv

        return csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=["", *self._empty])

    def _with_types(self, read: Any) -> Any:
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
        from pyarrow import csv

        options = csv.ReadOptions(block_size=BLOCK_BYTES)
        return csv.open_csv(self._stream(), read_options=options, convert_options=self._options(types))

    def _scan(self) -> tuple[Any, int]:
        def counted(types: Mapping[str, Any]) -> tuple[Any, int]:
            with self._reader(types) as reader:
                return reader.schema, sum(batch.num_rows for batch in reader)

        found: tuple[Any, int] = self._with_types(counted)
        return found

    def blocks(self) -> Iterator[Any]:
        import pyarrow

        schema = self._told[0]
        with self._reader(dict(zip(schema.names, schema.types, strict=True))) as reader:
            for batch in reader:
                yield pyarrow.Table.from_batches([batch])


class JsonLines(TextFile):
    """One object a line; a key that a line leaves out is missing there."""

    kind = "jsonl"

    def read(self) -> Any:
        import pyarrow

        return self._checked(lambda: pyarrow.concat_tables(self._parsed(), promote_options="permissive"))

    def _parsed(self) -> Iterator[Any]:
        for block in self._lines():
            table = self._table(block)
            dates = [each.name for each in table.schema if each.name in self._text and "time" in str(each.type)]
            yield self._table(block, dates) if dates else table

    def _table(self, block: bytes, texts: Sequence[str] = ()) -> Any:
        import pyarrow
        from pyarrow import json as arrow_json

        schema = pyarrow.schema([(name, pyarrow.string()) for name in texts])
        return arrow_json.read_json(
            pyarrow.py_buffer(block),
            read_options=arrow_json.ReadOptions(block_size=len(block) + 1),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema if texts else None),
        )

    def _lines(self) -> Iterator[bytes]:
        """Blocks of whole lines, at least one."""
        stream, rest, found = self._stream(), b"", False
        while chunk := stream.read(BLOCK_BYTES):
            whole, _, rest = (rest + chunk).rpartition(b"\n")
            if whole.strip():
                found = True
                yield whole
        if rest.strip():
            yield rest
        elif not found:
            raise ValueError("no rows; write one object a line")

    def _checked(self, work: Any) -> Any:
        import pyarrow

        try:
            return work()
        except pyarrow.ArrowException:
            self._refuse_line()
            raise

    def _refuse_line(self) -> None:
        """Read the lines one by one and name the first that cannot be read, or that does not fit those before."""
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

        def counted() -> tuple[Any, int]:
            schema, rows = pyarrow.schema([]), 0
            for table in self._parsed():
                schema = pyarrow.unify_schemas([schema, table.schema], promote_options="permissive")
                rows += table.num_rows
            return schema, rows

        found: tuple[Any, int] = self._checked(counted)
        return found

    def blocks(self) -> Iterator[Any]:
        import pyarrow

        empty = self._told[0].empty_table()
        for table in self._parsed():
            yield pyarrow.concat_tables([empty, table], promote_options="permissive")


def _kind(value: Any) -> str:
    kinds = ((bool, "true or false"), ((int, float), "a number"), (str, "a text"), (list, "a list"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "an object")


FORMS: dict[str, type[TableFile]] = {
    ".csv": CsvFile, ".parquet": ParquetFile, ".jsonl": JsonLines, ".ndjson": JsonLines, ".pq": ParquetFile,
}  # fmt: skip
READABLE = (*FORMS, ".csv.gz", ".jsonl.gz", ".ndjson.gz")


def table_file(path: Path, *, text: Iterable[str] | None = (), empty: Iterable[str] = ()) -> TableFile:
    """The file at a path by its extension; standard input by its first bytes, CSV unless they say otherwise."""
    if path == STANDARD_INPUT:
        content = sys.stdin.buffer.read()
        return _form_of(content)(path, content, text, empty)
    extension = check_extension(path, READABLE)
    check_source(path)
    return FORMS[extension.removesuffix(".gz")](path, None, text, empty)


def _form_of(content: bytes) -> type[TableFile]:
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
    """A PyArrow table from a file; in CSV, "NA" and "null" are texts as others, unless ``empty`` lists them."""
    file = table_file(Path(path), text=text, empty=empty)
    with file.refusing():
        table = file.read()
        check_twice(table.column_names)
    return table


def check_alike(names: Mapping[Path, Sequence[str]]) -> None:
    """Every file has the columns of the first, in whatever order."""
    (first, wanted), *others = names.items()
    for path, found in others:
        for name in (*wanted, *found):
            if name not in found:
                raise ValueError(f"{path}: column {name!r} is missing, which {first} has; give all files the same ones")
            if name not in wanted:
                raise ValueError(f"{path}: has a column {name!r}, which {first} has not; give all files the same ones")


def joined(tables: Mapping[Path, Any]) -> Any:
    """The rows of all tables, one file after the other."""
    import pyarrow

    check_alike({path: table.column_names for path, table in tables.items()})
    (first, whole), *others = tables.items()
    for path, table in others:
        for name in whole.column_names:
            parts = [each.select([name]) for each in (whole, table)]
            try:
                pyarrow.concat_tables([part.slice(0, 0) for part in parts], promote_options="permissive")
            except pyarrow.ArrowException:
                before, here = (part.schema.field(name).type for part in parts)
                told = f"column {name!r} is {here}, but {before} in {first}; write it alike in all files"
                raise ValueError(f"{path}: {told}") from None
    return pyarrow.concat_tables(tables.values(), promote_options="permissive")
