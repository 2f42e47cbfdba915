"""A channel's table as small as an adversary needs it: true values and reports in cells much finer than the noise.

A fine grid has thousands of codes on both sides, and its whole table would fill the memory; averages over runs of
neighbouring codes lose nothing that a guess could use.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfumato.channels import Channel
from sfumato.channels.additive import AdditiveNoise
from sfumato.domain import Cells, Codes, Floats, Grid, Interval

TRUE_CELLS = 600
REPORT_CELLS = 1500


@dataclass(frozen=True, eq=False)
class Table:
    """law[report cell, true cell]; which cell every code lies in; the cells' values where they are numbers."""

    law: Floats
    true_cell: Codes
    report_cell: Codes
    values: Floats
    report_values: Floats
    step: float

    def belief(self, prior: Floats) -> Floats:
        """A belief over true codes as one over true cells."""
        return np.bincount(self.true_cell, prior, minlength=self.law.shape[1]).astype(float)


@lru_cache(maxsize=32)
def table_of(channel: Channel) -> Table:
    """The table of a channel, coarse where its grid is fine."""
    true, reported = (_cells(space.size, most) for space, most in _spaces(channel))
    law = _rows(channel, reported)
    starts = np.flatnonzero(np.diff(true, prepend=-1))
    law = np.add.reduceat(law, starts, axis=1) / np.bincount(true)
    numeric = isinstance(channel.domain, Interval)
    values = _means(np.asarray(channel.inputs.values), true) if numeric else np.empty(0)  # type: ignore[union-attr]
    shown = isinstance(channel.outputs, (Grid, Cells))
    reports = _means(np.asarray(channel.outputs.values), reported) if shown else np.empty(0)  # type: ignore[union-attr]
    step = float(np.diff(values).mean()) if values.size > 1 else 1.0
    return Table(law, true, reported, values, reports, step)


def law_columns(channel: Channel, codes: Codes) -> Floats:
    """P[reported, true] for some true codes only, exactly as drawn."""
    if not isinstance(channel, AdditiveNoise):
        return np.asarray(channel.law()[:, codes])
    columns = np.zeros((channel.outputs.size, codes.size))
    steps = np.arange(-channel.reach, channel.reach + 1)
    for place, code in enumerate(codes.tolist()):
        reports = np.clip(code + steps + channel.past, 0, channel.outputs.size - 1)
        columns[:, place] = np.bincount(reports, channel.noise, minlength=channel.outputs.size)
    return columns


def _spaces(channel: Channel) -> tuple[tuple[Grid, int], tuple[Grid, int]]:
    return (channel.inputs, TRUE_CELLS), (channel.outputs, REPORT_CELLS)  # type: ignore[return-value]


def _cells(size: int, most: int) -> Codes:
    """The cell of every code: itself where there are few, else runs of neighbours."""
    return np.arange(size) * min(size, most) // size


def _rows(channel: Channel, reported: Codes) -> Floats:
    """The law with its reports in cells."""
    outputs = channel.outputs
    if not isinstance(outputs, Grid) or reported[-1] == outputs.size - 1:
        return channel.law()
    edges = outputs.edges[np.flatnonzero(np.diff(reported, prepend=-1))]
    cells = channel.matrix(reported=np.append(edges, outputs.edges[-1]))
    return np.maximum(cells, 0.0)  # differences of running sums can fall a rounding error below zero


def _means(values: Floats, cell: Codes) -> Floats:
    return np.asarray(np.bincount(cell, values) / np.bincount(cell))
