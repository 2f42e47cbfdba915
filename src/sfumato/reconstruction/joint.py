"""`reconstruct_joint`: the joint distribution of several attributes, by EM through the product of their tables."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel
from sfumato.channels.multivariate import CorrelatedNoise
from sfumato.counts import check_channel, codes_of
from sfumato.domain import Categories, Codes, Floats, Grid, Interval, as_array
from sfumato.reconstruction.cells import FINE_CELLS, Layout, Observation, layout_for, observe
from sfumato.reconstruction.diagnosis import too_many_intervals
from sfumato.reconstruction.em import CONVERGED, ENOUGH, maximise_likelihood
from sfumato.reconstruction.estimate import Diagnostics, Estimate
from sfumato.reconstruction.fisher import fisher_spread, joint_freedom
from sfumato.reconstruction.tables import ProductTable, SparseProductTable, Table

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

    def marginal(self, attribute: int) -> Estimate:
        """The distribution of one attribute, with its error."""
        return self.marginals[attribute]

    def __str__(self) -> str:
        shape = " × ".join(map(str, self.probabilities.shape))
        return f"joint distribution over {shape} cells from {self.diagnostics.reports:,.0f} reports"


@dataclass(frozen=True)
class _Axis:
    """One attribute: its layout (None for categories), what its channel sees, and each person's report cell."""

    channel: Channel
    layout: Layout | None
    seen: Observation
    cells: Codes

    @property
    def membership(self) -> Floats:
        return np.eye(self.seen.table.shape[1]) if self.layout is None else self.layout.membership


def reconstruct_joint(
    reports: Any, channels: Sequence[Channel] | CorrelatedNoise, intervals: Any = None
) -> JointEstimate:
    """The joint distribution of the true values of several attributes.

    ``reports``: one row a person and one column an attribute (an array or a table of pandas, Polars, PyArrow).
    ``channels``: one a column, or the one correlated noise of all. ``intervals``: one entry for all attributes or a
    list with one entry each, as in ``reconstruct``. A person with a missing report is left out and counted as missing.
    """
    if isinstance(channels, CorrelatedNoise):
        from sfumato.reconstruction.correlated import reconstruct_correlated

        return reconstruct_correlated(reports, channels, 10 if intervals is None else intervals)
    channels = [check_channel(channel) for channel in channels]
    columns = columns_of(reports, len(channels))
    wishes = _wishes(intervals, channels)
    codes = [codes_of(column, channel) for column, channel in zip(columns, channels, strict=True)]
    known = np.all([one >= 0 for one in codes], axis=0)
    if not known.any():
        raise ValueError("no person has a report for every attribute; reconstruction needs at least one")
    axes = [
        _axis(channel, one[known], wish, len(channels))
        for channel, one, wish in zip(channels, codes, wishes, strict=True)
    ]
    return _solve(axes, int((~known).sum()))


def columns_of(reports: Any, attributes: int) -> list[NDArray[Any]]:
    """The columns of a table, a mapping or a two-dimensional array."""
    if hasattr(reports, "column_names") and hasattr(reports, "column"):
        columns = [as_array(reports.column(name)) for name in reports.column_names]
    elif hasattr(reports, "columns") or isinstance(reports, Mapping):
        columns = [as_array(reports[name]) for name in getattr(reports, "columns", reports)]
    else:
        array = np.asarray(reports)
        if array.ndim != 2:
            raise ValueError(f"reports has shape {array.shape}; give one row a person and one column an attribute")
        columns = list(array.T)
    if len(columns) != attributes or not columns:
        raise ValueError(f"reports has {len(columns)} columns for {attributes} channels; give one channel a column")
    return columns


