"""The ratios within rows of a law, of which the largest is γ."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sfumato.domain import Floats


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
