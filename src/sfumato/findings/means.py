"""The unbiased mean behind reports of numbers, where reports follow the answers along a straight line.

    E[report | x] = a + b·x,    g(report) = (report − a)/b,    mean = Σ g(report)/n
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from sfumato.channels import Channel
from sfumato.counts import Counts
from sfumato.domain import Categories, Floats, Interval
from sfumato.reconstruction import intervals_for
from sfumato.reconstruction.estimate import WithError
from sfumato.reconstruction.layout import interval_edges

STRAIGHT = 0.01
"""How far E[report | x] may lie off a straight line, in ranges of the answer. By judgement: a mean is then off by a
percent of the range at most; with less, channels whose grid rounds a little would have no mean."""


@lru_cache(maxsize=64)
def linear_estimator(channel: Channel) -> Floats | None:
    """Return an array g, a number for each report code, so that the mean of g(report) estimates the mean without bias.

        E[g(report) | x] = x for every answer x

    None for labels, and where the expected report does not follow x along a straight line.
    """
    if not isinstance(channel.domain, Interval) or isinstance(channel.outputs, Categories):
        return None
    edges = interval_edges(channel.domain, intervals_for(channel.domain))
    middle = (edges[:-1] + edges[1:]) / 2
    if middle.size < 2:
        return None
    reports = np.asarray(channel.outputs.values, dtype=float)
    expected = reports @ channel.matrix(true=edges)
    slope, start = np.polyfit(middle, expected, 1)
    off = np.abs(expected - start - slope * middle).max()
    return (reports - start) / slope if off <= STRAIGHT * slope * channel.domain.width else None


def mean_of(counts: Counts) -> WithError | None:
    """Return the unbiased mean of the true numbers behind blurred reports of all levels, with its standard error.

    ``counts``: of the reports. None where a level's channel has no `linear_estimator`, or for fewer than two reports.
    """
    total = first = second = 0.0
    for tally in counts.levels.values():
        reports = tally.histogram.sum(axis=0)
        if not reports.any():
            continue
        g = linear_estimator(tally.channel)
        if g is None:
            return None
        total, first, second = total + reports.sum(), first + reports @ g, second + reports @ g**2
    return mean_with_error(total, first, second)


def mean_with_error(total: float, first: float, second: float) -> WithError | None:
    """Return the mean of values and its standard error, from their number and sums.

    ``total``: how many values there are; ``first``: their sum; ``second``: the sum of their squares. None for fewer
    than two values, which show no spread.
    """
    if total < 2:
        return None
    mean = first / total
    return WithError(float(mean), math.sqrt(max(second / total - mean**2, 0.0) / (total - 1)))
