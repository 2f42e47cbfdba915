"""Where a collector keeps what it has: SQLite embedded, PostgreSQL to outgrow it."""

from sfumato.collector.store.base import Kept, Store, copy_store, file_of, name_of, open_store
from sfumato.collector.store.connection import ACCEPTED, REFUSED, Arrival, Connection, StoreError, Survey, day

__all__ = [
    "ACCEPTED", "REFUSED", "Arrival", "Connection", "Kept", "Store", "StoreError", "Survey", "copy_store", "day",
    "file_of", "name_of", "open_store",
]  # fmt: skip
