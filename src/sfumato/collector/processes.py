"""Processes beside the service, which compute for it: whatever they do, reports come first.

Each reads the store itself and is asked in lines (`work`). It is niced, has one thread, and ends when the service does,
however that ends. One is kept for analysts' questions; a job and an export have one of their own.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from sfumato.collector.messages import RefusedError
from sfumato.collector.store import Connection, StoreError, Survey
from sfumato.collector.work import STORE

if TYPE_CHECKING:
    from sfumato.collector.service import Served, Service

SECONDS_OF_AN_ANSWER = 300
SECONDS_FRESH = 2.0
REST = 4
"""After an answer that took long, as many times as long nothing is computed for the same question."""
MOST_WAITING, MOST_KEPT, MOST_EXPORTS = 16, 64, 2
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")}


class EndedError(Exception):
    """The process has ended, or has answered that it could not; nothing is known of the answer."""


class Child:
    """A process of `work`; it has the store's address in its environment, where other users cannot read it."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, address: str) -> Child:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sfumato.collector.work", stdin=PIPE, stdout=PIPE, stderr=DEVNULL,
            env={**os.environ, **ONE_THREAD, STORE: address}, start_new_session=True,
        )  # fmt: skip
        return cls(process)

    async def ask(self, do: str, **given: Any) -> int:
        """How many bytes the answer has. ValueError: it was refused, with this sentence."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **given}).encode() + b"\n")
            await self._process.stdin.drain()
            line = await self._process.stdout.readline()
        except (ConnectionError, RuntimeError):  # uvloop's word for a pipe that it has closed already
            line = b""
        if not line.endswith(b"\n"):
            raise EndedError("killed")
        head: dict[str, Any] = json.loads(line)
        if "refused" in head:
            raise ValueError(head["refused"])
        if "store" in head:
            raise StoreError(head["store"])
        if "failed" in head:
            raise EndedError(head["failed"])
        return int(head["size"])

    async def read(self, most: int) -> bytes:
        """The next bytes of an answer."""
        assert self._process.stdout is not None
        return await self._process.stdout.read(most)

    async def answer(self, do: str, **given: Any) -> bytes:
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.readexactly(await self.ask(do, **given))
        except asyncio.IncompleteReadError:
            raise EndedError("killed") from None

    async def end(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


class Views:
    """A process that answers analysts' questions, started when it is first asked and replaced when it fails."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.exporting = asyncio.Semaphore(MOST_EXPORTS)
        self._child: Child | None = None
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._under_way: dict[Any, asyncio.Task[bytes]] = {}
        self._kept: dict[Any, tuple[float, Any, bytes]] = {}

    async def ask(self, do: str, **given: Any) -> bytes:
        """An answer of the process. ValueError: it was refused."""
        if self._waiting >= MOST_WAITING:
            raise RefusedError("busy")
        self._waiting += 1
        try:
            async with self._lock:
                return await self._answer(do, given)
        finally:
            self._waiting -= 1

    async def _answer(self, do: str, given: Mapping[str, Any]) -> bytes:
        try:
            async with asyncio.timeout(SECONDS_OF_AN_ANSWER):
                self._child = self._child or await Child.start(self.service.store.address)
                return await self._child.answer(do, **given)
        except (EndedError, TimeoutError):
            await self.stop()
            raise RefusedError("busy", "this could not be computed; ask again later") from None
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def told(self, served: Served, do: str, **given: Any) -> bytes:
        """The same for a figure of a survey: kept as long as nothing has changed, computed once for all who ask."""
        key = (do, served.survey.number, *sorted(given.items()))
        until, _, found = self._kept.get(key, (0.0, None, b""))
        if time.monotonic() < until:
            return found
        if key not in self._under_way:
            self._under_way[key] = asyncio.create_task(self._renewed(key, served, do, given))
            self._under_way[key].add_done_callback(lambda _: self._under_way.pop(key))
        return await asyncio.shield(self._under_way[key])

    async def _renewed(self, key: Any, served: Served, do: str, given: Mapping[str, Any]) -> bytes:
        began = time.monotonic()
        now = await self.service.reader.run(partial(_stamp, survey=served.survey))
        _, stamp, found = self._kept.pop(key, (0.0, None, b""))
        if now != stamp:
            found = await self.ask(do, survey=served.survey.name, **given)
        ended = time.monotonic()
        self._kept[key] = (ended + max(SECONDS_FRESH, REST * (ended - began)), now, found)
        for old in list(self._kept)[:-MOST_KEPT]:
            del self._kept[old]
        return found

    async def stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.end()


def _stamp(connection: Connection, survey: Survey) -> Any:
    """Another one when a figure may be another."""
    jobs = [(job["id"], job["state"], job["said"]) for job in connection.jobs(survey.number)]
    invitations = connection.invitations(survey.number) if survey.invited else None
    return connection.tallies(survey.number), jobs, invitations, survey.revision
