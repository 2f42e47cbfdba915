"""The mean behind reports of numbers, without bias, where reports follow the answers along a straight line.

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

STRAIGHT = 0.01  # of the range: so far E[report | x] may lie off a straight line


@lru_cache(maxsize=64)
def straight(channel: Channel) -> Floats | None:
    """Return g(report) for every report code, with E[g | x] = x; None where reports do not follow x along a straight
    line."""
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
    """Return the mean of g over the reports of all levels, which has no bias; with its standard error."""
    total = first = second = 0.0
    for tally in counts.levels.values():
        reports = tally.histogram.sum(axis=0)
        if not reports.any():
            continue
        g = straight(tally.channel)
        if g is None:
            return None
        total, first, second = total + reports.sum(), first + reports @ g, second + reports @ g**2
    return mean_with_error(total, first, second)


def mean_with_error(total: float, first: float, second: float) -> WithError | None:
    """Return the mean and its standard error from a number of values, their sum and the sum of their squares; None of
    fewer than two, which show no spread."""
    if total < 2:
        return None
    mean = first / total
    return WithError(float(mean), math.sqrt(max(second / total - mean**2, 0.0) / (total - 1)))
