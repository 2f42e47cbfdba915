"""`reconstruct_joint`: the joint distribution of several attributes, by EM through the product of their tables.

Correlated noise is made independent by a change of coordinates: with Cov(e) = CCᵀ the reports C⁻¹r = C⁻¹x + z have
independent noise z ~ N(0, I), so the joint table is a product of one factor for each axis. EM runs on cells of these
*turned* coordinates that the domain can reach; the cells' probabilities are then spread over the wanted intervals by
points inside each cell.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from sfumato.channels.additive import Gaussian
from sfumato.channels.additive.correlated_noise import CorrelatedNoise
from sfumato.counts import Column, Reports, columns_in
from sfumato.domain import Categories, Cells, Codes, Floats, Grid, Interval, as_numbers
from sfumato.evidence import CONVERGED, ENOUGH, ColumnCells, Evidence, ProductTable, Table, maximise_likelihood, stack
from sfumato.evidence.large_tables import SparseProductTable
from sfumato.evidence.laws import observe
from sfumato.plan import Plan
from sfumato.reconstruction.diagnosis import fisher_spread, joint_freedom, too_many_intervals
from sfumato.reconstruction.estimate import Diagnostics, Estimate
from sfumato.reconstruction.layout import FEW_INTEGERS, FINE_CELLS, INTERVALS, Layout, interval_edges, layout_for

UNKNOWNS = 10_000
"""Fine cells of all attributes together, about. By judgement: with more, EM takes longer and the reports of most
surveys decide no more numbers; with fewer, cells get wider than the noise."""
MOST_INTERVAL_CELLS = 20_000
"""Combinations of intervals, at most about, where the caller leaves their number open. By judgement, twice UNKNOWNS:
more are hard to read and are decided by chance."""
COMBINATIONS = 2_000_000
"""Combinations of report cells up to which all are counted; beyond, only those that occur. By judgement: counts of all
take 16 megabytes here and are the faster way as long as they fit."""
MOST_CORRELATED = 4
"""Attributes with correlated noise whose joint distribution is computed. By judgement: with TURNED_UNKNOWNS cells five
have four cells along each axis, too few to see a shape."""
TURNED_UNKNOWNS = 3_000
"""Cells of the turned coordinates in all, about; by judgement as for UNKNOWNS, with fewer because many points of each
are turned back."""
TURNED_CELLS = 40
"""Cells along each turned axis, at most. By judgement: with reports over r standard deviations of noise a cell is r/40
wide; narrower ones show no more through noise of 1."""
MOST_WITH_ERRORS = 1_000
"""Cells, true ones and reported ones, up to which the errors of a joint distribution are computed. By judgement: the
table is then written out and inverted, time growing with the third power."""
POINTS = 3
"""Points along each axis of a turned cell by which its probability is spread over intervals. By judgement: fewer leave
gaps where cells are wider than intervals, more cost their POINTS^attributes."""
REACHED = 0.0005
"""Part of the turned reports beyond each end of an axis that are taken for noise; by judgement, 1 in 2,000, so that a
few wild reports do not stretch the cells."""


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """The estimated joint distribution of the true values of several attributes.

    Made by `reconstruct_joint`; ``probabilities[i, j, …]`` belongs to interval or category i of the first attribute, j
    of the second, and so on.

    ``edges``: of the intervals of each attribute; None for categories. ``categories``: the labels of each attribute;
    None for numbers. ``probabilities``: the estimated shares, one axis for each attribute. ``diagnostics``: how it was
    computed, and warnings. ``marginals``: the estimate of each attribute by itself. ``names``: of the attributes.
    ``stderr``: the standard error of every probability, where all attributes are categories and few; else None.

    >>> import sfumato as sf
    >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    >>> rows = {"smokes": ["yes", "yes", "no", "no"] * 50, "drinks": ["yes", "no", "yes", "no"] * 50}
    >>> joint = sf.reconstruct_joint(rows, [coin, coin])
    >>> joint.probabilities.round(2).tolist(), joint.marginal("smokes").probabilities.round(2).tolist()
    ([[0.25, 0.25], [0.25, 0.25]], [0.5, 0.5])
    """

    edges: tuple[Floats | None, ...]
    categories: tuple[tuple[Hashable, ...] | None, ...]
    probabilities: Floats
    diagnostics: Diagnostics
    marginals: tuple[Estimate, ...]
    names: tuple[str, ...] = ()
    stderr: Floats | None = None

    def marginal(self, attribute: int | str) -> Estimate:
        """Return the estimate of one attribute by itself, with its error.

        ``attribute``: its name, or its index among the attributes.
        """
        if isinstance(attribute, str):
            if attribute not in self.names:
                raise ValueError(f"attribute {attribute!r} is not in this estimate; it has {', '.join(self.names)}")
            attribute = self.names.index(attribute)
        return self.marginals[attribute]

    def __str__(self) -> str:
        shape = " × ".join(map(str, self.probabilities.shape))
        return f"joint distribution over {shape} cells from {self.diagnostics.reports:,.0f} reports"


@dataclass(frozen=True)
class _Axis(ColumnCells):
    """One attribute at the fine cells of a layout (None: at its labels), through the tables of all privacy levels."""

    layout: Layout | None = None

    @property
    def membership(self) -> Floats:
        """1 at [interval or label, fine cell] where the cell lies in it, else 0."""
        return np.eye(self.size) if self.layout is None else self.layout.membership


def reconstruct_joint(
    reports: Any, channels: Any = None, intervals: Any = None, *, columns: Sequence[str | int] | None = None
) -> JointEstimate:
    """Return the estimated joint distribution of the true values of several attributes.

    People with a missing report are left out and counted as missing.

    ``reports``: one row a person and one column an attribute (an array, a mapping, any frame), or `Reports`; columns
    ``<name>.level`` hold the privacy level that a person chose. ``channels``: one for each column, a mapping from
    column to channel, a plan, or the correlated noise of all columns; None for `Reports`, which know theirs.
    ``intervals``: as in `reconstruct`, for all attributes, as a list with an entry for each, or as a mapping by name.
    ``columns``: names or indices of the attributes; None: all that have a channel.

    >>> import sfumato as sf
    >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    >>> rows = {"smokes": ["yes", "yes", "no", "no"] * 50, "drinks": ["yes", "no", "yes", "no"] * 50}
    >>> print(sf.reconstruct_joint(rows, {"smokes": coin, "drinks": coin}))
    joint distribution over 2 × 2 cells from 200 reports
    """
    if isinstance(channels, CorrelatedNoise):
        return reconstruct_correlated(reports, channels, 10 if intervals is None else intervals)
    source = reports if isinstance(reports, Reports) else Reports(reports, channels)
    if not len(source):
        raise ValueError("there are no reports; reconstruction needs at least one")
    chosen = [source.column(name) for name in _wanted_columns(source, channels, columns)]
    wanted = _wanted_intervals(intervals, chosen)
    axes = [_axis(column, of_column, len(chosen)) for column, of_column in zip(chosen, wanted, strict=True)]
    return _solve(source, axes)


def _wanted_columns(reports: Reports, channels: Any, columns: Sequence[str | int] | None) -> Sequence[str | int]:
    """Return the columns that the caller names; else those of a plan or a mapping that have a channel, else all."""
    if columns is not None:
        return columns
    if isinstance(channels, (Mapping, Plan)):
        return [name for name in reports.names if reports.channels[name] is not None]
    clear = [name for name, channel in reports.channels.items() if channel is None]
    if clear:
        raise TypeError(f"column {clear[0]!r} has no channel; pass one, or choose columns=")
    return reports.names


def _wanted_intervals(intervals: Any, columns: list[Column]) -> list[Any]:
    """Return the wanted intervals of each attribute: a number, edges, or None for the default and for categories."""
    if isinstance(intervals, Mapping):
        wanted = [intervals.get(column.name) for column in columns]
    else:
        several = isinstance(intervals, (list, tuple)) and len(intervals) == len(columns)
        own = several and not all(isinstance(entry, float) for entry in intervals)  # floats are edges for all
        wanted = list(intervals) if own else [intervals] * len(columns)
    return [_bounded(entry, _domain(column), len(columns)) for entry, column in zip(wanted, columns, strict=True)]


def _bounded(wanted: Any, domain: Any, attributes: int) -> Any:
    """Return the wanted intervals of one attribute; None for numbers becomes a number of intervals, at most INTERVALS.

    attributes: how many there are in all.
    """
    if not isinstance(domain, Interval):
        return None
    most = max(int(MOST_INTERVAL_CELLS ** (1 / attributes)), 3)
    if wanted is None and most < FEW_INTEGERS:
        return min(INTERVALS, most, int(domain.width) + 1 if domain.integer else most)
    return wanted


def _domain(column: Column) -> Any:
    """Return the domain of a blurred column, None for a clear one."""
    return next(iter(column.levels.values())).domain if column.levels else None


def _axis(column: Column, wanted: Any, attributes: int) -> _Axis:
    """Return a column of reports in cells, for its wanted intervals and beside so many attributes in all."""
    if not column.levels:
        if column.labels is None:
            raise ValueError(f"column {column.name!r} holds clear numbers; cut them into labels, or leave them out")
        every = np.arange(column.size, dtype=np.int32)
        return _Axis(column.name, np.eye(column.size), every, labels=column.labels)
    domain, layout = _domain(column), None
    used = [channel for channel, people in zip(column.levels.values(), column.people, strict=True) if people]
    if isinstance(domain, Interval):
        steps = [channel.inputs.step for channel in used if isinstance(channel.inputs, Grid)]
        fine = min(int(UNKNOWNS ** (1 / attributes) + 1e-9), FINE_CELLS)
        layout = layout_for(domain, wanted, max(steps, default=0.0), fine)
    labels = tuple(domain.labels) if isinstance(domain, Categories) else None
    table, cell_of_code = _all_levels(column, None if layout is None else layout.cells)
    return _Axis(column.name, table, cell_of_code.astype(np.int32), labels=labels, layout=layout)


def _all_levels(column: Column, cells: Floats | None) -> tuple[Floats, Codes]:
    """Return the tables of all levels, weighted by their shares of the people, one below the other; and the report cell
    of each code, levels one after the other."""
    tables: list[Table] = []
    shares, cell_of_code, below = [], [], 0
    for channel, people in zip(column.levels.values(), column.people.tolist(), strict=True):
        if not people:
            cell_of_code.append(np.zeros(channel.outputs.size, dtype=np.int64))
            continue
        observed = observe(channel, cells)
        cell_of_code.append(observed.reports.cell_of_code(channel.outputs.size) + below)
        below += observed.table.shape[0]
        tables.append(observed.table)
        shares.append(people / max(column.people.sum(), 1))
    return stack(tables, np.array(shares)).dense(), np.concatenate(cell_of_code)


def _evidence(reports: Reports, axes: list[_Axis], squared: bool = False) -> Evidence:
    """Return the evidence of several attributes together: the product table, and the counts of its rows.

    Rows are all combinations of report cells up to COMBINATIONS, else those that occur. squared: whether squares of
    people's weights are summed instead of weights.
    """
    names, factors = [axis.name for axis in axes], [axis.table for axis in axes]
    if prod(axis.reported + 1 for axis in axes) <= COMBINATIONS:
        counts = reports.counts(names, axes, by_class=False, missing=True, squared=squared)
        complete = counts[tuple(slice(0, axis.reported) for axis in axes)]
        return Evidence.of_counts(ProductTable(factors), complete, cells=axes)
    occurring = reports.combinations(names, axes, by_class=False, missing=True, squared=squared)
    answered = (occurring.rows < [axis.reported for axis in axes]).all(axis=1)
    table = SparseProductTable(factors, occurring.rows[answered].astype(np.int64))
    return Evidence.of_counts(table, occurring.counts[answered], cells=axes)


def _solve(source: Reports, axes: list[_Axis]) -> JointEstimate:
    """Return the joint estimate of the attributes on these axes, by EM through the product of their tables."""
    factors = [axis.table for axis in axes]
    evidence = _evidence(source, axes)
    if not evidence.total:
        raise ValueError("no person has a report for every attribute; reconstruction needs at least one")
    unit = _evidence(source, axes, squared=True).total / evidence.total if source.weighted else 1.0
    people, evidence = source.people / unit, evidence.with_counts(evidence.counts / unit)  # as in Counts.effective
    numeric = any(axis.layout is not None for axis in axes)
    fit = maximise_likelihood(evidence, stop=ENOUGH if numeric else CONVERGED)
    fine = fit.probabilities[0].reshape([factor.shape[1] for factor in factors])
    fine_marginals = _marginals(fine)
    joint = fine
    for axis in axes:
        joint = np.tensordot(joint, axis.membership, axes=([0], [1]))
    reports = evidence.total
    freedom = joint_freedom(factors, fine_marginals, reports, joint.size)
    notes = [axis.layout.note for axis in axes if axis.layout is not None]
    facts = Diagnostics(
        method="em",
        reports=reports,
        missing=people - reports,
        iterations=fit.iterations,
        table_applications=fit.applications,
        log_likelihood=float(fit.log_likelihood[0]),
        degrees_of_freedom=freedom,
        messages=tuple(filter(None, [*notes, too_many_intervals(reports, freedom, joint.size)])),
        worth=reports if source.weighted else None,
    )
    marginals = tuple(_marginal(axis, p, reports, facts) for axis, p in zip(axes, fine_marginals, strict=True))
    edges, categories = tuple(m.edges for m in marginals), tuple(m.categories for m in marginals)
    names, stderr = tuple(axis.name for axis in axes), None if numeric else _joint_stderr(factors, joint, reports)
    return JointEstimate(edges, categories, joint, facts, marginals, names, stderr)


def _joint_stderr(factors: list[Floats], joint: Floats, reports: float) -> Floats | None:
    """Return the standard error of every cell; None where the product of the tables is too large to be written out."""
    if joint.size > MOST_WITH_ERRORS or prod(factor.shape[0] for factor in factors) > MOST_WITH_ERRORS:
        return None
    covariance = fisher_spread(ProductTable(factors).dense(), joint.ravel(), reports).covariance
    return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0.0)).reshape(joint.shape))


def _marginals(joint: Floats) -> list[Floats]:
    """Return the marginal distribution along every axis of a joint distribution."""
    return [joint.sum(axis=tuple(other for other in range(joint.ndim) if other != axis)) for axis in range(joint.ndim)]


def _marginal(axis: _Axis, p: Floats, reports: float, facts: Diagnostics) -> Estimate:
    """Return the estimate of one attribute from its distribution p over fine cells."""
    spread = fisher_spread(axis.table, p, reports, axis.membership)
    layout = axis.layout
    return Estimate(
        None if layout is None else layout.edges,
        axis.labels,
        axis.membership @ p,
        spread.covariance,
        replace(facts, degrees_of_freedom=spread.degrees_of_freedom, messages=()),
        layout is not None and layout.integer,
    )


# --- correlated noise -----------------------------------------------------------------------------------------------


def reconstruct_correlated(reports: Any, channel: CorrelatedNoise, intervals: Any = 10) -> JointEstimate:
    """Return the joint estimate of attributes that were blurred by correlated noise.

    reports: one row a person and one column an attribute. intervals: a number, or edges, for all attributes, or a list
    with one of these for each.
    """
    size = len(channel.domains)
    if size > MOST_CORRELATED:
        raise ValueError(f"{size} attributes are too many for a joint table; use channel.moments(reports)")
    rows = _rows(reports, list(channel.domains))
    complete = ~np.isnan(rows).any(axis=1)
    if not complete.any():
        raise ValueError("no person has a report for every attribute; reconstruction needs at least one")
    wanted = intervals if isinstance(intervals, list) and len(intervals) == size else [intervals] * size
    edges = [interval_edges(domain, entry) for domain, entry in zip(channel.domains.values(), wanted, strict=True)]
    factor: Floats = np.asarray(np.linalg.cholesky(channel.noise_covariance), dtype=np.float64)
    turned = np.asarray(np.linalg.solve(factor, rows[complete].T).T, dtype=np.float64)
    cells, shares, facts = _solve_turned(turned, factor, channel, int((~complete).sum()))
    joint = _turn_back(cells, shares, factor, edges)
    marginals = tuple(
        _turned_marginal(channel, *of_axis, facts)
        for of_axis in zip(channel.domains, edges, _marginals(joint), strict=True)
    )
    return JointEstimate(tuple(edges), (None,) * size, joint, facts, marginals, tuple(channel.domains))


def _rows(reports: Any, names: list[str]) -> Floats:
    """Return the reports as an array, one row a person; columns by name if the table has these names, else in order."""
    columns = columns_in(reports)
    if len(columns) != len(names):
        raise ValueError(f"reports has {len(columns)} columns for {len(names)} attributes; give one column each")
    order = names if set(names) == set(columns) else list(columns)
    return np.column_stack([as_numbers(columns[name]) for name in order])


def _solve_turned(
    rows: Floats, factor: Floats, channel: CorrelatedNoise, missing: int
) -> tuple[list[Floats], Any, Any]:
    """Return the edges of the cells on each turned axis, the cells' probabilities, and the diagnostics.

    rows: the turned reports C⁻¹r. factor: C. missing: how many people were left out.
    """
    count = min(int(TURNED_UNKNOWNS ** (1 / rows.shape[1])), TURNED_CELLS)
    cells, tables, report_cells = [], [], []
    for column in rows.T:
        bounds = np.linspace(*_reach(column), count + 1)
        noise = Gaussian(Interval(float(bounds[0]), float(bounds[-1])), scale=1.0)
        reported = np.linspace(bounds[0] - 3, bounds[-1] + 3, count + 13)
        cells.append(bounds)
        tables.append(noise.matrix(true=bounds, reported=reported))
        report_cells.append(Cells(tuple(reported)).encode(column))
    reachable = _reachable(cells, factor, channel)
    evidence = _combined(tables, np.column_stack(report_cells))
    fit = maximise_likelihood(evidence, start=reachable / reachable.sum())
    facts = Diagnostics(
        "em", float(len(rows)), missing, fit.iterations, fit.applications, float(fit.log_likelihood[0]), np.nan
    )
    return cells, fit.probabilities[0], facts


def _combined(factors: list[Floats], cells: Codes) -> Evidence:
    """Return the evidence of reports in cells: the product table, and the counts of its rows.

    factors: the table of each axis. cells: the report cell of each person along each axis. Rows are all combinations
    of report cells up to COMBINATIONS, else those that occur.
    """
    sizes = [factor.shape[0] for factor in factors]
    if prod(sizes) <= COMBINATIONS:
        combination = np.ravel_multi_index(tuple(cells.T), sizes)
        return Evidence.of_counts(ProductTable(factors), np.bincount(combination, minlength=prod(sizes)))
    rows, counts = np.unique(cells, axis=0, return_counts=True)
    return Evidence.of_counts(SparseProductTable(factors, rows), counts)


def _reach(column: Floats) -> tuple[float, float]:
    """Return (low, high), between which the true values along a turned axis are taken to lie.

    It is the range of the reports without the outer REACHED at each end, one standard deviation of noise shorter on
    both sides.

    column: the turned reports along the axis.
    """
    low, high = np.quantile(column, [REACHED, 1 - REACHED])
    middle, half = (low + high) / 2, max((high - low) / 2 - 1.0, 1.0)
    return float(middle - half), float(middle + half)


def _reachable(cells: list[Floats], factor: Floats, channel: CorrelatedNoise) -> Floats:
    """Return 1 for turned cells with one of their `_points` inside the domain, else 0; all 1 if there is none.

    EM starts from it, and leaves what is 0 at 0.
    """
    inside = np.zeros(prod(edges.size - 1 for edges in cells), dtype=bool)
    lows, highs = np.array([[d.low, d.high] for d in channel.domains.values()], dtype=float).T
    for points in _points(cells):
        values = points @ factor.T
        inside |= ((values >= lows) & (values <= highs)).all(axis=1)
    return inside.astype(float) if inside.any() else np.ones(inside.size)


def _points(cells: list[Floats]) -> list[Floats]:
    """Return POINTS^axes points inside each cell, as one array over all cells for every position inside a cell."""
    positions = (np.arange(POINTS) + 0.5) / POINTS
    points = []
    for offsets in np.stack(np.meshgrid(*[positions] * len(cells), indexing="ij"), axis=-1).reshape(-1, len(cells)):
        axes = [edges[:-1] + share * np.diff(edges) for edges, share in zip(cells, offsets, strict=True)]
        points.append(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(cells)))
    return points


def _turn_back(cells: list[Floats], shares: Floats, factor: Floats, edges: list[Floats]) -> Floats:
    """Return the joint distribution over the wanted intervals from that over cells of the turned coordinates C⁻¹x.

    The probability of each cell is spread over its `_points`.

    cells: edges on each turned axis. shares: probabilities of the cells. factor: C. edges: of the wanted intervals.
    """
    shape = [bounds.size - 1 for bounds in edges]
    joint = np.zeros(prod(shape))
    points = _points(cells)
    for turned in points:
        values = turned @ factor.T
        index = [Cells(tuple(bounds)).encode(column) for bounds, column in zip(edges, values.T, strict=True)]
        joint += np.bincount(np.ravel_multi_index(tuple(index), shape), shares / len(points), minlength=joint.size)
    return joint.reshape(shape)


def _turned_marginal(
    channel: CorrelatedNoise, name: str, edges: Floats, shares: Floats, facts: Diagnostics
) -> Estimate:
    """Return the estimate of one attribute, with the error that its own reports alone would leave."""
    noise = channel.marginal(name)
    reach = noise.interval_width(0.99) / 2
    inner = np.concatenate([[edges[0] - reach], *[np.linspace(a, b, 3)[:-1] for a, b in pairwise(edges)], [edges[-1]]])
    table = noise.matrix(true=edges, reported=np.append(inner, edges[-1] + reach))
    spread = fisher_spread(table, shares, facts.reports)
    return Estimate(edges, None, shares, spread.covariance, facts, channel.domains[name].integer)
