"""What a plan offers and the floors above do: count its reports, write them as codes, reconstruct from them.

A plan is not built on these floors, and a device that reads one counts nothing: each is loaded when it is called. This
is the one place in the package where a floor calls those above it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.plan.document import Plan

COUNTS, RECONSTRUCTION = "sfumato.counts", "sfumato.reconstruction"


def counts_of(plan: Plan, table: Any, by: str | None, weights: Any) -> Any:
    """Count the reports of every blurred attribute, by name; ``by``: apart by the class in this column."""
    kind = import_module(COUNTS).Reports
    if isinstance(table, kind):
        aim = None if by == table.target else by
        reports = table if aim is None and weights is None else table.aimed(aim, weights=weights)
    else:
        label = plan.attributes[by].channel if by in plan.attributes else None
        reports = kind(table, plan, target=False if by is None else by, weights=weights, label_channel=label)
    return reports.tallied(by_class=by is not None)


def as_codes(reports: Any, plan: Plan) -> Any:
    """Write the columns of single channels as codes, ``<name>.code``."""
    return import_module(COUNTS).as_codes(reports, plan)


def reconstructed(plan: Plan, table: Any, intervals: Any, method: str, by: str | None, weights: Any) -> Any:
    """Reconstruct the distribution of every blurred attribute, by name, from reports or counts of them."""
    return import_module(RECONSTRUCTION).reconstruct_plan(table, plan, intervals, method, by=by, weights=weights)
