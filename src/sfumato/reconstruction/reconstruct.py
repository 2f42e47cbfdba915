"""`reconstruct`: from reports, or counts of them, to the distribution of the true values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel, Mechanism
from sfumato.counts import Counts, Reports
from sfumato.domain import Categories, Floats, Interval
from sfumato.plan import Plan
from sfumato.reconstruction.closed import by_sets
from sfumato.reconstruction.diagnosis import fisher_spread
from sfumato.reconstruction.estimate import Estimate
from sfumato.reconstruction.layout import interval_edges
from sfumato.reconstruction.methods import METHODS
from sfumato.reconstruction.request import request_of
from sfumato.tables import LEVEL_SUFFIX

INTERVALS = 20
FINENESS = (INTERVALS, 10, 5)
MANY = 100
"""Up to so many categories the whole table is small, and its likelihood says more."""


def reconstruct(
    reports: Any, channel: Mechanism | None = None, intervals: Any = None, method: str = "smooth", *,
    level: Any = None, by: Any = None, weights: Any = None,
) -> Any:
    """The distribution of the true values behind reports.

    ``reports``: a column of reports (NumPy, pandas, Polars, PyArrow, a list), or ``Counts``; counts by class give a
    dictionary with one Estimate a class, and ``Reports``, wherever they are, one with an Estimate a blurred column.
    ``channel``: the one that made them (counts know theirs), or the choice that
    people had, with the ``level`` of each report beside it; every level enters through its own table.
    ``by``: the class of each report, which are then estimated apart. ``weights``: how many people each report stands
    for; errors follow what reports of such weights are worth (`Counts.worth`).
    ``intervals``: how many equal ones, or edges; None: one per whole number where they are few, else 20.
    ``method``: "smooth" (default), "em" (maximum likelihood; for numbers until only noise is left to gain), "as00"
    (Agrawal & Srikant's recipe), "inverse" (unbiased, for categories). More than a hundred categories behind
    randomized or subset response are read in closed form: "smooth" is then "inverse" without negative shares.

    >>> import sfumato as sf
    >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    >>> estimate = sf.reconstruct(["yes"] * 40 + ["no"] * 60, coin)
    >>> estimate.probabilities.round(3).tolist()
    [0.3, 0.7]
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is unknown; use one of {', '.join(METHODS)}")
    if isinstance(reports, Reports):
        _counted_already(by, weights)
        return _each(reports, intervals, method)
    counts, said = with_answers(counts_of(reports, channel, level, by, weights).effective())
    if intervals is None and in_closed_form(counts, method):
        estimates = by_sets(counts, method)
    else:
        estimates = METHODS[method](request_of(counts, intervals, method))
    if said:
        estimates = [_noting(each, said) for each in estimates]
    return estimates[0] if counts.classes is None else dict(zip(counts.classes, estimates, strict=True))


def with_answers(counts: Counts) -> tuple[Counts, str | None]:
    """The counts of the classes in which anybody answered, and in words which did not."""
    if counts.classes is None or not counts.total:
        return counts, None
    told = np.sum([tally.histogram.sum(axis=1) for tally in counts.levels.values()], axis=0) > 0
    if told.all():
        return counts, None
    silent = [name for name, any_ in zip(counts.classes, told, strict=True) if not any_]
    which = f"{'class' if len(silent) == 1 else 'classes'} {', '.join(map(repr, silent))}"
    return counts.of_classes(told), f"{which} left out: nobody there gave an answer to this"


def _noting(estimate: Estimate, note: str) -> Estimate:
    facts = estimate.diagnostics
    return replace(estimate, diagnostics=replace(facts, messages=(*facts.messages, note)))


def in_closed_form(counts: Counts, method: str) -> bool:
    """Whether these counts are of many categories, through laws of two values."""
    channels = [tally.channel for tally in counts.levels.values()]
    many = all(isinstance(each.domain, Categories) and each.domain.size > MANY for each in channels)
    return many and method in ("smooth", "inverse") and all(each.balanced() is not None for each in channels)


def _each(reports: Reports, intervals: Any, method: str) -> dict[str, Any]:
    """The estimate of every blurred column, from one pass over the reports."""
    counts = reports.tallied()
    domains = {name: reports.column(name).channel.domain for name in counts}
    return _estimates(counts, domains, intervals, method)


def _estimates(
    counts: Mapping[str, Counts], domains: Mapping[str, Any], intervals: Any, method: str
) -> dict[str, Any]:
    found = {}
    for name, one in counts.items():
        wish = intervals.get(name) if isinstance(intervals, Mapping) else intervals
        numeric = isinstance(domains[name], Interval)
        try:
            found[name] = reconstruct(one, intervals=wish if numeric else None, method=method)
        except (ValueError, TypeError) as error:
            raise type(error)(f"attribute {name!r}: {error}") from None
    return found


def reconstruct_plan(
    table: Any, plan: Plan, intervals: Any = None, method: str = "smooth", *, by: str | None = None,
    weights: Any = None,
) -> dict[str, Any]:
    """``reconstruct`` for every attribute of a plan that went through a channel, by name.

    ``table``: reports as the plan makes them, or the counts of them by name. ``intervals``: one wish for all numeric
    attributes, or a mapping from name to wish. ``by``: one Estimate a class of this column. ``weights``: how many
    people each report stands for, an array or the name of a column.
    """
    if isinstance(by, str) and by in plan.attributes and plan.attributes[by].channel is not None:
        raise ValueError(f"column {by!r} is blurred, so nobody's own class is known; name one sent in the clear")
    counts = _plan_counts(table, plan, by, weights)
    domains = {name: plan.attributes[name].domain for name in counts}
    found = _estimates(counts, domains, intervals, method)
    return {name: with_unasked(one, name, plan) for name, one in found.items()}


def with_unasked(found: Any, name: str, plan: Plan) -> Any:
    """The estimate; where devices draw questions, with a note that tells people who were not asked from those who gave
    no answer, in number: each is asked with chance k/m, so that n·(1 − k/m) of n are not."""
    if isinstance(found, Mapping):
        return {label: with_unasked(each, name, plan) for label, each in found.items()}
    if name not in plan.drawn:
        return found
    facts, asked = found.diagnostics, f"{plan.questions_each} of {len(plan.drawn)} questions"
    unasked = (facts.reports + facts.missing) * (1 - (plan.questions_each or 0) / len(plan.drawn))
    gaps, chance = facts.missing - unasked, math.sqrt(unasked * (plan.questions_each or 0) / len(plan.drawn))
    rest = f"about {gaps:,.0f} gave no answer" if gaps > 3 * chance else "no more are missing than that may leave"
    told = f"about {unasked:,.0f} were not asked this one, and {rest}"
    return _noting(found, f"each person was asked {asked}: {told}")


def estimate_of(name: str, channel: Mechanism, table: Any, intervals: Any = None, method: str = "smooth") -> Estimate:
    """One attribute's estimate from a PyArrow table; where people chose a level, each through its own channel."""
    level = table.column(name + LEVEL_SUFFIX) if channel.has_levels else None
    estimate: Estimate = reconstruct(table.column(name), channel, intervals, method, level=level)
    return estimate


def intervals_for(domain: Any, about: int = INTERVALS) -> Any:
    """About twenty intervals for numbers; for whole numbers with the same number of them in each."""
    if not isinstance(domain, Interval):
        return None
    if not domain.integer:
        return about
    width = math.ceil((domain.width + 1) / about)
    return np.append(np.arange(domain.low - 0.5, domain.high + 0.5, width), domain.high + 0.5)


def intervals_told(counts: Counts) -> Any:
    """About twenty intervals for numbers, or ten, or five: the most that the reports decide, one by one.

    So many numbers as the reports decide about an even distribution, by the Fisher information, are so many intervals
    less one.
    """
    counts = counts.effective()
    domain = next(iter(counts.levels.values())).channel.domain
    wishes = [intervals_for(domain, about) for about in FINENESS]
    if not isinstance(domain, Interval) or not counts.total:
        return wishes[-1]
    table = request_of(counts, wishes[0]).evidence.table
    even = np.full(table.shape[1], 1 / table.shape[1])
    decided = fisher_spread(table.dense(), even, float(counts.total)).degrees_of_freedom
    sizes = [interval_edges(domain, wish).size - 1 for wish in wishes]
    return next((wish for wish, size in zip(wishes, sizes, strict=True) if decided >= size - 1), wishes[-1])


def shares(values: NDArray[Any], domain: Any, edges: Floats | None) -> Floats:
    """The share of values in each category, or in each interval (those beyond the ends count in the end intervals)."""
    if isinstance(domain, Categories):
        counts = np.bincount(domain.encode(values), minlength=domain.size)
    else:
        counts = np.histogram(np.clip(values, domain.low, domain.high), bins=np.asarray(edges))[0]
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def _plan_counts(table: Any, plan: Plan, by: str | None, weights: Any) -> Mapping[str, Counts]:
    if isinstance(table, Mapping) and table and all(isinstance(one, Counts) for one in table.values()):
        unknown = [name for name in table if name not in plan.attributes]
        if unknown:
            raise ValueError(f"the plan has no attribute {unknown[0]!r}; it asks {', '.join(plan.attributes)}")
        _counted_already(by, weights)
        return table
    found: Mapping[str, Counts] = plan.counts(table, by=by, weights=weights)
    return found


def counts_of(reports: Any, channel: Mechanism | None, level: Any, by: Any = None, weights: Any = None) -> Counts:
    """The counts of reports; counts are passed on, if they are of this channel."""
    if isinstance(reports, Counts):
        _counted_already(by, weights)
        if channel is not None and any(
            not _made(channel, name, each.channel) for name, each in reports.levels.items()
        ):
            raise ValueError("these counts were made with another channel; leave channel out, counts know theirs")
        return reports
    if channel is None:
        raise TypeError("channel is missing; pass the one that made the reports, such as sf.Gaussian(...)")
    return Counts.of(reports, channel, level=level, by=by, weights=weights)


def _counted_already(by: Any, weights: Any) -> None:
    if by is not None or weights is not None:
        raise ValueError("by= and weights= are for reports that are not counted yet; give them where these are counted")


def _made(channel: Mechanism, level: Any, counted: Channel) -> bool:
    """Whether counts of this level are of this channel, or of its level of that name."""
    return channel.levels.get(None, channel.levels.get(level)) == counted
