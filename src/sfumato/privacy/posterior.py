"""What a report leaves of a belief: P[true | reported] and the intervals that it gives.

    P[x | y] = P[y, x]·prior[x] / Σ_u P[y, u]·prior[u]
"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Codes, Floats


def posterior(law: Floats, prior: Floats, reports: Codes) -> Floats:
    """P[true | reported], one row for every report code given."""
    joint = law[reports] * prior
    return np.asarray(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300))


def posterior_of_several(law: Floats, prior: Floats, reports: Codes) -> Floats:
    """The same after several independent reports of each person: ``reports`` has one row a person."""
    with np.errstate(divide="ignore"):
        logs = np.log(law)
        belief = np.log(prior)[None, :] + sum(logs[column] for column in reports.T)
    belief -= belief.max(axis=1, keepdims=True)
    weights = np.exp(belief)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def shortest_widths(beliefs: Floats, step: float, confidence: float) -> Floats:
    """For each row the width of the shortest run of values with the wanted probability."""
    rows, size = beliefs.shape
    cumulative = np.hstack([np.zeros((rows, 1)), np.cumsum(beliefs, axis=1)])
    start = np.arange(size + 1)
    low, high = np.ones(rows, dtype=np.int64), np.full(rows, size, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        end = np.minimum(start + middle[:, None], size)
        held = (np.take_along_axis(cumulative, end, axis=1) - cumulative).max(axis=1)
        enough = held >= confidence - 1e-12
        low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
    return np.asarray(step * low, dtype=np.float64)


def expected_width(law: Floats, prior: Floats, step: float, confidence: float, rows: int = 400) -> float:
    """The mean of the shortest intervals over the reports as they occur, read on at most ``rows`` of them.

    Reports are gathered in runs of about equal probability and one report stands for its run, so that the mean is a sum
    over the whole distribution of reports.
    """
    chance = law @ prior
    cumulative = np.cumsum(chance) / chance.sum()
    middle = (np.arange(rows) + 0.5) / rows
    places, weight = np.unique(np.searchsorted(cumulative, middle), return_counts=True)
    widths = shortest_widths(posterior(law, prior, places), step, confidence)
    return float(np.average(widths, weights=weight))
