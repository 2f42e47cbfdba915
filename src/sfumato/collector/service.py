"""The collector as an application: what anybody may ask of a survey, what an analyst may, and how it runs.

It answers over HTTP and believes nobody. Reports are checked against the plan, written by one thread in groups, and
acknowledged when they are safe. It logs what it does itself, never a request: no value, address, user agent or time.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.metadata import version
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.client import survey
from sfumato.client.page import MODEL, page_texts
from sfumato.collector.access import COOKIE, allows, invitation_hash
from sfumato.collector.analyst import ANALYST, ANALYST_PAGES
from sfumato.collector.endpoints import ANYBODY, JSON, Endpoint, answer, check_path, from_own_page, openapi, reader_of
from sfumato.collector.form import ReportError, ReportForm
from sfumato.collector.jobs import Jobs
from sfumato.collector.messages import Batch, One, Problem, Refusal, RefusedError, Sent, Verdict
from sfumato.collector.metrics import Metrics
from sfumato.collector.processes import Views
from sfumato.collector.store import ACCEPTED, Arrival, Connection, Store, StoreError, Survey, day
from sfumato.collector.writer import BusyError, Writer
from sfumato.prose import json_text

SUBMIT = "reports"
SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_A_SONG_LASTS = 1.0
KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".json": JSON}
EVERYWHERE = {
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
}  # fmt: skip


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
        self._store = store
        self._thread = ThreadPoolExecutor(1, "reader")
        self._connection: Connection | None = None

    async def run(self, work: Callable[[Connection], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, work)

    def _run(self, work: Callable[[Connection], Any]) -> Any:
        for attempt in (1, 2):
            try:
                if self._connection is None:
                    self._connection = self._store.connect()
                return work(self._connection)
            except StoreError:
                self._drop()
                if attempt == 2:
                    raise
        return None

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def stop(self) -> None:
        self._thread.submit(self._drop)
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
        self._log = log or _log_line
        self._revisions: list[Any] = []
        self._singing: asyncio.Task[str] | None = None
        self._sung_until = 0.0

    def log(self, event: str, **facts: Any) -> None:
        """One line about the service itself."""
        self._log({"event": event, "day": day(), **facts})

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
        """Look for changes; when a day has passed, delete what has had its time and tidy the store."""
        today = day()
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            try:
                await self.look()
                if day() != today:
                    today = day()
                    await self.delete_expired(today)
                    await asyncio.to_thread(self.store.tidy)
            except StoreError as error:
                self.log("store", said=str(error))
            except Exception as error:  # the next look may be better
                self.log("house", kind=type(error).__name__)

    async def delete_expired(self, today: str) -> None:
        """Delete the surveys whose time is over."""
        for name, each in list(self.surveys.items()):
            if each.survey.expires is not None and each.survey.expires <= today:
                reports = await self.writer.run(partial(Connection.delete_survey, name=name))
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
            self.log("store", said=str(error))
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


# --- what anybody may ask -------------------------------------------------------------------------------------------


async def submit(service: Service, request: Request) -> Response:
    """Store reports, or say of each why not."""
    served = service.served(request.path_params["survey"])
    batch: Batch = await read_batch(request)
    return await _take(service, served, batch.plan, batch.reports)


async def submit_one(service: Service, request: Request) -> Response:
    served = service.served(request.path_params["survey"])
    one: One = await read_one(request)
    return await _take(service, served, one.plan, [Sent(request.path_params["id"], one.report, one.invitation)])


read_batch, read_one = reader_of(Batch), reader_of(One)


async def _take(service: Service, served: Served, plan: str, reports: list[Sent]) -> Response:
    if plan != served.identity:
        raise RefusedError("plan")
    refused: dict[int, tuple[str, str]] = {}
    arrivals: dict[int, Arrival] = {}
    number, pack = served.survey.number, served.form.pack
    for place, each in enumerate(reports):
        try:
            code = None if each.invitation is None else invitation_hash(each.invitation)
            arrivals[place] = Arrival(number, bytes.fromhex(each.id), pack(each.report), code)
        except ReportError as error:
            refused[place] = ("report", str(error))
    verdicts = await service.writer.take(list(arrivals.values())) if arrivals else []
    for place, verdict in zip(arrivals, verdicts, strict=True):
        if verdict != ACCEPTED:
            refused[place] = (verdict, RefusedError(verdict).said)
    for reason, _ in refused.values():
        service.refuse(reason, served)
    accepted = [each.id for place, each in enumerate(reports) if place not in refused]
    service.metrics.accepted.labels(served.survey.name).inc(len(accepted))
    told = Verdict(accepted, [Refusal(reports[place].id, said) for place, (_, said) in sorted(refused.items())])
    reasons = {reason for reason, _ in refused.values()}
    return answer(told, RefusedError(reasons.pop()).status if not accepted and len(reasons) == 1 else 200)


async def withdraw(service: Service, request: Request) -> Response:
    served = service.served(request.path_params["survey"])
    id = bytes.fromhex(request.path_params["id"])
    if not await service.writer.run(lambda connection: connection.withdraw(served.survey.number, id)):
        raise RefusedError("absent")
    return Response(status_code=204)


def _told(what: Callable[[Served], bytes]) -> Callable[[Service, Request], Any]:
    async def tell(service: Service, request: Request) -> Response:
        return Response(what(service.served(request.path_params["survey"])), media_type=JSON)

    return tell


async def model(service: Service, request: Request) -> Response:
    found = service.served(request.path_params["survey"]).survey.model
    if found is None:
        raise RefusedError("no model")
    return Response(found, media_type=JSON)


async def page(service: Service, request: Request) -> Response:
    """The respondent's page and its parts."""
    name = request.path_params.get("file", "index.html")
    served = service.served(request.path_params["survey"])
    data = served.files.get(name)
    if data is None:
        raise HTTPException(404)
    return Response(data, media_type=KINDS.get("." + name.rpartition(".")[2], "text/plain"))


