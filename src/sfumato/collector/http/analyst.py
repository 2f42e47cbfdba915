"""The endpoints for programs with an analyst's token: figures, the export of reports, jobs, the model for devices.

One process computes all figures; a figure is answered again until the survey changes, and for a few seconds in any
case. Each export has a process of its own, so that it holds nobody up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sfumato.collector.background.processes import EndedError, WorkerProcess
from sfumato.collector.background.worker import MOST_LETTERS
from sfumato.collector.http.endpoints import JSON, Endpoint, Handler, decoder_of, json_response, read_body, reader_of
from sfumato.collector.http.messages import EstimatesQuery, JobList, JobState, JointQuery, NewJob, Shipment
from sfumato.collector.http.service import Service
from sfumato.collector.refusals import RefusedError

CHUNK = 1 << 16
"""The most bytes of an export that are sent at once: what a pipe of Linux holds. More takes memory, less more calls."""


PARQUET = "application/vnd.apache.parquet"


@contextmanager
def refusing(reason: str) -> Iterator[None]:
    """Refuse the request for this reason if the with block raises a ValueError; its message is what the client is told.

    ``reason``: a key of ``REASONS``.
    """
    try:
        yield
    except ValueError as error:
        raise RefusedError(reason, str(error)[:MOST_LETTERS]) from None


# --- figures and reports --------------------------------------------------------------------------------------------


def _figure(do: str, query: type | None = None) -> Handler:
    """Return a handler of requests that answers with a figure of a survey, as JSON.

    ``do``: one of the worker's ``REQUESTS``, such as "estimates"; ``query``: the form of the address's query, None:
    none.
    """

    async def send_figure(service: Service, request: Request) -> Response:
        return Response(await compute_figure(service, request, do, query), media_type=JSON)

    return send_figure


async def compute_figure(service: Service, request: Request, do: str, query: type | None) -> bytes:
    """Return a figure (such as counts, estimates or the dashboard) of the survey that a request names, as bytes.

    ``do``: its name, one of the worker's ``REQUESTS``; ``query``: the form of the request's query, which has the
    figure's options, None: there is none. RefusedError: the query is malformed or does not fit the plan.
    """
    served = service.served(request.path_params["survey"])
    with refusing("malformed"):
        options = msgspec.to_builtins(msgspec.convert(dict(request.query_params), query, strict=False)) if query else {}
        return await service.figures.figure(served.survey, do, **options)


async def export(service: Service, request: Request) -> Response:
    """Answer with all reports of a survey as a Parquet file, in random order; made by a process of its own."""
    name, exports = service.served(request.path_params["survey"]).survey.name, service.figures.exports
    if exports.locked():
        raise RefusedError("busy")
    await exports.acquire()
    process, seconds = None, service.settings.answer_seconds
    try:
        process = await service.figures.new_process()
        async with asyncio.timeout(seconds):
            return Export(name, process, await process.request("export", survey=name), exports, seconds)
    except BaseException as error:
        exports.release()
        if process is not None:
            await process.end()
        if isinstance(error, (EndedError, TimeoutError, ValueError)):
            raise RefusedError("busy", "this could not be written; ask again later") from None
        raise


class Export(Response):
    """A response that sends a Parquet file piece by piece from the process that makes it; it is never held whole.

    ``name``: the survey's. ``size``: the file's bytes. ``exports``: the semaphore that the caller has acquired, which
    is released at the end. ``seconds``: how long the sending may take.
    """

    media_type = PARQUET

    def __init__(
        self, name: str, process: WorkerProcess, size: int, exports: asyncio.Semaphore, seconds: float
    ) -> None:
        headers = {"Content-Length": str(size), "Content-Disposition": f'attachment; filename="{name}.parquet"'}
        super().__init__(headers=headers)
        self.process, self.size, self.exports, self.seconds = process, size, exports, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self.seconds):
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                while part := await self.process.read(min(CHUNK, self.size)):
                    self.size -= len(part)
                    await send({"type": "http.response.body", "body": part, "more_body": self.size > 0})
        finally:
            self.exports.release()
            await self.process.end()


# --- jobs and the model ---------------------------------------------------------------------------------------------


async def add_job(service: Service, request: Request) -> Response:
    """Add the job that a request's body describes (training, itemsets or an audit) to the survey's queue.

    Answers 202 with its state, "waiting"; the job runs later. RefusedError: it cannot be done under the plan.
    """
    survey = service.served(request.path_params["survey"]).survey
    new_job: NewJob = await read_new_job(service, request)
    kind, options = str(new_job.__struct_config__.tag), msgspec.to_builtins(new_job.options)
    with refusing("job"):
        await service.figures.compute("check", survey=survey.name, kind=kind, options=options)
    id = await service.jobs.add(survey.number, kind, options)
    state = JobState(id, kind, options, "waiting", "")
    return json_response(state, 202, {"Location": f"/{survey.name}/api/jobs/{id}"})


read_new_job = reader_of(NewJob)


async def list_jobs(service: Service, request: Request) -> Response:
    """Answer with the states of all jobs (training, itemsets, audits) of a survey, as JSON."""
    return json_response(JobList(await _read_jobs(service, request)))


async def show_job(service: Service, request: Request) -> Response:
    """Answer with the state of one job, as JSON: waiting, running, done, failed or stopped."""
    return json_response(await _read_job(service, request, request.path_params["job"]))


async def show_job_result(service: Service, request: Request) -> Response:
    """Answer with the result of one job, as JSON. RefusedError: it has none."""
    return Response(await _read_result(service, request, request.path_params["job"]), media_type=JSON)


async def end_job(service: Service, request: Request) -> Response:
    """Stop the job in the address if it waits or runs, or delete it if it has ended; answers without content."""
    await service.jobs.end((await _read_job(service, request, request.path_params["job"])).id)
    return Response(status_code=204)


async def _read_jobs(service: Service, request: Request) -> list[JobState]:
    """Return the states of all jobs of the survey that a request names, read from the store."""
    number = service.served(request.path_params["survey"]).survey.number
    return msgspec.convert(await service.reader.run(lambda connection: connection.jobs(number)), list[JobState])


async def _read_job(service: Service, request: Request, id: str) -> JobState:
    """Return the state of a job of the survey that a request names. RefusedError: the survey has no such job."""
    job = next((job for job in await _read_jobs(service, request) if job.id == id), None)
    if job is None:
        raise RefusedError("no job")
    return job


async def _read_result(service: Service, request: Request, id: str) -> bytes:
    """Return the result (JSON) of a job of the survey that a request names. RefusedError: it has none."""
    job = await _read_job(service, request, id)
    result: bytes | None = await service.reader.run(lambda connection: connection.job_result(job.id))
    if result is None:
        raise RefusedError("no result")
    return result


async def ship_model(service: Service, request: Request) -> Response:
    """Ship a model to the devices of a survey: that of a job named in the body, or the model in the body itself.

    It is checked, and must be learned by the survey's plan. Answers without content.
    """
    name = service.served(request.path_params["survey"]).survey.name
    body = await read_body(service, request, service.settings.model_bytes)
    shipment: Shipment = decode_shipment(body)
    if shipment.job is not None:
        body = await _read_result(service, request, shipment.job)
    with refusing("model"):
        model = await service.figures.compute("model", survey=name, text=body.decode())
    return await _set_model(service, name, model.decode())


decode_shipment = decoder_of(Shipment)


async def withdraw_model(service: Service, request: Request) -> Response:
    """Take back the model that devices of a survey load; answers without content."""
    return await _set_model(service, service.served(request.path_params["survey"]).survey.name, None)


async def _set_model(service: Service, name: str, model: str | None) -> Response:
    """Store the model that devices of a survey load, and answer 204, without content.

    ``name``: the survey's; ``model``: JSON text, None takes the model away. RefusedError: there is no such survey.
    """
    with refusing("unknown"):
        await service.writer.run(lambda connection: connection.ship_model(name, model))
    await service.look()
    return Response(status_code=204)


# --- the table ------------------------------------------------------------------------------------------------------


def _api(scope: str, method: str, path: str, handle: Handler, summary: str, *refuses: str, **more: Any) -> Endpoint:
    """Return an endpoint below a survey's /api/ whose token must permit ``scope``, such as "read".

    ``handle``: the function that answers; ``refuses``: reasons for refusals beside "busy".
    """
    return Endpoint(method, f"/{{survey}}/api/{path}", handle, summary, scope=scope, refuses=("busy", *refuses), **more)


DONE: dict[str, Any] = {"gives": "", "good": (204,)}
"""An answer without content."""
UNSHIPPED = ("no job", "no result", "model")
"""Why a model may not be shipped."""
ANALYST = (
    _api("read", "GET", "counts", _figure("counts"), "How many reports there are"),
    _api(
        "read", "GET", "estimates", _figure("estimates", EstimatesQuery), "What the reports say", query=EstimatesQuery
    ),
    _api("read", "GET", "joint", _figure("joint", JointQuery), "Two questions together", query=JointQuery),
    _api("export", "GET", "reports.parquet", export, "The reports themselves, in an order of chance", gives=PARQUET),
    _api("jobs", "GET", "jobs", list_jobs, "All jobs", gives=JobList),
    _api("jobs", "POST", "jobs", add_job, "Start a job", "job", takes=NewJob, gives=JobState, good=(202,)),
    _api("jobs", "GET", "jobs/{job}", show_job, "A job as it stands", "no job", gives=JobState),
    _api("jobs", "DELETE", "jobs/{job}", end_job, "Stop a job, or delete one that has ended", "no job", **DONE),
    _api("jobs", "GET", "jobs/{job}/result", show_job_result, "What came of a job", "no job", "no result"),
    _api("ship", "PUT", "model", ship_model, "Send a model home", *UNSHIPPED, takes=Shipment, **DONE),
    _api("ship", "DELETE", "model", withdraw_model, "Take the model back", **DONE),
)
"""The endpoints that need an analyst's token."""
