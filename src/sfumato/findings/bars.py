"""Numbers with their 90 % bars, the test whether they lie within noise, and how many reports a narrower bar needs.

For an estimate with standard error s and z = 1.645 (a 90 % bar reaches z·s to both sides):

    a share p is within noise            if p ≤ z·s: it cannot be told from zero
    a difference d is within noise       if |d| ≤ z·s_d: no difference is shown; where there is none, one comparison in
                                         ten stands out all the same
    reports needed for a bar of ±h       n = z²·v / h², v the variance that one report adds (n·s² for n reports)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.domain import Floats
from sfumato.pages.charts import NINETY_PERCENT
from sfumato.prose import finite
from sfumato.reconstruction import Estimate

POINTS = (0.05, 0.02, 0.01)
"""Halves of 90 % bars for which the page says how many reports they need (docs/how-to/read-the-dashboard.md). By
judgement: what a rough, a usual and a careful survey want; figures have them under the keys 5, 2 and 1."""


def bar(value: float, variance: float) -> dict[str, float | None]:
    """Return a dict of a number and its 90 % bar: ``value``, ``stderr``, and the ends ``from`` and ``to``.

        from, to = value ∓ 1.645·√variance;   None in place of a number that is not finite.
    """
    error = math.sqrt(max(variance, 0.0))
    reach = NINETY_PERCENT * error
    numbers = {"value": value, "stderr": error, "from": value - reach, "to": value + reach}
    return {name: finite(number) for name, number in numbers.items()}


def share(value: float, variance: float) -> dict[str, Any]:
    """Return a dict of a share and its 90 % bar: ``value``, ``stderr``, ``from``, ``to`` and ``within_noise``.

    The ends of the bar are cut at 0 and 1. ``within_noise``: value ≤ 1.645·√variance, it cannot be told from zero.
    """
    row = bar(value, variance)
    ends = {end: None if row[end] is None else min(max(row[end], 0.0), 1.0) for end in ("from", "to")}  # type: ignore[type-var]
    return {**row, **ends, "within_noise": not value > NINETY_PERCENT * math.sqrt(max(variance, 0.0))}


def difference(value: float, variance: float) -> dict[str, Any]:
    """Return a dict of a difference and its 90 % bar: ``value``, ``stderr``, ``from``, ``to`` and ``within_noise``.

    ``within_noise``: |value| ≤ 1.645·√variance, the difference cannot be told from zero.
    """
    return {**bar(value, variance), "within_noise": not abs(value) > NINETY_PERCENT * math.sqrt(max(variance, 0.0))}


def rows_of(estimate: Estimate) -> list[dict[str, Any]]:
    """Return a list with a dict for each interval, category or item of an estimate: its share and the share's 90 % bar.

    ``estimate``: what `sf.reconstruct` returns. Keys of a dict: ``label``, ``low``, ``high``, ``category``, ``value``
    (the share), ``stderr``, ``from``, ``to`` (the ends of the bar) and ``within_noise``.
    """
    pairs = zip(estimate.rows(), estimate.probabilities.tolist(), (estimate.stderr**2).tolist(), strict=True)
    where = ("label", "low", "high", "category")
    return [{**{key: row[key] for key in where}, **share(p, variance)} for row, p, variance in pairs]


def half_widths(variances: Floats) -> dict[str, float]:
    """Return half the width of shares' 90 % bars from their variances, a dict: ``typical`` (the median), ``worst``."""
    widths = NINETY_PERCENT * np.sqrt(np.maximum(variances, 0.0))
    return {"typical": float(np.median(widths)), "worst": float(widths.max())}


def reports_needed(variance: float, unit: float = 1.0) -> dict[str, int]:
    """Return how many reports make a 90 % bar of ±5, ±2 and ±1 percent of ``unit``, as a dict with the keys 5, 2 and 1.

        n = z²·v/h²,   v = ``variance``, which one report adds;   h the half-width, z = 1.645.
    """
    return {f"{100 * h:g}": math.ceil(NINETY_PERCENT**2 * max(variance, 0.0) / (h * unit) ** 2) for h in POINTS}
