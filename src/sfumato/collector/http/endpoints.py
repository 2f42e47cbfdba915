"""A table of endpoints becomes both the routes of the service and its OpenAPI document."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from sfumato.collector.access import COOKIE, allows
from sfumato.collector.http.messages import Problem
from sfumato.collector.http.service import Service
from sfumato.collector.refusals import REASONS, RefusedError

JSON = "application/json"
Handler = Callable[[Service, Request], Awaitable[Response]]
ANYBODY = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Retry-After",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


@dataclass(frozen=True)
class Endpoint:
    """One method at one path: who answers, what is taken, what is answered and why it may be refused.

    ``takes``: the form of the body. ``gives``: the form of a good answer, or its media type. ``refuses``: names of
    ``REASONS``. ``scope``: what a token must allow; without one, anybody may ask, from any page; with
    ``same_site`` from the collector's own pages only. ``query``: the form of what stands behind the ?.
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
        """Why a request may be refused: its own reasons, and those of its path, body and token."""
        own = {*self.refuses, *({"unknown"} if "{survey}" in self.path else ())}
        own |= {"malformed", "large", "slow"} if self.takes else set()
        own |= {"malformed"} if self.query or "{id}" in self.path or "{job}" in self.path else set()
        own |= {"page"} if self.scope and self.method != "GET" else set()
        return own | ({"token", "scope", "store"} if self.scope else set())


def check_path(parameters: Mapping[str, str]) -> None:
    """Names in an address are of their form; a survey that is not is unknown."""
    for name, value in parameters.items():
        if name != "survey" and not re.fullmatch(PATH[name].get("pattern", ".*"), value):
            raise RefusedError("malformed", f"the address names no {name}")


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(msgspec.json.encode(value), status, dict(headers or {}), JSON)


async def body_of(service: Service, request: Request, limit: int | None = None) -> bytes:
    """The body of a request, within bounds on time and size (``limit``, or that of the settings).

    What is too large is read on for a while and dropped, so that whoever sends it hears why and does not try again.
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
    """Reads a body of this form."""
    read = decoder_of(form)

    async def read_request(service: Service, request: Request) -> Any:
        return read(await body_of(service, request))

    return read_request


def decoder_of(form: Any) -> Callable[[bytes], Any]:
    """Reads JSON of this form."""
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(form).decode

    def read(body: bytes) -> Any:
        try:
            return decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            said = str(error) if isinstance(error, msgspec.ValidationError) else "it is not JSON"
            raise RefusedError("malformed", f"{REASONS['malformed'][1]}: {said[:200]}") from None

    return read


async def check_token(service: Service, request: Request, scope: str, survey: int | None) -> None:
    """Refuse a request without a token that allows this, in the header or in the cookie of a page; a cookie changes
    something from our own pages only."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    by_header = kind.lower() == "bearer"
    given = token.strip() if by_header else request.cookies.get(COOKIE, "")
    if given and not by_header and request.method not in ("GET", "HEAD") and not from_own_page(request):
        raise RefusedError("page")
    reason = await service.reader.run(lambda connection: allows(connection, given, survey, scope))
    if reason:
        raise RefusedError(reason)


def from_own_page(request: Request) -> bool:
    """Whether a page of the collector's own asks; a browser says so, and no other page can make it say so."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return request.headers.get("origin", "").partition("://")[2] == request.headers.get("host", "-")


def openapi(endpoints: Iterable[Endpoint], version: str) -> dict[str, Any]:
    """The OpenAPI 3.1 document of a table of endpoints."""
    listed = list(endpoints)
    forms = [each.takes for each in listed if each.takes] + [e.gives for e in listed if isinstance(e.gives, type)]
    (*schemas, problem), components = msgspec.json.schema_components(
        [*forms, Problem], ref_template="#/components/schemas/{name}"
    )
    schema_of = dict(zip(forms, schemas, strict=True))
    paths: dict[str, Any] = {}
    for each in listed:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, problem, schema_of)
    token = {"type": "http", "scheme": "bearer", "description": "a token of `sfumato survey token`"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "sfumato collector", "version": version, "description": "Collects reports, never answers."},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": token}},
    }


def _operation(each: Endpoint, problem: dict[str, Any], schema_of: Mapping[Any, dict[str, Any]]) -> dict[str, Any]:
    schema = schema_of.get(each.gives, {})
    media = JSON if isinstance(each.gives, type) else each.gives
    answers: dict[str, dict[str, Any]] = {
        str(status): {"description": each.summary, "content": {media: {"schema": schema}} if media else {}}
        for status in each.good
    }
    for reason in sorted(each.reasons):
        status, sentence = REASONS[reason]
        said = answers.setdefault(str(int(status)), {"description": "", "content": {JSON: {"schema": problem}}})
        if isinstance(each.gives, type) and int(status) not in each.good and each.gives.__name__ == "Verdict":
            said["content"] = {JSON: {"schema": {"anyOf": [problem, schema]}}}
        said["description"] = "; ".join(filter(None, [said["description"], sentence]))
    names = [part[1:-1] for part in each.path.split("/") if part.startswith("{")]
    where = [{"name": name, "in": "path", "required": True, "schema": PATH[name]} for name in names]
    asked = [
        {"name": one.encode_name, "in": "query", "required": one.required, "schema": msgspec.json.schema(one.type)}
        for one in (msgspec.structs.fields(each.query) if each.query else ())
    ]
    made: dict[str, Any] = {"summary": each.summary, "parameters": where + asked, "responses": answers}
    if each.takes:
        made["requestBody"] = {"required": True, "content": {JSON: {"schema": schema_of[each.takes]}}}
    return made | ({"security": [{"token": []}]} if each.scope else {})


PATH: dict[str, dict[str, str]] = {
    "survey": {"type": "string", "pattern": "^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$"},
    "id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    "job": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    "file": {"type": "string"},
}
