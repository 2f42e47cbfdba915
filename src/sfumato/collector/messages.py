"""What a collector is sent and what it answers: the forms of bodies, and every reason for a refusal."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from msgspec import Meta, Struct

from sfumato.collector.store.base import CLOSED, CONFLICT, GONE, UNINVITED

MOST_REPORTS = 1000
LARGEST_BODY = 1 << 20
SECONDS_FOR_BODY = 10.0
ID = "^[0-9a-f]{32}$"

Identity = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="the identity of the plan that was answered")]
ReportId = Annotated[str, Meta(pattern=ID, description="the report's id, made by the device")]
Invitation = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{8,64}$", description="a single-use invitation")]
Part = str | int | float | bool | dict[str, str | int] | None
Report = Annotated[dict[str, Part], Meta(description="a value for every column of the plan", min_length=1)]


class Sent(Struct, forbid_unknown_fields=True):
    """One report under its id."""

    id: ReportId
    report: Report
    invitation: Invitation | None = None


class Batch(Struct, forbid_unknown_fields=True):
    """Reports of one plan."""

    plan: Identity
    reports: Annotated[list[Sent], Meta(min_length=1, max_length=MOST_REPORTS)]


class One(Struct, forbid_unknown_fields=True):
    """One report, whose id stands in the address."""

    plan: Identity
    report: Report
    invitation: Invitation | None = None


class Refusal(Struct):
    """Why a report was not accepted."""

    id: str
    reason: str


class Verdict(Struct):
    """What became of every report of a request."""

    accepted: list[str]
    refused: list[Refusal]


class Problem(Struct):
    """Why a request was refused."""

    reason: str


REASONS: dict[str, tuple[int, str]] = {
    "unknown": (HTTPStatus.NOT_FOUND, "there is no such survey here"),
    "malformed": (HTTPStatus.BAD_REQUEST, "the request is not of the form that /openapi.json describes"),
    "large": (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large; send fewer reports at once"),
    "slow": (HTTPStatus.REQUEST_TIMEOUT, "the request took too long to arrive; send it again"),
    "plan": (HTTPStatus.CONFLICT, "the report was made for another plan than this survey's; load the survey again"),
    "report": (HTTPStatus.UNPROCESSABLE_ENTITY, "no device makes this report of this plan"),
    CLOSED: (HTTPStatus.FORBIDDEN, "the survey is closed"),
    UNINVITED: (HTTPStatus.FORBIDDEN, "the invitation is missing, unknown or used already"),
    CONFLICT: (HTTPStatus.CONFLICT, "another report has this id"),
    GONE: (HTTPStatus.CONFLICT, "the report with this id was withdrawn"),
    "absent": (HTTPStatus.NOT_FOUND, "there is no report with this id"),
    "no model": (HTTPStatus.NOT_FOUND, "no model has been shipped yet"),
    "token": (HTTPStatus.UNAUTHORIZED, "a valid token is needed here; ask for one: sfumato survey token"),
    "scope": (HTTPStatus.FORBIDDEN, "the token does not reach this far"),
    "busy": (HTTPStatus.SERVICE_UNAVAILABLE, "too much at once; send it again later"),
    "store": (HTTPStatus.SERVICE_UNAVAILABLE, "the store cannot be written just now; send it again later"),
}
"""By name: the status and the sentence. Devices try again after 408 and 503, and take the others as final."""


HEADERS = {
    401: {"WWW-Authenticate": "Bearer"}, 408: {"Connection": "close"}, 413: {"Connection": "close"},
    503: {"Retry-After": "2"},
}  # fmt: skip


class RefusedError(Exception):
    """A request or a report is refused for one of the ``REASONS``; ``said`` is the sentence, or one that is closer."""

    def __init__(self, reason: str, said: str = "") -> None:
        self.reason = reason
        status, sentence = REASONS[reason]
        self.status, self.said = int(status), said or sentence
        super().__init__(self.said)

    def headers(self) -> dict[str, str]:
        """What goes with the status."""
        return HEADERS.get(self.status, {})
