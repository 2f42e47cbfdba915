"""What the endpoints of a collector share: the surveys as they stand, who writes and who reads, and how it lives.

It answers over HTTP and believes nobody. Reports are checked against the plan, written by one thread in groups, and
acknowledged when they are safe. It logs what it does itself, never a request: no value, address, user agent or time.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from typing import Any

import msgspec
from starlette.requests import Request

from sfumato.client import survey
from sfumato.client.page import MODEL, page_texts
from sfumato.collector.access import COOKIE, allows
from sfumato.collector.endpoints import from_own_page
from sfumato.collector.form import ReportForm
from sfumato.collector.jobs import Jobs
from sfumato.collector.messages import RefusedError
from sfumato.collector.metrics import Metrics
from sfumato.collector.processes import Views
from sfumato.collector.store import Connection, Kept, Store, StoreError, Survey, day
from sfumato.collector.writer import Writer
from sfumato.prose import json_text

SUBMIT = "reports"
SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_A_SONG_LASTS = 1.0
SECONDS_BETWEEN_COMPLAINTS = 60.0
SECONDS_BETWEEN_TIDIES = 600.0


@dataclass(frozen=True)
class Served:
    """A survey with all that is answered of it, made once."""

    survey: Survey

    @cached_property
    def form(self) -> ReportForm:
        return ReportForm(self.survey.plan)

    @cached_property
    def identity(self) -> str:
        return self.survey.plan.identity

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The respondent's page, file by file; none where a plan does not fit onto a page."""
        try:
            texts = page_texts(self.survey.plan, submit=SUBMIT, model=self.survey.model)
        except ValueError:
            return {}
        return {name: text.encode() for name, text in texts.items()}

    @cached_property
    def document(self) -> dict[str, Any]:
        """What a device reads."""
        return survey(self.survey.plan, submit=SUBMIT, model=MODEL if self.survey.model else None)

    @cached_property
    def survey_json(self) -> bytes:
        return json_text(self.document).encode()

    def made(self) -> Served:
        """With everything made, so that nobody who asks has to wait for it."""
        for part in ("form", "identity", "files", "survey_json", "plan", "guarantee", "program"):
            getattr(self, part)
        return self

    @cached_property
    def plan(self) -> bytes:
        head = {"identity": self.identity, "state": self.survey.state, "plan": self.survey.plan.to_dict()}
        return json_text(head).encode()

    @cached_property
    def guarantee(self) -> bytes:
        levels = {each["name"]: each["levels"] for each in self.document["questions"]}
        return json_text({"plan": self.identity, "together": self.document["together"], "questions": levels}).encode()

    @cached_property
    def program(self) -> bytes:
        programs = {
            each["name"]: {"identity": each["mechanism"], "program": each["program"]}
            for each in self.document["questions"]
        }
        return json_text({"plan": self.identity, "programs": programs}).encode()


