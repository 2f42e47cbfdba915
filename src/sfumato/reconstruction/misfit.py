"""Whether reports look as if they came through their channel at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, xlogy

from sfumato.domain import Floats
from sfumato.evidence import DenseTable, Evidence, Steps, maximise_likelihood
from sfumato.prose import in_words

FALSE_ALARM = 1e-5
"""At most this share of sound reports is said not to fit their channel."""
RUNS = 40
"""Runs of report cells whose counts are compared with what is expected: enough to see a wrong width or shift."""
LEAST_EXPECTED = 10
"""Reports that are expected in each run at least, so that χ² holds (Cochran's rule asks for five)."""
BEST_STEPS = 60
"""Rounds of 1, 2, 3 … EM steps towards the best fit, 1,830 steps in all, before reports are said not to fit."""


def fit_of(counts: Floats, predicted: Floats) -> float:
    """Return how often sound reports would fit a prediction as badly as these, at most.

    The deviance 2 Σ N log(N/E) of runs of cells with about equal expectations E, against χ² with as many degrees of
    freedom as there are runs less one. Of the best prediction that the channel allows it is an upper bound, because
    the truth fits no better than the best does.
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
    """Return the run of each cell: neighbours in which ``wanted`` reports or more are expected together."""
    run, number, held = np.zeros(expected.size, np.int64), 0, 0.0
    for cell, part in enumerate(expected.tolist()):
        run[cell] = number
        held += part
        if held >= wanted:
            number, held = number + 1, 0.0
    return np.minimum(run, max(number - 1, 0))


def best_fit(counts: Floats, table: Floats, predicted: Floats) -> float:
    """Return `fit_of` the best prediction that the table allows: of the one given, and while that is bad, better ones.

    A report that no true value can lead to fits never.
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
    """Say that reports do not fit their channel, where sound ones fit so badly less often than FALSE_ALARM."""
    if fit >= FALSE_ALARM:
        return None
    rarity = "never" if fit < 1e-300 else f"at most once in {in_words(1 / fit, 2)} times"
    return (
        f"the reports do not look as if they came through this channel (sound ones would fit as badly {rarity}); "
        "check that it is the channel and the domain that made them, and that they are reports and not true answers"
    )
