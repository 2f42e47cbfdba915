"""Jobs of analysts, each in a process of its own.

A job is a row of the store: waiting, running, done, failed or stopped. One runs at a time; it is moved from one state
to the next only by whoever finds it in that state, so that of two collectors with one store only one runs it. What runs
when a collector starts is taken for left over from one that was killed.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from sfumato.collector.background.log import Log
from sfumato.collector.background.processes import EndedError, WorkerProcess
from sfumato.collector.background.writer import Writer
from sfumato.collector.refusals import RefusedError
from sfumato.collector.settings import Settings
from sfumato.collector.store import Connection, StoreError

RESTARTED = "the service was restarted"


class Jobs:
    """Runs the jobs of all surveys, one after the other."""

    def __init__(self, address: str, writer: Writer, log: Log, settings: Settings) -> None:
        self.address, self.writer, self.log, self.settings = address, writer, log, settings
        self._added = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._running = ""
        self._process: WorkerProcess | None = None

    async def start(self) -> None:
        """Begin with the job that has waited longest; what was left running has failed."""
        await self.writer.run(_fail_running)
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End; the job that runs has failed."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._running:
            with suppress(StoreError):
                await self.writer.run(partial(_fail, id=self._running, said=RESTARTED))

    async def add(self, survey: int, kind: str, options: Mapping[str, Any]) -> str:
        """The id of a new job; later ones have larger ids."""
        add = partial(_add, survey=survey, kind=kind, options=dict(options), most=self.settings.jobs)
        id: str = await self.writer.run(add)
        self._added.set()
        return id

    async def end(self, id: str) -> None:
        """Stop a job that has not ended; delete one that has, with its result."""
        if not await self.writer.run(partial(_stop, id=id)):
            await self.writer.run(partial(Connection.delete_job, id=id))
        elif self._running == id and self._process is not None:
            await self._process.end()

    async def _run(self) -> None:
        while True:
            self._added.clear()
            self._running, survey = await self._insist(_take_next)
            if not self._running:
                await self._added.wait()
                continue
            said = await self._do(self._running, survey)
            if said:
                await self._insist(partial(_fail, id=self._running, said=said))
            self.log.event("job", id=self._running, done=not said)

    async def _insist(self, work: Callable[[Connection], Any]) -> Any:
        """Have something written, as soon as the store can be."""
        while True:
            try:
                return await self.writer.run(work)
            except StoreError as error:
                self.log.store_failed(error)
                await asyncio.sleep(self.settings.retry_seconds)

    async def _do(self, id: str, survey: int) -> str:
        """Why it failed; "" when it did not."""
        try:
            self._process = await WorkerProcess.start(self.address, self.settings)
            async with asyncio.timeout(self.settings.job_seconds):
                await self._process.request("job", survey=survey, id=id)
            return ""
        except TimeoutError:
            return f"it took more than {self.settings.job_seconds:,.0f} seconds, and was ended"
        except EndedError as error:
            return f"its process ended before it was done ({error})"
        except (ValueError, OSError) as error:
            return str(error)
        finally:
            if self._process is not None:
                await self._process.end()
            self._process = None


def _fail_running(connection: Connection) -> None:
    for job in connection.jobs():
        _fail(connection, job["id"], RESTARTED)


def _fail(connection: Connection, id: str, said: str) -> None:
    connection.move_job(id, "running", "failed", said)


def _take_next(connection: Connection) -> tuple[str, int]:
    """The job that has waited longest, and its survey."""
    for job in connection.jobs():
        if job["state"] == "waiting" and connection.move_job(job["id"], "waiting", "running"):
            return job["id"], job["survey"]
    return "", 0


def _stop(connection: Connection, id: str) -> bool:
    return any(connection.move_job(id, state, "stopped") for state in ("waiting", "running"))


def _add(connection: Connection, survey: int, kind: str, options: dict[str, Any], most: int) -> str:
    jobs = connection.jobs()
    if sum(job["survey"] == survey for job in jobs) >= most:
        raise RefusedError("job", f"{most} jobs are kept already; delete one of them first")
    last = int(jobs[-1]["id"][:8], 16) if jobs else 0
    id = f"{last + 1:08x}{secrets.token_hex(4)}"
    connection.add_job(id, survey, kind, options)
    return id
