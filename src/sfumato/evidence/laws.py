"""Report cells of a channel for given true cells, and the table P[report cell, true cell] between them.

Report cells are runs of report codes of about one width; codes so far out that hardly anybody reaches them are in the
two open end cells. Tables are cached, because the same channel is read repeatedly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.channels import Channel
from sfumato.channels.additive import AdditiveNoise
from sfumato.domain import Codes, Floats, Grid
from sfumato.evidence.large_tables import find_shift_table
from sfumato.evidence.tables import DenseTable, Table

LARGE = 300
"""True cells from which a table that only shifts is applied by Fourier transform and not built (`large_tables`). By
judgement: the cells on which a density is solved at most; smaller tables are fast and are read entry by entry."""
GATHERED = 1e-4
"""Report codes that a person at the end of the domain reaches with at most this probability together are one cell; of
gaussian noise, those more than 3.7 deviations beyond the domain. By judgement: reports out there tell next to nothing
more; larger loses information, smaller makes more rows."""
FEWEST_RUNS = 4
"""Runs of codes below which each code is a cell: two open ends and two runs between."""
POINTS = 1001
"""Candidate values for people at exactly one value, at most. By judgement: thousandths of a range are as fine as people
state numbers; more take time and memory in proportion."""


@dataclass(frozen=True)
class ReportCells:
    """Runs of report codes: the first code of each, and their edges for ``Channel.matrix`` (None: one row per code)."""

    first: Codes
    edges: Floats | None

    def gather(self, histogram: Any) -> Floats:
        """Return the number of reports in each report cell from a histogram over codes, along its last axis."""
        return np.add.reduceat(np.asarray(histogram, dtype=float), self.first, axis=-1)

    def cell_of_code(self, codes: int) -> Codes:
        """Return the report cell of each of the report codes 0 … ``codes`` − 1."""
        return np.searchsorted(self.first, np.arange(codes), side="right") - 1


@dataclass(frozen=True)
class Observation:
    """What a channel's reports show of given true cells: its report cells, and the table P[report cell, true cell]."""

    reports: ReportCells
    table: Table


@lru_cache(maxsize=32)  # as many as a plan has columns; a table is a few hundred kilobytes at most
def _observe(channel: Channel, cells: bytes | None) -> Observation:
    """Return `observe`, cached; cells: the edges of the true cells as bytes."""
    if cells is None:
        return Observation(ReportCells(np.arange(channel.outputs.size), None), DenseTable(channel.matrix()))
    edges = np.frombuffer(cells)
    reports = report_cells(channel, edges, float(np.median(np.diff(edges))), GATHERED)
    return Observation(reports, table_of(channel, edges, reports))


def observe(channel: Channel, cells: Floats | None) -> Observation:
    """Return the report cells of a channel and their table, for true cells between these edges.

    cells: the edges; None for categories. Report cells are about as wide as true cells.
    """
    return _observe(channel, None if cells is None else np.asarray(cells, dtype=float).tobytes())


@lru_cache(maxsize=16)  # half as many as tables: categories have no such points
def _points(channel: Channel, cells: bytes) -> tuple[Floats, Floats]:
    """Return `observe_points`, cached; cells: the edges of the true cells as bytes."""
    reports = observe(channel, np.frombuffer(cells)).reports
    values = channel.inputs.values  # type: ignore[union-attr]
    chosen = candidates(values)
    if values.size <= 5 * POINTS:
        return values[chosen], channel.matrix(reported=reports.edges)[:, chosen]
    half = (values[1] - values[0]) / 4
    around = np.column_stack([values[chosen] - half, values[chosen] + half]).ravel()
    return values[chosen], law_between(channel, around, reports)[:, ::2]


def observe_points(channel: Channel, cells: Floats) -> tuple[Floats, Floats]:
    """Return (values, P[report cell, value]) for the candidate values at which many people may be at once.

    cells: the edges of the true cells, which decide the report cells.
    """
    return _points(channel, np.asarray(cells, dtype=float).tobytes())


def candidates(values: Floats) -> Codes:
    """Return codes of the values of a grid: all, or multiples of 2, 5, 10, … steps where there are more than POINTS."""
    thin = next(
        lead * 10**power for power in range(12) for lead in (1, 2, 5) if values.size <= lead * 10**power * POINTS
    )
    offset = int(np.rint(-values[0] / (values[1] - values[0]))) % thin if values.size > 1 else 0
    return np.arange(offset, values.size, thin)


