"""The log of a service: a line of JSON on stderr for what the service does itself, none for a request."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import msgspec

from sfumato.collector.settings import Settings
from sfumato.collector.store import StoreError, day


class Log:
    """The log of a service: lines of JSON with their day in UTC; a finer time would tell when reports came."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._failures, self._last_complaint = 0, -math.inf

    def event(self, name: str, **facts: Any) -> None:
        """Write one line of JSON to stderr, unless the settings switch that off: an event's name, day, and facts."""
        if self.settings.log:
            line = msgspec.json.encode({"event": name, "day": day(), **facts})
            print(line.decode(), file=sys.stderr, flush=True)

    def store_failed(self, error: StoreError) -> None:
        """Write a line about a failure of the store and how many came since, at most one in ``complaint_seconds``."""
        self._failures += 1
        if time.monotonic() - self._last_complaint > self.settings.complaint_seconds:
            self.event("store", said=str(error), failures=self._failures)
            self._last_complaint, self._failures = time.monotonic(), 0
