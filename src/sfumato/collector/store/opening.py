"""Open the store at an address: the path of a SQLite file, or postgresql://…"""

from __future__ import annotations

import re
from pathlib import Path

from sfumato.collector.settings import DEFAULTS, Settings
from sfumato.collector.store.sqlite import SqliteStore
from sfumato.collector.store.store import Store


def open_store(address: str, settings: Settings = DEFAULTS) -> Store:
    """Open the store (a collector's database) at an address, and make its tables if it has none.

    ``address``: postgresql://… or the path of a SQLite file.
    """
    if file_of(address) is None:
        from sfumato.collector.store.postgresql import PostgresStore

        return PostgresStore(address, settings).prepare()
    return SqliteStore(address, settings).prepare()


def file_of(address: str) -> Path | None:
    """Return the path of the file of a store in SQLite; None if the address is one of PostgreSQL."""
    return None if re.match(r"postgres(ql)?://", address) else Path(address.removeprefix("sqlite://"))
