"""Where an estimate is solved, and how one channel sees it.

Fine cells nest in the intervals that were asked for; for whole numbers a cell is one of them, or a run of them where
they are many. Report cells are runs of report codes about as wide as a fine cell; codes so far out that hardly anybody
can reach them are gathered in the two open end cells. Tables are kept, because the same channel is reconstructed again
and again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels import Channel
from sfumato.channels.additive import AdditiveNoise
from sfumato.domain import Codes, Floats, Grid, Interval
from sfumato.reconstruction.em import DenseTable, Table
from sfumato.reconstruction.tables import find_shift_table

FINE_CELLS = 100  # at least this many cells in all, where the channel's grid allows
FEW_INTEGERS = 100  # up to here every whole number is an interval of its own
INTEGER_CELLS = 300  # up to here every whole number is a fine cell of its own
DEFAULT_INTERVALS = 20
MOST_INTERVALS = 2000
LARGE = 300  # from here on a table that only shifts is not built
GATHERED = 1e-4  # report codes that nobody reaches with more than this probability are gathered
HEAPS = (5, 10)  # people like to name multiples of these
POINTS = 1001  # candidate values for people at exactly one value


@dataclass(frozen=True)
class Layout:
    """Edges of the wanted intervals and of the fine cells; ``membership[interval, cell]`` says which lies in which."""

    edges: Floats
    cells: Floats
    membership: Floats
    integer: bool
    note: str | None = None  # what was changed about the wish

    def cell_of(self, values: Floats) -> Codes:
        """The cell of each single value; one on an edge lies above it, the last one below."""
        return np.clip(np.searchsorted(self.cells, values, side="right") - 1, 0, self.cells.size - 2)

    def roundings(self, values: Floats) -> Roundings:
        """Ways to round, to the nearest multiple of 5 or of 10; of .05 and .1 on [0, 1], and so on.

        ``values``: at which people may be at once; round numbers that are not among them nobody names.
        """
        if (np.diff(self.cells) > 1).any() and self.integer:
            return Roundings()
        if self.integer:
            whole = np.rint((self.cells[:-1] + self.cells[1:]) / 2)
            ways = {multiple: _rounding(whole, multiple) for multiple in HEAPS if whole.size > 2 * multiple}
            return Roundings(tuple(map(float, ways)), tuple(ways.values()))
        return _named(self.cells, values)


@dataclass(frozen=True)
class Roundings:
    """Ways to round: ``tables[way][told, true cell]``. Told is a cell or, after the cells, one of the round numbers,
    which stand at ``places`` among the candidate values; whole numbers have a cell each and need no places."""

    multiples: tuple[float, ...] = ()
    tables: tuple[Floats, ...] = ()
    places: Codes = field(default_factory=lambda: np.zeros(0, np.intp))


def _rounding(values: Floats, multiple: int) -> Floats:
    """Both neighbours get half of those in the middle; beyond the ends nobody is told."""
    rounding = np.zeros((values.size, values.size))
    for towards in (-1e-9, 1e-9):
        told = np.clip(np.rint(values / multiple + towards) * multiple, values[0], values[-1])
        np.add.at(rounding, ((told - values[0]).astype(int), np.arange(values.size)), 0.5)
    return rounding


def _named(cells: Floats, values: Floats) -> Roundings:
    """Ways to round where numbers are not whole: people of a cell go to the round numbers that are nearest. Those next
    to an end stay: whoever is at the end of a domain is mostly beyond it."""
    low, high = float(cells[0]), float(cells[-1])
    ten = float(10.0 ** np.floor(np.log10((high - low) / 2)))
    numbers = ten / 2 * np.arange(np.ceil(low / ten * 2 - 1e-9), np.floor(high / ten * 2 + 1e-9) + 1)
    places = np.abs(values - numbers[:, None]).argmin(axis=1) if values.size else np.zeros(0, np.intp)
    if not values.size or np.abs(values[places] - numbers).max() > 1e-9 * ten or np.diff(cells).max() > ten / 4:
        return Roundings()
    tens = np.abs(np.rint(numbers / ten) * ten - numbers) < 1e-9 * ten
    tables = []
    for chosen in (np.ones(numbers.size, bool), tens):
        borders = np.concatenate([[low], (numbers[chosen][1:] + numbers[chosen][:-1]) / 2, [high]])
        inside = np.diff(np.clip(borders[:, None], cells[:-1], cells[1:]), axis=0) / np.diff(cells)
        inside[(numbers[chosen] < low + ten / 4) | (numbers[chosen] > high - ten / 4)] = 0.0
        table = np.zeros((cells.size - 1 + numbers.size, cells.size - 1))
        table[cells.size - 1 + np.flatnonzero(chosen)] = inside
        np.fill_diagonal(table, 1.0 - inside.sum(axis=0))
        tables.append(table)
    return Roundings((ten / 2, ten), tuple(tables), places)


def layout_for(domain: Interval, intervals: Any, narrowest: float, fine: int = FINE_CELLS) -> Layout:
    """The layout for intervals as asked: None, a number of equal ones, or edges.

    About ``fine`` cells or more, none of them under ``narrowest`` wide.
    """
    edges = interval_edges(domain, intervals)
    bounds = half_integers(edges) if domain.integer else edges
    low, high = (domain.low - 0.5, domain.high + 0.5) if domain.integer else (float(domain.low), float(domain.high))
    slack = 1e-9 * domain.width
    below, above = bool(bounds[0] > low + slack), bool(bounds[-1] < high - slack)
    outer = np.concatenate([[low] * below, bounds, [high] * above])
    cells = subdivide(outer, domain, narrowest, fine)
    middle = (cells[:-1] + cells[1:]) / 2
    place = np.searchsorted(bounds, middle, side="right") - 1
    inside = (middle > bounds[0]) & (middle < bounds[-1])
    membership = ((np.arange(edges.size - 1)[:, None] == place) & inside).astype(float)
    return Layout(edges, cells, membership, domain.integer, fewer_intervals(domain, intervals))


def interval_edges(domain: Interval, intervals: Any) -> Floats:
    """Edges of the wanted intervals, checked."""
    integers = int(domain.width) + 1
    if intervals is None and domain.integer and integers <= FEW_INTEGERS:
        return domain.low - 0.5 + np.arange(integers + 1.0)
    if intervals is None:
        intervals = DEFAULT_INTERVALS
    if isinstance(intervals, (bool, str)):
        raise TypeError(f"intervals={intervals!r} is neither a number nor edges; for example intervals=20")
    if np.ndim(intervals) == 0:
        return _equal_edges(domain, intervals)
    return _given_edges(domain, intervals)


def _equal_edges(domain: Interval, intervals: Any) -> Floats:
    if intervals != int(intervals) or intervals < 1:
        raise ValueError(f"intervals={intervals} is not a number of intervals; give 1 or more, or a list of edges")
    if fewer_intervals(domain, intervals):
        return domain.low - 0.5 + np.arange(domain.width + 2.0)
    if intervals > MOST_INTERVALS:
        raise ValueError(f"intervals={intervals} is more than can be told apart; ask for at most {MOST_INTERVALS}")
    return np.linspace(float(domain.low), float(domain.high), int(intervals) + 1)


def fewer_intervals(domain: Interval, intervals: Any) -> str | None:
    """Said where a number of intervals is larger than the whole numbers there are: each then gets one of its own."""
    values = int(domain.width) + 1
    if not domain.integer or intervals is None or np.ndim(intervals) or intervals <= values or values > MOST_INTERVALS:
        return None
    return f"{intervals:.0f} intervals were asked for, but {domain} are {values} values; each has its own interval"


def _given_edges(domain: Interval, intervals: ArrayLike) -> Floats:
    edges = np.asarray(intervals, dtype=float)
    if edges.ndim != 1 or edges.size < 2:
        raise ValueError(
            f"intervals has shape {edges.shape}; give at least two edges in one row, or a number of intervals"
        )
    if not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise ValueError("intervals is not a row of increasing finite edges; sort them and drop repeats")
    slack = 0.5 if domain.integer else 1e-9 * domain.width
    if edges[0] < domain.low - slack or edges[-1] > domain.high + slack:
        raise ValueError(f"edges from {edges[0]:g} to {edges[-1]:g} reach outside {domain}; keep them inside")
    if edges.size - 1 > MOST_INTERVALS:
        raise ValueError(
            f"{edges.size - 1} intervals are more than can be told apart; ask for at most {MOST_INTERVALS}"
        )
    if domain.integer and (np.diff(half_integers(edges)) <= 0).any():
        raise ValueError("an interval holds no whole number; use wider intervals")
    return edges


def half_integers(edges: Floats) -> Floats:
    """The same intervals of whole numbers with edges half way between them: [e, f) becomes [⌈e⌉ − ½, ⌈f⌉ − ½)."""
    halves = np.ceil(edges) - 0.5
    halves[-1] = np.floor(edges[-1]) + 0.5
    return np.asarray(halves)


def subdivide(edges: Floats, domain: Interval, narrowest: float, fine: int) -> Floats:
    """Every interval cut into equal cells, ``fine`` or more in all; whole numbers are never cut."""
    width = edges[-1] - edges[0]
    most = INTEGER_CELLS if fine >= FINE_CELLS else fine
    wanted = max(np.ceil(width / most), 1.0) if domain.integer else width / fine
    least = max(narrowest, 1.0) if domain.integer else narrowest
    cuts = []
    for low, high in pairwise(edges.tolist()):
        pieces = max(min(int(np.ceil((high - low) / wanted - 1e-9)), int((high - low) / least + 1e-9)), 1)
        inner = low + (high - low) * np.arange(pieces) / pieces
        cuts.append(np.floor(inner) + 0.5 if domain.integer else inner)
    return np.concatenate([*cuts, edges[-1:]])


# --- how one channel sees the cells ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReportCells:
    """Runs of report codes: the first code of each, and their edges for ``Channel.matrix`` (None: one row per code)."""

    first: Codes
    edges: Floats | None

    def gather(self, histogram: Any) -> Floats:
        """Counts of cells from counts of codes, along the last axis."""
        return np.add.reduceat(np.asarray(histogram, dtype=float), self.first, axis=-1)


@dataclass(frozen=True)
class Observation:
    """What a channel tells about the cells: its report cells and P[report cell, true cell]."""

    reports: ReportCells
    table: Table


@lru_cache(maxsize=32)
def _observe(channel: Channel, cells: bytes | None) -> Observation:
    if cells is None:
        return Observation(ReportCells(np.arange(channel.outputs.size), None), DenseTable(channel.matrix()))
    edges = np.frombuffer(cells)
    reports = report_cells(channel, edges)
    return Observation(reports, table_of(channel, edges, reports))


def observe(channel: Channel, cells: Floats | None) -> Observation:
    """The observation of fine cells between edges (None: of categories) through a channel."""
    return _observe(channel, None if cells is None else np.asarray(cells, dtype=float).tobytes())


@lru_cache(maxsize=16)
def _points(channel: Channel, cells: bytes) -> tuple[Floats, Floats]:
    reports = observe(channel, np.frombuffer(cells)).reports
    values = channel.inputs.values  # type: ignore[union-attr]
    chosen = candidates(values)
    if values.size <= 5 * POINTS:
        return values[chosen], channel.matrix(reported=reports.edges)[:, chosen]
    half = (values[1] - values[0]) / 4
    around = np.column_stack([values[chosen] - half, values[chosen] + half]).ravel()
    return values[chosen], law_between(channel, around, reports)[:, ::2]


def observe_points(channel: Channel, cells: Floats) -> tuple[Floats, Floats]:
    """(values, P[report cell, value]) for candidate values at which many people may be at once."""
    return _points(channel, np.asarray(cells, dtype=float).tobytes())


def candidates(values: Floats) -> Codes:
    """Codes of the values of a grid, thinned to multiples of 2, 5, 10, … steps where they are more than POINTS."""
    thin = next(
        lead * 10**power for power in range(12) for lead in (1, 2, 5) if values.size <= lead * 10**power * POINTS
    )
    offset = int(np.rint(-values[0] / (values[1] - values[0]))) % thin if values.size > 1 else 0
    return np.arange(offset, values.size, thin)


def report_cells(channel: Channel, cells: Floats) -> ReportCells:
    """Runs of report codes about as wide as the fine cells, with the far ends gathered."""
    codes = channel.outputs
    single = ReportCells(np.arange(codes.size), None)
    if not isinstance(codes, Grid):
        return single
    run = max(round(float(np.median(np.diff(cells))) / codes.step), 1)
    first = np.arange(0, codes.size, run)
    if first.size < 4:
        return single
    runs = ReportCells(first, _edges_at(codes, first))
    reach = np.maximum(*(law_between(channel, cells[ends], runs)[:, 0] for ends in (slice(0, 2), slice(-2, None))))
    low = max(int(np.searchsorted(np.cumsum(reach), GATHERED)), 1)
    high = max(int(np.searchsorted(np.cumsum(reach[::-1]), GATHERED)), 1)
    kept = np.concatenate([[0], first[low : first.size - high + 1]])
    return ReportCells(kept, _edges_at(codes, kept))


def _edges_at(grid: Grid, first: Codes) -> Floats:
    return np.append(grid.edges[first], grid.edges[-1])


def table_of(channel: Channel, cells: Floats, reports: ReportCells) -> Table:
    """The table, never built where it is large and only shifts."""
    k, m = cells.size - 1, reports.first.size
    if k >= LARGE and reports.edges is not None and _equal(np.diff(cells)):
        ends = reports.edges[[0, 1, -2, -1]]
        rows = law_between(channel, cells, ReportCells(reports.first[[0, 1, -1]], ends))
        found = find_shift_table(
            (m, k), lambda t: law_between(channel, cells[t : t + 2], reports)[:, 0], (rows[0], rows[-1])
        )
        if found is not None:
            return found
    return DenseTable(law_between(channel, cells, reports))


def _equal(widths: Floats) -> bool:
    return bool(np.ptp(widths) <= 1e-9 * widths[0])


def law_between(channel: Channel, edges: Floats, reports: ReportCells) -> Floats:
    """P[report cell, x uniform between edges]; for additive noise from running sums of its law."""
    if isinstance(channel, AdditiveNoise) and (not channel.inputs.integer or channel.step == 1):
        in_steps = (edges - float(channel.domain.low)) / channel.step
        halves = np.rint(2 * in_steps) / 2  # 0.3/0.1 is meant to be 3
        in_steps = np.where(np.abs(in_steps - halves) < 1e-9, halves, in_steps)
        if in_steps[0] >= -0.5 and in_steps[-1] <= channel.inputs.size - 0.5:
            return additive_law(channel, in_steps, reports.first)
    return channel.matrix(true=edges, reported=reports.edges)


def additive_law(channel: AdditiveNoise, edges: Floats, first: Codes) -> Floats:
    """Differences of P(report < f | x uniform on [a, b)) = (S(f − a) − S(f − b))/(b − a), in steps.

    S is the integral of C, the cumulative law of the noise; a true code holds half a step around it, so C is constant
    between half steps. Sums run from both tails towards the middle, S(z) = max(z − ½, 0) + V(z), to keep small numbers.
    """
    knots, rest = _integral_beyond_ramp(channel)
    ahead = (first[1:, None] - channel.past) - edges
    area = np.interp(ahead, knots, rest, left=0.0) + np.maximum(ahead - 0.5, 0.0)
    inner = -np.diff(area, axis=1) / np.diff(edges)
    ends = np.zeros((1, edges.size - 1))
    return np.maximum(np.diff(np.vstack([ends, inner, ends + 1.0]), axis=0), 0.0)


def _integral_beyond_ramp(channel: AdditiveNoise) -> tuple[Floats, Floats]:
    """V at the half steps u + ½: Σ_{v≤u} C(v) below zero, and from there on less Σ (1 − C) of the steps passed."""
    reach = channel.reach
    steps = np.arange(-reach, reach + 2)
    below = np.concatenate([[0.0], np.cumsum(channel.noise)])
    above = np.concatenate([np.cumsum(channel.noise[::-1])[::-1], [0.0]])
    rising = np.cumsum(below[: reach + 1])
    falling = np.cumsum(above[:reach:-1])[::-1]  # Σ_{v≥u} (1 − C(v)) for u = 1..reach+1
    last = rising[-1] - falling[0]
    beyond = np.concatenate([rising, last + np.append(falling[1:], 0.0)])
    return np.asarray(steps + 0.5, dtype=float), np.asarray(beyond)
