"""Where a collector keeps what it has: SQLite embedded, PostgreSQL to outgrow it."""

from sfumato.collector.store.base import (
    ACCEPTED,
    REFUSED,
    Arrival,
    Connection,
    Kept,
    Store,
    StoreError,
    Survey,
    copy_store,
    day,
    name_of,
    open_store,
)

__all__ = [
    "ACCEPTED", "REFUSED", "Arrival", "Connection", "Kept", "Store", "StoreError", "Survey", "copy_store", "day",
    "name_of", "open_store",
]  # fmt: skip
