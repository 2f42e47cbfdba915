"""Compute γ, the largest ratio within a row of a law, and sums over runs of a law's rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sfumato.domain import Codes, Floats


def ratio_of(most: int, least: int) -> Fraction | None:
    """Return the ratio most/least of the largest and the smallest chance of one report, given as whole numbers.

    1 for a report that never occurs (both 0), None (infinite) where only the smallest is 0.
    """
    if least == 0:
        return None if most else Fraction(1)
    return Fraction(most, least)


def largest_of(rows: Sequence[Sequence[int]]) -> Fraction | None:
    """Return γ of a table in whole numbers: the largest ratio of two entries of one row, over all rows; None: infinite.
    """
    return largest_or_none([ratio_of(max(row), min(row)) for row in rows])


def largest_or_none(ratios: Sequence[Fraction | None]) -> Fraction | None:
    """Return the largest of several ratios, of which None stands for infinite; 1 if there are none."""
    return None if None in ratios else max((ratio for ratio in ratios if ratio is not None), default=Fraction(1))


def largest_ratio(law: Floats) -> float:
    """Return γ of a table in floats: the largest max/min within a row, without rows of reports that never occur."""
    high, low = law.max(axis=1), law.min(axis=1)
    high, low = high[high > 0], low[high > 0]
    return float(np.inf) if (low <= 0).any() else float((high / low).max())


def sum_runs(table: Floats, first: Codes) -> Floats:
    """Return a table with one row for each run of neighbouring rows of ``table``: their sum, 0 for an empty run.

    ``first``: the row at which each run begins.
    """
    filled = np.append(first[1:], table.shape[0]) > first
    sums = np.zeros((first.size, table.shape[1]))
    sums[filled] = np.add.reduceat(table, first[filled], axis=0)
    return sums


def running_sums(weights: list[int]) -> list[int]:
    """Return a list of the sums of the first 0, 1, 2, … weights."""
    sums = [0]
    for weight in weights:
        sums.append(sums[-1] + weight)
    return sums


def sliding(values: list[int], width: int, *, largest: bool) -> list[int]:
    """Return a list of the largest (or smallest) of every ``width`` neighbouring values."""
    queue: list[int] = []  # indices whose values may still be the largest, in falling order of value
    head, extremes = 0, []
    for index, value in enumerate(values):
        while len(queue) > head and ((values[queue[-1]] <= value) if largest else (values[queue[-1]] >= value)):
            queue.pop()
        queue.append(index)
        if queue[head] <= index - width:
            head += 1
        if index >= width - 1:
            extremes.append(values[queue[head]])
    return extremes
