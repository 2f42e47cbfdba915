"""The endpoints for an analyst in a browser: the dashboard, and the pages to sign in and out."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.collector.access import COOKIE, refusal_of
from sfumato.collector.http.analyst import compute_figure
from sfumato.collector.http.endpoints import Endpoint, check_token, is_from_own_page, read_body
from sfumato.collector.http.messages import DashboardQuery
from sfumato.collector.http.service import Service
from sfumato.collector.refusals import RefusedError
from sfumato.pages import Page, tag
from sfumato.pages.page import LIVE_POLICY
from sfumato.prose import sentence

LOGIN_SCRIPT = "/static/login.js"


def page_headers(policy: str) -> dict[str, str]:
    """Return the HTTP headers of a page with this content security policy, as a dict.

    The referrer policy makes the page's own requests name it as their origin, which `is_from_own_page` reads.
    """
    return {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'", "Referrer-Policy": "same-origin"}


async def show_dashboard(service: Service, request: Request) -> Response:
    """Answer with the dashboard of a survey; without a valid token, redirect to the page to sign in."""
    survey = service.served(request.path_params["survey"]).survey
    try:
        await check_token(service, request, "read", survey.number)
    except RefusedError as error:
        if error.reason == "token":
            return RedirectResponse(f"/login?survey={survey.name}", 303)
        raise
    html = await compute_figure(service, request, "dashboard", DashboardQuery)
    return Response(html, media_type="text/html", headers=page_headers(LIVE_POLICY))


async def show_login(service: Service, request: Request) -> Response:
    """Answer with the page to sign in."""
    return _login_page(request.query_params.get("survey", ""))


def _login_page(survey: str, problem: str = "", status: int = 200) -> Response:
    """Return the page to sign in for a survey, or for any (""), with a problem that it shows."""
    page = Page("Sign in", "With the token that sfumato serve or sfumato survey token has shown.", script=LOGIN_SCRIPT)
    if problem:
        page.note(sentence(problem), good=False)
    token_field = tag("input", name_="token", type="password", autocomplete="off", required="")
    survey_field = tag("input", name_="survey", type="hidden", value=survey)
    label, button = tag("label", "Token ", token_field), tag("button", "Sign in")
    page.add(tag("form", survey_field, label, " ", button, method="post", action="/login"))
    return Response(page.html(), status, page_headers(page.policy), "text/html")


async def log_in(service: Service, request: Request) -> Response:
    """Put a valid token from the form into a cookie that no script reads and no other site sends.

    Answers with a redirect to the dashboard of the survey, or with the page to sign in again.
    """
    if not is_from_own_page(request):
        raise RefusedError("page")
    form = dict(parse_qsl((await read_body(service, request, service.settings.login_bytes)).decode(errors="replace")))
    token = form.get("token", "").strip()
    for name, served in service.surveys.items():
        if form.get("survey", name) not in ("", name):
            continue
        reason = await service.reader.run(partial(refusal_of, token=token, survey=served.survey.number, scope="read"))
        if reason == "token":
            break
        if not reason:
            response = RedirectResponse(f"/{name}/dashboard", 303)
            secure = request.url.scheme == "https" or request.headers.get("origin", "").startswith("https:")
            response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure)
            return response
    return _login_page(form.get("survey", ""), RefusedError("token").sentence, 401)


async def log_out(service: Service, request: Request) -> Response:
    """Delete the cookie with the token, and redirect to the page to sign in."""
    if not is_from_own_page(request):
        raise RefusedError("page")
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


async def send_script(service: Service, request: Request) -> Response:
    """Answer with a JavaScript file of the analyst's pages, by its name; 404 where there is none."""
    script = SCRIPTS.get(request.path_params["file"])
    if script is None:
        raise HTTPException(404)
    return Response(script, media_type="text/javascript")


SCRIPTS = {path.name: path.read_bytes() for path in (files("sfumato.collector.http") / "static").iterdir()}
PAGES = (
    Endpoint("GET", "/login", show_login, "Sign in", gives="text/html", same_site=True),
    Endpoint("POST", "/login", log_in, "Sign in", gives="text/html", same_site=True),
    Endpoint("POST", "/logout", log_out, "Sign out", gives="text/html", same_site=True),
    Endpoint("GET", "/static/{file}", send_script, "A script of these pages", gives="text/javascript", same_site=True),
    Endpoint("GET", "/{survey}/dashboard", show_dashboard, "The dashboard", gives="text/html", same_site=True),
)
"""The endpoints of an analyst's pages; they check tokens themselves."""
