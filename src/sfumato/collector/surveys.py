"""Open the survey of a plan, or find it as it is."""

from __future__ import annotations

from sfumato.collector.form import ReportForm
from sfumato.collector.store import Connection, Survey, name_of
from sfumato.plan import Plan


def ensure_survey(
    connection: Connection, plan: Plan, *, name: str = "", keep_days: int | None = None, invited: bool = False
) -> Survey:
    """The survey of a plan as it is in the store, or a new one; what is there under its name must be the same.

    ``name``: the survey's, or else the plan's. ``keep_days``: days after its end on which a new one is deleted.
    ``invited``: a new one takes reports with an invitation only.
    """
    ReportForm(plan)  # a plan that cannot be collected is refused here
    name = name or name_of(plan)
    found = connection.survey(name)
    if found is None or found.plan.identity != plan.identity:
        return connection.open_survey(name, plan, keep_days=keep_days, invited=invited)
    if invited and not found.invited:
        raise ValueError(f"survey {name!r} is there and open to everybody; invite people to one under another name")
    if keep_days is not None and keep_days != found.keep_days:
        kept = "no number of days" if found.keep_days is None else f"{found.keep_days} days"
        raise ValueError(f"survey {name!r} is there, and keeps its reports for {kept} after its end; that stays so")
    return found
