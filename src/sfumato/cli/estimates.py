"""Estimates as rows: for files and for charts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.channels import Channel, Choice
from sfumato.counts import Counts
from sfumato.plan.document import LEVEL_SUFFIX
from sfumato.reconstruction import Estimate, reconstruct

NINETY_PERCENT = 1.6448536269514722  # standard errors on each side

Row = dict[str, Any]


def estimate_of(
    name: str, channel: Channel | Choice, table: Any, intervals: Any = None, method: str = "smooth"
) -> Estimate:
    """One attribute's estimate from a table of reports; where people chose a level, each through its own channel."""
    reports = table.column(name)
    if isinstance(channel, Choice):
        counts = Counts.of(reports, channel.levels, level=table.column(name + LEVEL_SUFFIX))
    else:
        counts = Counts.of(reports, channel)
    estimate: Estimate = reconstruct(counts, intervals=intervals, method=method)
    return estimate


def rows_of(name: str, estimate: Estimate) -> list[Row]:
    """One row an interval or category: attribute, low, high, category, probability, stderr, and its label in words."""
    if estimate.categories is not None:
        places = [{"low": None, "high": None, "category": str(label)} for label in estimate.categories]
    else:
        edges = np.asarray(estimate.edges)
        places = [{"low": a, "high": b, "category": None} for a, b in pairwise(edges.tolist())]
    numbers = zip(estimate.labels(), estimate.probabilities.tolist(), estimate.stderr.tolist(), strict=True)
    return [
        {"attribute": name, "label": label, **where, "probability": share, "stderr": error}
        for where, (label, share, error) in zip(places, numbers, strict=True)
    ]


def as_table(rows: list[Row]) -> Any:
    """The rows as a PyArrow table with fixed column types."""
    import pyarrow as pa

    kinds = {"attribute": pa.string(), "low": pa.float64(), "high": pa.float64(), "category": pa.string()}
    kinds |= {"probability": pa.float64(), "stderr": pa.float64()}
    return pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items())))
