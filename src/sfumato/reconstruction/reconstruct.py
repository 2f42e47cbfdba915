"""`reconstruct`: from reports, or counts of them, to the distribution of the true values."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from sfumato.channels import Channel, Choice
from sfumato.counts import Counts, counts_of_plan, identity_of, levels_of
from sfumato.domain import Categories, Interval
from sfumato.plan import Plan
from sfumato.reconstruction.estimate import Diagnostics, Estimate
from sfumato.reconstruction.methods import METHODS, Problem, Solution, problem_of


def reconstruct(
    reports: Any,
    channel: Channel | Choice | None = None,
    intervals: Any = None,
    method: str = "smooth",
    *,
    level: Any = None,
) -> Any:
    """The distribution of the true values behind reports.

    ``reports``: a column of reports (NumPy, pandas, Polars, PyArrow, a list), or ``Counts``; counts by class give a
    dictionary with one Estimate a class. ``channel``: the one that made them (counts know theirs), or the choice that
    people had, with the ``level`` of each report beside it; every level enters through its own table.
    ``intervals``: how many equal ones, or edges; None: one per whole number where they are few, else 20.
    ``method``: "smooth" (default), "em" (maximum likelihood; for numbers until only noise is left to gain), "as00"
    (Agrawal & Srikant's recipe), "inverse" (unbiased, for categories).

    >>> import sfumato as sf
    >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    >>> estimate = sf.reconstruct(["yes"] * 40 + ["no"] * 60, coin)
    >>> estimate.probabilities.round(3).tolist()
    [0.3, 0.7]
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is unknown; use one of {', '.join(METHODS)}")
    counts = _counts(reports, channel, level)
    problem = problem_of(counts, intervals)
    estimates = [_estimate(problem, method, row, one) for row, one in enumerate(METHODS[method](problem))]
    return estimates[0] if counts.classes is None else dict(zip(counts.classes, estimates, strict=True))


def reconstruct_plan(
    table: Any, plan: Plan, intervals: Any = None, method: str = "smooth", *, by: str | None = None, weights: Any = None
) -> dict[str, Any]:
    """``reconstruct`` for every attribute of a plan that went through a channel, by name.

    ``table``: reports as the plan makes them, or the counts of them by name. ``intervals``: one wish for all numeric
    attributes, or a mapping from name to wish. ``by``: one Estimate a class of this column.
    """
    counts = _plan_counts(table, plan, by, weights)
    found = {}
    for name, one in counts.items():
        numeric = isinstance(plan.attributes[name].domain, Interval)
        wish = intervals.get(name) if isinstance(intervals, Mapping) else intervals
        try:
            found[name] = reconstruct(one, intervals=wish if numeric else None, method=method)
        except (ValueError, TypeError) as error:
            raise type(error)(f"attribute {name!r}: {error}") from None
    return found


def _plan_counts(table: Any, plan: Plan, by: str | None, weights: Any) -> Mapping[str, Counts]:
    if isinstance(table, Mapping) and table and all(isinstance(one, Counts) for one in table.values()):
        unknown = [name for name in table if name not in plan.attributes]
        if unknown:
            raise ValueError(f"the plan has no attribute {unknown[0]!r}; it asks {', '.join(plan.attributes)}")
        return table
    return counts_of_plan(table, plan, by=by, weights=weights)


def _counts(reports: Any, channel: Channel | Choice | None, level: Any) -> Counts:
    if isinstance(reports, Counts):
        if channel is not None and any(
            not _made(channel, name, each.channel) for name, each in reports.levels.items()
        ):
            raise ValueError("these counts were made with another channel; leave channel out, counts know theirs")
        return reports
    if channel is None:
        raise TypeError("channel is missing; pass the one that made the reports, such as sf.Gaussian(...)")
    return Counts.of(reports, channel, level=level)


def _made(channel: Channel | Choice, level: Hashable, counted: Channel) -> bool:
    """Whether counts of this level are of this channel, or of its level of that name."""
    levels = levels_of(channel)
    one = levels.get(None, levels.get(level))
    return one is not None and identity_of(one) == identity_of(counted)


def _estimate(problem: Problem, method: str, row: int, found: Solution) -> Estimate:
    layout, domain = problem.layout, problem.domain
    diagnostics = Diagnostics(
        method=method,
        reports=float(problem.counts[row].sum()),
        missing=float(problem.missing[row]),
        iterations=found.iterations,
        table_applications=found.table_applications,
        log_likelihood=found.log_likelihood,
        degrees_of_freedom=found.degrees_of_freedom,
        messages=found.messages if layout is None or layout.note is None else (layout.note, *found.messages),
    )
    edges = None if layout is None else layout.edges.copy()
    categories = domain.labels if isinstance(domain, Categories) else None
    integer = layout is not None and layout.integer
    return Estimate(edges, categories, np.asarray(found.probabilities), found.covariance, diagnostics, integer)
