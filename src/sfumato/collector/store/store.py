"""The base class of both kinds of store, a connection that is renewed when it fails, and copies of whole stores."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from itertools import groupby
from typing import Any, Self

from sfumato.collector.settings import DEFAULTS, Settings
from sfumato.collector.store.connection import RESERVED, TABLES, Connection, Row, StoreError
from sfumato.plan import Plan

SCHEMA = 1
"""The version of the tables; it grows by one with every change to sqlite.sql and postgresql.sql."""


class Store(ABC):
    """A database that holds a collector's surveys and reports, named by its address."""

    tables: str
    """The name of the SQL file in this folder that makes the tables."""

    def __init__(self, address: str, settings: Settings = DEFAULTS) -> None:
        self.address, self.settings = address, settings

    @abstractmethod
    def connect(self) -> Connection:
        """Return a new connection to the database. StoreError: it cannot be reached."""

    @abstractmethod
    def tidy(self) -> None:
        """Write the tables anew by their keys, so that files show neither the order of arrival nor what was deleted."""

    @abstractmethod
    def version(self, connection: Connection) -> int:
        """Return the version of the tables in the database, a number; 0 if it has no tables yet."""

    @abstractmethod
    def set_version(self, connection: Connection, version: int) -> None:
        """Write the version of the tables into the database."""

    def size(self) -> dict[str, int]:
        """Return the bytes on disk by part, for instance of the file and the log; empty if they cannot be read."""
        return {}

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the store for one service during the block. StoreError: another service holds it.

        PostgreSQL's stores may be shared by several services, which all may enter.
        """
        yield

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """Open a connection for a with block, and close it at its end."""
        connection = self.connect()
        try:
            yield connection
        finally:
            connection.close()

    def prepare(self) -> Self:
        """Make the tables if the database has none; return the store. StoreError: the tables have another version."""
        with self.connected() as connection, connection.transaction():
            version = self.version(connection)
            if version not in (0, SCHEMA):
                raise StoreError(f"{self.shown} is of version {version}, this one reads {SCHEMA}; update sfumato")
            if version == 0:
                for statement in (files(__package__) / self.tables).read_text(encoding="utf-8").strip().split(";\n"):
                    connection.execute(statement)
                self.set_version(connection, SCHEMA)
        return self

    @property
    def shown(self) -> str:
        """The address with *** in place of its password, for messages."""
        return re.sub(r"(?<=password=)[^&]*", "***", re.sub(r"(://[^:/@]*):.*@", r"\1:***@", self.address))


class ReconnectingConnection:
    """A connection to a store that is kept between calls and opened anew after any error on it; used by one thread."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._connection: Connection | None = None

    def run(self, work: Callable[[Connection], Any]) -> Any:
        """Call a function with the connection, and once more with a new one if the store fails; return its result.

        ``work``: the function.
        """
        try:
            return self._try(work)
        except StoreError:
            return self._try(work)

    def _try(self, work: Callable[[Connection], Any]) -> Any:
        """Call a function with the open connection or a new one, and close the connection after any error."""
        try:
            if self._connection is None:
                self._connection = self.store.connect()
            return work(self._connection)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the next call of `run` opens another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()


def copy_store(source: Store, target: Store) -> dict[str, int]:
    """Copy every table of a store, as it is at one moment, into an empty store of either kind.

    Returns the number of rows copied, by table. Rows are copied in the order of their keys; others can write to
    ``source`` meanwhile. ValueError: ``target`` has surveys.
    """
    with source.connected() as reading, target.connected() as writing, reading.snapshot(), writing.transaction():
        if writing.surveys():
            raise ValueError(f"{target.shown} holds surveys already; restore into an empty store")
        copied = {}
        for table, key in TABLES.items():
            if table == "notes":
                continue
            rows = reading.execute(f"SELECT * FROM {table} ORDER BY {key}")
            copied[table] = 0
            while page := rows.fetchmany(source.settings.page_rows):
                _insert(writing, table, page)
                copied[table] += len(page)
    return copied


def _insert(connection: Connection, table: str, rows: Sequence[Row]) -> None:
    """Insert rows into a table of a store; rows of the table of reports many at a time."""
    if table == "reports":
        for survey, reports in groupby(rows, lambda row: int(row[0])):
            connection.insert_reports(survey, [(bytes(id), bytes(body)) for _, id, body in reports])
        return
    for row in rows:
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def name_of(plan: Plan) -> str:
    """Return a name for a survey, made from its plan's: small letters and digits, with hyphens for all else.

    "survey" where nothing is left, or where the collector has such an address itself.
    """
    name = re.sub(r"[^a-z0-9]+", "-", plan.name.lower()).strip("-")[:64].strip("-")  # 64: as connection.NAME
    return name if name and name not in RESERVED else "survey"
