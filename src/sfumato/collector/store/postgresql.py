"""A store in PostgreSQL, which several machines or processes can share; reports are inserted many at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from sfumato.collector.settings import Settings
from sfumato.collector.store.connection import TABLES, Connection, StoreError, day
from sfumato.collector.store.store import Store


class PostgresConnection(Connection):
    """A connection to a database of PostgreSQL, whose commits return when they are on the disk."""

    lock_rows = " FOR SHARE"

    def __init__(self, address: str, settings: Settings) -> None:
        super().__init__(settings)
        psycopg = _psycopg()
        limits = {"statement": settings.postgresql_statement_seconds, "lock": settings.postgresql_lock_seconds}
        timeouts = "".join(f" -c {what}_timeout={1000 * seconds}" for what, seconds in limits.items())  # milliseconds
        try:
            options = psycopg.conninfo.conninfo_to_dict(address).get("options", "")
            self._postgres = psycopg.connect(
                address, autocommit=True, connect_timeout=settings.postgresql_connect_seconds,
                options=f"{options} -c synchronous_commit=on{timeouts}",
                prepare_threshold=2,  # a statement's third run is prepared; psycopg's own default is 5. Judgement
            )  # fmt: skip
        except psycopg.OperationalError as error:
            raise StoreError(f"PostgreSQL cannot be reached ({_first_line(error)}); does it run?") from None
        except psycopg.ProgrammingError:  # it repeats what it cannot read, which may be a password
            raise StoreError("this address of PostgreSQL cannot be read; write % in a password as %25") from None

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        psycopg = _psycopg()
        try:
            return self._postgres.execute(_with_percent_marks(sql), values)
        except psycopg.IntegrityError:
            raise
        except psycopg.Error as error:
            raise StoreError(_first_line(error)) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        psycopg = _psycopg()
        try:
            with self._postgres.transaction():
                yield
        except psycopg.IntegrityError:
            raise
        except psycopg.Error as error:
            raise StoreError(_first_line(error)) from error

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self.transaction():
            self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self.execute(f"LOCK TABLE {', '.join(TABLES)} IN ACCESS SHARE MODE")  # no TRUNCATE, which empties snapshots
            yield

    def insert_reports(self, survey: int, rows: Sequence[tuple[bytes, bytes]]) -> int:
        if not rows:
            return 0
        ids, bodies = zip(*rows, strict=True)
        insert = (
            "INSERT INTO reports SELECT ?, one.id, one.body FROM unnest(?::bytea[], ?::bytea[]) AS one(id, body) "
            "ON CONFLICT DO NOTHING"
        )
        return self.change(insert, survey, list(ids), list(bodies))

    def close(self) -> None:
        self._postgres.close()


class PostgresStore(Store):
    """A store in a database of PostgreSQL; ``address`` is its postgresql://… address."""

    tables = "postgresql.sql"

    def connect(self) -> PostgresConnection:
        return PostgresConnection(self.address, self.settings)

    def tidy(self) -> None:
        """Write every table anew, in the order of its keys and in one transaction.

        PostgreSQL stores with every row the transaction that wrote it, which would tell the order of arrival.
        """
        with self.connected() as connection:
            for table, key in TABLES.items():
                with connection.transaction():
                    connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
                    connection.execute(f"CREATE TEMPORARY TABLE anew ON COMMIT DROP AS SELECT * FROM {table}")
                    connection.execute(f"TRUNCATE {table}")
                    connection.execute(f"INSERT INTO {table} SELECT * FROM anew ORDER BY {key}")
            connection.note_tidied(day())

    def version(self, connection: Connection) -> int:
        # of two collectors that start at once one waits; the lock's number is arbitrary, the same in every version
        connection.execute("SELECT pg_advisory_xact_lock(7307266)")
        if connection.row("SELECT to_regclass('sfumato_version')") == (None,):
            return 0
        row = connection.row("SELECT version FROM sfumato_version")
        return int(row[0]) if row else 0

    def set_version(self, connection: Connection, version: int) -> None:
        connection.execute("DELETE FROM sfumato_version")
        connection.execute("INSERT INTO sfumato_version VALUES (?)", (version,))

    def size(self) -> dict[str, int]:
        with self.connected() as connection:
            row = connection.row("SELECT pg_total_relation_size('reports')")
        return {"file": int(row[0]) if row else 0}


@cache
def _with_percent_marks(sql: str) -> str:
    """Return an SQL statement with %s for values in place of ?, as the driver psycopg wants it."""
    return sql.replace("%", "%%").replace("?", "%s")


@cache
def _psycopg() -> Any:
    """Return the module psycopg, PostgreSQL's driver. StoreError: it is not installed."""
    try:
        import psycopg
    except ImportError:
        raise StoreError("PostgreSQL needs the extra 'postgresql': pip install 'sfumato[postgresql]'") from None
    return psycopg


def _first_line(error: Exception) -> str:
    """Return the first line of an error's message, or the name of its class if it has none."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
