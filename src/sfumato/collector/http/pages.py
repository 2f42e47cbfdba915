"""Pages for an analyst in a browser: the dashboard, and where one signs in for it."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.collector.access import COOKIE, allows
from sfumato.collector.http.analyst import compute_figure
from sfumato.collector.http.endpoints import Endpoint, body_of, check_token, from_own_page
from sfumato.collector.http.messages import DashboardQuery
from sfumato.collector.http.service import Service
from sfumato.collector.refusals import RefusedError
from sfumato.pages import Page, tag
from sfumato.pages.page import LIVE_POLICY
from sfumato.prose import sentence

LOGIN = "/static/login.js"


def page_headers(policy: str) -> dict[str, str]:
    """With the referrer policy of a page of ours, its own requests say where they come from."""
    return {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'", "Referrer-Policy": "same-origin"}


async def dashboard(service: Service, request: Request) -> Response:
    """The dashboard; without a valid token, to the sign-in."""
    survey = service.served(request.path_params["survey"]).survey
    try:
        await check_token(service, request, "read", survey.number)
    except RefusedError as error:
        if error.reason == "token":
            return RedirectResponse(f"/login?survey={survey.name}", 303)
        raise
    html = await compute_figure(service, request, "dashboard", DashboardQuery)
    return Response(html, media_type="text/html", headers=page_headers(LIVE_POLICY))


async def login_form(service: Service, request: Request) -> Response:
    """The page to sign in at."""
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
    form = dict(parse_qsl((await body_of(service, request, service.settings.login_bytes)).decode(errors="replace")))
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
    """Sign out."""
    if not from_own_page(request):
        raise RefusedError("page")
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


async def static(service: Service, request: Request) -> Response:
    """A script of the pages."""
    found = STATIC.get(request.path_params["file"])
    if found is None:
        raise HTTPException(404)
    return Response(found, media_type="text/javascript")


STATIC = {path.name: path.read_bytes() for path in (files("sfumato.collector.http") / "static").iterdir()}
PAGES = (
    Endpoint("GET", "/login", login_form, "Sign in", gives="text/html", same_site=True),
    Endpoint("POST", "/login", login, "Sign in", gives="text/html", same_site=True),
    Endpoint("POST", "/logout", logout, "Sign out", gives="text/html", same_site=True),
    Endpoint("GET", "/static/{file}", static, "A script of these pages", gives="text/javascript", same_site=True),
    Endpoint("GET", "/{survey}/dashboard", dashboard, "The dashboard", gives="text/html", same_site=True),
)
