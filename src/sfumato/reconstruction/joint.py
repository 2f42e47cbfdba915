"""`reconstruct_joint`: the joint distribution of several attributes, by EM through the product of their tables.

Correlated noise is turned until it is independent, solved, and turned back: with Cov(e) = CCᵀ the turned reports
C⁻¹w = C⁻¹x + z have independent noise z ~ N(0, I), so that the joint table is a product, one factor an axis. EM runs on
cells of the turned space that the domain can reach; the cells' probabilities are then spread over the intervals that
were asked for, by points inside each cell.
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
from sfumato.reconstruction.layout import FINE_CELLS, Layout, interval_edges, layout_for

UNKNOWNS = 10_000  # about this many cells in all, where intervals leave the choice
COMBINATIONS = 2_000_000  # up to here all combinations of report cells are counted, beyond only those that occur
MOST_CORRELATED = 4  # attributes
TURNED_UNKNOWNS, TURNED_CELLS = 3000, 40  # about so many cells in all, and at most so many along each turned axis
MOST_WITH_ERRORS = 1_000  # cells, true or reported, of a joint distribution whose errors are computed
POINTS = 3  # along each axis of a turned cell, when it is turned back


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """The joint distribution: ``probabilities[i, j, …]`` over the intervals or categories of each attribute."""

    edges: tuple[Floats | None, ...]
    categories: tuple[tuple[Hashable, ...] | None, ...]
    probabilities: Floats
    diagnostics: Diagnostics
    marginals: tuple[Estimate, ...]
    names: tuple[str, ...] = ()
    stderr: Floats | None = None
    """The standard error of every cell, where all attributes are categories and few; else None."""

    def marginal(self, attribute: int | str) -> Estimate:
        """The distribution of one attribute, by its place or name, with its error."""
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
    """One attribute at the fine cells of a layout (None: at its labels), through the tables of all levels."""

    layout: Layout | None = None

    @property
    def membership(self) -> Floats:
        return np.eye(self.size) if self.layout is None else self.layout.membership


def reconstruct_joint(
    reports: Any, channels: Any = None, intervals: Any = None, *, columns: Sequence[str | int] | None = None
) -> JointEstimate:
    """The joint distribution of the true values of several attributes.

    ``reports``: one row a person and one column an attribute (an array, a mapping, any frame), or ``Reports``; columns
    ``<name>.level`` say which level a person chose. ``channels``: one a column, a mapping from column to channel, a
    plan, or the one correlated noise of all. ``columns``: the attributes wanted, if not all that have a channel.
    ``intervals``: one entry for all attributes, a list with one entry each, or a mapping by name, as in
    ``reconstruct``. A person with a missing report is left out and counted as missing.
    """
    if isinstance(channels, CorrelatedNoise):
        return reconstruct_correlated(reports, channels, 10 if intervals is None else intervals)
    where = reports if isinstance(reports, Reports) else Reports(reports, channels)
    if not len(where):
        raise ValueError("there are no reports; reconstruction needs at least one")
    chosen = [where.column(name) for name in _wanted(where, channels, columns)]
    wishes = _wishes(intervals, chosen)
    return _solve(where, [_axis(column, wish, len(chosen)) for column, wish in zip(chosen, wishes, strict=True)])


def _wanted(reports: Reports, channels: Any, columns: Sequence[str | int] | None) -> Sequence[str | int]:
    """The columns asked for; of a plan or a mapping, those that have a channel."""
    if columns is not None:
        return columns
    if isinstance(channels, (Mapping, Plan)):
        return [name for name in reports.names if reports.channels[name] is not None]
    clear = [name for name, channel in reports.channels.items() if channel is None]
    if clear:
        raise TypeError(f"column {clear[0]!r} has no channel; pass one, or choose columns=")
    return reports.names


def _wishes(intervals: Any, columns: list[Column]) -> list[Any]:
    """One wish an attribute; None becomes a number of intervals that the product can bear."""
    if isinstance(intervals, Mapping):
        wishes = [intervals.get(column.name) for column in columns]
    else:
        several = isinstance(intervals, (list, tuple)) and len(intervals) == len(columns)
        own = several and not all(isinstance(each, float) for each in intervals)  # floats are edges for all
        wishes = list(intervals) if own else [intervals] * len(columns)
    return [_wish(wish, _domain(column), len(columns)) for wish, column in zip(wishes, columns, strict=True)]


def _wish(wish: Any, domain: Any, attributes: int) -> Any:
    if not isinstance(domain, Interval):
        return None
    most = max(int(20_000 ** (1 / attributes)), 3)
    if wish is None and most < 100:
        return min(20, most, int(domain.width) + 1 if domain.integer else most)
    return wish


def _domain(column: Column) -> Any:
    return next(iter(column.levels.values())).domain if column.levels else None


def _axis(column: Column, wish: Any, attributes: int) -> _Axis:
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
        layout = layout_for(domain, wish, max(steps, default=0.0), fine)
    labels = tuple(domain.labels) if isinstance(domain, Categories) else None
    table, cell_of_code = _all_levels(column, None if layout is None else layout.cells)
    return _Axis(column.name, table, cell_of_code.astype(np.int32), labels=labels, layout=layout)


def _all_levels(column: Column, cells: Floats | None) -> tuple[Floats, Codes]:
    """The tables of the levels that occur, weighted by their people, on top of each other; the cell of every code."""
    tables: list[Table] = []
    shares, cell_of_code, below = [], [], 0
    for channel, people in zip(column.levels.values(), column.people.tolist(), strict=True):
        if not people:
            cell_of_code.append(np.zeros(channel.outputs.size, dtype=np.int64))
            continue
        seen = observe(channel, cells)
        place = np.searchsorted(seen.reports.first, np.arange(channel.outputs.size), side="right") - 1
        cell_of_code.append(place + below)
        below += seen.table.shape[0]
        tables.append(seen.table)
        shares.append(people / max(column.people.sum(), 1))
    return stack(tables, np.array(shares)).dense(), np.concatenate(cell_of_code)


def _evidence(reports: Reports, axes: list[_Axis], squared: bool = False) -> Evidence:
    """Return the product table and the counts of its rows: all combinations where they are few, else those that occur.

    squared: of the squares of people's weights.
    """
    names, factors = [axis.name for axis in axes], [axis.table for axis in axes]
    if prod(axis.reported + 1 for axis in axes) <= COMBINATIONS:
        counts = reports.counts(names, axes, by_class=False, missing=True, squared=squared)
        seen = counts[tuple(slice(0, axis.reported) for axis in axes)]
        return Evidence.of_counts(ProductTable(factors), seen, cells=axes)
    found = reports.combinations(names, axes, by_class=False, missing=True, squared=squared)
    known = (found.rows < [axis.reported for axis in axes]).all(axis=1)
    table = SparseProductTable(factors, found.rows[known].astype(np.int64))
    return Evidence.of_counts(table, found.counts[known], cells=axes)


def _solve(where: Reports, axes: list[_Axis]) -> JointEstimate:
    factors = [axis.table for axis in axes]
    evidence = _evidence(where, axes)
    if not evidence.total:
        raise ValueError("no person has a report for every attribute; reconstruction needs at least one")
    unit = _evidence(where, axes, squared=True).total / evidence.total if where.weighted else 1.0
    people, evidence = where.people / unit, evidence.with_counts(evidence.counts / unit)  # as in Counts.effective
    numeric = any(axis.layout is not None for axis in axes)
    fit = maximise_likelihood(evidence, stop=ENOUGH if numeric else CONVERGED)
    fine = fit.probabilities[0].reshape([factor.shape[1] for factor in factors])
    along = _along(fine)
    joint = fine
    for axis in axes:
        joint = np.tensordot(joint, axis.membership, axes=([0], [1]))
    reports = evidence.total
    freedom = joint_freedom(factors, along, reports, joint.size)
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
        worth=reports if where.weighted else None,
    )
    marginals = tuple(_marginal(axis, p, reports, facts) for axis, p in zip(axes, along, strict=True))
    edges, categories = tuple(m.edges for m in marginals), tuple(m.categories for m in marginals)
    names, stderr = tuple(axis.name for axis in axes), None if numeric else _joint_stderr(factors, joint, reports)
    return JointEstimate(edges, categories, joint, facts, marginals, names, stderr)


def _joint_stderr(factors: list[Floats], joint: Floats, reports: float) -> Floats | None:
    """The error of every cell through the product of the tables, written out where it is small enough."""
    if joint.size > MOST_WITH_ERRORS or prod(factor.shape[0] for factor in factors) > MOST_WITH_ERRORS:
        return None
    covariance = fisher_spread(ProductTable(factors).dense(), joint.ravel(), reports).covariance
    return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0.0)).reshape(joint.shape))


def _along(joint: Floats) -> list[Floats]:
    """The marginal distribution of every axis."""
    return [joint.sum(axis=tuple(other for other in range(joint.ndim) if other != axis)) for axis in range(joint.ndim)]


def _marginal(axis: _Axis, p: Floats, reports: float, facts: Diagnostics) -> Estimate:
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
    """The joint distribution of the true values; ``intervals``: a number or edges, for all attributes or one each."""
    size = len(channel.domains)
    if size > MOST_CORRELATED:
        raise ValueError(f"{size} attributes are too many for a joint table; use channel.moments(reports)")
    rows = _rows(reports, list(channel.domains))
    known = ~np.isnan(rows).any(axis=1)
    if not known.any():
        raise ValueError("no person has a report for every attribute; reconstruction needs at least one")
    wishes = intervals if isinstance(intervals, list) and len(intervals) == size else [intervals] * size
    edges = [interval_edges(domain, wish) for domain, wish in zip(channel.domains.values(), wishes, strict=True)]
    factor: Floats = np.asarray(np.linalg.cholesky(channel.noise_covariance), dtype=np.float64)
    turned = np.asarray(np.linalg.solve(factor, rows[known].T).T, dtype=np.float64)
    cells, shares, facts = _turned(turned, factor, channel, int((~known).sum()))
    joint = _turned_back(cells, shares, factor, edges)
    marginals = tuple(
        _turned_marginal(channel, *each, facts) for each in zip(channel.domains, edges, _along(joint), strict=True)
    )
    return JointEstimate(tuple(edges), (None,) * size, joint, facts, marginals, tuple(channel.domains))


def _rows(reports: Any, names: list[str]) -> Floats:
    """One row a person; columns by name where the table has these names, else in order."""
    columns = columns_in(reports)
    if len(columns) != len(names):
        raise ValueError(f"reports has {len(columns)} columns for {len(names)} attributes; give one column each")
    order = names if set(names) == set(columns) else list(columns)
    return np.column_stack([as_numbers(columns[name]) for name in order])


def _turned(rows: Floats, factor: Floats, channel: CorrelatedNoise, missing: int) -> tuple[list[Floats], Any, Any]:
    """Edges of the cells on each turned axis, their probabilities, and how they came about."""
    count = min(int(TURNED_UNKNOWNS ** (1 / rows.shape[1])), TURNED_CELLS)
    cells, tables, places = [], [], []
    for column in rows.T:
        bounds = np.linspace(*_reach(column), count + 1)
        noise = Gaussian(Interval(float(bounds[0]), float(bounds[-1])), scale=1.0)
        seen = np.linspace(bounds[0] - 3, bounds[-1] + 3, count + 13)
        cells.append(bounds)
        tables.append(noise.matrix(true=bounds, reported=seen))
        places.append(Cells(tuple(seen)).encode(column))
    reachable = _reachable(cells, factor, channel)
    evidence = _combined(tables, np.column_stack(places))
    fit = maximise_likelihood(evidence, start=reachable / reachable.sum())
    facts = Diagnostics(
        "em", float(len(rows)), missing, fit.iterations, fit.applications, float(fit.log_likelihood[0]), np.nan
    )
    return cells, fit.probabilities[0], facts


def _combined(factors: list[Floats], cells: Codes) -> Evidence:
    """Return the product table and the counts of its rows: all combinations, or those that occur if they are many."""
    sizes = [factor.shape[0] for factor in factors]
    if prod(sizes) <= COMBINATIONS:
        place = np.ravel_multi_index(tuple(cells.T), sizes)
        return Evidence.of_counts(ProductTable(factors), np.bincount(place, minlength=prod(sizes)))
    rows, counts = np.unique(cells, axis=0, return_counts=True)
    return Evidence.of_counts(SparseProductTable(factors, rows), counts)


def _reach(column: Floats) -> tuple[float, float]:
    """Where true values can lie: the reports' own span, less the noise that made the outermost of them."""
    low, high = np.quantile(column, [0.0005, 0.9995])
    middle, half = (low + high) / 2, max((high - low) / 2 - 1.0, 1.0)
    return float(middle - half), float(middle + half)


