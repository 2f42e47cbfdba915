"""What anybody may ask of a survey: what a device needs, to take a report or to give it back, and the page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.client.page import MODEL
from sfumato.collector.access import invitation_hash
from sfumato.collector.endpoints import JSON, Endpoint, answer, reader_of
from sfumato.collector.form import ReportError
from sfumato.collector.messages import Batch, One, Problem, Refusal, RefusedError, Sent, Verdict
from sfumato.collector.store import ACCEPTED, Arrival

if TYPE_CHECKING:
    from sfumato.collector.service import Served, Service

KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".json": JSON}


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
)  # fmt: skip
PUBLIC_PAGES = (
    Endpoint("GET", "/{survey}", to_page, "To the respondent's page", gives="text/html"),
    Endpoint("GET", "/{survey}/", page, "The respondent's page", gives="text/html"),
    Endpoint("GET", "/{survey}/{file}", page, "A part of the page", gives="text/plain"),
)
