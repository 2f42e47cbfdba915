"""What a program may ask with an analyst's token: figures, the reports themselves, jobs, the model that goes home.

Figures are computed by a process that is kept, from the reports as they are; an answer is given again until something
has changed, and for a few seconds in any case. Reports leave by a process of their own, which holds nobody up.
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
from sfumato.collector.background.worker import MOST_WORDS
from sfumato.collector.http.endpoints import JSON, Endpoint, Handler, answer, body_of, decoder_of, reader_of
from sfumato.collector.http.messages import EstimatesQuery, Job, Jobs, JointQuery, Shipment, Wanted
from sfumato.collector.http.service import Service
from sfumato.collector.refusals import RefusedError

CHUNK = 1 << 16
"""Bytes of an export that are sent at once."""


@contextmanager
def refusing(reason: str) -> Iterator[None]:
    """What makes no sense inside is refused for this reason, in the words that were found for it."""
    try:
        yield
    except ValueError as error:
        raise RefusedError(reason, str(error)[:MOST_WORDS]) from None


# --- figures and reports --------------------------------------------------------------------------------------------


def _figure(do: str, query: type | None = None) -> Handler:
    """A handler that answers with a figure of a survey, one of the worker's ``REQUESTS``."""

    async def send_figure(service: Service, request: Request) -> Response:
        return Response(await compute_figure(service, request, do, query), media_type=JSON)

    return send_figure


async def compute_figure(service: Service, request: Request, do: str, query: type | None) -> bytes:
    """A figure of a survey, as the query of a request wants it."""
    served = service.served(request.path_params["survey"])
    with refusing("malformed"):
        given = msgspec.to_builtins(msgspec.convert(dict(request.query_params), query, strict=False)) if query else {}
        return await service.figures.figure(served.survey, do, **given)


async def export(service: Service, request: Request) -> Response:
    """Send all reports, in an order of chance."""
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
    """All reports, as they come out of a process of their own; they are nowhere else meanwhile."""

    media_type = "application/vnd.apache.parquet"

    def __init__(
        self, name: str, process: WorkerProcess, size: int, exports: asyncio.Semaphore, seconds: float
    ) -> None:
        attached = {"Content-Length": str(size), "Content-Disposition": f'attachment; filename="{name}.parquet"'}
        super().__init__(headers=attached)
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
    """Start a job."""
    survey = service.served(request.path_params["survey"]).survey
    wanted: Wanted = await read_wanted(service, request)
    kind, options = str(wanted.__struct_config__.tag), msgspec.to_builtins(wanted.options)
    with refusing("job"):
        await service.figures.compute("check", survey=survey.name, kind=kind, options=options)
    id = await service.jobs.add(survey.number, kind, options)
    return answer(Job(id, kind, options, "waiting", ""), 202, {"Location": f"/{survey.name}/api/jobs/{id}"})


read_wanted = reader_of(Wanted)


async def jobs(service: Service, request: Request) -> Response:
    """All jobs of a survey."""
    return answer(Jobs(await _jobs(service, request)))


async def job(service: Service, request: Request) -> Response:
    """A job as it stands."""
    return answer(await _job(service, request, request.path_params["job"]))


async def job_result(service: Service, request: Request) -> Response:
    """What came of a job."""
    return Response(await _result(service, request, request.path_params["job"]), media_type=JSON)


async def end_job(service: Service, request: Request) -> Response:
    """Stop a job, or delete one that has ended."""
    await service.jobs.end((await _job(service, request, request.path_params["job"])).id)
    return Response(status_code=204)


async def _jobs(service: Service, request: Request) -> list[Job]:
    number = service.served(request.path_params["survey"]).survey.number
    return msgspec.convert(await service.reader.run(lambda connection: connection.jobs(number)), list[Job])


async def _job(service: Service, request: Request, id: str) -> Job:
    found = next((job for job in await _jobs(service, request) if job.id == id), None)
    if found is None:
        raise RefusedError("no job")
    return found


async def _result(service: Service, request: Request, id: str) -> bytes:
    job = await _job(service, request, id)
    found: bytes | None = await service.reader.run(lambda connection: connection.job_result(job.id))
    if found is None:
        raise RefusedError("no result")
    return found


async def ship(service: Service, request: Request) -> Response:
    """Send a model home: what a job has learned, or one that was learned elsewhere by the same plan."""
    name = service.served(request.path_params["survey"]).survey.name
    body = await body_of(service, request, service.settings.model_bytes)
    shipment: Shipment = read_shipment(body)
    if shipment.job is not None:
        body = await _result(service, request, shipment.job)
    with refusing("model"):
        model = await service.figures.compute("model", survey=name, text=body.decode())
    return await _ship(service, name, model.decode())


read_shipment = decoder_of(Shipment)


async def unship(service: Service, request: Request) -> Response:
    """Take the model back."""
    return await _ship(service, service.served(request.path_params["survey"]).survey.name, None)


async def _ship(service: Service, name: str, model: str | None) -> Response:
    with refusing("unknown"):
        await service.writer.run(lambda connection: connection.ship_model(name, model))
    await service.look()
    return Response(status_code=204)


# --- the table ------------------------------------------------------------------------------------------------------


def _api(scope: str, method: str, path: str, handle: Handler, summary: str, *refuses: str, **more: Any) -> Endpoint:
    return Endpoint(method, f"/{{survey}}/api/{path}", handle, summary, scope=scope, refuses=("busy", *refuses), **more)


ENDED: dict[str, Any] = {"gives": "", "good": (204,)}
FILE = Export.media_type
ANALYST = (
    _api("read", "GET", "counts", _figure("counts"), "How many reports there are"),
    _api(
        "read", "GET", "estimates", _figure("estimates", EstimatesQuery), "What the reports say", query=EstimatesQuery
    ),
    _api("read", "GET", "joint", _figure("joint", JointQuery), "Two questions together", query=JointQuery),
    _api("export", "GET", "reports.parquet", export, "The reports themselves, in an order of chance", gives=FILE),
    _api("jobs", "GET", "jobs", jobs, "All jobs", gives=Jobs),
    _api("jobs", "POST", "jobs", add_job, "Start a job", "job", takes=Wanted, gives=Job, good=(202,)),
    _api("jobs", "GET", "jobs/{job}", job, "A job as it stands", "no job", gives=Job),
    _api("jobs", "DELETE", "jobs/{job}", end_job, "Stop a job, or delete one that has ended", "no job", **ENDED),
    _api("jobs", "GET", "jobs/{job}/result", job_result, "What came of a job", "no job", "no result"),
    _api("ship", "PUT", "model", ship, "Send a model home", "no job", "no result", "model", takes=Shipment, **ENDED),
    _api("ship", "DELETE", "model", unship, "Take the model back", **ENDED),
)
