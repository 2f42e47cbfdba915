"""Evidence for Agrawal & Srikant's own recipe (AS00): Equation 3 on intervals, with the noise density at midpoints.

    p'_t = (1/n) Σ_s N_s · f_Y(m_s − m_t)·p_t / Σ_u f_Y(m_s − m_u)·p_u,   m the midpoints of intervals

Report intervals have the same width as true ones and go on past the domain as far as the noise reaches, so every report
is counted. The kernel is biased where the noise density jumps (uniform noise), and no amount of data mends that.
"""

from __future__ import annotations

import numpy as np

from sfumato.channels import Channel
from sfumato.channels.additive import AdditiveNoise
from sfumato.domain import Floats, Grid
from sfumato.evidence import DenseTable, Evidence, Table, stack
from sfumato.reconstruction.request import Request


def midpoint_evidence(request: Request) -> Evidence:
    """Return the reports of a request counted in report intervals, with AS00's midpoint kernels as their table.

    The kernels of several levels stand one below the other. Requests about categories keep their own evidence.
    """
    if request.layout is None:
        return request.evidence
    kernels: list[Table] = []
    counts = []
    for tally in request.tallies:
        edges, kernel = midpoint_kernel(tally.channel, request.layout.edges)
        cells = tally.channel.cells_of_codes(edges - 1e-9 * np.diff(edges).min())  # a report on an edge lies above it
        part = np.zeros((tally.histogram.shape[0], kernel.shape[0]))
        np.add.at(part.T, cells, tally.histogram.T)
        possible = kernel.any(axis=1)
        total = np.maximum(kernel.sum(axis=0), 1e-300).mean()  # Equation 3 does not see a constant factor; errors do
        kernels.append(DenseTable(kernel[possible] / total))
        counts.append(part[:, possible])
    return Evidence.of_counts(stack(kernels, request.shares), np.hstack(counts))


def midpoint_kernel(channel: Channel, edges: Floats) -> tuple[Floats, Floats]:
    """Return (edges of the report intervals, K) with K[s, t] the density of report midpoint s given true midpoint t.

    edges: of the true intervals.
    """
    true = (edges[:-1] + edges[1:]) / 2
    codes = channel.inputs.encode(true)
    if not isinstance(channel.outputs, Grid):
        return getattr(channel.outputs, "edges", edges), channel.matrix()[:, codes]
    around = continued_edges(channel.outputs, edges)
    reported = (around[:-1] + around[1:]) / 2
    if isinstance(channel, AdditiveNoise):
        return around, channel.density(reported[:, None] - true)
    return around, channel.matrix()[np.ix_(channel.encode_reports(reported), codes)]


def continued_edges(outputs: Grid, edges: Floats) -> Floats:
    """Return the edges of the true intervals, continued on both sides, by the end intervals' widths, to where reports
    end."""
    low, high = edges[1] - edges[0], edges[-1] - edges[-2]
    before = max(int(np.ceil((edges[0] - outputs.edges[0]) / low - 1e-9)), 0)
    after = max(int(np.ceil((outputs.edges[-1] - edges[-1]) / high - 1e-9)), 0)
    left = edges[0] - low * np.arange(before, 0, -1)
    return np.concatenate([left, edges, edges[-1] + high * np.arange(1, after + 1)])
