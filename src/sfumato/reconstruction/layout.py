"""Where an estimate is solved: the intervals that were asked for and the fine cells inside them.

Fine cells nest in the intervals; for whole numbers a cell is one of them, or a run of them where they are many.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.domain import Floats, Interval

FINE_CELLS = 100  # at least this many cells in all, where the channel's grid allows
FEW_INTEGERS = 100  # up to here every whole number is an interval of its own
INTEGER_CELLS = 300  # up to here every whole number is a fine cell of its own
DEFAULT_INTERVALS = 20
MOST_INTERVALS = 2000


@dataclass(frozen=True)
class Layout:
    """Edges of the wanted intervals and of the fine cells; ``membership[interval, cell]`` says which lies in which."""

    edges: Floats
    cells: Floats
    membership: Floats
    integer: bool

    @property
    def points_edges(self) -> Floats:
        """The intervals' edges with the last one closed: where a single value belongs."""
        closed = half_integers(self.edges) if self.integer else self.edges.copy()
        closed[-1] = np.nextafter(closed[-1], np.inf)
        return closed

    def membership_of(self, values: Floats) -> Floats:
        """membership[interval, value] of single values."""
        place = np.searchsorted(self.points_edges, values, side="right") - 1
        return np.asarray(np.arange(self.edges.size - 1)[:, None] == place, dtype=float)


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
    return Layout(edges, cells, membership, domain.integer)


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
    if intervals > MOST_INTERVALS:
        raise ValueError(f"intervals={intervals} is more than can be told apart; ask for at most {MOST_INTERVALS}")
    if domain.integer and intervals > domain.width + 1:
        raise ValueError(
            f"intervals={intervals} is more than the {domain.width + 1:.0f} values of {domain}; ask for fewer"
        )
    return np.linspace(float(domain.low), float(domain.high), int(intervals) + 1)


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
