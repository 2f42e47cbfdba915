"""Counts and intervals become a problem to solve: N reports per cell, one table, people of every level stacked."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from sfumato.counts import Counts, Tally
from sfumato.domain import Categories, Floats, Grid, Interval
from sfumato.reconstruction.layout import Layout, layout_for
from sfumato.reconstruction.observation import observe, observe_points
from sfumato.reconstruction.operators import DenseTable, StackedTable, Table


@dataclass(frozen=True)
class Problem:
    """``counts[class, report cell]`` seen through ``table[report cell, true cell or category]``."""

    tallies: tuple[Tally, ...]
    classes: tuple[Hashable, ...] | None
    layout: Layout | None
    counts: Floats
    missing: Floats
    table: Table
    shares: Floats

    @property
    def domain(self) -> Interval | Categories:
        return self.tallies[0].channel.domain  # type: ignore[return-value]

    @property
    def membership(self) -> Floats | None:
        return None if self.layout is None else self.layout.membership

    def points(self) -> tuple[Floats, Floats]:
        """(P[report cell, value], membership[interval, value]) of the values at which many people may be at once."""
        if self.layout is None:
            raise ValueError("people at exactly one value are a matter of numbers, not of categories")
        seen = [observe_points(tally.channel, self.layout.cells) for tally in self.tallies]
        values = seen[0][0]
        if any(other.size != values.size or (other != values).any() for other, _ in seen[1:]):
            return np.zeros((self.counts.shape[1], 0)), np.zeros((self.layout.edges.size - 1, 0))
        stacked = np.vstack([share * table for share, (_, table) in zip(self.shares, seen, strict=True)])
        return stacked, self.layout.membership_of(values)


def problem_of(counts: Counts, intervals: object) -> Problem:
    """The problem of the wanted intervals (None for categories)."""
    tallies = tuple(tally for tally in counts.levels.values() if tally.histogram.any())
    _check(counts, tallies)
    domain = tallies[0].channel.domain
    layout = None
    if isinstance(domain, Interval):
        steps = [t.channel.inputs.step for t in tallies if isinstance(t.channel.inputs, Grid)]
        layout = layout_for(domain, intervals, max(steps, default=0.0))
    elif intervals is not None:
        raise ValueError(f"intervals={intervals!r} has no meaning for {domain}; leave it out")
    seen = [observe(tally.channel, None if layout is None else layout.cells) for tally in tallies]
    gathered = [one.reports.gather(tally.histogram) for one, tally in zip(seen, tallies, strict=True)]
    people = np.array([part.sum() for part in gathered])
    shares = people / people.sum()
    missing = np.sum([tally.missing for tally in counts.levels.values()], axis=0)
    table = stack([one.table for one in seen], shares)
    return Problem(tallies, counts.classes, layout, np.hstack(gathered), missing, table, shares)


def stack(tables: list[Table], shares: Floats) -> Table:
    """One table for people at several levels."""
    if len(tables) == 1:
        return tables[0]
    stacked = StackedTable(tables, shares)
    return DenseTable(stacked.dense()) if all(isinstance(table, DenseTable) for table in tables) else stacked


def _check(counts: Counts, tallies: tuple[Tally, ...]) -> None:
    if not tallies:
        lost = f"all {counts.missing:,.0f} reports are missing" if counts.missing else "there are no reports"
        raise ValueError(f"{lost}; reconstruction needs at least one report that is not missing")
    if any(tally.channel.domain != tallies[0].channel.domain for tally in tallies):
        raise ValueError("the levels have different domains; reconstruct each domain on its own")
    if counts.classes is not None:
        empty = np.sum([tally.histogram.sum(axis=1) for tally in tallies], axis=0) == 0
        if empty.any():
            name = counts.classes[int(np.flatnonzero(empty)[0])]
            raise ValueError(f"class {name!r} has no report that is not missing; leave it out of by=")
