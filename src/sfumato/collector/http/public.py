"""What anybody may ask of a survey: what a device needs, to take a report or to give it back, and the page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.client.page import MODEL
from sfumato.collector.access import invitation_hash
from sfumato.collector.form import ReportError
from sfumato.collector.http.documents import ServedSurvey
from sfumato.collector.http.endpoints import JSON, Endpoint, Handler, answer, reader_of
from sfumato.collector.http.messages import Batch, One, Problem, Refusal, Sent, Verdict
from sfumato.collector.http.service import Service
from sfumato.collector.refusals import RefusedError
from sfumato.collector.store import ACCEPTED, Arrival

KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".json": JSON}


async def submit(service: Service, request: Request) -> Response:
    """Store reports, or say of each why not."""
    served = service.served(request.path_params["survey"])
    batch: Batch = await read_batch(service, request)
    return await _take(service, served, batch.plan, batch.reports)


async def submit_one(service: Service, request: Request) -> Response:
    """Store one report, or say why not."""
    served = service.served(request.path_params["survey"])
    one: One = await read_one(service, request)
    return await _take(service, served, one.plan, [Sent(request.path_params["id"], one.report, one.invitation)])


read_batch, read_one = reader_of(Batch), reader_of(One)


async def _take(service: Service, served: ServedSurvey, plan: str, reports: list[Sent]) -> Response:
    """Check reports and pack them into rows, hand them to the writer, and answer when they are safe."""
    if plan != served.identity:
        raise RefusedError("plan")
    refused: dict[int, tuple[str, str]] = {}
    arrivals: dict[int, Arrival] = {}
    number, pack = served.survey.number, served.form.pack
    for index, sent in enumerate(reports):
        try:
            code = None if sent.invitation is None else invitation_hash(sent.invitation)
            arrivals[index] = Arrival(number, bytes.fromhex(sent.id), pack(sent.report), code)
        except ReportError as error:
            refused[index] = ("report", str(error))
    verdicts = await service.writer.take(list(arrivals.values())) if arrivals else []
    for index, verdict in zip(arrivals, verdicts, strict=True):
        if verdict != ACCEPTED:
            refused[index] = (verdict, RefusedError(verdict).said)
    for reason, _ in refused.values():
        service.count_refusal(reason, served)
    accepted = [sent.id for index, sent in enumerate(reports) if index not in refused]
    service.metrics.accepted.labels(served.survey.name).inc(len(accepted))
    answered = Verdict(accepted, [Refusal(reports[index].id, said) for index, (_, said) in sorted(refused.items())])
    reasons = {reason for reason, _ in refused.values()}
    return answer(answered, RefusedError(reasons.pop()).status if not accepted and len(reasons) == 1 else 200)


async def withdraw(service: Service, request: Request) -> Response:
    """Take a report back."""
    served = service.served(request.path_params["survey"])
    id = bytes.fromhex(request.path_params["id"])
    if not await service.writer.run(lambda connection: connection.withdraw(served.survey.number, id)):
        raise RefusedError("absent")
    return Response(status_code=204)


def _document(part: Callable[[ServedSurvey], bytes]) -> Handler:
    """A handler that answers with one of a survey's documents."""

    async def send_document(service: Service, request: Request) -> Response:
        return Response(part(service.served(request.path_params["survey"])), media_type=JSON)

    return send_document


async def model(service: Service, request: Request) -> Response:
    """The model that goes home."""
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
    """Whether the store works."""
    said = await service.illness()
    return answer(Problem(said), 503) if said else answer({"status": "ok"})


async def metrics(service: Service, request: Request) -> Response:
    """Figures for Prometheus."""
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
    Endpoint("GET", "/{survey}/survey.json", _document(lambda served: served.survey_json), "What a device reads"),
    Endpoint("GET", "/{survey}/plan", _document(lambda served: served.plan), "The plan and its identity"),
    Endpoint("GET", "/{survey}/guarantee", _document(lambda served: served.guarantee), "What reports can reveal"),
    Endpoint("GET", "/{survey}/program", _document(lambda served: served.program), "What devices execute"),
    Endpoint("GET", f"/{{survey}}/{MODEL}", model, "The model that goes home", refuses=("no model",)),
    Endpoint("GET", "/health", health, "Whether a canary was written and read", refuses=("store",)),
    Endpoint("GET", "/metrics", metrics, "Figures for Prometheus", gives="text/plain", scope="metrics"),
)  # fmt: skip
PUBLIC_PAGES = (
    Endpoint("GET", "/{survey}", to_page, "To the respondent's page", gives="text/html"),
    Endpoint("GET", "/{survey}/", page, "The respondent's page", gives="text/html"),
    Endpoint("GET", "/{survey}/{file}", page, "A part of the page", gives="text/plain"),
)