async def to_page(service: Service, request: Request) -> Response:
    """Relative, so that it holds behind every proxy: an address of ours would be without TLS."""
    return RedirectResponse(f"{service.served(request.path_params['survey']).survey.name}/")


async def health(service: Service, request: Request) -> Response:
    said = await service.healthy()
    return answer(Problem(said), 503) if said else answer({"status": "ok"})


async def metrics(service: Service, request: Request) -> Response:
    text = await asyncio.to_thread(service.metrics.text)
    return Response(text, media_type="text/plain; version=0.0.4")


async def describe(service: Service, request: Request) -> Response:
    return Response(DOCUMENT(), media_type=JSON)


TAKEN = ("plan", "report", "closed", "invitation", "conflict", "withdrawn", "busy", "store")
PUBLIC = (
    Endpoint("POST", "/{survey}/reports", submit, "Send reports", Batch, Verdict, refuses=TAKEN),
    Endpoint("PUT", "/{survey}/reports/{id}", submit_one, "Send one report", One, Verdict, refuses=TAKEN),
    Endpoint(
        "DELETE", "/{survey}/reports/{id}", withdraw, "Withdraw a report", gives="", good=(204,),
        refuses=("absent", "busy", "store"),
    ),
    Endpoint("GET", "/{survey}/survey.json", _told(lambda each: each.survey_json), "What a device reads"),
    Endpoint("GET", "/{survey}/plan", _told(lambda each: each.plan), "The plan and its identity"),
    Endpoint("GET", "/{survey}/guarantee", _told(lambda each: each.guarantee), "What reports can reveal"),
    Endpoint("GET", "/{survey}/program", _told(lambda each: each.program), "What devices execute"),
    Endpoint("GET", f"/{{survey}}/{MODEL}", model, "The model that goes home", refuses=("no model",)),
    Endpoint("GET", "/health", health, "Whether a canary was written and read", refuses=("store",)),
    Endpoint("GET", "/metrics", metrics, "Figures for Prometheus", gives="text/plain", scope="metrics"),
    Endpoint("GET", "/openapi.json", describe, "This document"),
)  # fmt: skip
PAGES = (
    *ANALYST_PAGES,
    Endpoint("GET", "/{survey}", to_page, "To the respondent's page", gives="text/html"),
    Endpoint("GET", "/{survey}/", page, "The respondent's page", gives="text/html"),
    Endpoint("GET", "/{survey}/{file}", page, "A part of the page", gives="text/plain"),
)


