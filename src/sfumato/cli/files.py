"""Tables and text in files: read by extension with one-line errors, written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sfumato.shipping.whole import write_whole

__all__ = ["check_extension", "check_target", "read_table", "check_rows", "write_table", "write_text", "write_whole"]

TABLES = (".csv", ".parquet")


def check_extension(path: Path, allowed: Iterable[str] = TABLES) -> str:
    """The path's extension in lower case; one outside the allowed list is an error that names the list."""
    extension = path.suffix.lower()
    if extension not in allowed:
        raise ValueError(f"{path}: unknown extension '{path.suffix}'; use {' or '.join(allowed)}")
    return extension


def check_target(path: Path, allowed: Iterable[str] = TABLES) -> Path:
    """A place that can be written to, checked before the work is done rather than after."""
    check_extension(path, allowed)
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; name a file")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: the folder {path.parent} does not exist; create it first")
    return path


def read_table(path: Path, *, text: Iterable[str] = ()) -> Any:
    """A PyArrow table from CSV or Parquet; CSV columns named in ``text`` stay text even if they look like numbers."""
    extension = check_extension(path)
    _check_source(path)
    import pyarrow

    try:
        table = _read_csv(path, text) if extension == ".csv" else _read_parquet(path)
    except pyarrow.ArrowException as error:
        raise ValueError(f"{path}: not a readable {extension[1:]} file ({_reason(error)}); write it again") from None
    if len(set(table.column_names)) < table.num_columns:
        twice = next(name for name in table.column_names if table.column_names.count(name) > 1)
        raise ValueError(f"{path}: column {twice!r} appears twice; rename one of the two")
    return table


def check_rows(table: Any, path: Path) -> Any:
    """The same table, refused when nobody is in it."""
    if table.num_rows == 0:
        raise ValueError(f"{path}: no rows; the table needs at least one person")
    return table


def write_table(table: Any, path: Path) -> None:
    """A PyArrow table to CSV or Parquet, by extension."""
    if check_extension(path) == ".csv":
        from pyarrow import csv

        write_whole(path, lambda part: csv.write_csv(table, part))
    else:
        from pyarrow import parquet

        write_whole(path, lambda part: parquet.write_table(table, part))


def write_text(text: str, path: Path) -> None:
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def _check_source(path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; name a file")
    if not path.exists():
        raise ValueError(f"{path}: no such file")
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty; it needs a header and at least one row")


def _read_csv(path: Path, text: Iterable[str]) -> Any:
    import pyarrow
    from pyarrow import csv

    types = {name: pyarrow.string() for name in text}
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=True))


def _read_parquet(path: Path) -> Any:
    from pyarrow import parquet

    return parquet.read_table(path)


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(". ")
