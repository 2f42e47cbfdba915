"""A test of whether reports can have come through their channel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, xlogy

from sfumato.domain import Floats
from sfumato.evidence import DenseTable, Evidence, Steps, maximise_likelihood
from sfumato.prose import in_words

FALSE_ALARM = 1e-5
"""The p-value below which reports are said not to fit their channel: one false alarm in 100,000 estimates at most. By
judgement: larger, more false alarms; smaller, more mistakes go unseen (bench/misfit.py counts both)."""
RUNS = 40
"""Runs of neighbouring report cells whose counts are compared with the expected ones, at most. By judgement: fewer hide
a wrong width or shift of the noise within a run; more have fewer reports each."""
LEAST_EXPECTED = 10
"""Reports expected in each run, at least, so that the deviance is distributed as χ². Twice what Cochran's rule asks."""
BEST_STEPS = 60
"""Rounds of EM before reports are said not to fit, round i of i steps: 1,830 steps in all. By judgement: with fewer, a
fit that is still improving is called a misfit; more only take time where reports do not fit anyway."""


def fit_of(counts: Floats, predicted: Floats) -> float:
    """Return the p-value of reports against a prediction: how often sound reports would fit it as badly, at most.

    It compares the deviance 2 Σ N log(N/E) over runs of cells with about equal expectations E with χ², with one degree
    of freedom less than there are runs. For the best prediction that the channel allows it is an upper bound, because
    the truth fits no better than the best prediction.

    counts: N of each report cell. predicted: the expected share of reports in each, up to a factor.
    """
    total, expected = float(counts.sum()), predicted / max(float(predicted.sum()), 1e-300)
    wanted = max(total / RUNS, LEAST_EXPECTED)
    if total < 2 * wanted:
        return 1.0
    run = runs_of_cells(total * expected, wanted)
    observed, hoped = np.bincount(run, counts), np.bincount(run, total * expected)
    deviance = 2 * float((xlogy(observed, observed / hoped) - observed + hoped).sum())
    return float(chdtrc(max(hoped.size - 1, 1), max(deviance, 0.0)))


def runs_of_cells(expected: Floats, wanted: float) -> NDArray[np.int64]:
    """Return the index of each cell's run: neighbours in which ``wanted`` reports or more are expected together.

    Cells that are left over at the end belong to the last run.
    """
    run, number, in_run = np.zeros(expected.size, np.int64), 0, 0.0
    for cell, part in enumerate(expected.tolist()):
        run[cell] = number
        in_run += part
        if in_run >= wanted:
            number, in_run = number + 1, 0.0
    return np.minimum(run, max(number - 1, 0))


def best_fit(counts: Floats, table: Floats, predicted: Floats) -> float:
    """Return the p-value (`fit_of`) of reports against the best prediction that a table allows; 0 if one is impossible.

    counts: reports in each report cell. table: P[report cell, true cell]. predicted: a first prediction; only where its
    p-value is below FALSE_ALARM EM looks for a better one.
    """
    if counts[~table.any(axis=1)].any():
        return 0.0
    best, evidence = fit_of(counts, predicted), Evidence.of_counts(DenseTable(table), counts)
    p = np.full((1, table.shape[1]), 1 / table.shape[1])
    for step in range(BEST_STEPS):
        if best >= FALSE_ALARM:
            break
        p = maximise_likelihood(evidence, start=p, stop=Steps(step + 1)).probabilities
        best = max(best, fit_of(counts, evidence.predict(p)[0]))
    return best


def misfit_in_words(fit: float) -> str | None:
    """Say that reports do not fit their channel if the p-value ``fit`` is below FALSE_ALARM; else return None."""
    if fit >= FALSE_ALARM:
        return None
    rarity = "never" if fit < 1e-300 else f"at most once in {in_words(1 / fit, 2)} times"
    return (
        f"the reports do not look as if they came through this channel (sound ones would fit as badly {rarity}); "
        "check that it is the channel and the domain that made them, and that they are reports and not true answers"
    )
