"""What the endpoints of a collector share: the surveys that are served, the writer, the reader, jobs and figures.

The service logs what it does itself and never a request: no value, address, user agent or time.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from typing import Any

from sfumato.collector.background.jobs import Jobs
from sfumato.collector.background.log import Log
from sfumato.collector.background.processes import Figures
from sfumato.collector.background.reader import Reader
from sfumato.collector.background.writer import Writer
from sfumato.collector.http.documents import ServedSurvey
from sfumato.collector.http.metrics import Metrics
from sfumato.collector.refusals import RefusedError
from sfumato.collector.settings import Settings
from sfumato.collector.store import CANARY, Connection, Store, StoreError, day


class Service:
    """The surveys of one store and all that works on them for requests, from `start` to `stop` on one event loop.

    It has a thread that writes, one that reads, the queue of jobs, the process that computes figures, and the log.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self.log = Log(settings)
        self.surveys: dict[str, ServedSurvey] = {}
        self.metrics = Metrics(lambda: self.writer.waiting, self._bytes_on_disk)
        self.reader = Reader(store)
        self.writer = Writer(store, settings, self.metrics.committed)
        self.jobs = Jobs(store.address, self.writer, self.log, settings)
        self.figures = Figures(store.address, self.reader, settings)
        self._revisions: list[Any] = []  # of the surveys when they were last read
        self._upkeep: asyncio.Task[None] | None = None
        self._canary: asyncio.Task[str] | None = None
        self._canary_until = 0.0

    def served(self, name: str) -> ServedSurvey:
        """Return the survey of this name with its documents. RefusedError: there is none."""
        survey = self.surveys.get(name)
        if survey is None:
            raise RefusedError("unknown")
        return survey

    # --- start, stop and upkeep ---------------------------------------------------------------------------------

    async def start(self) -> None:
        """Read the surveys, delete those that have expired, start to run jobs and to look after the store."""
        self.writer.start()
        await self.look()
        await self._delete_expired(day())
        await self.jobs.start()
        self._upkeep = asyncio.create_task(self._keep_up())
        kind = type(self.store).__name__
        self.log.event("started", store=kind, surveys=len(self.surveys), version=version("sfumato"))

    async def stop(self) -> None:
        """Write all reports that were received, and end every thread and process."""
        if self._upkeep is not None:
            self._upkeep.cancel()
            with suppress(asyncio.CancelledError):
                await self._upkeep
        await self.jobs.stop()
        await self.figures.stop()
        await self.writer.stop()
        self.reader.stop()
        self.log.event("stopped")

    async def look(self) -> None:
        """Read the surveys from the store again if one has changed, for instance by a command in another terminal."""
        revisions = await self.reader.run(lambda connection: connection.revisions())
        if revisions != self._revisions:
            surveys = await self.reader.run(lambda connection: connection.surveys())
            unchanged = {(each.survey.number, each.survey.revision): each for each in self.surveys.values()}
            served = {each.name: unchanged.get((each.number, each.revision)) or ServedSurvey(each) for each in surveys}
            await asyncio.to_thread(_prepare, list(served.values()))
            self.surveys = served
            self._revisions = revisions

    async def _keep_up(self) -> None:
        """Look for changed surveys again and again, for ever; once a day delete expired ones and tidy the store."""
        today, next_tidying = day(), 0.0
        while True:
            await asyncio.sleep(self.settings.look_seconds)
            try:
                await self.look()
                if day() != today:
                    await self._delete_expired(day())
                    today = day()
                if time.monotonic() > next_tidying and await self.reader.run(Connection.tidied) != day():
                    next_tidying = time.monotonic() + self.settings.tidy_seconds
                    await asyncio.to_thread(self.store.tidy)
            except StoreError as error:
                self.log.store_failed(error)
            except Exception as error:  # the next look may be better
                self.log.event("upkeep", kind=type(error).__name__)

    async def _delete_expired(self, today: str) -> None:
        """Delete the surveys that expire on this day (as 2026-11-16) or before, and log it."""
        deleted = await self.writer.run(partial(Connection.delete_expired, today=today))
        for name, reports in deleted.items():
            self.log.event("deleted", survey=name, reports=reports)
        await self.look()

    # --- health and refusals ------------------------------------------------------------------------------------

    async def illness(self) -> str:
        """Return why the store does not work, as a sentence; "" if test bytes were written and read back.

        The answer is repeated for ``canary_seconds``.
        """
        if self._canary is None or time.monotonic() > self._canary_until:
            self._canary_until = math.inf
            self._canary = asyncio.create_task(self._write_and_read_canary())
        return await asyncio.shield(self._canary)

    async def _write_and_read_canary(self) -> str:
        """Write random test bytes into the store and read them back; return why that failed, or ""."""
        written = secrets.token_bytes(8)
        try:
            await self.writer.run(lambda connection: connection.write_note(CANARY, written))
            read = await self.reader.run(lambda connection: connection.read_note(CANARY))
            return "" if read == written else "what was written is not what is read"
        except StoreError as error:
            self.log.store_failed(error)
            return RefusedError("store").sentence
        finally:
            self._canary_until = time.monotonic() + self.settings.canary_seconds

    def count_refusal(self, reason: str, served: ServedSurvey | None = None) -> None:
        """Count a refused request or report for the metrics and, if its survey is given, for the survey's dashboard.

        ``reason``: a key of ``REASONS``.
        """
        self.metrics.refused.labels(reason).inc()
        if served is not None:
            self.writer.refuse(served.survey.number, reason)

    def _bytes_on_disk(self) -> dict[str, int]:
        """Return the bytes that the store takes by part, such as "file" and "log"; empty if the store fails."""
        try:
            return self.store.size()
        except StoreError:
            return {}


def _prepare(surveys: list[ServedSurvey]) -> None:
    """Make the documents of all these surveys, so that no request has to wait for them."""
    for each in surveys:
        each.prepare()