def report_cells(channel: Channel, cells: Floats, width: float, gathered: float) -> ReportCells:
    """Return runs of report codes about ``width`` wide, at least of one code.

    Codes at either end that a person in an end cell reaches with at most the probability ``gathered`` are one cell.
    """
    codes = channel.outputs
    single = ReportCells(np.arange(codes.size), None)
    if not isinstance(codes, Grid):
        return single
    run = max(round(width / codes.step), 1)
    first = np.arange(0, codes.size, run)
    if first.size < FEWEST_RUNS:
        return single
    runs = ReportCells(first, _edges_at(codes, first))
    reach = np.maximum(*(law_between(channel, cells[ends], runs)[:, 0] for ends in (slice(0, 2), slice(-2, None))))
    low = max(int(np.searchsorted(np.cumsum(reach), gathered)), 1)
    high = max(int(np.searchsorted(np.cumsum(reach[::-1]), gathered)), 1)
    kept = np.concatenate([[0], first[low : first.size - high + 1]])
    return ReportCells(kept, _edges_at(codes, kept))


def _edges_at(grid: Grid, first: Codes) -> Floats:
    """Return the edges of runs of codes, given the first code of each."""
    return np.append(grid.edges[first], grid.edges[-1])


def table_of(channel: Channel, cells: Floats, reports: ReportCells) -> Table:
    """Return the table P[report cell, true cell], as a `ShiftTable` where it is large and only shifts.

    cells: edges of the true cells. reports: the report cells.
    """
    k, m = cells.size - 1, reports.first.size
    if k >= LARGE and reports.edges is not None and _equal(np.diff(cells)):
        ends = reports.edges[[0, 1, -2, -1]]
        rows = law_between(channel, cells, ReportCells(reports.first[[0, 1, -1]], ends))
        shifting = find_shift_table(
            (m, k), lambda t: law_between(channel, cells[t : t + 2], reports)[:, 0], (rows[0], rows[-1])
        )
        if shifting is not None:
            return shifting
    return DenseTable(law_between(channel, cells, reports))


def _equal(widths: Floats) -> bool:
    """Say whether cells have equal widths, up to rounding."""
    return bool(np.ptp(widths) <= 1e-9 * widths[0])


def law_between(channel: Channel, edges: Floats, reports: ReportCells) -> Floats:
    """Return the matrix P[report cell, true value uniform between two edges]; of additive noise by `additive_law`."""
    if isinstance(channel, AdditiveNoise) and (not channel.inputs.integer or channel.step == 1):
        in_steps = (edges - float(channel.domain.low)) / channel.step
        halves = np.rint(2 * in_steps) / 2  # 0.3/0.1 is meant to be 3
        in_steps = np.where(np.abs(in_steps - halves) < 1e-9, halves, in_steps)
        if in_steps[0] >= -0.5 and in_steps[-1] <= channel.inputs.size - 0.5:
            return additive_law(channel, in_steps, reports.first)
    return channel.matrix(true=edges, reported=reports.edges)


def additive_law(channel: AdditiveNoise, edges: Floats, first: Codes) -> Floats:
    """Return the table of additive noise, edges counted in steps of the grid, by differences of

        P(report < f | x uniform on [a, b)) = (S(f − a) − S(f − b))/(b − a).

    S is the integral of C, the cumulative law of the noise; a true code stands for half a step around it, so C is
    constant between half steps. Sums run from both tails towards the middle, S(z) = max(z − ½, 0) + V(z), so that small
    probabilities keep their digits.

    edges: of the true cells. first: the first code of each report cell.
    """
    knots, beyond_ramp = _integral_beyond_ramp(channel)
    ahead = (first[1:, None] - channel.past) - edges
    area = np.interp(ahead, knots, beyond_ramp, left=0.0) + np.maximum(ahead - 0.5, 0.0)
    inner = -np.diff(area, axis=1) / np.diff(edges)
    ends = np.zeros((1, edges.size - 1))
    return np.maximum(np.diff(np.vstack([ends, inner, ends + 1.0]), axis=0), 0.0)


def _integral_beyond_ramp(channel: AdditiveNoise) -> tuple[Floats, Floats]:
    """Return (half steps u + ½, V there): Σ_{v≤u} C(v) below zero, from zero on less Σ (1 − C) of the steps passed."""
    reach = channel.reach
    steps = np.arange(-reach, reach + 2)
    below = np.concatenate([[0.0], np.cumsum(channel.noise)])
    above = np.concatenate([np.cumsum(channel.noise[::-1])[::-1], [0.0]])
    rising = np.cumsum(below[: reach + 1])
    falling = np.cumsum(above[:reach:-1])[::-1]  # Σ_{v≥u} (1 − C(v)) for u = 1..reach+1
    last = rising[-1] - falling[0]
    beyond = np.concatenate([rising, last + np.append(falling[1:], 0.0)])
    return np.asarray(steps + 0.5, dtype=float), np.asarray(beyond)
