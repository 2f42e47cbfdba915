"""What a collector is sent and what it answers: the forms of bodies and queries, which devices and programs rely on."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

MOST_REPORTS = 1000
ID = "^[0-9a-f]{32}$"

Identity = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="the identity of the plan that was answered")]
ReportId = Annotated[str, Meta(pattern=ID, max_length=32, description="the report's id, made by the device")]
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


class EstimatesQuery(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Of one question only; compared by class or by level only; numbers in so many intervals."""

    question: str = ""
    by: Literal["class", "level", ""] = ""
    intervals: Annotated[int, Meta(ge=2, le=200)] | None = None


class JointQuery(Struct, forbid_unknown_fields=True):
    """Two questions."""

    first: str
    second: str


class DashboardQuery(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Two questions, or none."""

    first: str = ""
    second: str = ""


class TrainOptions(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """How a model is learned; ``holdout``: the share of reports kept out of training to measure with."""

    method: str = "joint"
    holdout: Annotated[float, Meta(ge=0, le=0.9)] = 0.2
    seed: Annotated[int, Meta(ge=0, lt=2**32)] = 0


class ItemsetOptions(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """Which itemsets are looked for; ``rules``: also rules of at least this confidence; ``question``: the basket."""

    min_support: Annotated[float, Meta(gt=0, le=1)]
    max_len: Annotated[int, Meta(ge=1, le=6)] = 3
    rules: Annotated[float, Meta(ge=0, le=1)] | None = None
    question: str | None = None


class AuditOptions(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """How thoroughly a plan is tried: reports drawn of each question, and how often each person answers."""

    samples: Annotated[int, Meta(ge=1_000, le=100_000_000)] | None = None
    times: Annotated[int, Meta(ge=1, le=10_000)] = 1


class Train(Struct, tag_field="kind", tag="train", forbid_unknown_fields=True):
    """Learn a model from the reports."""

    options: TrainOptions = TrainOptions()


class Itemsets(Struct, tag_field="kind", tag="itemsets", forbid_unknown_fields=True):
    """Find what people hold together."""

    options: ItemsetOptions


class Audit(Struct, tag_field="kind", tag="audit", forbid_unknown_fields=True):
    """Attack the plan, and check that it is kept."""

    options: AuditOptions = AuditOptions()


Wanted = Train | Itemsets | Audit


class Job(Struct):
    """A job as it stands: waiting, running, done, failed or stopped."""

    id: str
    kind: str
    options: dict[str, str | int | float | None]
    state: str
    said: str


class Jobs(Struct):
    """All jobs of a survey, the oldest first."""

    jobs: list[Job]


class Shipment(Struct):
    """The model that goes home: of a job that trained one, or (``format`` and the rest) as a model's file has it."""

    job: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")] | None = None
    format: str | None = None
