"""Run the jobs of analysts (training, itemsets, audits), each in a process of its own.

A job is a row of the store in the state waiting, running, done, failed or stopped. One job runs at a time. A state is
changed only together with a check that it is still the former one, so that of two collectors with one store only one
runs a job. A job that is running when a collector starts is taken for left over from one that was killed, and has
failed.
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
"""Why a job has failed that was running when the service stopped."""


class Jobs:
    """The queue of analysts' jobs (training, itemsets, audits) of all surveys, which are run one after the other.

    ``address``: that of the store.
    """

    def __init__(self, address: str, writer: Writer, log: Log, settings: Settings) -> None:
        self.address, self.writer, self.log, self.settings = address, writer, log, settings
        self._added = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._running = ""  # the id of the job that runs
        self._process: WorkerProcess | None = None

    async def start(self) -> None:
        """Mark jobs that were left running as failed, and begin to run those that wait."""
        await self.writer.run(_fail_running)
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop running jobs; the job that is running is marked as failed."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._running:
            with suppress(StoreError):
                await self.writer.run(partial(_fail, id=self._running, message=RESTARTED))

    async def add(self, survey: int, kind: str, options: Mapping[str, Any]) -> str:
        """Add a job to the queue of a survey; return its id. Later jobs have larger ids.

        ``survey``: its number; ``kind``: "train", "itemsets" or "audit"; ``options``: the job's. RefusedError: too many
        are kept.
        """
        add = partial(_add, survey=survey, kind=kind, options=dict(options), most=self.settings.jobs)
        id: str = await self.writer.run(add)
        self._added.set()
        return id

    async def end(self, id: str) -> None:
        """Stop a job that waits or runs, or delete a job that has ended, with its result."""
        if not await self.writer.run(partial(_stop, id=id)):
            await self.writer.run(partial(Connection.delete_job, id=id))
        elif self._running == id and self._process is not None:
            await self._process.end()

    async def _run(self) -> None:
        """Run the jobs that wait one after the other, for ever, and sleep where there is none."""
        while True:
            self._added.clear()
            self._running, survey = await self._write_at_last(_take_next)
            if not self._running:
                await self._added.wait()
                continue
            failure = await self._run_job(self._running, survey)
            if failure:
                await self._write_at_last(partial(_fail, id=self._running, message=failure))
            self.log.event("job", id=self._running, done=not failure)

    async def _write_at_last(self, work: Callable[[Connection], Any]) -> Any:
        """Call a function with the writer's connection and return its result.

        Try again and again while the store fails.
        """
        while True:
            try:
                return await self.writer.run(work)
            except StoreError as error:
                self.log.store_failed(error)
                await asyncio.sleep(self.settings.retry_seconds)

    async def _run_job(self, id: str, survey: int) -> str:
        """Run a job in a process of its own; return why it failed in words, or "" if it did not.

        ``survey``: its number.
        """
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
    """Mark every job that the store says is running as failed, because the service that ran it is gone."""
    for job in connection.jobs():
        _fail(connection, job["id"], RESTARTED)


def _fail(connection: Connection, id: str, message: str) -> None:
    """Mark a job as failed, with the reason ``message``; do nothing if it is not running."""
    connection.move_job(id, "running", "failed", message)


def _take_next(connection: Connection) -> tuple[str, int]:
    """Mark the job that has waited longest as running.

    Returns (its id, its survey's number), or ("", 0) if none waits.
    """
    for job in connection.jobs():
        if job["state"] == "waiting" and connection.move_job(job["id"], "waiting", "running"):
            return job["id"], job["survey"]
    return "", 0


def _stop(connection: Connection, id: str) -> bool:
    """Mark a job as stopped; return whether it was waiting or running."""
    return any(connection.move_job(id, state, "stopped") for state in ("waiting", "running"))


def _add(connection: Connection, survey: int, kind: str, options: dict[str, Any], most: int) -> str:
    """Add a job to the store and return its id, a text of 16 hexadecimal digits by which jobs are ordered.

    It is a count in 8 digits and 4 random bytes. RefusedError: the survey has ``most`` jobs already.
    """
    jobs = connection.jobs()
    if sum(job["survey"] == survey for job in jobs) >= most:
        raise RefusedError("job", f"{most} jobs are kept already; delete one of them first")
    last = int(jobs[-1]["id"][:8], 16) if jobs else 0
    id = f"{last + 1:08x}{secrets.token_hex(4)}"
    connection.add_job(id, survey, kind, options)
    return id
