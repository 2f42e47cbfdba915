"""Tokens of analysts and invitations of respondents: random texts, of which the store keeps hashes only."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from sfumato.collector.store import Connection, Survey
from sfumato.prose import suggest

SCOPES = {
    "read": "counts, estimates and the dashboard",
    "export": "the reports themselves",
    "jobs": "training, itemsets and audits",
    "ship": "sending a model to the devices",
    "metrics": "figures about the service",
}
"""What a token may permit, by scope."""
COOKIE = "sfumato"
"""The name of the cookie in which a browser keeps an analyst's token."""
TOKEN = re.compile(r"([0-9a-f]{16})\.([A-Za-z0-9_-]{43})")
"""The form of a token: an id of 8 random bytes, by which it is looked up, and a secret of 32 that nobody can guess."""
MOST_TOKEN_DAYS = 3660
"""The longest time, in days, that a token is valid: ten years. Judgement; more makes no sense for a secret, and less
would make long surveys renew their tokens."""


def issue_token(connection: Connection, survey: Survey | None, scopes: Iterable[str] = SCOPES, days: float = 30) -> str:
    """Make an analyst's token for one survey or for all (None), and return it; the store keeps its hash only.

    ``scopes``: what it permits, keys of ``SCOPES``. ``days``: how long it is valid. ValueError: a scope is unknown, or
    the end is not within ten years.
    """
    scopes = list(scopes)
    for scope in scopes:
        if scope not in SCOPES:
            raise ValueError(f"scope {scope!r} is unknown{suggest(scope, SCOPES)}")
    if not scopes or not 0 < days <= MOST_TOKEN_DAYS:
        raise ValueError("a token needs at least one scope and an end within ten years")
    id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    expires = (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")
    connection.add_token(id, _hash(secret), None if survey is None else survey.number, scopes, expires)
    return f"{id}.{secret}"


def refusal_of(connection: Connection, token: str, survey: int | None, scope: str) -> str:
    """Return why an analyst's token does not permit what is asked: "token", "scope", or "" if it does permit it.

    "token": it is unknown, revoked or past its end. "scope": it is for another survey or other scopes. ``survey``: the
    survey's number; None: every survey; ``scope``: what is asked, a key of ``SCOPES``. An unknown token takes the same
    steps, and so the same time, as one that is stored.
    """
    form = TOKEN.fullmatch(token)
    id, secret = form.groups() if form else ("", "")
    row = connection.token(id)
    hash, token_survey, scopes, expires, revoked = row or (b"\0" * 32, None, "", "", 1)
    is_right = hmac.compare_digest(_hash(secret), bytes(hash))
    if not is_right or revoked or expires <= datetime.now(UTC).isoformat(timespec="seconds"):
        return "token"
    return "" if scope in scopes.split() and token_survey in (None, survey) else "scope"


def valid_tokens(connection: Connection) -> list[tuple[str, int | None, str, str]]:
    """Return (id, survey's number or None for all, scopes, end) of every token that is neither revoked nor expired."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return [row[:4] for row in connection.tokens() if not row[4] and row[3] > now]


def issue_invitations(connection: Connection, survey: Survey, number: int) -> list[str]:
    """Make ``number`` single-use invitations to a survey and return their codes; the store keeps their hashes only.

    A code has 15 random bytes, 20 letters in a link: nobody can guess one, even of a million. ValueError: the survey is
    open to everybody.
    """
    if not survey.invited:
        raise ValueError(f"survey {survey.name!r} is open to everybody; open it with --invited to need invitations")
    codes = [secrets.token_urlsafe(15) for _ in range(number)]
    connection.add_invitations(survey.number, sorted(invitation_hash(code) for code in codes))
    return codes


def invitation_hash(code: str) -> bytes:
    """Return the hash under which the store keeps an invitation: the first 16 bytes of the code's SHA-256."""
    return _hash(code)[:16]


def _hash(text: str) -> bytes:
    """Return the SHA-256 of a text, as 32 bytes."""
    return hashlib.sha256(text.encode()).digest()
