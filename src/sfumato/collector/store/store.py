"""A store by its address: how it is made, tidied and copied; and a connection that is made anew when it fails."""

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
"""The version of the tables; it changes with the files of SQL."""


class Store(ABC):
    """A database by its address."""

    tables: str
    """The file of SQL, beside this one, that makes the tables."""

    def __init__(self, address: str, settings: Settings = DEFAULTS) -> None:
        self.address, self.settings = address, settings

    @abstractmethod
    def connect(self) -> Connection:
        """A connection of one's own. StoreError: not now."""

    @abstractmethod
    def tidy(self) -> None:
        """Write the tables anew, by their keys: files then show neither the order of arrival nor what is gone."""

    @abstractmethod
    def version(self, connection: Connection) -> int:
        """The version of the tables; 0 for an empty database."""

    @abstractmethod
    def set_version(self, connection: Connection, version: int) -> None:
        """Note the version of the tables."""

    def size(self) -> dict[str, int]:
        """Bytes on disk by part, where that can be told."""
        return {}

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Inside, no other service runs on this store, where only one may. StoreError: another one does."""
        yield

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """A connection that is closed at the end of the block."""
        connection = self.connect()
        try:
            yield connection
        finally:
            connection.close()

    def prepare(self) -> Self:
        """Make the tables where there are none; refuse those of another version."""
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
        """The address without a password."""
        return re.sub(r"(?<=password=)[^&]*", "***", re.sub(r"(://[^:/@]*):.*@", r"\1:***@", self.address))


class ReconnectingConnection:
    """A connection that is kept between calls, and made anew after anything went wrong on it; used by one thread."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._connection: Connection | None = None

    def run(self, work: Callable[[Connection], Any]) -> Any:
        """Do some work; where the store failed, once more on a new connection."""
        try:
            return self._try(work)
        except StoreError:
            return self._try(work)

    def _try(self, work: Callable[[Connection], Any]) -> Any:
        try:
            if self._connection is None:
                self._connection = self.store.connect()
            return work(self._connection)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the next work opens another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()


def copy_store(source: Store, target: Store) -> dict[str, int]:
    """Copy every table as it is at one moment, by its keys, into another, empty store of whichever kind; how many rows
    each. Whoever writes to the source is not held up."""
    with source.connected() as giver, target.connected() as taker, giver.snapshot(), taker.transaction():
        if taker.surveys():
            raise ValueError(f"{target.shown} holds surveys already; restore into an empty store")
        copied = {}
        for table, key in TABLES.items():
            if table == "notes":
                continue
            rows = giver.execute(f"SELECT * FROM {table} ORDER BY {key}")
            copied[table] = 0
            while page := rows.fetchmany(source.settings.page_rows):
                _insert(taker, table, page)
                copied[table] += len(page)
    return copied


def _insert(taker: Connection, table: str, page: Sequence[Row]) -> None:
    if table == "reports":
        for survey, reports in groupby(page, lambda row: int(row[0])):
            taker.insert_reports(survey, [(bytes(id), bytes(body)) for _, id, body in reports])
        return
    for row in page:
        taker.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def name_of(plan: Plan) -> str:
    """A plan's name as it can stand in an address."""
    made = re.sub(r"[^a-z0-9]+", "-", plan.name.lower()).strip("-")[:64].strip("-")
    return made if made and made not in RESERVED else "survey"
