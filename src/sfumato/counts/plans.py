"""The counts of all attributes of a plan, and reports as their codes and back."""

from __future__ import annotations

from typing import Any

from sfumato.channels import Mechanism
from sfumato.counts.reports import Reports
from sfumato.counts.tallies import Counts
from sfumato.plan import Plan
from sfumato.tables import CODE_SUFFIX, to_arrow


def counts_of_plan(table: Any, plan: Plan, *, by: str | None = None, weights: Any = None) -> dict[str, Counts]:
    """The counts of every attribute that went through a channel, by name; ``by``: apart by the class in this column.

    ``table``: reports of the plan, as a table, a path, … or as `Reports`.
    """
    if isinstance(table, Reports):
        reports = table if by in (None, table.target) else table.aimed(by)
    else:
        label = plan.attributes[by].channel if by in plan.attributes else None
        reports = Reports(table, plan, target=by or False, weights=weights, label_channel=label)  # type: ignore[arg-type]
    counted = [name for name, one in reports.channels.items() if one is not None]
    return dict(zip(counted, reports.tallies(counted, by_class=by is not None), strict=True))


def as_codes(table: Any, plan: Plan) -> Any:
    """Reports with the columns of single channels as codes, ``<name>.code``."""
    return to_arrow(Reports(table, _by_column(plan)).to_codes())


def from_codes(table: Any, plan: Plan) -> Any:
    """Reports with the columns that came as codes turned into values."""
    channels = {name: one for name, one in _by_column(plan).items() if name + CODE_SUFFIX in table.column_names}
    if not channels:
        return table
    reports = Reports(table, channels)
    columns = {name: table.column(name) for name in table.column_names if not name.endswith(CODE_SUFFIX)}
    return to_arrow({**columns, **{name: reports.values(name) for name in channels}})


def _by_column(plan: Plan) -> dict[str, Mechanism | None]:
    """The channel of every column; None where several numbers were blurred together."""
    return {column: each.channel if column == each.name else None for column, each in plan.columns.items()}
