"""Where an estimate is solved: fine cells that nest in the intervals that were asked for, and ways to round.

For whole numbers a cell is one of them, or a run of them where they are many.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.domain import Codes, Floats, Interval
from sfumato.evidence import ColumnCells

FINE_CELLS = 100  # at least this many cells in all, where the channel's grid allows
FEW_INTEGERS = 100  # up to here every whole number is an interval of its own
INTEGER_CELLS = 300  # up to here every whole number is a fine cell of its own
DEFAULT_INTERVALS = 20
MOST_INTERVALS = 2000
HEAPS = (5, 10)  # people like to name multiples of these


@dataclass(frozen=True)
class Layout:
    """Edges of the wanted intervals and of the fine cells; ``membership[interval, cell]`` says which lies in which."""

    edges: Floats
    cells: Floats
    membership: Floats
    integer: bool
    note: str | None = None  # what was changed about the wish

    def column_cells(self) -> ColumnCells:
        """The fine cells as those of a column of evidence."""
        return ColumnCells("", np.zeros((0, self.cells.size - 1)), np.zeros(0, np.int32), self.cells)

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
