"""Check, read, write and lock files; they are written whole or not at all.

Partial files that a killed process left behind are removed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from sfumato.tables.frames import to_arrow

TABLE_FILES = (".csv", ".parquet")  # extensions of the files that tables are written to
MOST_NESTED = 60
"""Levels of tables and lists within one another at most. By judgement: a plan with chains of chains needs a few, and
Python's own limit on recursion is reached at some hundred."""
UNFINISHED: set[Path] = set()
"""Partial files that this process is writing, so that they can be removed if it must end at once."""


# --- what is read and where it is written, checked before the work is done ------------------------------------------


def check_extension(path: Path, allowed: Iterable[str] = TABLE_FILES) -> str:
    """Return a path's extension in lower case, for a .gz both parts (".csv.gz"); one not in ``allowed`` is an error."""
    extension = "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:])
    if extension.lower() not in allowed:
        raise ValueError(f"{path}: unknown extension '{extension}'; use {' or '.join(allowed)}")
    return extension.lower()


def check_target(path: Path, allowed: Iterable[str] = TABLE_FILES, *, apart: Iterable[Path | None] = ()) -> Path:
    """Return the path unchanged if a file can be written there; otherwise raise ValueError, before any work is done.

    ``allowed``: the extensions that it may have; ``apart``: other files that are read or written, which must not be
    this one under another name.
    """
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
    """Return whether two paths lead to the same file, through links too, and before the file exists."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def check_source(path: Path, needs: str = "a header and at least one row") -> Path:
    """Return the path unchanged if there is a file that is not empty; otherwise raise ValueError.

    ``needs``: what the file must hold, for the error.
    """
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; name a file")
    if not path.exists():
        raise ValueError(f"{path}: no such file")
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty; it needs {needs}")
    return path


def read_json(text: str, what: str) -> Any:
    """Return the data in a JSON text; an error calls the text ``what`` if it is not JSON, or nested too deep."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise too_deep(what) from None
    except ValueError as error:
        raise ValueError(f"{what} is not a whole JSON file ({error}); save or copy it again") from None
    check_nesting(data, what)
    return data


def check_nesting(data: Any, what: str) -> None:
    """Raise ValueError for data in which tables and lists lie too deep within one another; it calls the data ``what``.
    """
    inner = [data]
    for _ in range(MOST_NESTED + 1):
        level = [part for part in inner if isinstance(part, (Mapping, list, tuple))]
        if not level:
            return
        inner = [entry for part in level for entry in (part.values() if isinstance(part, Mapping) else part)]
    raise too_deep(what)


def too_deep(what: str) -> ValueError:
    """Return the error (not raised) for data that are nested too deep; it calls them ``what``."""
    return ValueError(f"{what} is nested more than {MOST_NESTED} deep; nothing that sfumato writes is, write it again")


# --- written whole or not at all ------------------------------------------------------------------------------------


def write_whole(path: Path, write: Callable[[Path], Any], *, mode: int | None = None) -> None:
    """Write a file under another name and rename it, so that a reader sees the old file or the new one, never a part.

    ``path``: its final name; ``write``: a function that writes the content to the path that it is given. ``mode``: the
    permissions of the file; None: those of the old file, or the usual ones. A link stays a link, and the file that it
    leads to is written.
    """
    target = path.resolve() if path.is_symlink() else path
    for part in target.parent.glob(".*.part*"):
        _remove_abandoned(part)
    part = target.with_name(f".{target.stem}-{token_hex(8)}.part{target.suffix}")
    if mode is None and target.exists():
        mode = target.stat().st_mode & 0o7777
    with _unfinished(part, mode):
        write(part)
        if mode is not None:
            os.chmod(part, mode)
        os.replace(part, target)


@contextmanager
def _unfinished(part: Path, mode: int | None) -> Iterator[None]:
    """Create a partial file, keep it locked while the code inside writes it, and then remove what is left of it.

    ``part``: its path; ``mode``: its permissions; None: the usual ones.
    """
    UNFINISHED.add(part)
    handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode | 0o200)
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)
        part.unlink(missing_ok=True)
        UNFINISHED.discard(part)


def _remove_abandoned(part: Path) -> None:
    """Remove a partial file of ``write_whole`` that no process locks any more: the one that wrote it was killed."""
    if not re.fullmatch(r"\..*-[0-9a-f]{16}\.part(\..*)?", part.name):
        return
    try:
        handle = os.open(part, os.O_RDWR)
    except OSError:  # gone already, or somebody else's
        return
    if _lock(handle):
        part.unlink(missing_ok=True)
    os.close(handle)


def _lock(handle: int) -> bool:
    """Lock an open file until it is closed; return whether that succeeded.

    It does not if another process locks it, or the system has no locks. ``handle``: the number of the open file.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def write_table(table: Any, path: str | Path) -> None:
    """Write a table of any kind (pandas, Polars, a mapping, …) to a CSV or Parquet file, by the path's extension.

    A reader sees the old file or the whole new one.
    """
    arrow = to_arrow(table)
    write_tables([arrow], arrow.schema, path)


def write_tables(tables: Iterable[Any], schema: Any, path: str | Path) -> None:
    """Write PyArrow tables with the same schema to one CSV or Parquet file, one after the other.

    The path's extension says which; a reader sees the old file or the whole new one.
    """
    target = Path(path)
    extension = check_extension(target)

    def write(part: Path) -> None:
        from pyarrow import csv, parquet

        with csv.CSVWriter(part, schema) if extension == ".csv" else parquet.ParquetWriter(part, schema) as writer:
            for table in tables:
                writer.write_table(table)

    write_whole(target, write)


def write_text(text: str, path: str | Path) -> None:
    """Write a text to a file; a reader sees the old file or the whole new one, never a part."""
    write_whole(Path(path), lambda part: part.write_text(text, encoding="utf-8"))


# --- of one owner or process ----------------------------------------------------------------------------------------


def own_file(path: Path) -> None:
    """Create an empty file that only its owner can read and write; one that exists is left as it is."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


@contextmanager
def held_alone(path: Path, seconds: float = 0.0) -> Iterator[bool]:
    """Lock a file while the code inside runs, and yield whether that succeeded within so many seconds.

    It is for work that only one process may do at a time.

    The lock is an exclusive transaction of SQLite, which works on every system and ends with the process.
    """
    import sqlite3

    own_file(path)
    with closing(sqlite3.connect(path, timeout=seconds, isolation_level=None)) as lock:
        try:
            lock.execute("PRAGMA journal_mode = MEMORY")  # no further file beside it
            lock.execute("BEGIN EXCLUSIVE")
            alone = True
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            alone = False
        yield alone
