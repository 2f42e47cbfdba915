"""Processes beside the service that compute figures, jobs and exports, so that reports are never held up.

Each runs `worker`, reads the store itself and answers requests, a line each. It has the lowest priority and one thread,
and ends when the service does, however that ends. One process is kept for analysts' questions; every job and every
export has one of its own.
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
"""The environment in which numerical libraries use one thread."""


class EndedError(Exception):
    """The error that a worker process has ended, or has failed by a defect, before it gave an answer."""


class WorkerProcess:
    """A running process of `worker`, which computes figures from the store beside the service.

    The store's address is in its environment, where other users cannot read it.
    """

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, address: str, settings: Settings) -> WorkerProcess:
        """Start a process that computes figures from the store at this address; return it."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sfumato.collector.background.worker", stdin=PIPE, stdout=PIPE, stderr=DEVNULL,
            env={**os.environ, **ONE_THREAD, STORE: address, SETTINGS: json.dumps(asdict(settings))},
            start_new_session=True,
        )  # fmt: skip
        return cls(process)

    async def request(self, do: str, **options: Any) -> int:
        """Send the process a request, one of the worker's ``REQUESTS`` with its options.

        Returns how many bytes the answer has. The answer's bytes are read afterwards. ValueError: the request was
        refused; its message says why. StoreError: the store failed. EndedError: the process ended.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **options}).encode() + b"\n")
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
        """Return the next bytes of the process's answer, ``most`` at most; empty at its end."""
        assert self._process.stdout is not None
        return await self._process.stdout.read(most)

    async def answer(self, do: str, **options: Any) -> bytes:
        """Send the process a request (``do`` and its options) and return its whole answer; errors as in `request`."""
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.readexactly(await self.request(do, **options))
        except asyncio.IncompleteReadError:
            raise EndedError("killed") from None

    async def end(self) -> None:
        """Kill the process."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


class Figures:
    """The figures that analysts ask for, computed by one process and kept until the survey changes.

    The process is started with the first question and replaced when it fails. ``address``: that of the store.
    """

    def __init__(self, address: str, reader: Reader, settings: Settings) -> None:
        self.address, self.reader, self.settings = address, reader, settings
        self.exports = asyncio.Semaphore(settings.exports)
        self._process: WorkerProcess | None = None
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._under_way: dict[Any, asyncio.Task[bytes]] = {}
        self._cache: dict[Any, tuple[float, Any, bytes]] = {}  # (fresh until, stamp, figure) by question

    async def compute(self, do: str, **options: Any) -> bytes:
        """Have the process compute a figure and return it as bytes; nothing is kept for the next question.

        ``do``: one of the worker's ``REQUESTS``; ``options``: its arguments. ValueError: it was refused. RefusedError:
        too much waits, or it took too long; ask later.
        """
        if self._waiting >= self.settings.waiting_figures:
            raise RefusedError("busy")
        self._waiting += 1
        try:
            async with self._lock:
                return await self._answer(do, options)
        finally:
            self._waiting -= 1

    async def _answer(self, do: str, options: Mapping[str, Any]) -> bytes:
        """Send the process a request for a figure and return its answer, as bytes.

        The process is started if there is none. RefusedError: it gave no answer within ``answer_seconds`` or has ended;
        it is killed, and the next request starts another one.
        """
        try:
            async with asyncio.timeout(self.settings.answer_seconds):
                self._process = self._process or await self.new_process()
                return await self._process.answer(do, **options)
        except (EndedError, TimeoutError):
            await self.stop()
            raise RefusedError("busy", "this could not be computed; ask again later") from None
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def new_process(self) -> WorkerProcess:
        """Start a process for an export, which the caller ends; return it."""
        return await WorkerProcess.start(self.address, self.settings)

    async def figure(self, survey: Survey, do: str, **options: Any) -> bytes:
        """Return a figure of a survey as bytes: the kept one if nothing has changed, else computed once for all.

        ``do``: one of the worker's ``REQUESTS``; ``options``: its arguments.
        """
        key = (do, survey.number, *sorted(options.items()))
        fresh_until, _, figure = self._cache.get(key, (0.0, None, b""))
        if time.monotonic() < fresh_until:
            return figure
        if key not in self._under_way:
            self._under_way[key] = asyncio.create_task(self._renew(key, survey, do, options))
            self._under_way[key].add_done_callback(lambda _: self._under_way.pop(key))
        return await asyncio.shield(self._under_way[key])

    async def _renew(self, key: Any, survey: Survey, do: str, options: Mapping[str, Any]) -> bytes:
        """Return a figure, computed anew if the survey has changed, and keep it for the next question.

        ``key``: under which it is kept.
        """
        began = time.monotonic()
        stamp = await self.reader.run(partial(_stamp, survey=survey))
        _, former_stamp, figure = self._cache.pop(key, (0.0, None, b""))
        if stamp != former_stamp:
            figure = await self.compute(do, survey=survey.name, **options)
        ended = time.monotonic()
        fresh_seconds = max(self.settings.fresh_seconds, self.settings.pause_factor * (ended - began))
        self._cache[key] = (ended + fresh_seconds, stamp, figure)
        for old_key in list(self._cache)[: -self.settings.cached_figures]:
            del self._cache[old_key]
        return figure

    async def stop(self) -> None:
        """End the process that computes figures; the next question starts another one."""
        process, self._process = self._process, None
        if process is not None:
            await process.end()


def _stamp(connection: Connection, survey: Survey) -> Any:
    """Return a value that differs after anything has changed on which a figure of the survey depends.

    For comparison only.
    """
    jobs = [(job["id"], job["state"], job["said"]) for job in connection.jobs(survey.number)]
    invitations = connection.invitations(survey.number) if survey.invited else None
    return connection.tallies(survey.number), jobs, invitations, survey.revision
