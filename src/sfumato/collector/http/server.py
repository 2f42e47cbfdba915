"""The HTTP server under the application, on a thread of its own: where it listens, and what it does not believe."""

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
    """A socket on this machine; one that others can reach only ``anywhere``."""
    host, port = settings.host, settings.port
    if not (settings.anywhere or is_loopback(host)):
        raise ValueError(
            f"--host {host}: others could reach this service and read along; put a proxy with TLS in front of it "
            "and keep it on 127.0.0.1, or say --anywhere where such a proxy runs on another machine"
        )
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address[:2], family=family, backlog=1024)
    except OSError as error:
        taken = "is taken by another program; choose another one with --port"
        said = taken if error.errno == errno.EADDRINUSE else f"cannot be listened on ({error.strerror})"
        raise ValueError(f"{host} port {port} {said}") from None
    listener.setblocking(False)
    return listener


def address_of(listener: socket.socket) -> str:
    """The address of a service on this socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """A server of an application; `start` returns when it answers, `stop` when everything under way is answered.

    No address, user agent or time is written down, and nothing that a client says about others is believed.
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
        """Answer from here on. StoreError: it cannot."""
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
        """Finish what is under way, and end."""
        self.should_exit = True
        self.thread.join()

    def _run(self) -> None:
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
        """Start, and say so to who waits for it."""
        await super().startup(sockets)
        self._answers.set()


class BoundedProtocol(HttpToolsProtocol):
    """Hangs up on a request in which what is not its body has no end, and would be gathered in memory."""

    most: int
    """Bytes that are not the body."""
    beside_body = 0

    def data_received(self, data: bytes) -> None:
        """Count the bytes that came."""
        self.beside_body += len(data)
        super().data_received(data)
        if self.beside_body > self.most:
            self.send_400_response("The headers are too long.")

    def on_body(self, body: bytes) -> None:
        """Count the body out again."""
        self.beside_body -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Begin anew with the next request."""
        self.beside_body = 0
        super().on_message_complete()


class Complaints(logging.Handler):
    """Writes what the server has to say as one of the service's own lines: the last one, without what led to it, and
    the same no more than once a while."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self.log, self.first, self._silent_until = log, "", dict[str, float]()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, unless it was written a moment ago."""
        said = (record.getMessage().strip().splitlines() or [""])[-1]
        self.first = self.first or said
        if time.monotonic() > self._silent_until.get(said, 0.0):
            self._silent_until[said] = time.monotonic() + self.log.settings.complaint_seconds
            self.log.event("server", said=said)
