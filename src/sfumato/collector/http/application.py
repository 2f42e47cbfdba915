"""The collector as an ASGI application: it routes requests to endpoints, words refusals and counts answers."""

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
from sfumato.collector.http.endpoints import ANYBODY, JSON, Endpoint, check_path, check_token, openapi, problem_response
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
"""The headers of every answer that does not set them itself: nothing is cached, framed, guessed or told to others."""


@cache
def openapi_json() -> bytes:
    """Return the OpenAPI document (a description of all endpoints for programs) as JSON bytes."""
    return json_text(openapi(DESCRIBED, version("sfumato"))).encode()


async def describe(service: Service, request: Request) -> Response:
    """Answer with the OpenAPI document, a description of all endpoints for programs."""
    return Response(openapi_json(), media_type=JSON)


DESCRIBED = (*PUBLIC, Endpoint("GET", "/openapi.json", describe, "This document"), *ANALYST)
"""The endpoints that stand in the OpenAPI document: all but the pages."""


def application(service: Service) -> ASGIApp:
    """Return the ASGI application (what a Python web server runs) of a service, which starts and stops with it."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            await service.start()
            yield
        finally:
            await service.stop()

    async def answer_defect(request: Request, error: Exception) -> Response:
        """Answer 500 to an error that nobody foresaw; log its class and its line of code."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = "" if trace is None else f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        service.log.event("failed", kind=type(error).__name__, where=where)
        return problem_response("something went wrong here; send it again later", 500)

    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in (*DESCRIBED, *PAGES, *PUBLIC_PAGES):
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    routes = [Route(path, Dispatcher(service, path, methods)) for path, methods in by_path.items()]
    handlers = {404: _answer_no_path, 405: _answer_no_method, 500: answer_defect}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    app.router.redirect_slashes = False
    return ResponseCounter(service, app)


class Dispatcher:
    """The handling of all requests to one path: it chooses the endpoint by method, checks the token and words refusals.

    An ASGI application. ``methods``: the path's endpoints by their HTTP methods.
    """

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
        """Return the endpoint's answer to a request, or the refusal with its status; refusals are counted."""
        if request.method == "OPTIONS" and self.public:
            return _answer_preflight(self.allowed)
        endpoint = self.methods.get("GET" if request.method == "HEAD" else request.method)
        if endpoint is None:
            allowed = ", ".join(self.allowed)
            return problem_response(f"this address takes {allowed}", 405, {"Allow": allowed})
        service = self.service
        served = service.surveys.get(request.path_params.get("survey", ""))
        try:
            check_path(request.path_params)
            if endpoint.scope:
                if "survey" in request.path_params and served is None:
                    raise RefusedError("unknown")
                await check_token(service, request, endpoint.scope, None if served is None else served.survey.number)
            return await endpoint.handle(service, request)
        except RefusedError as error:
            refused = error
        except BusyError:
            refused = RefusedError("busy")
        except StoreError as error:
            service.log.store_failed(error)
            refused = RefusedError("store")
        service.count_refusal(refused.reason, None if endpoint.scope or request.method in ("GET", "HEAD") else served)
        return problem_response(refused.sentence, refused.status, refused.headers())


def _answer_preflight(allowed: list[str]) -> Response:
    """Answer a browser's question, for a page from elsewhere, which HTTP methods it may use.

    It remembers the answer for ten minutes. ``allowed``: the methods.
    """
    headers = {"Access-Control-Allow-Methods": ", ".join(allowed), "Access-Control-Allow-Headers": "Content-Type"}
    return Response(status_code=204, headers={**headers, "Access-Control-Max-Age": "600"})


class ResponseCounter:
    """An ASGI application around another one that adds the headers of every answer and counts answers by path."""

    def __init__(self, service: Service, app: ASGIApp) -> None:
        self.service, self.app = service, app
        self.always = [(name.lower().encode(), value.encode()) for name, value in EVERYWHERE.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                message["headers"] += [pair for pair in self.always if pair[0] not in present]
                route = scope.get("route")
                self.service.metrics.answers.labels(getattr(route, "path", "other"), message["status"]).inc()
            await send(message)

        await self.app(scope, receive, send_counted)


async def _answer_no_path(request: Request, error: Exception) -> Response:
    """Answer 404 to an address that no endpoint has."""
    return problem_response("there is nothing at this address", 404)


async def _answer_no_method(request: Request, error: Exception) -> Response:
    """Answer 405 to a method that the address does not take."""
    return problem_response("this address does not take this method", 405, getattr(error, "headers", None))
