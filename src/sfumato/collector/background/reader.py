"""The thread that reads from the store, so that the event loop does not wait for the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sfumato.collector.store import Connection, ReconnectingConnection, Store


class Reader:
    """A thread with a connection to the store of its own, on which functions that read are called in turn."""

    def __init__(self, store: Store) -> None:
        self._connection = ReconnectingConnection(store)
        self._thread = ThreadPoolExecutor(1, "reader")

    async def run(self, work: Callable[[Connection], Any]) -> Any:
        """Call a function that only reads with the connection, on the thread; return its result.

        ``work``: the function.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._connection.run, work)

    def stop(self) -> None:
        """Close the connection and end the thread."""
        self._thread.submit(self._connection.close)
        self._thread.shutdown()