class Reader:
    """A connection that reads, on a thread of its own."""

    def __init__(self, store: Store) -> None:
        self._kept = Kept(store)
        self._thread = ThreadPoolExecutor(1, "reader")

    async def run(self, work: Callable[[Connection], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._kept.run, work)

    def stop(self) -> None:
        self._thread.submit(self._kept.drop)
        self._thread.shutdown()


class Service:
    """What the endpoints share: the store, who writes and reads, and the surveys as they stand."""

    def __init__(self, store: Store, log: Callable[[dict[str, Any]], None] | None = None) -> None:
        self.store = store
        self.surveys: dict[str, Served] = {}
        self.reader = Reader(store)
        self.metrics = Metrics(lambda: self.writer.waiting, self._bytes_on_disk)
        self.writer = Writer(store, self.metrics.committed)
        self.jobs = Jobs(self)
        self.views = Views(self)
        self._log = log or log_line
        self._revisions: list[Any] = []
        self._singing: asyncio.Task[str] | None = None
        self._sung_until = 0.0
        self._failures, self._told_of_trouble = 0, -math.inf

    def log(self, event: str, **facts: Any) -> None:
        """One line about the service itself."""
        self._log({"event": event, "day": day(), **facts})

    def trouble(self, error: StoreError) -> None:
        """A line about a store that fails, and no more than one a minute: a line a request would tell when they come,
        and whoever reads lines slowly would hold up everybody."""
        self._failures += 1
        if time.monotonic() - self._told_of_trouble > SECONDS_BETWEEN_COMPLAINTS:
            self.log("store", said=str(error), failures=self._failures)
            self._told_of_trouble, self._failures = time.monotonic(), 0

    def served(self, name: str) -> Served:
        found = self.surveys.get(name)
        if found is None:
            raise RefusedError("unknown")
        return found

    async def start(self) -> None:
        self.writer.start()
        await self.look()
        await self.delete_expired(day())
        await self.jobs.start()
        self.log("started", store=type(self.store).__name__, surveys=len(self.surveys), version=version("sfumato"))

    async def stop(self) -> None:
        await self.jobs.stop()
        await self.views.stop()
        await self.writer.stop()
        self.reader.stop()
        self.log("stopped")

    async def look(self) -> None:
        """Read the surveys where one has changed, for instance by a command in another terminal."""
        revisions = await self.reader.run(lambda connection: connection.revisions())
        if revisions != self._revisions:
            found = await self.reader.run(lambda connection: connection.surveys())
            known = {(each.survey.number, each.survey.revision): each for each in self.surveys.values()}
            served = {one.name: known.get((one.number, one.revision)) or Served(one) for one in found}
            await asyncio.to_thread(lambda: [each.made() for each in served.values()])
            self.surveys = served
            self._revisions = revisions

    async def keep_house(self) -> None:
        """Look for changes; once a day delete what has had its time, and tidy the store."""
        today, again = day(), 0.0
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            try:
                await self.look()
                if day() != today:
                    await self.delete_expired(day())
                    today = day()
                if time.monotonic() > again and await self.reader.run(Connection.tidied) != day():
                    again = time.monotonic() + SECONDS_BETWEEN_TIDIES
                    await asyncio.to_thread(self.store.tidy)
            except StoreError as error:
                self.trouble(error)
            except Exception as error:  # the next look may be better
                self.log("house", kind=type(error).__name__)

    async def delete_expired(self, today: str) -> None:
        """Delete the surveys whose time is over."""
        deleted = await self.writer.run(partial(Connection.delete_expired, today=today))
        for name, reports in deleted.items():
            self.log("deleted", survey=name, reports=reports)
        await self.look()

    async def healthy(self) -> str:
        """ "" when a canary was written and read; those who ask within a second are told the same."""
        if self._singing is None or time.monotonic() > self._sung_until:
            self._sung_until = math.inf
            self._singing = asyncio.create_task(self._sing())
        return await asyncio.shield(self._singing)

    async def _sing(self) -> str:
        song = secrets.token_bytes(8)
        try:
            await self.writer.run(lambda connection: connection.sing(song))
            heard = await self.reader.run(lambda connection: connection.song())
            return "" if heard == song else "what was written is not what is read"
        except StoreError as error:
            self.trouble(error)
            return RefusedError("store").said
        finally:
            self._sung_until = time.monotonic() + SECONDS_A_SONG_LASTS

    async def check_token(self, request: Request, scope: str, survey: int | None) -> None:
        """A token in the header, or in the cookie of a page; a cookie changes something from our own pages only."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        by_header = kind.lower() == "bearer"
        given = token.strip() if by_header else request.cookies.get(COOKIE, "")
        if given and not by_header and request.method not in ("GET", "HEAD") and not from_own_page(request):
            raise RefusedError("page")
        reason = await self.reader.run(lambda connection: allows(connection, given, survey, scope))
        if reason:
            raise RefusedError(reason)

    def refuse(self, reason: str, served: Served | None = None) -> None:
        """Count a refusal."""
        self.metrics.refused.labels(reason).inc()
        if served is not None:
            self.writer.refuse(served.survey.number, reason)

    def _bytes_on_disk(self) -> dict[str, int]:
        try:
            return self.store.size()
        except StoreError:
            return {}


def log_line(facts: dict[str, Any]) -> None:
    print(msgspec.json.encode(facts).decode(), file=sys.stderr, flush=True)
