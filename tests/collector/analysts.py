"""An analyst at a running service, and the processes that the service has started."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfumato.collector.access import SCOPES
from sfumato.collector.form import ReportForm
from sfumato.collector.store import Arrival, open_store
from tests.collector.serving import PLAN, Answered, Running, reports, token

ENDLESS = {"kind": "audit", "options": {"samples": 100_000_000}}
"""A job that takes longer than any test."""


def until(found: Callable[[], Any], seconds: float = 300) -> Any:
    """What is found, once something is; on a busy machine a job, which gives way to everything, takes its time."""
    end = time.monotonic() + seconds
    while not (what := found()):
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)
    return what


def fill(address: str, number: int) -> None:
    """Reports of as many people, without the way over the wire."""
    form = ReportForm(PLAN)
    with open_store(address).connected() as connection, connection.transaction():
        survey = connection.require_survey("town").number
        connection.take(
            [Arrival(survey, bytes.fromhex(one["id"]), form.pack(one["report"])) for one in reports(number)]
        )


class Analyst:
    """Asks about the survey "town" with a token."""

    def __init__(self, running: Running, *scopes: str) -> None:
        self.running, self.header = running, token(running.address, *(scopes or SCOPES))

    def ask(self, method: str, path: str, body: Any = None) -> Answered:
        return self.running.ask(method, f"/town/api/{path}", body, **self.header)

    def add(self, job: dict[str, Any]) -> str:
        answered = self.ask("POST", "jobs", job)
        assert answered.status == 202, answered.data
        return str(answered.json["id"])

    def job(self, id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("GET", f"jobs/{id}").json
        return found

    def ended(self, id: str) -> dict[str, Any]:
        """The job once it has ended."""
        until(lambda: self.job(id)["state"] not in ("waiting", "running"))
        return self.job(id)

    def under_way(self, id: str) -> int:
        """The process of an audit that has begun to work."""
        until(lambda: self.job(id)["said"].startswith("attacking"))
        return jobs_process(self.running)


def children(running: Running) -> list[int]:
    """The processes that compute for a service, oldest first."""
    assert running.process is not None
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(place.read_text().rpartition(")")[2].split()[1])
            command = (place.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == running.process.pid and b"sfumato.collector.background.worker" in command:
            found.append(int(place.parent.name))
    return sorted(found)


def jobs_process(running: Running) -> int:
    """The newest process; the one that answers questions is older."""
    return children(running)[-1]


def is_alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def strict(data: bytes) -> Any:
    """JSON without NaN and infinities."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(data, parse_constant=refuse)
