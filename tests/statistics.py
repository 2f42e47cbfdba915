"""Statistical checks with one declared false-alarm rate.

Every sampling test of the suite goes through here, so that a correct implementation fails one test in a million runs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

FALSE_ALARM = 1e-6
POOLED = 100


def assert_fits(counts: ArrayLike, probabilities: ArrayLike) -> None:
    """χ² test that counts come from the probabilities.

    Rare cells are pooled until 50 are expected at least: with 5, the tail of χ² is up to fifty times too thin at such
    a rate. Cells are in order of size, so that the next pool begins with a cell larger than what went beyond its start.
    """
    observed, expected = np.asarray(counts, dtype=float), np.asarray(probabilities, dtype=float)
    assert observed[expected <= 0].sum() == 0, "a report occurred that the law rules out"
    observed, expected = observed[expected > 0], expected[expected > 0]
    expected = expected / expected.sum() * observed.sum()
    order = np.argsort(expected)
    observed, expected = observed[order], expected[order]
    start = np.cumsum(expected) - expected
    group = np.clip(start // POOLED, 0, max(expected.sum() // POOLED - 1, 0)).astype(int)
    observed, expected = np.bincount(group, observed), np.bincount(group, expected)
    observed, expected = observed[expected > 0], expected[expected > 0]
    if observed.size < 2:
        return
    statistic = ((observed - expected) ** 2 / expected).sum()
    p_value = stats.chi2.sf(statistic, observed.size - 1)
    assert p_value > FALSE_ALARM, f"χ² = {statistic:.1f} on {observed.size - 1} degrees of freedom, p = {p_value:.2g}"


def assert_mean(sample: ArrayLike, expected: float, deviation: float | None = None) -> None:
    """z-test that a sample's mean is the expected one; the deviation is the sample's own unless known."""
    values = np.asarray(sample, dtype=float).ravel()
    spread = values.std(ddof=1) if deviation is None else deviation
    z = (values.mean() - expected) / (spread / np.sqrt(values.size))
    assert abs(z) < critical_z(), f"mean {values.mean():.6g} is {z:.1f} standard errors from {expected:.6g}"


def assert_mean_zero(z_scores: ArrayLike) -> None:
    """z-test that standardised errors have mean zero."""
    assert_mean(z_scores, 0.0, 1.0)


def assert_probability(successes: int, trials: int, expected: float) -> None:
    """Exact binomial test of a proportion."""
    p_value = stats.binomtest(int(successes), int(trials), expected).pvalue
    assert p_value > FALSE_ALARM, f"{successes} of {trials} against {expected:.6g}: p = {p_value:.2g}"


def critical_z() -> float:
    return float(stats.norm.isf(FALSE_ALARM / 2))