def _reachable(cells: list[Floats], factor: Floats, channel: CorrelatedNoise) -> Floats:
    """1 for cells with a corner, point or middle inside the domain; EM never leaves them."""
    inside = np.zeros(prod(edges.size - 1 for edges in cells), dtype=bool)
    lows, highs = np.array([[d.low, d.high] for d in channel.domains.values()], dtype=float).T
    for points in _points(cells):
        values = points @ factor.T
        inside |= ((values >= lows) & (values <= highs)).all(axis=1)
    return inside.astype(float) if inside.any() else np.ones(inside.size)


def _points(cells: list[Floats]) -> list[Floats]:
    """Points inside every cell, the same places in each: one array of all cells per place."""
    places = (np.arange(POINTS) + 0.5) / POINTS
    found = []
    for offsets in np.stack(np.meshgrid(*[places] * len(cells), indexing="ij"), axis=-1).reshape(-1, len(cells)):
        axes = [edges[:-1] + share * np.diff(edges) for edges, share in zip(cells, offsets, strict=True)]
        found.append(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(cells)))
    return found


def _turned_back(cells: list[Floats], shares: Floats, factor: Floats, edges: list[Floats]) -> Floats:
    shape = [bounds.size - 1 for bounds in edges]
    joint = np.zeros(prod(shape))
    points = _points(cells)
    for turned in points:
        values = turned @ factor.T
        place = [Cells(tuple(bounds)).encode(column) for bounds, column in zip(edges, values.T, strict=True)]
        joint += np.bincount(np.ravel_multi_index(tuple(place), shape), shares / len(points), minlength=joint.size)
    return joint.reshape(shape)


def _turned_marginal(
    channel: CorrelatedNoise, name: str, edges: Floats, shares: Floats, facts: Diagnostics
) -> Estimate:
    """One attribute with the error that its own reports leave."""
    noise = channel.marginal(name)
    reach = noise.interval_width(0.99) / 2
    inner = np.concatenate([[edges[0] - reach], *[np.linspace(a, b, 3)[:-1] for a, b in pairwise(edges)], [edges[-1]]])
    table = noise.matrix(true=edges, reported=np.append(inner, edges[-1] + reach))
    spread = fisher_spread(table, shares, facts.reports)
    return Estimate(edges, None, shares, spread.covariance, facts, channel.domains[name].integer)