def endpoints() -> tuple[Endpoint, ...]:
    """All of them, those of the analyst too."""
    return PUBLIC + ANALYST


@cache
def DOCUMENT() -> bytes:  # noqa: N802
    return json_text(openapi(endpoints(), version("sfumato"))).encode()


# --- the application ------------------------------------------------------------------------------------------------


def application(service: Service) -> ASGIApp:
    """The ASGI application of a service."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        house = asyncio.create_task(service.keep_house())
        try:
            yield
        finally:
            house.cancel()
            with suppress(asyncio.CancelledError):
                await house
            await service.stop()

    by_path: dict[str, dict[str, Endpoint]] = {}
    for each in (*endpoints(), *PAGES):
        by_path.setdefault(each.path, {})[each.method] = each
    routes = [Route(path, _Answering(service, path, methods)) for path, methods in by_path.items()]
    problems = {404: _not_here, 405: _not_so, 500: _failed}
    app = Starlette(routes=routes, exception_handlers=problems, lifespan=lifespan)
    app.router.redirect_slashes = False
    return _Counting(service, app)


class _Answering:
    """One path: the right endpoint, its token, and every refusal as a sentence."""

    def __init__(self, service: Service, path: str, methods: Mapping[str, Endpoint]) -> None:
        self.service, self.methods = service, methods
        self.allowed = sorted({*methods, *(["HEAD"] if "GET" in methods else [])})
        self.public = not any(each.scope or each.same_site for each in methods.values())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._answer(request)
        if self.public:
            response.headers.update(ANYBODY)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method == "OPTIONS" and self.public:
            return _preflight(self.allowed)
        each = self.methods.get("GET" if request.method == "HEAD" else request.method)
        if each is None:
            allowed = ", ".join(self.allowed)
            return answer(Problem(f"this address takes {allowed}"), 405, {"Allow": allowed})
        service = self.service
        served = service.surveys.get(request.path_params.get("survey", ""))
        try:
            check_path(request.path_params)
            if each.scope:
                if "survey" in request.path_params and served is None:
                    raise RefusedError("unknown")
                await service.check_token(request, each.scope, None if served is None else served.survey.number)
            return await each.handle(service, request)
        except RefusedError as error:
            refused = error
        except BusyError:
            refused = RefusedError("busy")
        except StoreError as error:
            service.log("store", said=str(error))
            refused = RefusedError("store")
        service.refuse(refused.reason, None if each.scope or request.method in ("GET", "HEAD") else served)
        return answer(Problem(refused.said), refused.status, refused.headers())


def _preflight(allowed: list[str]) -> Response:
    headers = {"Access-Control-Allow-Methods": ", ".join(allowed), "Access-Control-Allow-Headers": "Content-Type"}
    return Response(status_code=204, headers={**headers, "Access-Control-Max-Age": "600"})


class _Counting:
    """Adds what every answer carries, and counts it by the path's pattern."""

    def __init__(self, service: Service, app: ASGIApp) -> None:
        self.service, self.app = service, app
        self.always = [(name.lower().encode(), value.encode()) for name, value in EVERYWHERE.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                message["headers"] += [pair for pair in self.always if pair[0] not in given]
                route = scope.get("route")
                self.service.metrics.answers.labels(getattr(route, "path", "other"), message["status"]).inc()
            await send(message)

        await self.app(scope, receive, sending)


async def _not_here(request: Request, error: Exception) -> Response:
    return answer(Problem("there is nothing at this address"), 404)


async def _not_so(request: Request, error: Exception) -> Response:
    return answer(Problem("this address does not take this method"), 405, getattr(error, "headers", None))


async def _failed(request: Request, error: Exception) -> Response:
    """What nobody foresaw: said without detail to whoever asked, by kind and place in the log."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f"{place.tb_frame.f_code.co_filename.rpartition('/')[2]}:{place.tb_lineno}"
    _log_line({"event": "failed", "day": day(), "kind": type(error).__name__, "where": where})
    return answer(Problem("something went wrong here; send it again later"), 500)


def _log_line(facts: dict[str, Any]) -> None:
    print(msgspec.json.encode(facts).decode(), file=sys.stderr, flush=True)
