"""The endpoints for everybody: sending and withdrawing reports, a survey's documents, and the respondent's page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.client.page import MODEL
from sfumato.collector.access import invitation_hash
from sfumato.collector.form import ReportError
from sfumato.collector.http.documents import ServedSurvey
from sfumato.collector.http.endpoints import JSON, Endpoint, Handler, json_response, problem_response, reader_of
from sfumato.collector.http.messages import Refusal, ReportBatch, SentReport, SingleReport, SubmissionVerdict
from sfumato.collector.http.service import Service
from sfumato.collector.refusals import RefusedError
from sfumato.collector.store import ACCEPTED, Arrival

MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".json": JSON}
"""The media type of a file of the respondent's page, by the ending of its name."""


async def submit(service: Service, request: Request) -> Response:
    """Store the reports in a request's body; answer which are accepted and why the others are not."""
    served = service.served(request.path_params["survey"])
    batch: ReportBatch = await read_batch(service, request)
    return await _take(service, served, batch.plan, batch.reports)


async def submit_one(service: Service, request: Request) -> Response:
    """Store the report in a request's body under the id in its address; answer whether it is accepted, or why not."""
    served = service.served(request.path_params["survey"])
    single: SingleReport = await read_single(service, request)
    sent = SentReport(request.path_params["id"], single.report, single.invitation)
    return await _take(service, served, single.plan, [sent])


read_batch, read_single = reader_of(ReportBatch), reader_of(SingleReport)


async def _take(service: Service, served: ServedSurvey, plan: str, reports: list[SentReport]) -> Response:
    """Check reports, pack them into rows, have them written, and answer when they are on the disk.

    ``plan``: the identity (hash) of the plan for which they were made; RefusedError where it is not the survey's.
    """
    if plan != served.identity:
        raise RefusedError("plan")
    refused: dict[int, tuple[str, str]] = {}
    arrivals: dict[int, Arrival] = {}
    number, pack = served.survey.number, served.form.pack
    for index, sent in enumerate(reports):
        try:
            invitation = None if sent.invitation is None else invitation_hash(sent.invitation)
            arrivals[index] = Arrival(number, bytes.fromhex(sent.id), pack(sent.report), invitation)
        except ReportError as error:
            refused[index] = ("report", str(error))
    verdicts = await service.writer.take(list(arrivals.values())) if arrivals else []
    for index, verdict in zip(arrivals, verdicts, strict=True):
        if verdict != ACCEPTED:
            refused[index] = (verdict, RefusedError(verdict).sentence)
    for reason, _ in refused.values():
        service.count_refusal(reason, served)
    accepted = [sent.id for index, sent in enumerate(reports) if index not in refused]
    service.metrics.accepted.labels(served.survey.name).inc(len(accepted))
    refusals = [Refusal(reports[index].id, sentence) for index, (_, sentence) in sorted(refused.items())]
    reasons = {reason for reason, _ in refused.values()}
    status = RefusedError(reasons.pop()).status if not accepted and len(reasons) == 1 else 200
    return json_response(SubmissionVerdict(accepted, refusals), status)


async def withdraw(service: Service, request: Request) -> Response:
    """Withdraw the report whose id stands in the address. RefusedError: there is none."""
    served = service.served(request.path_params["survey"])
    id = bytes.fromhex(request.path_params["id"])
    if not await service.writer.run(lambda connection: connection.withdraw(served.survey.number, id)):
        raise RefusedError("absent")
    return Response(status_code=204)


def _sender_of(document: Callable[[ServedSurvey], bytes]) -> Handler:
    """Return a handler of requests that answers with one of a survey's documents, as JSON.

    ``document``: the function that reads it from the survey.
    """

    async def send_document(service: Service, request: Request) -> Response:
        return Response(document(service.served(request.path_params["survey"])), media_type=JSON)

    return send_document


async def send_model(service: Service, request: Request) -> Response:
    """Answer with the model that devices of the survey load, as JSON. RefusedError: none has been shipped."""
    model = service.served(request.path_params["survey"]).survey.model
    if model is None:
        raise RefusedError("no model")
    return Response(model, media_type=JSON)


async def send_page(service: Service, request: Request) -> Response:
    """Answer with the page on which people answer, or with one of its files; 404 where there is none."""
    name = request.path_params.get("file", "index.html")
    served = service.served(request.path_params["survey"])
    data = served.files.get(name)
    if data is None:
        raise HTTPException(404)
    return Response(data, media_type=MEDIA_TYPES.get("." + name.rpartition(".")[2], "text/plain"))


async def redirect_to_page(service: Service, request: Request) -> Response:
    """Redirect to the page on which people answer, by a relative address.

    Behind a proxy, an absolute address would lack its TLS.
    """
    return RedirectResponse(f"{service.served(request.path_params['survey']).survey.name}/")


async def check_health(service: Service, request: Request) -> Response:
    """Answer whether the store can be written and read: status 200, or 503 with the reason."""
    illness = await service.illness()
    return problem_response(illness, 503) if illness else json_response({"status": "ok"})


async def send_metrics(service: Service, request: Request) -> Response:
    """Answer with the figures about the service (requests, reports, times of commits) as Prometheus reads them."""
    text = await asyncio.to_thread(service.metrics.text)
    return Response(text, media_type="text/plain; version=0.0.4")


SUBMISSION: dict[str, Any] = {
    "gives": SubmissionVerdict,
    "refuses": ("plan", "report", "closed", "invitation", "conflict", "withdrawn", "busy", "store"),
}
"""How reports are answered, and why they may be refused."""
PUBLIC = (
    Endpoint("POST", "/{survey}/reports", submit, "Send reports", ReportBatch, **SUBMISSION),
    Endpoint("PUT", "/{survey}/reports/{id}", submit_one, "Send one report", SingleReport, **SUBMISSION),
    Endpoint(
        "DELETE", "/{survey}/reports/{id}", withdraw, "Withdraw a report", gives="", good=(204,),
        refuses=("absent", "busy", "store"),
    ),
    Endpoint("GET", "/{survey}/survey.json", _sender_of(lambda served: served.survey_json), "What a device reads"),
    Endpoint("GET", "/{survey}/plan", _sender_of(lambda served: served.plan), "The plan and its identity"),
    Endpoint("GET", "/{survey}/guarantee", _sender_of(lambda served: served.guarantee), "What reports can reveal"),
    Endpoint("GET", "/{survey}/program", _sender_of(lambda served: served.program), "What devices execute"),
    Endpoint("GET", f"/{{survey}}/{MODEL}", send_model, "The model that goes home", refuses=("no model",)),
    Endpoint("GET", "/health", check_health, "Whether a canary was written and read", refuses=("store",)),
    Endpoint("GET", "/metrics", send_metrics, "Figures for Prometheus", gives="text/plain", scope="metrics"),
)  # fmt: skip
"""The endpoints for programs that need no token (but for the metrics)."""
PUBLIC_PAGES = (
    Endpoint("GET", "/{survey}", redirect_to_page, "To the respondent's page", gives="text/html"),
    Endpoint("GET", "/{survey}/", send_page, "The respondent's page", gives="text/html"),
    Endpoint("GET", "/{survey}/{file}", send_page, "A part of the page", gives="text/plain"),
)
"""The endpoints of the respondent's page, in a browser."""
