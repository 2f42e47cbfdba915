"""AS00's own recipe: Equation 3 with the midpoint kernel and the χ² stop.

    p'_t = (1/n) Σ_s N_s · f_Y(m_s − m_t)·p_t / Σ_u f_Y(m_s − m_u)·p_u,

m the midpoints of intervals. Report intervals have the same width and go on past the domain as far as the noise
reaches, so every report is counted. The kernel is biased where the noise density jumps (uniform noise), and no amount
of data mends that; it stays because the paper's results need it.
"""

from __future__ import annotations

import numpy as np

from sfumato.channels import Channel
from sfumato.channels.additive import AdditiveNoise
from sfumato.domain import Floats, Grid


def midpoint_kernel(channel: Channel, edges: Floats) -> tuple[Floats, Floats]:
    """(edges of the report intervals, f(report midpoint | true midpoint))."""
    true = (edges[:-1] + edges[1:]) / 2
    if not isinstance(channel.outputs, Grid):
        codes = channel.encode(_on_grid(channel, true))
        return channel.outputs.edges if hasattr(channel.outputs, "edges") else edges, channel.matrix()[:, codes]
    around = report_edges(channel.outputs, edges)
    reported = (around[:-1] + around[1:]) / 2
    if isinstance(channel, AdditiveNoise):
        return around, channel.density(reported[:, None] - true)
    codes = channel.encode(_on_grid(channel, true))
    return around, channel.matrix()[np.ix_(channel.encode_reports(reported), codes)]


def report_edges(outputs: Grid, edges: Floats) -> Floats:
    """The true intervals, continued to both sides in their end intervals' width to where reports end."""
    low, high = edges[1] - edges[0], edges[-1] - edges[-2]
    before = max(int(np.ceil((edges[0] - outputs.edges[0]) / low - 1e-9)), 0)
    after = max(int(np.ceil((outputs.edges[-1] - edges[-1]) / high - 1e-9)), 0)
    left = edges[0] - low * np.arange(before, 0, -1)
    return np.concatenate([left, edges, edges[-1] + high * np.arange(1, after + 1)])


def _on_grid(channel: Channel, values: Floats) -> Floats:
    """The nearest values that the channel takes."""
    inputs = channel.inputs
    return np.asarray(inputs.decode(inputs.encode(values)))
