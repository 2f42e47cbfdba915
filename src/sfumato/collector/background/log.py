"""The log of a service: a line of JSON for what the service does itself, none for a request."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec

from sfumato.collector.store import StoreError, day


def print_line(facts: dict[str, Any]) -> None:
    """Print a line of JSON to stderr."""
    print(msgspec.json.encode(facts).decode(), file=sys.stderr, flush=True)


class Log:
    """Events with their day, and no finer time; ``write`` takes each as plain data."""

    def __init__(self, complaint_seconds: float, write: Callable[[dict[str, Any]], None] = print_line) -> None:
        self.complaint_seconds, self.write = complaint_seconds, write
        self._failures, self._last_complaint = 0, -math.inf

    def event(self, name: str, **facts: Any) -> None:
        """Write one line."""
        self.write({"event": name, "day": day(), **facts})

    def store_failed(self, error: StoreError) -> None:
        """Write a line about a store that fails, no more than one a while: a line a request would tell when they come,
        and whoever reads lines slowly would hold up everybody."""
        self._failures += 1
        if time.monotonic() - self._last_complaint > self.complaint_seconds:
            self.event("store", said=str(error), failures=self._failures)
            self._last_complaint, self._failures = time.monotonic(), 0
