"""PostgreSQL, for more than one machine or process: the same tables, many reports in one statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from sfumato.collector.settings import Settings
from sfumato.collector.store.connection import TABLES, Connection, StoreError, day
from sfumato.collector.store.store import Store


class PostgresConnection(Connection):
    """A connection to PostgreSQL."""

    lock_rows = " FOR SHARE"

    def __init__(self, address: str, settings: Settings) -> None:
        super().__init__(settings)
        psycopg = _psycopg()
        times = {"statement": settings.postgresql_statement_seconds, "lock": settings.postgresql_lock_seconds}
        own = "".join(f" -c {what}_timeout={1000 * seconds}" for what, seconds in times.items())
        try:
            given = psycopg.conninfo.conninfo_to_dict(address).get("options", "")
            self._own = psycopg.connect(
                address, autocommit=True, connect_timeout=settings.postgresql_connect_seconds,
                options=f"{given} -c synchronous_commit=on{own}", prepare_threshold=2,
            )  # fmt: skip
        except psycopg.OperationalError as error:
            raise StoreError(f"PostgreSQL cannot be reached ({_first_line(error)}); does it run?") from None
        except psycopg.ProgrammingError:  # it repeats what it cannot read, which may be a password
            raise StoreError("this address of PostgreSQL cannot be read; write % in a password as %25") from None

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        psycopg = _psycopg()
        try:
            return self._own.execute(_marked(sql), values)
        except psycopg.IntegrityError:
            raise
        except psycopg.Error as error:
            raise StoreError(_first_line(error)) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        psycopg = _psycopg()
        try:
            with self._own.transaction():
                yield
        except psycopg.IntegrityError:
            raise
        except psycopg.Error as error:
            raise StoreError(_first_line(error)) from error

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self.transaction():
            self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self.execute(f"LOCK TABLE {', '.join(TABLES)} IN ACCESS SHARE MODE")  # TRUNCATE empties older snapshots
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
        self._own.close()


class PostgresStore(Store):
    """A database of PostgreSQL."""

    tables = "postgresql.sql"

    def connect(self) -> PostgresConnection:
        return PostgresConnection(self.address, self.settings)

    def tidy(self) -> None:
        """Write every table anew in one transaction: all rows then have the same one, in the order of their keys."""
        with self.connected() as connection:
            for table, key in TABLES.items():
                with connection.transaction():
                    connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
                    connection.execute(f"CREATE TEMPORARY TABLE anew ON COMMIT DROP AS SELECT * FROM {table}")
                    connection.execute(f"TRUNCATE {table}")
                    connection.execute(f"INSERT INTO {table} SELECT * FROM anew ORDER BY {key}")
            connection.note_tidied(day())

    def version(self, connection: Connection) -> int:
        connection.execute("SELECT pg_advisory_xact_lock(7307266)")  # of two collectors that start at once one waits
        if connection.row("SELECT to_regclass('sfumato_version')") == (None,):
            return 0
        found = connection.row("SELECT version FROM sfumato_version")
        return int(found[0]) if found else 0

    def set_version(self, connection: Connection, version: int) -> None:
        connection.execute("DELETE FROM sfumato_version")
        connection.execute("INSERT INTO sfumato_version VALUES (?)", (version,))

    def size(self) -> dict[str, int]:
        with self.connected() as connection:
            found = connection.row("SELECT pg_total_relation_size('reports')")
        return {"file": int(found[0]) if found else 0}


@cache
def _marked(sql: str) -> str:
    """psycopg's marks for values."""
    return sql.replace("%", "%%").replace("?", "%s")


@cache
def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise StoreError("PostgreSQL needs the extra 'postgresql': pip install 'sfumato[postgresql]'") from None
    return psycopg


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
