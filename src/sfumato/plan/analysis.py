"""Functions behind methods of `Plan` that need folders above this one: count reports, write codes, reconstruct.

A device that reads a plan counts nothing, so the folders are loaded when they are called. This is the one place in the
package where a folder calls one above it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.plan.document import Plan



def counts_of(plan: Plan, table: Any, by: str | None, weights: Any) -> Any:
    """Count how many reports of every blurred question have each value; return a dict of `Counts` by name.

    ``table``: reports, as a table or as `Reports`. ``by``: the column whose classes are counted apart. ``weights``: how
    many people each report stands for, an array or the name of a column.
    """
    kind = import_module("sfumato.counts").Reports
    if isinstance(table, kind):
        aim = None if by == table.target else by
        reports = table if aim is None and weights is None else table.aimed(aim, weights=weights)
    else:
        label = plan.attributes[by].channel if by in plan.attributes else None
        reports = kind(table, plan, target=False if by is None else by, weights=weights, label_channel=label)
    return reports.tallied(by_class=by is not None)


def as_codes(reports: Any, plan: Plan) -> Any:
    """Return a table of reports with its blurred columns as report codes, named ``<name>.code``."""
    return import_module("sfumato.counts").as_codes(reports, plan)


def reconstructed(plan: Plan, table: Any, intervals: Any, method: str, by: str | None, weights: Any) -> Any:
    """Reconstruct the distribution of true answers to every blurred question; return a dict of `Estimate` by name.

    ``table``: reports, or the counts of them. The other parameters are those of `Plan.reconstruct`.
    """
    above = import_module("sfumato.reconstruction")
    return above.reconstruct_plan(table, plan, intervals, method, by=by, weights=weights)
