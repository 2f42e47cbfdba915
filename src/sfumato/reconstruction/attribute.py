"""One attribute of a plan: its estimate from a table of reports, and values held against it in the same cells."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel, Choice
from sfumato.counts import Counts
from sfumato.domain import Categories, Floats, Interval
from sfumato.plan.document import LEVEL_SUFFIX
from sfumato.reconstruction.estimate import Estimate
from sfumato.reconstruction.reconstruct import reconstruct

INTERVALS = 20


def estimate_of(
    name: str, channel: Channel | Choice, table: Any, intervals: Any = None, method: str = "smooth"
) -> Estimate:
    """The estimate from a PyArrow table of reports; where people chose a level, each through its own channel."""
    reports = table.column(name)
    if isinstance(channel, Choice):
        counts = Counts.of(reports, channel.levels, level=table.column(name + LEVEL_SUFFIX))
    else:
        counts = Counts.of(reports, channel)
    estimate: Estimate = reconstruct(counts, intervals=intervals, method=method)
    return estimate


def intervals_for(domain: Any) -> Any:
    """About twenty intervals for numbers; for whole numbers with the same number of them in each."""
    if not isinstance(domain, Interval):
        return None
    if not domain.integer:
        return INTERVALS
    width = math.ceil((domain.width + 1) / INTERVALS)
    return np.append(np.arange(domain.low - 0.5, domain.high + 0.5, width), domain.high + 0.5)


def shares(values: NDArray[Any], domain: Any, edges: Floats | None) -> Floats:
    """The share of values in each category, or in each interval (those beyond the ends count in the end intervals)."""
    if isinstance(domain, Categories):
        counts = np.bincount(domain.encode(values), minlength=domain.size)
    else:
        counts = np.histogram(np.clip(values, domain.low, domain.high), bins=np.asarray(edges))[0]
    return np.asarray(counts / counts.sum(), dtype=np.float64)
