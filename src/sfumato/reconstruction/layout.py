"""The fine cells on which the distribution of a numeric attribute is solved, and tables of people who round.

Fine cells nest in the wanted intervals. For whole numbers a cell is one number, or a run of them where they are many.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.domain import Codes, Floats, Interval
from sfumato.evidence import ColumnCells

FINE_CELLS = 100
"""Fine cells over all intervals, at least, where the channel's grid is fine enough. By judgement: with fewer, intervals
are cut coarsely; with more, time grows with their third power and the noise hides what they add."""
FEW_INTEGERS = 100
"""Whole numbers in the domain up to which each is an interval of its own, unless intervals are given. By judgement:
ages and percentages are; where it is larger, estimates get longer than a page, where smaller, ages come in groups."""
INTEGER_CELLS = 300
"""Whole numbers in the domain up to which each is a fine cell of its own; beyond, runs of them are. By judgement the
same as `density.merging.MOST_CELLS`, beyond which cells would be merged again."""
INTERVALS = 20
"""Equal intervals where the caller gives none. By judgement: as many as a chart shows, and as the benches
reconstruction_grid.py and reconstruction_coverage.py measure; more make each interval's error larger."""
MOST_INTERVALS = 2000
"""Intervals that may be wanted. By judgement: the covariance has their square as entries, 32 megabytes here."""
HEAPS = (5, 10)
"""The multiples to which people may round whole numbers, as they report ages and hours. By judgement; each further
one costs a parameter that is fitted, and a table of the size of the cells."""


@dataclass(frozen=True)
class Layout:
    """The wanted intervals of a numeric attribute and the fine cells in which it is solved.

    edges: of the wanted intervals. cells: edges of the fine cells. membership: 1 at [interval, cell] where the cell
    lies in the interval, else 0. integer: whether values are whole numbers. note: a sentence for the estimate where
    other intervals were made than the caller wanted; None where they are as wanted.
    """

    edges: Floats
    cells: Floats
    membership: Floats
    integer: bool
    note: str | None = None

    def column_cells(self) -> ColumnCells:
        """Return the fine cells as a column of evidence, without a table."""
        return ColumnCells("", np.zeros((0, self.cells.size - 1)), np.zeros(0, np.int32), self.cells)

    def cell_of(self, values: Floats) -> Codes:
        """Return the index of the fine cell of each value; a value on an edge is in the cell above it, the last edge
        in the last cell."""
        return np.clip(np.searchsorted(self.cells, values, side="right") - 1, 0, self.cells.size - 2)

    def roundings(self, values: Floats) -> Roundings:
        """Return the tables of people who round to multiples of 5 and of 10 (of .05 and .1 on [0, 1], and so on).

        values: the candidate values at which many people may be; there is no table where round numbers are not among
        them, or where a fine cell holds several whole numbers.
        """
        if (np.diff(self.cells) > 1).any() and self.integer:
            return Roundings()
        if self.integer:
            whole = np.rint((self.cells[:-1] + self.cells[1:]) / 2)
            tables = {multiple: integer_rounding(whole, multiple) for multiple in HEAPS if whole.size > 2 * multiple}
            return Roundings(tuple(map(float, tables)), tuple(tables.values()))
        return _round_numbers(self.cells, values)


@dataclass(frozen=True)
class Roundings:
    """Tables of people who state a round number in place of their value, one table for each multiple.

    multiples: what is rounded to. tables: each P[stated, true cell], where *stated* is a cell or, after all cells, one
    of the round numbers. values: the indices of these round numbers among the candidate values; empty for whole
    numbers, where every round number has a cell of its own.
    """

    multiples: tuple[float, ...] = ()
    tables: tuple[Floats, ...] = ()
    values: Codes = field(default_factory=lambda: np.zeros(0, np.intp))


def integer_rounding(values: Floats, multiple: int) -> Floats:
    """Return P[stated value, value] of whole numbers that are rounded to the nearest multiple.

    A value half way between two multiples goes to each with chance ½; a multiple beyond the ends of ``values`` becomes
    the end.
    """
    rounding = np.zeros((values.size, values.size))
    for towards in (-1e-9, 1e-9):
        stated = np.clip(np.rint(values / multiple + towards) * multiple, values[0], values[-1])
        np.add.at(rounding, ((stated - values[0]).astype(int), np.arange(values.size)), 0.5)
    return rounding


