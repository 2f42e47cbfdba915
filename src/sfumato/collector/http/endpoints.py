"""Describe endpoints, read and check their requests, and make the OpenAPI document of a table of them.

The tables in `public`, `analyst` and `pages` become both the routes of the service and its OpenAPI document.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from sfumato.collector.access import COOKIE, refusal_of
from sfumato.collector.http.messages import ID, JOB_ID, RequestProblem, SubmissionVerdict
from sfumato.collector.http.service import Service
from sfumato.collector.refusals import REASONS, RefusedError
from sfumato.collector.store.connection import NAME

JSON = "application/json"
Handler = Callable[[Service, Request], Awaitable[Response]]
ANYBODY = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Retry-After",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
"""The headers of answers that pages from everywhere may read: a page may send reports to a collector elsewhere."""
MOST_DETAIL = 200
"""The most letters of msgspec's message that a refusal of a body repeats. Judgement: the messages name a field and a
path; more could repeat what was sent, less cuts off the path."""


@dataclass(frozen=True)
class Endpoint:
    """One HTTP method at one path of a collector: its handler, and what its requests and answers are like.

    ``handle``: the function that answers. ``takes``: the form of the body, None: there is none. ``gives``: the form of
    a good answer, or its media type ("": no content). ``good``: the statuses of good answers. ``refuses``: the reasons
    for a refusal of its own, keys of ``REASONS``. ``scope``: what a token must permit; "": no token is needed and every
    page may ask, or with ``same_site`` the collector's own pages only. ``query``: the form of the query, None: there is
    none.
    """

    method: str
    path: str
    handle: Handler
    summary: str
    takes: Any = None
    gives: Any = JSON
    good: tuple[int, ...] = (200,)
    refuses: tuple[str, ...] = ()
    scope: str = ""
    query: type | None = None
    same_site: bool = False

    @property
    def reasons(self) -> set[str]:
        """Every reason for which a request may be refused: of its own, and of its path, body, query and token."""
        own = {*self.refuses, *({"unknown"} if "{survey}" in self.path else ())}
        own |= {"malformed", "large", "slow"} if self.takes else set()
        own |= {"malformed"} if self.query or "{id}" in self.path or "{job}" in self.path else set()
        own |= {"page"} if self.scope and self.method != "GET" else set()
        return own | ({"token", "scope", "store"} if self.scope else set())


def check_path(parameters: Mapping[str, str]) -> None:
    """Refuse an address in which an id does not have its form; a survey's name is looked up instead.

    ``parameters``: the parts of the address by name.
    """
    for name, value in parameters.items():
        if name != "survey" and not re.fullmatch(PATH[name].get("pattern", ".*"), value):
            raise RefusedError("malformed", f"the address names no {name}")


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an HTTP response with a value as JSON."""
    return Response(msgspec.json.encode(value), status, dict(headers or {}), JSON)


