"""`reconstruct`: the distribution of the true values behind reports, or behind counts of reports."""

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
from sfumato.reconstruction.closed import estimate_by_sets
from sfumato.reconstruction.diagnosis import fisher_spread
from sfumato.reconstruction.estimate import Estimate
from sfumato.reconstruction.layout import INTERVALS, interval_edges
from sfumato.reconstruction.methods import METHODS
from sfumato.reconstruction.request import request_of
from sfumato.tables import LEVEL_SUFFIX

FINENESS = (INTERVALS, 10, 5)
"""Numbers of intervals among which `choose_intervals` takes the largest that the reports decide. By judgement: each
half of the one before; with fewer than five a chart shows no shape."""
MANY = 100
"""Categories beyond which the closed form is used. By judgement: up to here the table is small, and maximum likelihood
uses every report; time grows with the square of the categories there, and in proportion to them in the closed form."""


def reconstruct(
    reports: Any, channel: Mechanism | None = None, intervals: Any = None, method: str = "smooth", *,
    level: Any = None, by: Any = None, weights: Any = None,
) -> Any:
    """Return the estimated distribution of the true values behind reports.

    Returned is an `Estimate`; a dictionary with one for each class where classes were counted apart, and for
    `Reports` one with an entry for each blurred column.

    ``reports``: a column of reports (NumPy, pandas, Polars, PyArrow, a list), `Counts`, or `Reports`.
    ``channel``: the channel that made the reports, or the choice of levels that people had; None for counts and
    `Reports`, which know theirs.
    ``intervals``: how many equal intervals of numbers, or their edges; None: one for each whole number where there are
    at most 100, else 20. For `Reports` also a mapping from column to these.
    ``method``: "smooth" (an average of smooth densities), "em" (maximum likelihood; for numbers stopped when only noise
    is left to gain), "as00" (Agrawal & Srikant's recipe), "inverse" (unbiased shares, for categories). More than a
    hundred categories behind randomized or subset response are read in closed form, where "smooth" is "inverse"
    without negative shares.
    ``level``: the privacy level of each report, where people chose one; every level enters through its own table.
    ``by``: the class of each report; classes are estimated apart. None: no classes.
    ``weights``: how many people each report stands for (None: one); errors follow `Counts.worth`.

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
        return _reconstruct_columns(reports, intervals, method)
    counts, note = without_silent_classes(counts_of(reports, channel, level, by, weights).effective())
    if intervals is None and has_closed_form(counts, method):
        estimates = estimate_by_sets(counts, method)
    else:
        estimates = METHODS[method](request_of(counts, intervals, method))
    if note:
        estimates = [_add_note(estimate, note) for estimate in estimates]
    return estimates[0] if counts.classes is None else dict(zip(counts.classes, estimates, strict=True))


def without_silent_classes(counts: Counts) -> tuple[Counts, str | None]:
    """Return the counts of the classes in which anybody answered, and a sentence that names the others (None: none)."""
    if counts.classes is None or not counts.total:
        return counts, None
    answered = np.sum([tally.histogram.sum(axis=1) for tally in counts.levels.values()], axis=0) > 0
    if answered.all():
        return counts, None
    silent = [name for name, any_ in zip(counts.classes, answered, strict=True) if not any_]
    which = f"{'class' if len(silent) == 1 else 'classes'} {', '.join(map(repr, silent))}"
    return counts.of_classes(answered), f"{which} left out: nobody there gave an answer to this"


def _add_note(estimate: Estimate, note: str) -> Estimate:
    """Return the estimate with one more message in its diagnostics."""
    facts = estimate.diagnostics
    return replace(estimate, diagnostics=replace(facts, messages=(*facts.messages, note)))


def has_closed_form(counts: Counts, method: str) -> bool:
    """Say whether counts are of more than MANY categories, with a channel and a method that have a closed form."""
    channels = [tally.channel for tally in counts.levels.values()]
    many = all(isinstance(channel.domain, Categories) and channel.domain.size > MANY for channel in channels)
    return many and method in ("smooth", "inverse") and all(channel.balanced() is not None for channel in channels)


def _reconstruct_columns(reports: Reports, intervals: Any, method: str) -> dict[str, Any]:
    """Return the estimate of every blurred column by name, from one pass over the reports."""
    counts = reports.tallied()
    domains = {name: reports.column(name).channel.domain for name in counts}
    return _estimates(counts, domains, intervals, method)


def _estimates(
    counts: Mapping[str, Counts], domains: Mapping[str, Any], intervals: Any, method: str
) -> dict[str, Any]:
    """Return the estimate of every attribute by name; an error names its attribute."""
    estimates = {}
    for name, of_attribute in counts.items():
        wanted = intervals.get(name) if isinstance(intervals, Mapping) else intervals
        numeric = isinstance(domains[name], Interval)
        try:
            estimates[name] = reconstruct(of_attribute, intervals=wanted if numeric else None, method=method)
        except (ValueError, TypeError) as error:
            raise type(error)(f"attribute {name!r}: {error}") from None
    return estimates


def reconstruct_plan(
    table: Any, plan: Plan, intervals: Any = None, method: str = "smooth", *, by: str | None = None,
    weights: Any = None,
) -> dict[str, Any]:
    """Return the estimate (see `reconstruct`) of every blurred attribute of a plan, by name.

    ``table``: reports as the plan makes them, or the counts of them by attribute. ``plan``: the plan.
    ``intervals``: how many intervals, or edges, for all numeric attributes, or a mapping from attribute to these.
    ``method``: see `reconstruct`. ``by``: a column whose classes are estimated apart. ``weights``: how many people each
    report stands for, an array or the name of a column.
    """
    if isinstance(by, str) and by in plan.attributes and plan.attributes[by].channel is not None:
        raise ValueError(f"column {by!r} is blurred, so nobody's own class is known; name one sent in the clear")
    counts = _plan_counts(table, plan, by, weights)
    domains = {name: plan.attributes[name].domain for name in counts}
    estimates = _estimates(counts, domains, intervals, method)
    return {name: note_unasked(estimate, name, plan) for name, estimate in estimates.items()}


def note_unasked(estimate: Any, name: str, plan: Plan) -> Any:
    """Return an estimate with a note on missing reports, where devices draw k of m questions.

    Of n people about n·(1 − k/m) were not asked; the note says whether more reports are missing than that, by three
    standard deviations.

    estimate: one, or a mapping from class to estimate. name: of the attribute.
    """
    if isinstance(estimate, Mapping):
        return {label: note_unasked(of_class, name, plan) for label, of_class in estimate.items()}
    if name not in plan.drawn:
        return estimate
    facts, questions = estimate.diagnostics, f"{plan.questions_each} of {len(plan.drawn)} questions"
    unasked = (facts.reports + facts.missing) * (1 - (plan.questions_each or 0) / len(plan.drawn))
    gaps, chance = facts.missing - unasked, math.sqrt(unasked * (plan.questions_each or 0) / len(plan.drawn))
    others = f"about {gaps:,.0f} gave no answer" if gaps > 3 * chance else "no more are missing than that may leave"
    note = f"about {unasked:,.0f} were not asked this one, and {others}"
    return _add_note(estimate, f"each person was asked {questions}: {note}")


def estimate_of(name: str, channel: Mechanism, table: Any, intervals: Any = None, method: str = "smooth") -> Estimate:
    """Return the estimate of one attribute from a PyArrow table of reports.

    ``name``: of the attribute. ``channel``: its channel, or the choice of levels, whose column the table then has too.
    ``table``: the reports. ``intervals``, ``method``: see `reconstruct`.
    """
    level = table.column(name + LEVEL_SUFFIX) if channel.has_levels else None
    estimate: Estimate = reconstruct(table.column(name), channel, intervals, method, level=level)
    return estimate


def intervals_for(domain: Any, about: int = INTERVALS) -> Any:
    """Return a number of intervals, or edges for whole numbers with equally many in each; None for categories.

    ``domain``: of the attribute. ``about``: how many intervals.
    """
    if not isinstance(domain, Interval):
        return None
    if not domain.integer:
        return about
    width = math.ceil((domain.width + 1) / about)
    return np.append(np.arange(domain.low - 0.5, domain.high + 0.5, width), domain.high + 0.5)


def choose_intervals(counts: Counts) -> Any:
    """Return intervals of numbers, about twenty, ten or five: the most that the reports decide; None for categories.

    n intervals are decided if the reports decide n − 1 degrees of freedom of an even distribution, by the Fisher
    information.

    ``counts``: of one attribute.
    """
    counts = counts.effective()
    domain = next(iter(counts.levels.values())).channel.domain
    choices = [intervals_for(domain, about) for about in FINENESS]
    if not isinstance(domain, Interval) or not counts.total:
        return choices[-1]
    table = request_of(counts, choices[0]).evidence.table
    even = np.full(table.shape[1], 1 / table.shape[1])
    decided = fisher_spread(table.dense(), even, float(counts.total)).degrees_of_freedom
    sizes = [interval_edges(domain, intervals).size - 1 for intervals in choices]
    return next((choice for choice, size in zip(choices, sizes, strict=True) if decided >= size - 1), choices[-1])


def shares(values: NDArray[Any], domain: Any, edges: Floats | None) -> Floats:
    """Return the share of true values in each category, or in each interval.

    ``values``: the values. ``domain``: theirs. ``edges``: of the intervals, None for categories; values beyond the ends
    count in the end intervals.
    """
    if isinstance(domain, Categories):
        counts = np.bincount(domain.encode(values), minlength=domain.size)
    else:
        counts = np.histogram(np.clip(values, domain.low, domain.high), bins=np.asarray(edges))[0]
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def _plan_counts(table: Any, plan: Plan, by: str | None, weights: Any) -> Mapping[str, Counts]:
    """Return the counts of every attribute of a plan; counts are passed on, if the plan has their attributes."""
    if isinstance(table, Mapping) and table and all(isinstance(counts, Counts) for counts in table.values()):
        unknown = [name for name in table if name not in plan.attributes]
        if unknown:
            raise ValueError(f"the plan has no attribute {unknown[0]!r}; it asks {', '.join(plan.attributes)}")
        _counted_already(by, weights)
        return table
    counts: Mapping[str, Counts] = plan.counts(table, by=by, weights=weights)
    return counts


def counts_of(reports: Any, channel: Mechanism | None, level: Any, by: Any = None, weights: Any = None) -> Counts:
    """Return the counts of reports; counts are passed on, if they were made by this channel (None: by any)."""
    if isinstance(reports, Counts):
        _counted_already(by, weights)
        if channel is not None and any(
            not _made(channel, name, tally.channel) for name, tally in reports.levels.items()
        ):
            raise ValueError("these counts were made with another channel; leave channel out, counts know theirs")
        return reports
    if channel is None:
        raise TypeError("channel is missing; pass the one that made the reports, such as sf.Gaussian(...)")
    return Counts.of(reports, channel, level=level, by=by, weights=weights)


def _counted_already(by: Any, weights: Any) -> None:
    """Raise ValueError if classes or weights are given for reports that were counted already."""
    if by is not None or weights is not None:
        raise ValueError("by= and weights= are for reports that are not counted yet; give them where these are counted")


def _made(channel: Mechanism, level: Any, counted: Channel) -> bool:
    """Say whether counts of a level were made by this channel, or by its level of that name."""
    return channel.levels.get(None, channel.levels.get(level)) == counted
