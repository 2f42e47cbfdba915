"""A port for a service that is started a moment later."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress


def free_port() -> int:
    """Below those that the system hands to connections, of which one could take it before the service does."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
