"""Run a collector: open its surveys, hold its store, listen, and stop when told to, with nothing left unanswered."""

from __future__ import annotations

import errno
import logging
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sfumato.client.wire import is_loopback
from sfumato.collector.application import application
from sfumato.collector.form import ReportForm
from sfumato.collector.service import SECONDS_BETWEEN_COMPLAINTS, Service
from sfumato.collector.store import Connection, Store, StoreError, Survey, name_of
from sfumato.plan import Plan

MOST_AT_ONCE = 1000
MOST_BESIDE_BODY = 1 << 16
SECONDS_BETWEEN_REQUESTS = 15
SECONDS_TO_FINISH = 10


def opened(
    connection: Connection, plan: Plan, *, name: str = "", keep_days: int | None = None, invited: bool = False
) -> Survey:
    """The survey of a plan as it is in the store, or a new one; what is there under its name must be the same."""
    ReportForm(plan)  # a plan that cannot be collected is refused here
    called = name or name_of(plan)
    found = connection.survey(called)
    if found is None or found.plan.identity != plan.identity:
        return connection.open_survey(called, plan, keep_days=keep_days, invited=invited)
    if invited and not found.invited:
        raise ValueError(f"survey {called!r} is there and open to everybody; invite people to one under another name")
    if keep_days is not None and keep_days != found.keep_days:
        kept = "no number of days" if found.keep_days is None else f"{found.keep_days} days"
        raise ValueError(f"survey {called!r} is there, and keeps its reports for {kept} after its end; that stays so")
    return found


def listen(host: str, port: int, *, anywhere: bool = False) -> socket.socket:
    """A socket on this machine (port 0: a free one); one that others can reach only ``anywhere``."""
    if not (anywhere or is_loopback(host)):
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


def run(store: Store, listener: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until a signal (Ctrl-C, TERM), then finish what is under way; ``ready`` is called once it answers."""
    service = Service(store)
    server = _Server(_settings(service), ready)
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, server.stop)  # the server listens to them itself, and hands them on at its end
    log = logging.getLogger("uvicorn.error")
    log.addHandler(_Said(service))
    log.propagate = False
    server.run(sockets=[listener])
    if not server.ran:
        raise StoreError("the service could not start; what is above says why")


def _settings(service: Service) -> uvicorn.Config:
    """No address, user agent or time is written down, and nothing that a client says about others is believed."""
    return uvicorn.Config(
        application(service), http=_Bounded, lifespan="on", ws="none", log_config=None, log_level="warning",
        access_log=False, server_header=False, proxy_headers=False, limit_concurrency=MOST_AT_ONCE,
        timeout_keep_alive=SECONDS_BETWEEN_REQUESTS, timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )  # fmt: skip


class _Bounded(HttpToolsProtocol):
    """Hangs up on a request in which what is not its body has no end, and would be gathered in memory."""

    beside_body = 0

    def data_received(self, data: bytes) -> None:
        self.beside_body += len(data)
        super().data_received(data)
        if self.beside_body > MOST_BESIDE_BODY:
            self.send_400_response("The headers are too long.")

    def on_body(self, body: bytes) -> None:
        self.beside_body -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.beside_body = 0
        super().on_message_complete()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.ready, self.ran = ready, False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.ran = True
            self.ready()

    def stop(self, signal: int, frame: Any) -> None:
        self.should_exit = True


class _Said(logging.Handler):
    """What the server has to say, as one of the service's own lines: the last one, without what led to it, and the
    same no more than once a minute."""

    def __init__(self, service: Service) -> None:
        super().__init__(logging.WARNING)
        self.service, self.silent_until = service, dict[str, float]()

    def emit(self, record: logging.LogRecord) -> None:
        said = (record.getMessage().strip().splitlines() or [""])[-1]
        if time.monotonic() > self.silent_until.get(said, 0.0):
            self.silent_until[said] = time.monotonic() + SECONDS_BETWEEN_COMPLAINTS
            self.service.log("server", said=said)
