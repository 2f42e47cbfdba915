"""What an analyst may ask with a token: figures, the reports themselves, jobs, the model that goes home, the dashboard.

Figures are computed by a process that is kept, from the reports as they are; an answer is given again until something
has changed, and for a few seconds in any case. Reports leave by a process of their own, which holds nobody up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from sfumato.collector.access import COOKIE, allows
from sfumato.collector.endpoints import JSON, Endpoint, Handler, answer, body_of, decoder_of, from_own_page, reader_of
from sfumato.collector.messages import Both, Job, Jobs, Perhaps, RefusedError, Shipment, Wanted, Which
from sfumato.collector.processes import SECONDS_OF_AN_ANSWER, Child, EndedError
from sfumato.collector.work import MOST_WORDS
from sfumato.pages import Page, tag
from sfumato.pages.page import LIVE_POLICY
from sfumato.prose import sentence

if TYPE_CHECKING:
    from sfumato.collector.service import Service

LOGIN = "/static/login.js"
LARGEST_MODEL, LARGEST_FORM, CHUNK = 16 << 20, 4096, 1 << 16


@contextmanager
def refusing(reason: str) -> Iterator[None]:
    """What makes no sense inside is refused for this reason, in the words that were found for it."""
    try:
        yield
    except ValueError as error:
        raise RefusedError(reason, str(error)[:MOST_WORDS]) from None


# --- figures and reports --------------------------------------------------------------------------------------------


def _figure(do: str, query: type | None = None) -> Handler:
    async def tell(service: Service, request: Request) -> Response:
        return Response(await _told(service, request, do, query), media_type=JSON)

    return tell


async def _told(service: Service, request: Request, do: str, query: type | None) -> bytes:
    """A figure of a survey, as the query of a request wants it."""
    served = service.served(request.path_params["survey"])
    with refusing("malformed"):
        given = msgspec.to_builtins(msgspec.convert(dict(request.query_params), query, strict=False)) if query else {}
        return await service.views.told(served, do, **given)


async def export(service: Service, request: Request) -> Response:
    name, exporting = service.served(request.path_params["survey"]).survey.name, service.views.exporting
    if exporting.locked():
        raise RefusedError("busy")
    await exporting.acquire()
    child = None
    try:
        child = await Child.start(service.store.address)
        async with asyncio.timeout(SECONDS_OF_AN_ANSWER):
            return Export(name, child, await child.ask("export", survey=name), exporting)
    except BaseException as error:
        exporting.release()
        if child is not None:
            await child.end()
        if isinstance(error, (EndedError, TimeoutError, ValueError)):
            raise RefusedError("busy", "this could not be written; ask again later") from None
        raise


class Export(Response):
    """All reports, as they come out of a process of their own; they are nowhere else meanwhile."""

    media_type = "application/vnd.apache.parquet"

    def __init__(self, name: str, child: Child, size: int, exporting: asyncio.Semaphore) -> None:
        attached = {"Content-Length": str(size), "Content-Disposition": f'attachment; filename="{name}.parquet"'}
        super().__init__(headers=attached)
        self.child, self.size, self.exporting = child, size, exporting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(SECONDS_OF_AN_ANSWER):
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                while part := await self.child.read(min(CHUNK, self.size)):
                    self.size -= len(part)
                    await send({"type": "http.response.body", "body": part, "more_body": self.size > 0})
        finally:
            self.exporting.release()
            await self.child.end()


# --- jobs and the model ---------------------------------------------------------------------------------------------


async def add_job(service: Service, request: Request) -> Response:
    survey = service.served(request.path_params["survey"]).survey
    wanted: Wanted = await read_wanted(request)
    kind, options = str(wanted.__struct_config__.tag), msgspec.to_builtins(wanted.options)
    with refusing("job"):
        await service.views.ask("check", survey=survey.name, kind=kind, options=options)
    id = await service.jobs.add(survey.number, kind, options)
    return answer(Job(id, kind, options, "waiting", ""), 202, {"Location": f"/{survey.name}/api/jobs/{id}"})


read_wanted = reader_of(Wanted)


async def jobs(service: Service, request: Request) -> Response:
    return answer(Jobs(await _jobs(service, request)))


async def job(service: Service, request: Request) -> Response:
    return answer(await _job(service, request, request.path_params["job"]))


async def job_result(service: Service, request: Request) -> Response:
    return Response(await _result(service, request, request.path_params["job"]), media_type=JSON)


async def end_job(service: Service, request: Request) -> Response:
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
    body = await body_of(request, LARGEST_MODEL)
    shipment: Shipment = read_shipment(body)
    if shipment.job is not None:
        body = await _result(service, request, shipment.job)
    with refusing("model"):
        model = await service.views.ask("model", survey=name, text=body.decode())
    return await _ship(service, name, model.decode())


read_shipment = decoder_of(Shipment)


async def unship(service: Service, request: Request) -> Response:
    return await _ship(service, service.served(request.path_params["survey"]).survey.name, None)


async def _ship(service: Service, name: str, model: str | None) -> Response:
    with refusing("unknown"):
        await service.writer.run(lambda connection: connection.ship_model(name, model))
    await service.look()
    return Response(status_code=204)


# --- pages ----------------------------------------------------------------------------------------------------------


def page_headers(policy: str) -> dict[str, str]:
    """With the referrer policy of a page of ours, its own requests say where they come from."""
    return {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'", "Referrer-Policy": "same-origin"}


async def dashboard(service: Service, request: Request) -> Response:
    survey = service.served(request.path_params["survey"]).survey
    try:
        await service.check_token(request, "read", survey.number)
    except RefusedError as error:
        if error.reason == "token":
            return RedirectResponse(f"/login?survey={survey.name}", 303)
        raise
    html = await _told(service, request, "dashboard", Perhaps)
    return Response(html, media_type="text/html", headers=page_headers(LIVE_POLICY))


async def login_form(service: Service, request: Request) -> Response:
    return _login_page(request.query_params.get("survey", ""))


def _login_page(survey: str, said: str = "", status: int = 200) -> Response:
    page = Page("Sign in", "With the token that sfumato serve or sfumato survey token has shown.", script=LOGIN)
    if said:
        page.note(sentence(said), good=False)
    asked = tag("input", name_="token", type="password", autocomplete="off", required="")
    about = tag("input", name_="survey", type="hidden", value=survey)
    button = tag("button", "Sign in")
    page.add(tag("form", about, tag("label", "Token ", asked), " ", button, method="post", action="/login"))
    return Response(page.html(), status, page_headers(page.policy), "text/html")


async def login(service: Service, request: Request) -> Response:
    """The token goes into a cookie that no script reads and no other site sends."""
    if not from_own_page(request):
        raise RefusedError("page")
    form = dict(parse_qsl((await body_of(request, LARGEST_FORM)).decode(errors="replace")))
    token = form.get("token", "").strip()
    for name, served in service.surveys.items():
        if form.get("survey", name) not in ("", name):
            continue
        refused = await service.reader.run(partial(allows, token=token, survey=served.survey.number, scope="read"))
        if refused == "token":
            break
        if not refused:
            response = RedirectResponse(f"/{name}/dashboard", 303)
            secure = request.url.scheme == "https" or request.headers.get("origin", "").startswith("https:")
            response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure)
            return response
    return _login_page(form.get("survey", ""), RefusedError("token").said, 401)


async def logout(service: Service, request: Request) -> Response:
    if not from_own_page(request):
        raise RefusedError("page")
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


async def static(service: Service, request: Request) -> Response:
    found = STATIC.get(request.path_params["file"])
    if found is None:
        raise HTTPException(404)
    return Response(found, media_type="text/javascript")


STATIC = {name: (files("sfumato.collector") / "static" / name).read_bytes() for name in ("dashboard.js", "login.js")}


def _api(scope: str, method: str, path: str, handle: Handler, summary: str, *refuses: str, **more: Any) -> Endpoint:
    return Endpoint(method, f"/{{survey}}/api/{path}", handle, summary, scope=scope, refuses=("busy", *refuses), **more)


ENDED: dict[str, Any] = {"gives": "", "good": (204,)}
FILE = Export.media_type
ANALYST = (
    _api("read", "GET", "counts", _figure("counts"), "How many reports there are"),
    _api("read", "GET", "estimates", _figure("estimates", Which), "What the reports say", query=Which),
    _api("read", "GET", "joint", _figure("joint", Both), "Two questions together", query=Both),
    _api("export", "GET", "reports.parquet", export, "The reports themselves, in an order of chance", gives=FILE),
    _api("jobs", "GET", "jobs", jobs, "All jobs", gives=Jobs),
    _api("jobs", "POST", "jobs", add_job, "Start a job", "job", takes=Wanted, gives=Job, good=(202,)),
    _api("jobs", "GET", "jobs/{job}", job, "A job as it stands", "no job", gives=Job),
    _api("jobs", "DELETE", "jobs/{job}", end_job, "Stop a job, or delete one that has ended", "no job", **ENDED),
    _api("jobs", "GET", "jobs/{job}/result", job_result, "What came of a job", "no job", "no result"),
    _api("ship", "PUT", "model", ship, "Send a model home", "no job", "no result", "model", takes=Shipment, **ENDED),
    _api("ship", "DELETE", "model", unship, "Take the model back", **ENDED),
)
ANALYST_PAGES = (
    Endpoint("GET", "/login", login_form, "Sign in", gives="text/html", same_site=True),
    Endpoint("POST", "/login", login, "Sign in", gives="text/html", same_site=True),
    Endpoint("POST", "/logout", logout, "Sign out", gives="text/html", same_site=True),
    Endpoint("GET", "/static/{file}", static, "A script of these pages", gives="text/javascript", same_site=True),
    Endpoint("GET", "/{survey}/dashboard", dashboard, "The dashboard", gives="text/html", same_site=True),
)
