"""The HTTP server of a collector, on a thread of its own: where it listens, how long headers may be, what it logs."""

from __future__ import annotations

import errno
import logging
import socket
import threading
import time
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sfumato.client.wire import is_loopback
from sfumato.collector.background.log import Log
from sfumato.collector.settings import Settings
from sfumato.collector.store import StoreError


def listen(settings: Settings) -> socket.socket:
    """Open the socket of the settings' host and port, on which the service takes connections.

    ValueError: other machines could reach it and ``anywhere`` is not set, or it cannot be listened on.
    """
    host, port = settings.host, settings.port
    if not (settings.anywhere or is_loopback(host)):
        raise ValueError(
            f"--host {host}: others could reach this service and read along; put a proxy with TLS in front of it "
            "and keep it on 127.0.0.1, or say --anywhere where such a proxy runs on another machine"
        )
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # connections that may wait to be accepted: as many as Settings.connections; Linux caps it at its somaxconn
        listener = socket.create_server(address[:2], family=family, backlog=1024)
    except OSError as error:
        taken = "is taken by another program; choose another one with --port"
        reason = taken if error.errno == errno.EADDRINUSE else f"cannot be listened on ({error.strerror})"
        raise ValueError(f"{host} port {port} {reason}") from None
    listener.setblocking(False)
    return listener


def address_of(listener: socket.socket) -> str:
    """Return the URL of a service that listens on this socket, such as http://127.0.0.1:8000."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """An HTTP server that runs an application on a thread; it writes no access log.

    X-Forwarded headers are ignored, by which a client could claim to have another address.
    """

    def __init__(self, app: ASGIApp, listener: socket.socket, log: Log, settings: Settings) -> None:
        protocol = type("Bounded", (BoundedProtocol,), {"most": settings.header_bytes})
        super().__init__(uvicorn.Config(
            app, http=protocol, lifespan="on", ws="none", log_config=None, log_level="warning",
            access_log=False, server_header=False, proxy_headers=False, limit_concurrency=settings.connections,
            timeout_keep_alive=settings.idle_seconds, timeout_graceful_shutdown=settings.finish_seconds,
        ))  # fmt: skip
        self.listener, self._complaints = listener, Complaints(log)
        self._answers = threading.Event()
        self.thread = threading.Thread(target=self._run, name="server", daemon=True)

    def start(self) -> None:
        """Start the server's thread, and return when it answers requests. StoreError: it could not start."""
        self.thread.start()
        try:
            self._answers.wait()
        except BaseException:  # Ctrl-C
            self.stop()
            raise
        if not self.started:
            self.thread.join()
            raise StoreError(f"the service could not start: {self._complaints.first or 'its log says why'}")

    def stop(self) -> None:
        """Answer the requests under way, and end the server's thread."""
        self.should_exit = True
        self.thread.join()

    def _run(self) -> None:
        """Run the server until it is stopped, with its warnings in the service's log; close the socket at its end."""
        logger = logging.getLogger("uvicorn.error")
        logger.addHandler(self._complaints)
        logger.propagate = False
        try:
            with suppress(SystemExit):  # it cannot start, and has said why
                self.run(sockets=[self.listener])
        finally:
            logger.removeHandler(self._complaints)
            self.listener.close()
            self._answers.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application and the listening, and then let `start`, which waits for it, return."""
        await super().startup(sockets)
        self._answers.set()


class BoundedProtocol(HttpToolsProtocol):
    """The HTTP protocol of a connection, with a limit on the bytes of a request that are not its body.

    Those bytes, the headers, would else be gathered in memory without end.
    """

    most: int
    """The limit in bytes; a longer request is answered with 400 and its connection closed."""
    beside_body = 0
    """The bytes of the present request beside its body, so far."""

    def data_received(self, data: bytes) -> None:
        """Count the bytes that came and pass them on; refuse the request if too many of them are not its body."""
        self.beside_body += len(data)
        super().data_received(data)
        if self.beside_body > self.most:
            self.send_400_response("The headers are too long.")

    def on_body(self, body: bytes) -> None:
        """Take bytes of the body off the count of bytes that are limited, since only those beside the body are.

        Pass them on.
        """
        self.beside_body -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Set the count of bytes beside the body to 0 at a request's end, for the next one on this connection."""
        self.beside_body = 0
        super().on_message_complete()


class Complaints(logging.Handler):
    """A logging handler that writes the HTTP server's warnings into the service's log.

    Of a warning it writes the last line, without a traceback, and the same line once in ``complaint_seconds`` at most.
    """

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self.log, self.first, self._silent_until = log, "", dict[str, float]()

    def emit(self, record: logging.LogRecord) -> None:
        """Write the last line of a log record into the service's log, unless it was written a moment ago."""
        line = (record.getMessage().strip().splitlines() or [""])[-1]
        self.first = self.first or line
        if time.monotonic() > self._silent_until.get(line, 0.0):
            self._silent_until[line] = time.monotonic() + self.log.settings.complaint_seconds
            self.log.event("server", said=line)
