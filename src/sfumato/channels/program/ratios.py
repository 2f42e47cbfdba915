"""Rows of laws: sums over runs of them, and the ratios within them, of which the largest is γ."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sfumato.domain import Codes, Floats


def ratio_of(most: int, least: int) -> Fraction | None:
    """most/least; 1 for a report that never occurs, None where only some values rule it out."""
    if least == 0:
        return None if most else Fraction(1)
    return Fraction(most, least)


def largest_of(rows: Sequence[Sequence[int]]) -> Fraction | None:
    """The largest ratio within a row."""
    return largest_or_none([ratio_of(max(row), min(row)) for row in rows])


def largest_or_none(ratios: Sequence[Fraction | None]) -> Fraction | None:
    return None if None in ratios else max((ratio for ratio in ratios if ratio is not None), default=Fraction(1))


def largest_ratio(law: Floats) -> float:
    """γ of a table in floats: max over reports of max/min within the row; rows that never occur do not count."""
    high, low = law.max(axis=1), law.min(axis=1)
    high, low = high[high > 0], low[high > 0]
    return float(np.inf) if (low <= 0).any() else float((high / low).max())


def sum_runs(table: Floats, first: Codes) -> Floats:
    """Rows summed over runs that begin at ``first``; an empty run is zero."""
    held = np.append(first[1:], table.shape[0]) > first
    found = np.zeros((first.size, table.shape[1]))
    found[held] = np.add.reduceat(table, first[held], axis=0)
    return found


def running_sums(weights: list[int]) -> list[int]:
    """The sums of the first 0, 1, 2, … weights."""
    sums = [0]
    for weight in weights:
        sums.append(sums[-1] + weight)
    return sums


def sliding(values: list[int], width: int, *, largest: bool) -> list[int]:
    """The largest (or smallest) of every ``width`` neighbours."""
    queue: list[int] = []
    head, found = 0, []
    for place, value in enumerate(values):
        while len(queue) > head and ((values[queue[-1]] <= value) if largest else (values[queue[-1]] >= value)):
            queue.pop()
        queue.append(place)
        if queue[head] <= place - width:
            head += 1
        if place >= width - 1:
            found.append(values[queue[head]])
    return found
