"""`reconstruct_joint`: the joint distribution of several attributes, by EM through the product of their tables."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from sfumato.channels.correlated import CorrelatedNoise
from sfumato.counts import Column, Reports
from sfumato.domain import Categories, Codes, Floats, Grid, Interval
from sfumato.plan import Plan
from sfumato.reconstruction.cells import FINE_CELLS, Layout, layout_for, observe
from sfumato.reconstruction.diagnosis import too_many_intervals
from sfumato.reconstruction.em import maximise_likelihood
from sfumato.reconstruction.estimate import Diagnostics, Estimate
from sfumato.reconstruction.fisher import fisher_spread, joint_freedom
from sfumato.reconstruction.rules import CONVERGED, ENOUGH
from sfumato.reconstruction.tables import ProductTable, SparseProductTable, StackedTable, Table

UNKNOWNS = 10_000  # about this many cells in all, where intervals leave the choice
COMBINATIONS = 2_000_000  # up to here all combinations of report cells are counted, beyond only those that occur


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """The joint distribution: ``probabilities[i, j, …]`` over the intervals or categories of each attribute."""

    edges: tuple[Floats | None, ...]
    categories: tuple[tuple[Hashable, ...] | None, ...]
    probabilities: Floats
    diagnostics: Diagnostics
    marginals: tuple[Estimate, ...]
    names: tuple[str, ...] = ()

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
class _Axis:
    """One attribute: its true cells (of a layout, or labels), P[report cell, true cell] over all levels, and the way
    from a base code to its report cell."""

    name: str
    layout: Layout | None
    labels: tuple[Hashable, ...] | None
    table: Floats
    cell_of_code: Codes

    @property
    def reported(self) -> int:
        return int(self.table.shape[0])

    @property
    def membership(self) -> Floats:
        return np.eye(self.table.shape[1]) if self.layout is None else self.layout.membership


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
        from sfumato.reconstruction.correlated import reconstruct_correlated

        return reconstruct_correlated(reports, channels, 10 if intervals is None else intervals)
    where = reports if isinstance(reports, Reports) else Reports(reports, channels)
    chosen = [where.column(name) for name in _wanted(where, channels, columns)]
    wishes = _wishes(intervals, chosen)
    axes = [_axis(column, wish, len(chosen)) for column, wish in zip(chosen, wishes, strict=True)]
    return _solve(where, axes)


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
        own = isinstance(intervals, (list, tuple)) and len(intervals) == len(columns) and not _is_edges(intervals)
        wishes = list(intervals) if own else [intervals] * len(columns)
    most = max(int(20_000 ** (1 / len(columns))), 3)
    return [_wish(wish, _domain(column), most) for wish, column in zip(wishes, columns, strict=True)]


def _is_edges(intervals: Sequence[Any]) -> bool:
    return all(isinstance(each, float) for each in intervals)


def _domain(column: Column) -> Any:
    return next(iter(column.levels.values())).domain if column.levels else None


def _wish(wish: Any, domain: Any, most: int) -> Any:
    if not isinstance(domain, Interval):
        return None
    if wish is None and most < 100:
        return min(20, most, int(domain.width) + 1 if domain.integer else most)
    return wish


def _axis(column: Column, wish: Any, attributes: int) -> _Axis:
    if not column.levels:
        if column.labels is None:
            raise ValueError(f"column {column.name!r} holds clear numbers; cut them into labels, or leave them out")
        return _Axis(column.name, None, column.labels, np.eye(column.size), np.arange(column.size))
    domain, layout = _domain(column), None
    used = [channel for channel, people in zip(column.levels.values(), column.people, strict=True) if people]
    if isinstance(domain, Interval):
        steps = [channel.inputs.step for channel in used if isinstance(channel.inputs, Grid)]
        fine = min(int(UNKNOWNS ** (1 / attributes) + 1e-9), FINE_CELLS)
        layout = layout_for(domain, wish, max(steps, default=0.0), fine)
    labels = domain.labels if isinstance(domain, Categories) else None
    return _Axis(column.name, layout, labels, *_all_levels(column, None if layout is None else layout.cells))


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
    table = tables[0] if len(tables) == 1 else StackedTable(tables, np.array(shares))
    return table.dense(), np.concatenate(cell_of_code)


def _counts(reports: Reports, axes: list[_Axis]) -> tuple[Table, Floats]:
    """The product table and the counts of its rows: all combinations where they are few, else those that occur."""
    names, factors = [axis.name for axis in axes], [axis.table for axis in axes]
    if prod(axis.reported + 1 for axis in axes) <= COMBINATIONS:
        counts = reports.counts(names, axes, by_class=False, missing=True)
        return ProductTable(factors), counts[tuple(slice(0, axis.reported) for axis in axes)].ravel()
    found = reports.combinations(names, axes, by_class=False, missing=True)
    known = (found.rows < [axis.reported for axis in axes]).all(axis=1)
    return SparseProductTable(factors, found.rows[known].astype(np.int64)), found.counts[known]


def _solve(where: Reports, axes: list[_Axis]) -> JointEstimate:
    factors = [axis.table for axis in axes]
    table, counts = _counts(where, axes)
    if not counts.any():
        raise ValueError("no person has a report for every attribute; reconstruction needs at least one")
    people = float(len(where) if where.weights is None else where.weights.sum())
    numeric = any(axis.layout is not None for axis in axes)
    fit = maximise_likelihood(table, counts[None, :], stop=ENOUGH if numeric else CONVERGED)
    fine = fit.probabilities[0].reshape([factor.shape[1] for factor in factors])
    along = [fine.sum(axis=tuple(other for other in range(fine.ndim) if other != axis)) for axis in range(fine.ndim)]
    joint = fine
    for axis in axes:
        joint = np.tensordot(joint, axis.membership, axes=([0], [1]))
    reports = float(counts.sum())
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
    )
    marginals = tuple(_marginal(axis, p, reports, facts) for axis, p in zip(axes, along, strict=True))
    edges, categories = tuple(m.edges for m in marginals), tuple(m.categories for m in marginals)
    return JointEstimate(edges, categories, joint, facts, marginals, tuple(axis.name for axis in axes))


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
