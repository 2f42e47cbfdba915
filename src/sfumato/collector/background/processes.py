"""Processes beside the service, which compute for it: whatever they do, reports come first.

Each reads the store itself and is asked in lines (`worker`). It is niced, has one thread, and ends when the service
does, however that ends. One is kept for analysts' questions; a job and an export have one of their own.
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
from dataclasses import asdict
from functools import partial
from typing import Any

from sfumato.collector.background.reader import Reader
from sfumato.collector.background.worker import SETTINGS, STORE
from sfumato.collector.refusals import RefusedError
from sfumato.collector.settings import Settings
from sfumato.collector.store import Connection, StoreError, Survey

ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")}


class EndedError(Exception):
    """The process has ended, or has answered that it could not; nothing is known of the answer."""


class WorkerProcess:
    """A process of `worker`; it has the store's address in its environment, where other users cannot read it."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, address: str, settings: Settings) -> WorkerProcess:
        """Start one that reads the store at this address."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sfumato.collector.background.worker", stdin=PIPE, stdout=PIPE, stderr=DEVNULL,
            env={**os.environ, **ONE_THREAD, STORE: address, SETTINGS: json.dumps(asdict(settings))},
            start_new_session=True,
        )  # fmt: skip
        return cls(process)

    async def request(self, do: str, **given: Any) -> int:
        """Ask for one of the worker's ``REQUESTS``; how many bytes the answer has. ValueError: it was refused, with
        this sentence."""
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
        """Ask, and read the whole answer."""
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.readexactly(await self.request(do, **given))
        except asyncio.IncompleteReadError:
            raise EndedError("killed") from None

    async def end(self) -> None:
        """Kill it."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


class Figures:
    """Figures for analysts: one process computes them, started when it is first asked and replaced when it fails."""

    def __init__(self, address: str, reader: Reader, settings: Settings) -> None:
        self.address, self.reader, self.settings = address, reader, settings
        self.exports = asyncio.Semaphore(settings.exports)
        self._process: WorkerProcess | None = None
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._under_way: dict[Any, asyncio.Task[bytes]] = {}
        self._cache: dict[Any, tuple[float, Any, bytes]] = {}

    async def compute(self, do: str, **given: Any) -> bytes:
        """An answer of the process. ValueError: it was refused."""
        if self._waiting >= self.settings.waiting_figures:
            raise RefusedError("busy")
        self._waiting += 1
        try:
            async with self._lock:
                return await self._answer(do, given)
        finally:
            self._waiting -= 1

    async def _answer(self, do: str, given: Mapping[str, Any]) -> bytes:
        try:
            async with asyncio.timeout(self.settings.answer_seconds):
                self._process = self._process or await self.new_process()
                return await self._process.answer(do, **given)
        except (EndedError, TimeoutError):
            await self.stop()
            raise RefusedError("busy", "this could not be computed; ask again later") from None
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def new_process(self) -> WorkerProcess:
        """Another process of the same kind; whoever asked for it ends it."""
        return await WorkerProcess.start(self.address, self.settings)

    async def figure(self, survey: Survey, do: str, **given: Any) -> bytes:
        """A figure of a survey: kept as long as nothing has changed, computed once for all who ask."""
        key = (do, survey.number, *sorted(given.items()))
        until, _, answer = self._cache.get(key, (0.0, None, b""))
        if time.monotonic() < until:
            return answer
        if key not in self._under_way:
            self._under_way[key] = asyncio.create_task(self._renew(key, survey, do, given))
            self._under_way[key].add_done_callback(lambda _: self._under_way.pop(key))
        return await asyncio.shield(self._under_way[key])

    async def _renew(self, key: Any, survey: Survey, do: str, given: Mapping[str, Any]) -> bytes:
        began = time.monotonic()
        now = await self.reader.run(partial(_stamp, survey=survey))
        _, stamp, answer = self._cache.pop(key, (0.0, None, b""))
        if now != stamp:
            answer = await self.compute(do, survey=survey.name, **given)
        ended = time.monotonic()
        fresh = max(self.settings.fresh_seconds, self.settings.rest * (ended - began))
        self._cache[key] = (ended + fresh, now, answer)
        for old in list(self._cache)[: -self.settings.cached_figures]:
            del self._cache[old]
        return answer

    async def stop(self) -> None:
        """End the process; the next question starts another one."""
        process, self._process = self._process, None
        if process is not None:
            await process.end()


def _stamp(connection: Connection, survey: Survey) -> Any:
    """Another one when a figure may be another."""
    jobs = [(job["id"], job["state"], job["said"]) for job in connection.jobs(survey.number)]
    invitations = connection.invitations(survey.number) if survey.invited else None
    return connection.tallies(survey.number), jobs, invitations, survey.revision
