"""A collector at work as a process of its own on loopback, which can be killed, and requests to it.

Services are forks of one process that has imported everything: starting one takes no second.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import random
import secrets
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import sfumato as sf
from sfumato.collector.access import issue_token
from sfumato.collector.store import open_store
from tests.collector.ports import free_port

ROOT = Path(__file__).parents[2]
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__, "psycopg", "uvicorn", "uvloop", "sfumato.collector.serving"])
PLAN = sf.Plan.loads(
    """
name = "town"
[attributes.smokes]
question = "Do you smoke?"
categories = ["yes", "no"]
channel = "randomized-response"
gamma = 19
[attributes.age]
question = "How old are you?"
low = 0
high = 100
integer = true
channel = "square-wave"
gamma = 9
[attributes.group]
categories = ["A", "B"]
role = "class"
"""
)


class Answered:
    """What came back."""

    def __init__(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.status, self.data, self.headers = status, data, headers

    @property
    def json(self) -> Any:
        return json.loads(self.data)


class Running:
    """A service under way; ``ask`` on a connection that is kept."""

    def __init__(self, address: str, port: int, **settings: float) -> None:
        self.address, self.port, self.settings = address, port, settings
        self.process: ForkServerProcess | None = None
        self.log = b""
        self._connection: http.client.HTTPConnection | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Running:
        self._said = NamedTemporaryFile()  # noqa: SIM115
        arguments = (self._said.name, self.address, self.port)
        self.process = FORKS.Process(target=logged, args=arguments, kwargs=self.settings)
        self.process.start()
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.is_alive():
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return self
            time.sleep(0.02)
        raise AssertionError(f"the service does not answer: {self.end().decode()}")

    def end(self, how: int = signal.SIGTERM) -> bytes:
        """End the process; what it has logged."""
        assert self.process is not None and self.process.pid is not None
        self.hang_up()
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, how)
        self.process.join(60)
        assert self.process.exitcode is not None, "the service does not end"
        said = self._said.read()
        self.log += said
        return said

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answered:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        given = {"Content-Type": "application/json", "User-Agent": "tester of answers"} | headers
        for attempt in (1, 2):
            self._connection = self._connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            try:
                self._connection.request(method, path, data, given)
                found = self._connection.getresponse()
                return Answered(found.status, found.read(), {name.lower(): value for name, value in found.getheaders()})
            except (OSError, http.client.HTTPException):
                self.hang_up()
                if attempt == 2:
                    raise
        raise AssertionError

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


@contextmanager
def serving(address: str, *, invited: bool = False, plan: sf.Plan = PLAN, **settings: float) -> Iterator[Running]:
    """A service of a store on a free port, with a survey already open."""
    with open_store(address).connected() as connection, connection.transaction():
        connection.open_survey("town", plan, invited=invited)
    running = Running(address, free_port(), **settings).start()
    try:
        yield running
    finally:
        if running.process is not None and running.process.is_alive():
            running.end()


def token(address: str, *scopes: str) -> dict[str, str]:
    """The header of an analyst who may do this."""
    with open_store(address).connected() as connection, connection.transaction():
        return {"Authorization": f"Bearer {issue_token(connection, None, scopes)}"}


def reports(number: int, seed: int = 1) -> list[dict[str, Any]]:
    """Reports of as many people, each under an id of its own."""
    chance = random.Random(seed)
    space = PLAN.attributes["age"].channel
    assert space is not None
    outputs = space.level(None).outputs
    return [
        {
            "id": secrets.token_hex(16),
            "report": {
                "smokes": chance.choice(["yes", "no"]),
                "age": outputs.value_of(chance.randrange(outputs.size)),
                "group": chance.choice("AB"),
            },
        }
        for _ in range(number)
    ]


def batch(*given: dict[str, Any], plan: str = PLAN.identity) -> dict[str, Any]:
    return {"plan": plan, "reports": list(given)}


def logged(log: str, address: str, port: int, **settings: float) -> None:
    """A service that writes into a file what it says."""
    with open(log, "ab") as file:
        os.dup2(file.fileno(), 2)
    main(address, port, **settings)


def main(address: str, port: int, faults: float = 0.0, **settings: Any) -> None:
    """Serve. ``faults``: the share of answers that are lost on purpose, half of them before anything is done and half
    after the commit; ``settings``: those of the collector."""
    import faulthandler

    faulthandler.register(signal.SIGUSR1)  # where it stands, for whoever wonders
    from sfumato.collector import Settings, serving, start

    application = serving.application
    if faults:
        serving.application = lambda service: Losing(application(service), faults)
    with start((), address, Settings(port=port, token=False, signals=True, finish_seconds=5, **settings)) as running:
        running.wait()


class Losing:
    """An application, some of whose answers never arrive."""

    def __init__(self, app: Any, faults: float) -> None:
        self.app, self.faults = app, faults

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["method"] in ("POST", "PUT", "DELETE") and random.random() < self.faults:
            if random.random() < 0.5:
                raise ConnectionAbortedError("before anything was done")

            async def drop(message: Any) -> None:
                raise ConnectionAbortedError("after the commit")

            await self.app(scope, receive, drop)
            return
        await self.app(scope, receive, send)
