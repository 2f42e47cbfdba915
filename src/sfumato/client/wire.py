"""Asking a collector over HTTP: addresses that reports may go to, one request within bounds, and what an answer says.

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
MOST_SAID = 300
LONGEST_PAUSE = 24 * 3600.0
NOT_YET = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
NOT_THERE = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "sfumato"}


@dataclass(frozen=True)
class Answer:
    """What came back: status 0 and a reason where nothing did; ``wait``: seconds that the collector asks for."""

    status: int = 0
    data: bytes = b""
    wait: float = 0.0
    reason: str = ""

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def final(self) -> bool:
        """A refusal that will not change."""
        return 400 <= self.status < 500 and self.status not in NOT_YET

    @property
    def said(self) -> str:
        if not self.status:
            return f"no connection ({self.reason})"
        if self.good:
            return "the answer names none of the reports that were sent"
        if 300 <= self.status < 400:
            return f"redirects elsewhere ({self.status}), which is not followed"
        known = {each.value: each.phrase for each in HTTPStatus}
        return f"answered {self.status} {known.get(self.status, '')}".rstrip()

    def verdict(self, ids: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Which of these reports the collector accepted, and which it refused for what reason; nonsense names none."""
        if not (self.good or self.final):
            return [], {}
        try:
            found = json.loads(self.data)
        except (ValueError, RecursionError):
            return [], {}
        named = {key: found.get(key) if isinstance(found, dict) else None for key in ("accepted", "refused")}
        accepted, listed = (each if isinstance(each, list) else [] for each in named.values())
        taken_in = {each for each in accepted if isinstance(each, str)}
        taken = [id for id in ids if id in taken_in]
        reasons = {
            each["id"]: visible(str(each.get("reason") or self.said)[:MOST_SAID])
            for each in listed
            if isinstance(each, dict) and isinstance(each.get("id"), str)
        }
        return taken, {id: reasons[id] for id in ids if id in reasons and id not in taken_in}


class _AsItIs(HTTPErrorProcessor):
    """Every answer as it is: no redirect is followed, and no status is an exception."""

    def http_response(self, request: Request, response: Any) -> Any:
        return response

    https_response = http_response


def request(submit: str, body: bytes | None, id: str, seconds: float) -> Answer:
    """Send a body, or without one withdraw an id."""
    parts = urlsplit(submit)
    if body is None:
        parts = parts._replace(path=f"{parts.path.rstrip('/')}/{id}")
    return ask(parts.geturl(), "DELETE" if body is None else "POST", body, seconds)


def ask(
    address: str, method: str = "GET", body: bytes | None = None, seconds: float = 15.0, *, token: str = "",
    most: int = MOST_READ,
) -> Answer:
    """One request, answered within so many seconds and bytes. What goes to this machine itself passes no proxy."""
    until = time.monotonic() + seconds
    direct = [ProxyHandler({})] if is_loopback(urlsplit(address).hostname) else []
    headers = HEADERS | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        asked = Request(address, body, headers, method=method)
        with build_opener(_AsItIs, *direct).open(asked, timeout=seconds) as response:
            wait = 0.0 if response.status < 300 else _wait(response.headers.get("Retry-After", ""))
            return Answer(response.status, _read(response, until, most), wait)
    except (OSError, HTTPException, ValueError) as error:
        return Answer(reason=visible(str(getattr(error, "reason", error)) or type(error).__name__)[:MOST_SAID])


def _read(response: Any, until: float, most: int) -> bytes:
    data = b""
    while part := response.read1(1 << 16):
        data += part
        if len(data) > most:
            raise ValueError("the answer is too long")
        if time.monotonic() > until:
            raise TimeoutError("timed out")
    return data


def _wait(text: str) -> float:
    """Retry-After, in seconds: a number of them, or a date."""
    seconds = 0.0
    with suppress(ValueError):
        seconds = float(text) if text.isdigit() else parsedate_to_datetime(text).timestamp() - time.time()
    return min(max(seconds, 0.0), LONGEST_PAUSE)


def check_address(address: str, insecure: bool = False) -> SplitResult:
    """An address that reports may be sent to: https, or http on this machine."""
    try:
        parts = urlsplit(address)
        known = parts.scheme in ("https", "http") and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known or parts.username is not None or parts.fragment or not re.fullmatch("[!-~]+", address):
        raise ValueError("reports cannot be sent to this address; give for example https://town.example/submit")
    if parts.scheme == "http" and not insecure and not is_loopback(parts.hostname):
        raise ValueError(f"what is sent to {address} can be read by everybody on the way; use https")
    return parts


def origin_of(address: str) -> str:
    """Who receives what is sent to an address, as browsers write it.

    >>> origin_of("HTTPS://Town.example:443/submit")
    'https://town.example'
    """
    parts = check_address(address, insecure=True)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    usual = {"https": 443, "http": 80}[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if parts.port in (None, usual) else f":{parts.port}")


def is_loopback(host: str | None) -> bool:
    """Whether a host is this machine itself."""
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False
