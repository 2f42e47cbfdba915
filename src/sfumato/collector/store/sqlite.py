"""The embedded store: one SQLite file beside the collector, written by one process.

Write-ahead log with ``synchronous = FULL``: what was committed survives a loss of power. ``secure_delete`` overwrites
what is deleted. Readers do not hold up the writer, nor the writer readers.
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
"""What marks a file as a store: SQLite's application_id ("Sfmc")."""


@cache
def _insert(rows: int) -> str:
    return f"INSERT INTO reports VALUES {', '.join(['(?, ?, ?)'] * rows)} ON CONFLICT DO NOTHING"


class SqliteConnection(Connection):
    """A connection to a file of SQLite."""

    def __init__(self, path: str, settings: Settings) -> None:
        super().__init__(settings)
        self._path, there = path, f"{Path(path).absolute().as_uri()}?mode=rw"
        try:
            self._own = sqlite3.connect(
                there, settings.sqlite_wait_seconds, isolation_level=None, check_same_thread=False, uri=True
            )
            self._file = os.stat(path)
            for setting in (
                "journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "foreign_keys = ON",
                f"cache_size = -{settings.sqlite_cache_kib}", f"wal_autocheckpoint = {settings.sqlite_log_pages}",
                f"journal_size_limit = {settings.sqlite_log_bytes}",
            ):  # fmt: skip
                self._own.execute(f"PRAGMA {setting}")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{path}: {error}; is it a store of sfumato, and may it be written?") from None

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """What is written to a file that has been moved or deleted meanwhile is not written."""
        try:
            done = self._own.execute(sql, values)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.DatabaseError as error:
            raise StoreError(str(error)) from error
        if not self._is_in_place():
            raise StoreError(f"{self._path} was moved, deleted or replaced")
        return done

    def _is_in_place(self) -> bool:
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
                self._own.execute("ROLLBACK")
            raise

    def insert_reports(self, survey: int, rows: Sequence[tuple[bytes, bytes]]) -> int:
        """In statements of 2ⁱ rows: every call of SQLite gives way to the event loop, so there should be few."""
        fresh, start = 0, 0
        while start < len(rows):
            size = min(1 << ((len(rows) - start).bit_length() - 1), self.settings.sqlite_insert_rows)
            values = [value for id, body in rows[start : start + size] for value in (survey, id, body)]
            fresh += self.execute(_insert(size), values).rowcount
            start += size
        return fresh

    def close(self) -> None:
        self._own.close()


class SqliteStore(Store):
    """A file of SQLite."""

    tables = "sqlite.sql"

    def __init__(self, address: str, settings: Settings = DEFAULTS) -> None:
        super().__init__(address.removeprefix("sqlite://"), settings)

    def prepare(self) -> Self:
        """A new file is its owner's alone, and so is a new folder; the files that SQLite adds follow the first."""
        path = Path(self.address)
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            own_file(path)
        self._check_kind(path)
        return super().prepare()

    def _check_kind(self, path: Path) -> None:
        """Look without touching: a database of something else stays as it is."""
        try:
            address, patience = f"{path.absolute().as_uri()}?mode=ro", self.settings.sqlite_wait_seconds
            with closing(sqlite3.connect(address, patience, uri=True)) as found:
                (kind,) = found.execute("PRAGMA application_id").fetchone()
                (tables,) = found.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()
        except sqlite3.Error as error:
            raise StoreError(f"{self.address}: {error}; is it a store of sfumato, and may it be written?") from None
        if tables and kind != KIND:
            raise StoreError(f"{self.address}: is another database, not a store of sfumato; it is left as it is")

    def connect(self) -> SqliteConnection:
        return SqliteConnection(self.address, self.settings)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        beside = Path(f"{Path(self.address).resolve()}.lock")
        try:
            with held_alone(beside) as alone:
                if not alone:
                    raise StoreError(f"{self.address} is served by another process; stop that one first")
                yield
        except sqlite3.Error as error:
            raise StoreError(f"{beside}: {error}") from None

    def tidy(self) -> None:
        """VACUUM copies every table in the order of its keys; the write-ahead log is emptied."""
        with self.connected() as connection:
            connection.execute("VACUUM")
            held_up, *_ = connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0]
            if held_up:
                raise StoreError("somebody reads for long; the write-ahead log is not emptied yet")
            connection.note_tidied(day())

    def version(self, connection: Connection) -> int:
        found = connection.row("PRAGMA user_version")
        return int(found[0]) if found else 0

    def set_version(self, connection: Connection, version: int) -> None:
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute(f"PRAGMA application_id = {KIND}")

    def size(self) -> dict[str, int]:
        parts = {"file": Path(self.address), "log": Path(self.address + "-wal")}
        return {part: path.stat().st_size if path.exists() else 0 for part, path in parts.items()}
