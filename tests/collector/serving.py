"""A collector at work as a process of its own on loopback, which can be killed, and requests to it.

    python -m tests.collector.serving ADDRESS PORT FAULTS PATIENCE JOB

FAULTS is the share of answers that are lost on purpose, half of them before anything is done and half after the commit.
PATIENCE is how many seconds a body may take, JOB how many a job may.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.collector.access import issue_token
from sfumato.collector.store import open_store

ROOT = Path(__file__).parents[2]
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

    def __init__(
        self, address: str, port: int, faults: float = 0.0, patience: float = 10.0, job: float = 3600.0
    ) -> None:
        self.address, self.port, self.settings = address, port, [str(faults), str(patience), str(job)]
        self.process: subprocess.Popen[bytes] | None = None
        self.log = b""
        self._connection: http.client.HTTPConnection | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Running:
        command = [sys.executable, "-m", "tests.collector.serving", self.address, str(self.port), *self.settings]
        path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
        )
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return self
            time.sleep(0.02)
        raise AssertionError(f"the service does not answer: {self.end().decode()}")

    def end(self, how: int = signal.SIGTERM) -> bytes:
        """End the process; what it has logged."""
        assert self.process is not None
        self.hang_up()
        self.process.send_signal(how)
        _, said = self.process.communicate(timeout=60)
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
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = Running(address, port, **settings).start()
    try:
        yield running
    finally:
        if running.process is not None and running.process.poll() is None:
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


def main(address: str, port: int, faults: float, patience: float, job: float) -> None:
    import faulthandler

    import uvicorn

    faulthandler.register(signal.SIGUSR1)  # where it stands, for whoever wonders
    from sfumato.collector import endpoints
    from sfumato.collector.application import application
    from sfumato.collector.service import Service

    endpoints.SECONDS_FOR_BODY = patience
    service = Service(open_store(address))
    service.jobs.seconds = job
    app = application(service)

    async def losing(scope: Any, receive: Any, send: Any) -> None:
        """The application, some of whose answers never arrive."""
        if scope["type"] == "http" and scope["method"] in ("POST", "PUT", "DELETE") and random.random() < faults:
            if random.random() < 0.5:
                raise ConnectionAbortedError("before anything was done")

            async def drop(message: Any) -> None:
                raise ConnectionAbortedError("after the commit")

            await app(scope, receive, drop)
            return
        await app(scope, receive, send)

    settings = {"log_level": "critical" if faults else "warning", "access_log": False, "server_header": False}
    uvicorn.run(losing if faults else app, host="127.0.0.1", port=port, timeout_graceful_shutdown=5, **settings)  # type: ignore[arg-type]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:]))
