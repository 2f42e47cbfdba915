"""Who may do what: tokens of analysts, invitations of respondents. Both are random, and kept as hashes only."""

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
COOKIE = "sfumato"
TOKEN = re.compile(r"([0-9a-f]{16})\.([A-Za-z0-9_-]{43})")


def issue_token(connection: Connection, survey: Survey | None, scopes: Iterable[str] = SCOPES, days: float = 30) -> str:
    """A new token, for one survey or (None) for all; it is shown once and cannot be read back."""
    wanted = list(scopes)
    for scope in wanted:
        if scope not in SCOPES:
            raise ValueError(f"scope {scope!r} is unknown{suggest(scope, SCOPES)}")
    if not wanted or not 0 < days <= 3660:
        raise ValueError("a token needs at least one scope and an end within ten years")
    id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    expires = (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")
    connection.add_token(id, _hash(secret), None if survey is None else survey.number, wanted, expires)
    return f"{id}.{secret}"


def allows(connection: Connection, token: str, survey: int | None, scope: str) -> str:
    """"" where a token allows this, else the reason: it is no token (any more), or it does not reach so far.

    An unknown token takes the same steps as a known one.
    """
    found = TOKEN.fullmatch(token)
    id, secret = found.groups() if found else ("", "")
    row = connection.token(id)
    hash, reaches, scopes, expires, revoked = row or (b"\0" * 32, None, "", "", 1)
    right = hmac.compare_digest(_hash(secret), bytes(hash))
    if not right or revoked or expires <= datetime.now(UTC).isoformat(timespec="seconds"):
        return "token"
    return "" if scope in scopes.split() and reaches in (None, survey) else "scope"


def valid_tokens(connection: Connection) -> list[tuple[str, int | None, str, str]]:
    """(id, survey or None for all, scopes, end) of the tokens that are neither revoked nor past their end."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return [row[:4] for row in connection.tokens() if not row[4] and row[3] > now]


def issue_invitations(connection: Connection, survey: Survey, number: int) -> list[str]:
    """New single-use invitations; the store keeps their hashes, apart from reports."""
    if not survey.invited:
        raise ValueError(f"survey {survey.name!r} is open to everybody; open it with --invited to need invitations")
    codes = [secrets.token_urlsafe(15) for _ in range(number)]
    connection.add_invitations(survey.number, sorted(invitation_hash(code) for code in codes))
    return codes


def invitation_hash(code: str) -> bytes:
    """What the store keeps of an invitation."""
    return _hash(code)[:16]


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
