"""What a report leaves of a belief, on a law as small as an adversary needs it.

    P[x | y] = P[y, x]·prior[x] / Σ_u P[y, u]·prior[u]

A fine grid has thousands of codes on both sides, and its whole table would fill the memory; averages over runs of
neighbouring codes, much finer than the noise, lose nothing that a guess could use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from sfumato.channels import AdditiveNoise, Channel
from sfumato.channels.base import CodeSpace
from sfumato.domain import Categories, Codes, Floats, Grid
from sfumato.guarantee.statement import shortest_widths

TRUE_CELLS = 600
REPORT_CELLS = 1500


@dataclass(frozen=True, eq=False)
class CoarseLaw:
    """law[report cell, true cell]; which cell every code lies in; the cells' values where they are numbers."""

    law: Floats
    true_cell: Codes
    report_cell: Codes
    values: Floats
    report_values: Floats

    @property
    def step(self) -> float:
        return float(np.diff(self.values).mean()) if self.values.size > 1 else 1.0

    def belief(self, prior: Floats) -> Floats:
        """A belief over true codes as one over true cells."""
        return np.bincount(self.true_cell, prior, minlength=self.law.shape[1]).astype(float)


@lru_cache(maxsize=32)
def coarse_law(channel: Channel) -> CoarseLaw:
    """The law of a channel, in cells where its grids are fine."""
    true, reported = _cells(channel.inputs.size, TRUE_CELLS), _cells(channel.outputs.size, REPORT_CELLS)
    rows = _rows(channel, reported)
    law = np.add.reduceat(rows, np.flatnonzero(np.diff(true, prepend=-1)), axis=1) / np.bincount(true)
    return CoarseLaw(law, true, reported, _means(channel.inputs, true), _means(channel.outputs, reported))


def law_columns(channel: Channel, codes: Codes) -> Floats:
    """P[reported, true] for some true codes only, exactly as drawn."""
    if not isinstance(channel, AdditiveNoise):
        return np.asarray(channel.law()[:, codes])
    (shift,) = channel.steps()
    return np.hstack([replace(shift, offset=shift.offset - code, inputs=1).law() for code in codes.tolist()])


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


def _means(space: CodeSpace, cell: Codes) -> Floats:
    """The mean value of each cell; nothing for labels."""
    if isinstance(space, Categories):
        return np.empty(0)
    return np.asarray(np.bincount(cell, np.asarray(space.values, dtype=float)) / np.bincount(cell))


def posterior(law: Floats, prior: Floats, reports: Codes) -> Floats:
    """P[true | reported], one row for every report code given."""
    joint = law[reports] * prior
    return np.asarray(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300))


def posterior_of_several(law: Floats, prior: Floats, reports: Codes) -> Floats:
    """The same after several independent reports of each person: ``reports`` has one row a person."""
    with np.errstate(divide="ignore"):
        logs = np.log(law)
        belief = np.log(prior)[None, :] + sum(logs[column] for column in reports.T)
    weights = np.exp(belief - belief.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


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
