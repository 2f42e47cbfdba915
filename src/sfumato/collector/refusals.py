"""Every reason for which a collector refuses a request or a report: its status and its sentence."""

from __future__ import annotations

from http import HTTPStatus

from sfumato.collector.store.connection import CLOSED, CONFLICT, UNINVITED, WITHDRAWN

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
    WITHDRAWN: (HTTPStatus.CONFLICT, "the report with this id was withdrawn"),
    "absent": (HTTPStatus.NOT_FOUND, "there is no report with this id"),
    "job": (HTTPStatus.UNPROCESSABLE_ENTITY, "this job cannot be done"),
    "no job": (HTTPStatus.NOT_FOUND, "there is no such job"),
    "no result": (HTTPStatus.CONFLICT, "the job has no result; its state says why"),
    "model": (HTTPStatus.UNPROCESSABLE_ENTITY, "this is no model of this survey"),
    "no model": (HTTPStatus.NOT_FOUND, "no model has been shipped yet"),
    "token": (HTTPStatus.UNAUTHORIZED, "a valid token is needed here; ask for one: sfumato survey token"),
    "scope": (HTTPStatus.FORBIDDEN, "the token does not reach this far"),
    "page": (HTTPStatus.FORBIDDEN, "only the collector's own pages may ask this with a cookie; send a token"),
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