def _round_numbers(cells: Floats, values: Floats) -> Roundings:
    """Return the tables of rounding where numbers are not whole: people of a cell state the nearest round number.

    With t = 10^⌊log₁₀(width/2)⌋ the multiples are t/2 and t. Nobody rounds to the numbers within t/4 of an end of the
    domain: people pile up there because their values lie beyond it. There are no tables where a round number is not a
    candidate value, or where a cell is wider than t/4.
    """
    low, high = float(cells[0]), float(cells[-1])
    ten = float(10.0 ** np.floor(np.log10((high - low) / 2)))
    numbers = ten / 2 * np.arange(np.ceil(low / ten * 2 - 1e-9), np.floor(high / ten * 2 + 1e-9) + 1)
    index = np.abs(values - numbers[:, None]).argmin(axis=1) if values.size else np.zeros(0, np.intp)
    if not values.size or np.abs(values[index] - numbers).max() > 1e-9 * ten or np.diff(cells).max() > ten / 4:
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
    return Roundings((ten / 2, ten), tuple(tables), index)


def layout_for(domain: Interval, intervals: Any, narrowest: float, fine: int = FINE_CELLS) -> Layout:
    """Return the layout of the wanted intervals.

    intervals: None for the default, a number of equal intervals, or their edges. narrowest: the least width of a fine
    cell, in units of the domain. fine: how many fine cells there are, about, or more.
    """
    edges = interval_edges(domain, intervals)
    bounds = half_integers(edges) if domain.integer else edges
    low, high = (domain.low - 0.5, domain.high + 0.5) if domain.integer else (float(domain.low), float(domain.high))
    slack = 1e-9 * domain.width
    below, above = bool(bounds[0] > low + slack), bool(bounds[-1] < high - slack)
    outer = np.concatenate([[low] * below, bounds, [high] * above])
    cells = subdivide(outer, domain, narrowest, fine)
    middle = (cells[:-1] + cells[1:]) / 2
    interval = np.searchsorted(bounds, middle, side="right") - 1
    inside = (middle > bounds[0]) & (middle < bounds[-1])
    membership = ((np.arange(edges.size - 1)[:, None] == interval) & inside).astype(float)
    return Layout(edges, cells, membership, domain.integer, fewer_intervals(domain, intervals))


def interval_edges(domain: Interval, intervals: Any) -> Floats:
    """Return the edges of the wanted intervals; raise ValueError or TypeError where they make no intervals.

    intervals: None for the default (every whole number where there are at most FEW_INTEGERS, else INTERVALS equal
    ones), a number of equal intervals, or their edges.
    """
    integers = int(domain.width) + 1
    if intervals is None and domain.integer and integers <= FEW_INTEGERS:
        return domain.low - 0.5 + np.arange(integers + 1.0)
    if intervals is None:
        intervals = INTERVALS
    if isinstance(intervals, (bool, str)):
        raise TypeError(f"intervals={intervals!r} is neither a number nor edges; for example intervals=20")
    if np.ndim(intervals) == 0:
        return _equal_edges(domain, intervals)
    return _given_edges(domain, intervals)


def _equal_edges(domain: Interval, intervals: Any) -> Floats:
    """Return the edges of a number of equal intervals; of whole numbers at most one interval each."""
    if intervals != int(intervals) or intervals < 1:
        raise ValueError(f"intervals={intervals} is not a number of intervals; give 1 or more, or a list of edges")
    if fewer_intervals(domain, intervals):
        return domain.low - 0.5 + np.arange(domain.width + 2.0)
    if intervals > MOST_INTERVALS:
        raise ValueError(f"intervals={intervals} is more than can be told apart; ask for at most {MOST_INTERVALS}")
    return np.linspace(float(domain.low), float(domain.high), int(intervals) + 1)


def fewer_intervals(domain: Interval, intervals: Any) -> str | None:
    """Return a note where more intervals are wanted than the domain has whole numbers, None elsewhere.

    Each whole number then gets an interval of its own.
    """
    values = int(domain.width) + 1
    if not domain.integer or intervals is None or np.ndim(intervals) or intervals <= values or values > MOST_INTERVALS:
        return None
    return f"{intervals:.0f} intervals were asked for, but {domain} are {values} values; each has its own interval"


def _given_edges(domain: Interval, intervals: ArrayLike) -> Floats:
    """Return the edges that the caller gave, checked: increasing, finite, inside the domain, no empty interval."""
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
    """Return edges half way between whole numbers that make the same intervals: [e, f) becomes [⌈e⌉ − ½, ⌈f⌉ − ½)."""
    halves = np.ceil(edges) - 0.5
    halves[-1] = np.floor(edges[-1]) + 0.5
    return np.asarray(halves)


def subdivide(edges: Floats, domain: Interval, narrowest: float, fine: int) -> Floats:
    """Cut every interval into equal cells and return their edges; whole numbers are never cut.

    edges: of the intervals. narrowest: the least width of a cell. fine: how many cells there are in all, about, or
    more.
    """
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
