"""What the endpoints of a collector share: the surveys as they stand, who writes, who reads and who computes.

It believes nobody. Reports are checked against the plan, written by one thread in groups, and acknowledged when they
are safe. It logs what it does itself, never a request: no value, address, user agent or time.
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
    """A service of one store, from `start` to `stop` on one event loop."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self.log = Log(settings)
        self.surveys: dict[str, ServedSurvey] = {}
        self.metrics = Metrics(lambda: self.writer.waiting, self._bytes_on_disk)
        self.reader = Reader(store)
        self.writer = Writer(store, settings, self.metrics.committed)
        self.jobs = Jobs(store.address, self.writer, self.log, settings)
        self.figures = Figures(store.address, self.reader, settings)
        self._revisions: list[Any] = []
        self._upkeep: asyncio.Task[None] | None = None
        self._canary: asyncio.Task[str] | None = None
        self._canary_until = 0.0

    def served(self, name: str) -> ServedSurvey:
        """The survey of this name; RefusedError where there is none."""
        found = self.surveys.get(name)
        if found is None:
            raise RefusedError("unknown")
        return found

    # --- its life -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin: read the surveys, delete those whose time is over, run jobs, look after the store from now on."""
        self.writer.start()
        await self.look()
        await self._delete_expired(day())
        await self.jobs.start()
        self._upkeep = asyncio.create_task(self._keep_up())
        kind = type(self.store).__name__
        self.log.event("started", store=kind, surveys=len(self.surveys), version=version("sfumato"))

    async def stop(self) -> None:
        """End, with everything written that was taken."""
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
        """Read the surveys where one has changed, for instance by a command in another terminal."""
        revisions = await self.reader.run(lambda connection: connection.revisions())
        if revisions != self._revisions:
            found = await self.reader.run(lambda connection: connection.surveys())
            known = {(each.survey.number, each.survey.revision): each for each in self.surveys.values()}
            served = {one.name: known.get((one.number, one.revision)) or ServedSurvey(one) for one in found}
            await asyncio.to_thread(_prepare, list(served.values()))
            self.surveys = served
            self._revisions = revisions

    async def _keep_up(self) -> None:
        """Look for changes; once a day delete what has had its time, and tidy the store."""
        today, again = day(), 0.0
        while True:
            await asyncio.sleep(self.settings.look_seconds)
            try:
                await self.look()
                if day() != today:
                    await self._delete_expired(day())
                    today = day()
                if time.monotonic() > again and await self.reader.run(Connection.tidied) != day():
                    again = time.monotonic() + self.settings.tidy_seconds
                    await asyncio.to_thread(self.store.tidy)
            except StoreError as error:
                self.log.store_failed(error)
            except Exception as error:  # the next look may be better
                self.log.event("upkeep", kind=type(error).__name__)

    async def _delete_expired(self, today: str) -> None:
        """Delete the surveys whose time is over."""
        deleted = await self.writer.run(partial(Connection.delete_expired, today=today))
        for name, reports in deleted.items():
            self.log.event("deleted", survey=name, reports=reports)
        await self.look()

    # --- health and refusals ------------------------------------------------------------------------------------

    async def illness(self) -> str:
        """Why the store does not work, "" when a canary was written and read; asked again soon, the same."""
        if self._canary is None or time.monotonic() > self._canary_until:
            self._canary_until = math.inf
            self._canary = asyncio.create_task(self._write_and_read_canary())
        return await asyncio.shield(self._canary)

    async def _write_and_read_canary(self) -> str:
        written = secrets.token_bytes(8)
        try:
            await self.writer.run(lambda connection: connection.write_note(CANARY, written))
            read = await self.reader.run(lambda connection: connection.read_note(CANARY))
            return "" if read == written else "what was written is not what is read"
        except StoreError as error:
            self.log.store_failed(error)
            return RefusedError("store").said
        finally:
            self._canary_until = time.monotonic() + self.settings.canary_seconds

    def count_refusal(self, reason: str, served: ServedSurvey | None = None) -> None:
        """Count a refusal, of a survey or of none."""
        self.metrics.refused.labels(reason).inc()
        if served is not None:
            self.writer.refuse(served.survey.number, reason)

    def _bytes_on_disk(self) -> dict[str, int]:
        try:
            return self.store.size()
        except StoreError:
            return {}


def _prepare(surveys: list[ServedSurvey]) -> None:
    for each in surveys:
        each.prepare()
