"""Every reason for which a collector refuses a request or a report, with its HTTP status and its sentence."""

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
"""The status and the sentence of every reason, by its name. Devices send again after 408 and 503, and take the others
as final."""


HEADERS = {
    401: {"WWW-Authenticate": "Bearer"}, 408: {"Connection": "close"}, 413: {"Connection": "close"},
    503: {"Retry-After": "2"},
}  # fmt: skip
"""The headers that belong to a status, as in RFC 9110. Retry-After is in seconds, by judgement: more delays reports,
less brings devices back before the service can take them."""


class RefusedError(Exception):
    """The error that a request or a report is refused for one of the ``REASONS``.

    ``reason``: its name. ``sentence``: what the client is told; "": the sentence of the reason.
    """

    def __init__(self, reason: str, sentence: str = "") -> None:
        self.reason = reason
        status, usual_sentence = REASONS[reason]
        self.status, self.sentence = int(status), sentence or usual_sentence
        super().__init__(self.sentence)

    def headers(self) -> dict[str, str]:
        """Return the HTTP headers that belong to the refusal's status, such as Retry-After; empty for most."""
        return HEADERS.get(self.status, {})