def problem_response(sentence: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """Return an HTTP response with this status that says in a sentence why a request was refused."""
    return json_response(RequestProblem(sentence), status, headers)


async def read_body(service: Service, request: Request, limit: int | None = None) -> bytes:
    """Return the body of a request. RefusedError: it is longer than ``limit`` bytes, or takes too long to arrive.

    ``limit``: None for that of the settings. A body that is too long is read for a while and dropped, so that its
    sender reads the refusal and does not try again.
    """
    limit = limit or service.settings.body_bytes
    drained = service.settings.drained_bodies * limit
    if int(request.headers.get("content-length") or 0) > drained:
        raise RefusedError("large")
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(service.settings.body_seconds):
            async for part in request.stream():
                size += len(part)
                if size <= limit:
                    parts.append(part)
                elif size > drained:
                    break
    except (TimeoutError, ClientDisconnect):
        raise RefusedError("slow") from None
    if size > limit:
        raise RefusedError("large")
    return b"".join(parts)


def reader_of(form: Any) -> Callable[[Service, Request], Awaitable[Any]]:
    """Return a function that reads and decodes the body of a request.

    ``form``: the class of message that the body must have. RefusedError, by the function: it has another form.
    """
    decode = decoder_of(form)

    async def read_request(service: Service, request: Request) -> Any:
        return decode(await read_body(service, request))

    return read_request


def decoder_of(form: Any) -> Callable[[bytes], Any]:
    """Return a function that decodes JSON bytes as a message. ``form``: the class of the message.

    The function raises a RefusedError for JSON of another form.
    """
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(form).decode

    def read(body: bytes) -> Any:
        try:
            return decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            detail = str(error) if isinstance(error, msgspec.ValidationError) else "it is not JSON"
            raise RefusedError("malformed", f"{REASONS['malformed'][1]}: {detail[:MOST_DETAIL]}") from None

    return read


async def check_token(service: Service, request: Request, scope: str, survey: int | None) -> None:
    """Refuse a request (RefusedError) without an analyst's token, in a header or the cookie, that permits what it asks.

    ``scope``: what is asked, such as "read"; ``survey``: the survey's number; None: every survey. A request that
    changes something may come with the cookie from the collector's own pages only.
    """
    kind, _, header_token = request.headers.get("authorization", "").partition(" ")
    by_header = kind.lower() == "bearer"
    token = header_token.strip() if by_header else request.cookies.get(COOKIE, "")
    if token and not by_header and request.method not in ("GET", "HEAD") and not is_from_own_page(request):
        raise RefusedError("page")
    reason = await service.reader.run(lambda connection: refusal_of(connection, token, survey, scope))
    if reason:
        raise RefusedError(reason)


def is_from_own_page(request: Request) -> bool:
    """Return whether a page of the collector sent the request: browsers say so in headers that no page can forge."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return request.headers.get("origin", "").partition("://")[2] == request.headers.get("host", "-")


def openapi(endpoints: Iterable[Endpoint], version: str) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document that describes a table of endpoints to programs, as a dict.

    ``version``: of the package.
    """
    endpoints = list(endpoints)
    forms = [each.takes for each in endpoints if each.takes] + [e.gives for e in endpoints if isinstance(e.gives, type)]
    (*schemas, problem), components = msgspec.json.schema_components(
        [*forms, RequestProblem], ref_template="#/components/schemas/{name}"
    )
    schema_of = dict(zip(forms, schemas, strict=True))
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, problem, schema_of)
    token = {"type": "http", "scheme": "bearer", "description": "a token of `sfumato survey token`"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "sfumato collector", "version": version, "description": "Collects reports, never answers."},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": token}},
    }


def _operation(endpoint: Endpoint, problem: dict[str, Any], schema_of: Mapping[Any, dict[str, Any]]) -> dict[str, Any]:
    """Return the part of the OpenAPI document that describes one endpoint, a dict.

    ``problem``: the schema of a `RequestProblem`. ``schema_of``: the schemas of the other messages.
    """
    schema = schema_of.get(endpoint.gives, {})
    media = JSON if isinstance(endpoint.gives, type) else endpoint.gives
    responses: dict[str, dict[str, Any]] = {
        str(status): {"description": endpoint.summary, "content": {media: {"schema": schema}} if media else {}}
        for status in endpoint.good
    }
    for reason in sorted(endpoint.reasons):
        status, sentence = REASONS[reason]
        response = responses.setdefault(str(int(status)), {"description": "", "content": {JSON: {"schema": problem}}})
        if endpoint.gives is SubmissionVerdict and int(status) not in endpoint.good:
            response["content"] = {JSON: {"schema": {"anyOf": [problem, schema]}}}
        response["description"] = "; ".join(filter(None, [response["description"], sentence]))
    names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    in_path = [{"name": name, "in": "path", "required": True, "schema": PATH[name]} for name in names]
    in_query = [
        {"name": field.encode_name, "in": "query", "required": field.required,
         "schema": msgspec.json.schema(field.type)}
        for field in (msgspec.structs.fields(endpoint.query) if endpoint.query else ())
    ]  # fmt: skip
    operation: dict[str, Any] = {"summary": endpoint.summary, "parameters": in_path + in_query, "responses": responses}
    if endpoint.takes:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": schema_of[endpoint.takes]}}}
    return operation | ({"security": [{"token": []}]} if endpoint.scope else {})


PATH: dict[str, dict[str, str]] = {
    "survey": {"type": "string", "pattern": f"^{NAME.pattern}$"},
    "id": {"type": "string", "pattern": ID},
    "job": {"type": "string", "pattern": JOB_ID},
    "file": {"type": "string"},
}
"""The JSON schema of every name that stands in braces in a path."""
