"""Requests to a collector over HTTP: addresses that reports may go to, one bounded request, and how its answer is read.

    POST submit          {"plan": identity, "reports": [{"id": …, "report": {…}, "invitation": …}, …]}
                         → {"accepted": [id, …], "refused": [{"id": …, "reason": …}, …]}
    DELETE submit/id     → 200 or 204: withdrawn; 404: not there (any more)
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPException
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPErrorProcessor, ProxyHandler, Request, build_opener

from sfumato.prose import visible

MOST_READ = 1 << 20
"""The most bytes of an answer that are read, against a collector that fills the memory. By judgement: an answer to 100
reports (the outbox's batch) takes tens of kilobytes."""
MOST_SAID = 300
"""The most characters of a reason in a collector's words that are kept and shown, about three lines of a terminal."""
LONGEST_PAUSE = 24 * 3600.0
"""The most seconds that a collector's Retry-After is heeded, a day, as in ``client/static/outbox.js``: a wrong clock or
a wrong header must not hold reports back for ever."""
NOT_YET = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
NOT_THERE = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "sfumato"}


@dataclass(frozen=True)
class Answer:
    """A collector's answer to one HTTP request; also that none came."""

    status: int = 0  # the HTTP status; 0: no answer came
    data: bytes = b""  # the body
    wait: float = 0.0  # seconds that the collector asks to wait
    reason: str = ""  # why no answer came

    @property
    def good(self) -> bool:
        """Whether the request succeeded (status 2xx)."""
        return 200 <= self.status < 300

    @property
    def final(self) -> bool:
        """Whether the collector refused the request in a way that trying again will not change (most statuses 4xx)."""
        return 400 <= self.status < 500 and self.status not in NOT_YET

    @property
    def description(self) -> str:
        """What came back, as words that follow an address in an error, for example "answered 404 Not Found"."""
        if not self.status:
            return f"no connection ({self.reason})"
        if self.good:
            return "the answer names none of the reports that were sent"
        if 300 <= self.status < 400:
            return f"redirects elsewhere ({self.status}), which is not followed"
        phrases = {each.value: each.phrase for each in HTTPStatus}
        return f"answered {self.status} {phrases.get(self.status, '')}".rstrip()

    def sort_reports(self, ids: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Return (list of the ids that the collector accepted, dict from refused id to reason), of the ``ids`` sent.

        An id that the answer does not name is in neither; an answer that cannot be read names none.
        """
        if not (self.good or self.final):
            return [], {}
        try:
            document = json.loads(self.data)
        except (ValueError, RecursionError):
            return [], {}
        lists = (document.get(key) if isinstance(document, dict) else None for key in ("accepted", "refused"))
        accepted, refused = (each if isinstance(each, list) else [] for each in lists)
        accepted_ids = {each for each in accepted if isinstance(each, str)}
        reasons = {
            each["id"]: visible(str(each.get("reason") or self.description)[:MOST_SAID])
            for each in refused
            if isinstance(each, dict) and isinstance(each.get("id"), str)
        }
        unsettled = [id for id in ids if id not in accepted_ids]
        return [id for id in ids if id in accepted_ids], {id: reasons[id] for id in unsettled if id in reasons}


class _AsItIs(HTTPErrorProcessor):
    """A handler for urllib that passes every answer on: no redirect is followed, and no status is an exception."""

    def http_response(self, request: Request, response: Any) -> Any:
        """Return the response as it is, whatever its status."""
        return response

    https_response = http_response


def request(submit: str, body: bytes | None, id: str, seconds: float) -> Answer:
    """Send reports to a collector (POST of the ``body``), or without a body withdraw the report ``id`` (DELETE).

    ``submit``: the address that takes reports; ``seconds``: how long to wait for the answer.
    """
    parts = urlsplit(submit)
    if body is None:
        parts = parts._replace(path=f"{parts.path.rstrip('/')}/{id}")
    return ask(parts.geturl(), "DELETE" if body is None else "POST", body, seconds)


def ask(
    address: str, method: str = "GET", body: bytes | None = None, seconds: float = 15.0, *, token: str = "",
    most: int = MOST_READ,
) -> Answer:
    """Send one HTTP request and return the answer, an ``Answer``; if none came its status is 0.

    ``seconds`` and ``most``: the time and the bytes that the answer may take; ``token``: sent as bearer token. Requests
    to this machine itself pass no proxy.
    """
    until = time.monotonic() + seconds
    direct = [ProxyHandler({})] if is_loopback(urlsplit(address).hostname) else []
    headers = HEADERS | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        message = Request(address, body, headers, method=method)
        with build_opener(_AsItIs, *direct).open(message, timeout=seconds) as response:
            wait = 0.0 if response.status < 300 else _read_wait(response.headers.get("Retry-After", ""))
            return Answer(response.status, _read(response, until, most), wait)
    except (OSError, HTTPException, ValueError) as error:
        return Answer(reason=visible(str(getattr(error, "reason", error)) or type(error).__name__)[:MOST_SAID])


def _read(response: Any, until: float, most: int) -> bytes:
    """Read the body of an HTTP response, with limits against a server that sends too much or too slowly.

    ``until``: the time of the monotonic clock when it must end, else TimeoutError; ``most``: the most bytes, else
    ValueError.
    """
    data = b""
    while part := response.read1(1 << 16):
        data += part
        if len(data) > most:
            raise ValueError("the answer is too long")
        if time.monotonic() > until:
            raise TimeoutError("timed out")
    return data


def _read_wait(text: str) -> float:
    """Read the text of a Retry-After header, a number of seconds or a date, as seconds from now; 0 if unreadable.

    It is cut to LONGEST_PAUSE.
    """
    seconds = 0.0
    with suppress(ValueError):
        seconds = float(text) if text.isdigit() else parsedate_to_datetime(text).timestamp() - time.time()
    return min(max(seconds, 0.0), LONGEST_PAUSE)


def check_address(address: str, insecure: bool = False) -> SplitResult:
    """Return the parts of an address that reports may be sent to; ValueError for any other address.

    That is https, or http on this machine; ``insecure``: True: http to other machines too.
    """
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("https", "http") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if not valid or parts.username is not None or parts.fragment or not re.fullmatch("[!-~]+", address):
        raise ValueError("reports cannot be sent to this address; give for example https://town.example/submit")
    if parts.scheme == "http" and not insecure and not is_loopback(parts.hostname):
        raise ValueError(f"what is sent to {address} can be read by everybody on the way; use https")
    return parts


def origin_of(address: str) -> str:
    """Return the origin of a web address (scheme, host and unusual port) as text, as browsers write it.

    >>> origin_of("HTTPS://Town.example:443/submit")
    'https://town.example'
    """
    parts = check_address(address, insecure=True)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    usual = {"https": 443, "http": 80}[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if parts.port in (None, usual) else f":{parts.port}")


def is_loopback(host: str | None) -> bool:
    """Return whether a host name or address is this machine itself ("localhost", 127.0.0.1, ::1)."""
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False
