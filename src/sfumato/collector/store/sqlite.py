"""A store in one SQLite file on the collector's machine, written by one process at a time.

The pragmas that every connection sets: ``journal_mode = WAL`` lets readers and the writer work at the same time;
``synchronous = FULL`` makes a commit survive a loss of power; ``secure_delete`` overwrites what is deleted.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

from sfumato.collector.settings import DEFAULTS, Settings
from sfumato.collector.store.connection import Connection, StoreError, day
from sfumato.collector.store.store import Store
from sfumato.tables.files import held_alone, own_file

KIND = 0x53666D63
"""SQLite's application_id of a store, by which other databases are told from it: the letters "Sfmc" in ASCII."""


@cache
def _insert_statement(rows: int) -> str:
    """Return the SQL statement that inserts ``rows`` reports at once."""
    return f"INSERT INTO reports VALUES {', '.join(['(?, ?, ?)'] * rows)} ON CONFLICT DO NOTHING"


class SqliteConnection(Connection):
    """A connection to a SQLite file that is there already; ``path`` is the file."""

    def __init__(self, path: str, settings: Settings) -> None:
        super().__init__(settings)
        self._path, address = path, f"{Path(path).absolute().as_uri()}?mode=rw"
        try:
            self._sqlite = sqlite3.connect(
                address, settings.sqlite_wait_seconds, isolation_level=None, check_same_thread=False, uri=True
            )
            self._file = os.stat(path)
            for setting in (
                "journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "foreign_keys = ON",
                f"cache_size = -{settings.sqlite_cache_kib}", f"wal_autocheckpoint = {settings.sqlite_log_pages}",
                f"journal_size_limit = {settings.sqlite_log_bytes}",
            ):  # fmt: skip
                self._sqlite.execute(f"PRAGMA {setting}")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{path}: {error}; is it a store of sfumato, and may it be written?") from None

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Run one SQL statement; StoreError if it fails, or if the file has been moved, deleted or replaced."""
        try:
            cursor = self._sqlite.execute(sql, values)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.DatabaseError as error:
            raise StoreError(str(error)) from error
        if not self._is_in_place():
            raise StoreError(f"{self._path} was moved, deleted or replaced")
        return cursor

    def _is_in_place(self) -> bool:
        """Return whether the path still leads to the file that was opened, not to a copy or to none."""
        with suppress(OSError):
            return os.path.samestat(os.stat(self._path), self._file)
        return False

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self.transaction("BEGIN"):
            yield

    @contextmanager
    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
        self.execute(begin)
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._sqlite.execute("ROLLBACK")
            raise

    def insert_reports(self, survey: int, rows: Sequence[tuple[bytes, bytes]]) -> int:
        """Insert (id, body) pairs in statements of 2ⁱ rows; return how many ids were new.

        Each call of SQLite hands the interpreter to the thread of the event loop, so that there should be few calls;
        with powers of two there are few different statements, which SQLite keeps prepared.
        """
        inserted, start = 0, 0
        while start < len(rows):
            size = min(1 << ((len(rows) - start).bit_length() - 1), self.settings.sqlite_insert_rows)
            values = [value for id, body in rows[start : start + size] for value in (survey, id, body)]
            inserted += self.execute(_insert_statement(size), values).rowcount
            start += size
        return inserted

    def close(self) -> None:
        self._sqlite.close()


class SqliteStore(Store):
    """A store in a SQLite file; ``address`` is its path, with or without sqlite:// before it."""

    tables = "sqlite.sql"

    def __init__(self, address: str, settings: Settings = DEFAULTS) -> None:
        super().__init__(address.removeprefix("sqlite://"), settings)

    def prepare(self) -> Self:
        """Make the file and its tables if they are missing; return the store.

        Only the owner can read a new file and a new folder; SQLite gives the files that it adds the same rights.
        """
        path = Path(self.address)
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            own_file(path)
        self._check_kind(path)
        return super().prepare()

    def _check_kind(self, path: Path) -> None:
        """Raise a StoreError if the file is another program's database; it is opened for reading only."""
        try:
            address, timeout = f"{path.absolute().as_uri()}?mode=ro", self.settings.sqlite_wait_seconds
            with closing(sqlite3.connect(address, timeout, uri=True)) as database:
                (kind,) = database.execute("PRAGMA application_id").fetchone()
                (tables,) = database.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()
        except sqlite3.Error as error:
            raise StoreError(f"{self.address}: {error}; is it a store of sfumato, and may it be written?") from None
        if tables and kind != KIND:
            raise StoreError(f"{self.address}: is another database, not a store of sfumato; it is left as it is")

    def connect(self) -> SqliteConnection:
        return SqliteConnection(self.address, self.settings)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        lock = Path(f"{Path(self.address).resolve()}.lock")
        try:
            with held_alone(lock) as alone:
                if not alone:
                    raise StoreError(f"{self.address} is served by another process; stop that one first")
                yield
        except sqlite3.Error as error:
            raise StoreError(f"{lock}: {error}") from None

    def tidy(self) -> None:
        """Write every table anew in the order of its keys, by VACUUM, and empty the write-ahead log."""
        with self.connected() as connection:
            connection.execute("VACUUM")
            blocked, *_ = connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0]
            if blocked:
                raise StoreError("somebody reads for long; the write-ahead log is not emptied yet")
            connection.note_tidied(day())

    def version(self, connection: Connection) -> int:
        row = connection.row("PRAGMA user_version")
        return int(row[0]) if row else 0

    def set_version(self, connection: Connection, version: int) -> None:
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute(f"PRAGMA application_id = {KIND}")

    def size(self) -> dict[str, int]:
        parts = {"file": Path(self.address), "log": Path(self.address + "-wal")}
        return {part: path.stat().st_size if path.exists() else 0 for part, path in parts.items()}
