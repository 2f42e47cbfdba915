"""The forms of the bodies and queries that a collector is sent, and of its answers; devices and programs rely on them.

The docstrings of these classes are the descriptions in /openapi.json.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

MOST_REPORTS = 1000
"""The most reports in one request. Judgement: of the demo's plan they take a fifth of `Settings.body_bytes`; larger
requests hold more memory, smaller ones make more commits."""
ID = "^[0-9a-f]{32}$"
"""The form of a report's id: 16 random bytes, of which no two devices ever draw the same."""
JOB_ID = "^[0-9a-f]{16}$"
"""The form of a job's id, which the collector makes (`background/jobs.py`)."""

Identity = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="the identity of the plan that was answered")]
ReportId = Annotated[str, Meta(pattern=ID, max_length=32, description="the report's id, made by the device")]
Invitation = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{8,64}$", description="a single-use invitation")]
ReportValue = str | int | float | bool | dict[str, str | int] | None
Report = Annotated[dict[str, ReportValue], Meta(description="a value for every column of the plan", min_length=1)]


class SentReport(Struct, forbid_unknown_fields=True):
    """A report with its id and, where the survey needs one, an invitation."""

    id: ReportId
    report: Report
    invitation: Invitation | None = None


class ReportBatch(Struct, forbid_unknown_fields=True):
    """Several reports of one plan."""

    plan: Identity
    reports: Annotated[list[SentReport], Meta(min_length=1, max_length=MOST_REPORTS)]


class SingleReport(Struct, forbid_unknown_fields=True):
    """One report of a plan; its id stands in the address."""

    plan: Identity
    report: Report
    invitation: Invitation | None = None


class Refusal(Struct):
    """The id of a report that was not accepted, and a sentence that says why."""

    id: str
    reason: str


class SubmissionVerdict(Struct):
    """The ids of the reports of a request that are stored, and the reports that were refused."""

    accepted: list[str]
    refused: list[Refusal]


class RequestProblem(Struct):
    """A sentence that says why a request was refused."""

    reason: str


class EstimatesQuery(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Options of estimates: one question only; comparison by class or by level only; the number of intervals."""

    question: str = ""
    by: Literal["class", "level", ""] = ""
    intervals: Annotated[int, Meta(ge=2, le=200)] | None = None


class JointQuery(Struct, forbid_unknown_fields=True):
    """The two questions of a joint estimate."""

    first: str
    second: str


class DashboardQuery(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Two questions whose joint estimate the dashboard shows, or none."""

    first: str = ""
    second: str = ""


class TrainOptions(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """Options of training a model; ``holdout``: the share of reports kept out of training to measure with."""

    method: str = "joint"
    holdout: Annotated[float, Meta(ge=0, le=0.9)] = 0.2
    seed: Annotated[int, Meta(ge=0, lt=2**32)] = 0


class ItemsetOptions(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """Options of finding itemsets: the smallest share of people, the most items, and the question with the basket.

    ``rules``: the smallest confidence of the rules that are found too; null: none are.
    """

    min_support: Annotated[float, Meta(gt=0, le=1)]
    max_len: Annotated[int, Meta(ge=1, le=6)] = 3
    rules: Annotated[float, Meta(ge=0, le=1)] | None = None
    question: str | None = None


class AuditOptions(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """Options of an audit: ``samples``, the reports drawn of each question; ``times``, how often a person answers."""

    samples: Annotated[int, Meta(ge=1_000, le=100_000_000)] | None = None
    times: Annotated[int, Meta(ge=1, le=10_000)] = 1


class TrainingJob(Struct, tag_field="kind", tag="train", forbid_unknown_fields=True):
    """A job that trains a model on the reports."""

    options: TrainOptions = TrainOptions()


class ItemsetJob(Struct, tag_field="kind", tag="itemsets", forbid_unknown_fields=True):
    """A job that finds the itemsets that many people have."""

    options: ItemsetOptions


class AuditJob(Struct, tag_field="kind", tag="audit", forbid_unknown_fields=True):
    """A job that attacks the plan and checks its implementation."""

    options: AuditOptions = AuditOptions()


NewJob = TrainingJob | ItemsetJob | AuditJob


class JobState(Struct):
    """A job and its state: waiting, running, done, failed or stopped; ``said``: what the job last said of itself."""

    id: str
    kind: str
    options: dict[str, str | int | float | None]
    state: str
    said: str


class JobList(Struct):
    """All jobs of a survey, the oldest first."""

    jobs: list[JobState]


class Shipment(Struct):
    """The model that is sent to devices: the id of the job that trained it, or the whole JSON of a model's file."""

    job: Annotated[str, Meta(pattern=JOB_ID)] | None = None
    format: str | None = None
