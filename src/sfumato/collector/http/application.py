"""The collector as an application: every endpoint at its path, every refusal a sentence, every answer counted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.collector.background.writer import BusyError
from sfumato.collector.http.analyst import ANALYST
from sfumato.collector.http.endpoints import ANYBODY, JSON, Endpoint, answer, check_path, check_token, openapi
from sfumato.collector.http.messages import Problem
from sfumato.collector.http.pages import PAGES
from sfumato.collector.http.public import PUBLIC, PUBLIC_PAGES
from sfumato.collector.http.service import Service
from sfumato.collector.refusals import RefusedError
from sfumato.collector.store import StoreError
from sfumato.prose import json_text

EVERYWHERE = {
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
}  # fmt: skip


@cache
def document() -> bytes:
    """The OpenAPI document."""
    return json_text(openapi(DESCRIBED, version("sfumato"))).encode()


async def describe(service: Service, request: Request) -> Response:
    """The document that describes every endpoint."""
    return Response(document(), media_type=JSON)


DESCRIBED = (*PUBLIC, Endpoint("GET", "/openapi.json", describe, "This document"), *ANALYST)


def application(service: Service) -> ASGIApp:
    """The ASGI application of a service."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            await service.start()
            yield
        finally:
            await service.stop()

    async def failed(request: Request, error: Exception) -> Response:
        """What nobody foresaw: said without detail to whoever asked, by kind and line of code in the log."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = "" if trace is None else f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        service.log.event("failed", kind=type(error).__name__, where=where)
        return answer(Problem("something went wrong here; send it again later"), 500)

    by_path: dict[str, dict[str, Endpoint]] = {}
    for each in (*DESCRIBED, *PAGES, *PUBLIC_PAGES):
        by_path.setdefault(each.path, {})[each.method] = each
    routes = [Route(path, Dispatcher(service, path, methods)) for path, methods in by_path.items()]
    problems = {404: _not_here, 405: _not_so, 500: failed}
    app = Starlette(routes=routes, exception_handlers=problems, lifespan=lifespan)
    app.router.redirect_slashes = False
    return ResponseCounter(service, app)


class Dispatcher:
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
                await check_token(service, request, each.scope, None if served is None else served.survey.number)
            return await each.handle(service, request)
        except RefusedError as error:
            refused = error
        except BusyError:
            refused = RefusedError("busy")
        except StoreError as error:
            service.log.store_failed(error)
            refused = RefusedError("store")
        service.count_refusal(refused.reason, None if each.scope or request.method in ("GET", "HEAD") else served)
        return answer(Problem(refused.said), refused.status, refused.headers())


def _preflight(allowed: list[str]) -> Response:
    headers = {"Access-Control-Allow-Methods": ", ".join(allowed), "Access-Control-Allow-Headers": "Content-Type"}
    return Response(status_code=204, headers={**headers, "Access-Control-Max-Age": "600"})


class ResponseCounter:
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
