"""Open the survey of a plan, or find the one that is open already."""

from __future__ import annotations

from sfumato.collector.form import ReportForm
from sfumato.collector.store import Connection, Survey, name_of
from sfumato.plan import Plan


def ensure_survey(
    connection: Connection, plan: Plan, *, name: str = "", keep_days: int | None = None, invited: bool = False
) -> Survey:
    """Return the survey of a plan from the store; it is opened first if the store has none of its name.

    A survey that the store has stays as it is, open or closed. ValueError: it has another plan, or other values of
    ``invited`` and ``keep_days`` than those wanted.

    ``name``: the survey's name; "": that of the plan. ``keep_days``: days after its end on which a new survey is
    deleted; None: never. ``invited``: whether a new survey takes reports with an invitation only.
    """
    ReportForm(plan)  # a plan that cannot be collected is refused here
    name = name or name_of(plan)
    survey = connection.survey(name)
    if survey is None or survey.plan.identity != plan.identity:
        return connection.open_survey(name, plan, keep_days=keep_days, invited=invited)
    if invited and not survey.invited:
        raise ValueError(f"survey {name!r} is there and open to everybody; invite people to one under another name")
    if keep_days is not None and keep_days != survey.keep_days:
        kept = "no number of days" if survey.keep_days is None else f"{survey.keep_days} days"
        raise ValueError(f"survey {name!r} is there, and keeps its reports for {kept} after its end; that stays so")
    return survey