def _wishes(intervals: Any, channels: Sequence[Channel]) -> list[Any]:
    """One wish an attribute; None becomes a number of intervals that the product can bear."""
    own = isinstance(intervals, (list, tuple)) and len(intervals) == len(channels) and not _is_edges(intervals)
    wishes = list(intervals) if own else [intervals] * len(channels)
    most = max(int(20_000 ** (1 / len(channels))), 3)
    return [_wish(wish, channel, most) for wish, channel in zip(wishes, channels, strict=True)]


def _is_edges(intervals: Sequence[Any]) -> bool:
    return all(isinstance(each, float) for each in intervals)


def _wish(wish: Any, channel: Channel, most: int) -> Any:
    domain = channel.domain
    if not isinstance(domain, Interval):
        return None
    if wish is None and most < 100:
        return min(20, most, int(domain.width) + 1 if domain.integer else most)
    return wish


def _axis(channel: Channel, codes: Codes, wish: Any, attributes: int) -> _Axis:
    layout = None
    if isinstance(channel.domain, Interval):
        narrowest = channel.inputs.step if isinstance(channel.inputs, Grid) else 0.0
        fine = min(int(UNKNOWNS ** (1 / attributes) + 1e-9), FINE_CELLS)
        layout = layout_for(channel.domain, wish, narrowest, fine)
    seen = observe(channel, None if layout is None else layout.cells)
    cells = np.searchsorted(seen.reports.first, codes, side="right") - 1
    return _Axis(channel, layout, seen, cells)


def _solve(axes: list[_Axis], missing: int) -> JointEstimate:
    factors = [axis.seen.table.dense() for axis in axes]
    table, counts = count_combinations(factors, np.column_stack([axis.cells for axis in axes]))
    numeric = any(axis.layout is not None for axis in axes)
    fit = maximise_likelihood(table, counts[None, :], stop=ENOUGH if numeric else CONVERGED)
    fine = fit.probabilities[0].reshape([factor.shape[1] for factor in factors])
    along = [fine.sum(axis=tuple(other for other in range(fine.ndim) if other != axis)) for axis in range(fine.ndim)]
    joint = fine
    for axis in axes:
        joint = np.tensordot(joint, axis.membership, axes=([0], [1]))
    reports = float(counts.sum())
    freedom = joint_freedom(factors, along, reports, joint.size)
    facts = Diagnostics(
        method="em",
        reports=reports,
        missing=missing,
        iterations=fit.iterations,
        table_applications=fit.applications,
        log_likelihood=float(fit.log_likelihood[0]),
        degrees_of_freedom=freedom,
        messages=tuple(filter(None, [too_many_intervals(reports, freedom, joint.size)])),
    )
    marginals = tuple(_marginal(axis, p, reports, facts) for axis, p in zip(axes, along, strict=True))
    edges, categories = tuple(m.edges for m in marginals), tuple(m.categories for m in marginals)
    return JointEstimate(edges, categories, joint, facts, marginals)


def count_combinations(factors: list[Floats], cells: Codes) -> tuple[Table, Floats]:
    """The product table and the counts of its rows: all combinations where they are few, else those that occur."""
    sizes = [factor.shape[0] for factor in factors]
    if prod(sizes) <= COMBINATIONS:
        place = np.ravel_multi_index(tuple(cells.T), sizes)
        return ProductTable(factors), np.bincount(place, minlength=prod(sizes)).astype(float)
    rows, counts = np.unique(cells, axis=0, return_counts=True)
    return SparseProductTable(factors, rows), counts.astype(float)


def _marginal(axis: _Axis, p: Floats, reports: float, facts: Diagnostics) -> Estimate:
    spread = fisher_spread(axis.seen.table.dense(), p, reports, axis.membership)
    domain, layout = axis.channel.domain, axis.layout
    return Estimate(
        None if layout is None else layout.edges,
        domain.labels if isinstance(domain, Categories) else None,
        axis.membership @ p,
        spread.covariance,
        replace(facts, degrees_of_freedom=spread.degrees_of_freedom, messages=()),
        layout is not None and layout.integer,
    )
