"""The database of a collector: one SQLite file, or PostgreSQL where several machines or processes share it."""

from sfumato.collector.store.connection import ACCEPTED, CANARY, REFUSED, Arrival, Connection, StoreError, Survey, day
from sfumato.collector.store.opening import file_of, open_store
from sfumato.collector.store.store import ReconnectingConnection, Store, copy_store, name_of

__all__ = [
    "ACCEPTED", "CANARY", "REFUSED", "Arrival", "Connection", "ReconnectingConnection", "Store", "StoreError", "Survey",
    "copy_store", "day", "file_of", "name_of", "open_store",
]  # fmt: skip
