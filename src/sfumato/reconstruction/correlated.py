"""The joint distribution behind correlated noise: turned until the noise is independent, solved, and turned back.

With Cov(e) = CCᵀ the turned reports C⁻¹w = C⁻¹x + z have independent noise z ~ N(0, I), so that the joint table is a
product, one factor an axis. EM runs on cells of the turned space that the domain can reach; the cells' probabilities
are then spread over the intervals that were asked for, by points inside each cell.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from sfumato.channels.additive import Gaussian
from sfumato.channels.multivariate import CorrelatedNoise
from sfumato.counts import columns_in
from sfumato.domain import Codes, Floats, Interval, as_numbers
from sfumato.reconstruction.cells import interval_edges
from sfumato.reconstruction.em import maximise_likelihood
from sfumato.reconstruction.estimate import Diagnostics, Estimate
from sfumato.reconstruction.fisher import fisher_spread
from sfumato.reconstruction.joint import COMBINATIONS, JointEstimate
from sfumato.reconstruction.tables import ProductTable, SparseProductTable, Table

UNKNOWNS = 3000
MOST_CELLS = 40
MOST_ATTRIBUTES = 4
POINTS = 3


def reconstruct_correlated(reports: Any, channel: CorrelatedNoise, intervals: Any = 10) -> JointEstimate:
    """The joint distribution of the true values; ``intervals``: a number or edges, for all attributes or one each."""
    size = len(channel.domains)
    if size > MOST_ATTRIBUTES:
        raise ValueError(f"{size} attributes are too many for a joint table; use channel.moments(reports)")
    rows = _rows(reports, list(channel.domains))
    known = ~np.isnan(rows).any(axis=1)
    if not known.any():
        raise ValueError("no person has a report for every attribute; reconstruction needs at least one")
    wishes = intervals if isinstance(intervals, list) and len(intervals) == size else [intervals] * size
    edges = [interval_edges(domain, wish) for domain, wish in zip(channel.domains.values(), wishes, strict=True)]
    factor: Floats = np.asarray(np.linalg.cholesky(channel.noise_covariance), dtype=np.float64)
    turned = np.asarray(np.linalg.solve(factor, rows[known].T).T, dtype=np.float64)
    cells, shares, facts = _turned(turned, factor, channel, int((~known).sum()))
    joint = _turned_back(cells, shares, factor, edges)
    marginals = tuple(
        _marginal(channel, name, edges[place], joint.sum(axis=tuple(a for a in range(size) if a != place)), facts)
        for place, name in enumerate(channel.domains)
    )
    return JointEstimate(tuple(edges), (None,) * size, joint, facts, marginals, tuple(channel.domains))


def _rows(reports: Any, names: list[str]) -> Floats:
    """One row a person; columns by name where the table has these names, else in order."""
    columns = columns_in(reports)
    if len(columns) != len(names):
        raise ValueError(f"reports has {len(columns)} columns for {len(names)} attributes; give one column each")
    order = names if set(names) == set(columns) else list(columns)
    return np.column_stack([as_numbers(columns[name]) for name in order])


def _turned(rows: Floats, factor: Floats, channel: CorrelatedNoise, missing: int) -> tuple[list[Floats], Any, Any]:
    """Edges of the cells on each turned axis, their probabilities, and how they came about."""
    count = min(int(UNKNOWNS ** (1 / rows.shape[1])), MOST_CELLS)
    cells, tables, places = [], [], []
    for column in rows.T:
        bounds = np.linspace(*_reach(column), count + 1)
        noise = Gaussian(Interval(float(bounds[0]), float(bounds[-1])), scale=1.0)
        seen = np.linspace(bounds[0] - 3, bounds[-1] + 3, count + 13)
        cells.append(bounds)
        tables.append(noise.matrix(true=bounds, reported=seen))
        places.append(np.clip(np.searchsorted(seen, column, side="right") - 1, 0, seen.size - 2))
    table, counts = _count_combinations(tables, np.column_stack(places))
    reachable = _reachable(cells, factor, channel)
    fit = maximise_likelihood(table, counts[None, :], start=(reachable / reachable.sum())[None, :])
    facts = Diagnostics(
        "em", float(len(rows)), missing, fit.iterations, fit.applications, float(fit.log_likelihood[0]), np.nan
    )
    return cells, fit.probabilities[0], facts


def _count_combinations(factors: list[Floats], cells: Codes) -> tuple[Table, Floats]:
    """The product table and the counts of its rows: all combinations where they are few, else those that occur."""
    sizes = [factor.shape[0] for factor in factors]
    if prod(sizes) <= COMBINATIONS:
        place = np.ravel_multi_index(tuple(cells.T), sizes)
        return ProductTable(factors), np.bincount(place, minlength=prod(sizes)).astype(float)
    rows, counts = np.unique(cells, axis=0, return_counts=True)
    return SparseProductTable(factors, rows), counts.astype(float)


def _reach(column: Floats) -> tuple[float, float]:
    """Where true values can lie: the reports' own span, less the noise that made the outermost of them."""
    low, high = np.quantile(column, [0.0005, 0.9995])
    middle, half = (low + high) / 2, max((high - low) / 2 - 1.0, 1.0)
    return float(middle - half), float(middle + half)


def _reachable(cells: list[Floats], factor: Floats, channel: CorrelatedNoise) -> Floats:
    """1 for cells with a corner, point or middle inside the domain; EM never leaves them."""
    inside = np.zeros(int(np.prod([edges.size - 1 for edges in cells])), dtype=bool)
    lows, highs = np.array([[d.low, d.high] for d in channel.domains.values()], dtype=float).T
    for points in _points(cells):
        values = points @ factor.T
        inside |= ((values >= lows) & (values <= highs)).all(axis=1)
    return inside.astype(float) if inside.any() else np.ones(inside.size)


def _points(cells: list[Floats]) -> list[Floats]:
    """Points inside every cell, the same places in each: one array of all cells per place."""
    places = (np.arange(POINTS) + 0.5) / POINTS
    found = []
    for offsets in np.stack(np.meshgrid(*[places] * len(cells), indexing="ij"), axis=-1).reshape(-1, len(cells)):
        axes = [edges[:-1] + share * np.diff(edges) for edges, share in zip(cells, offsets, strict=True)]
        found.append(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(cells)))
    return found


def _turned_back(cells: list[Floats], shares: Floats, factor: Floats, edges: list[Floats]) -> Floats:
    shape = [bounds.size - 1 for bounds in edges]
    joint = np.zeros(int(np.prod(shape)))
    points = _points(cells)
    for turned in points:
        values = turned @ factor.T
        place = [
            np.clip(np.searchsorted(bounds, column, side="right") - 1, 0, bounds.size - 2)
            for bounds, column in zip(edges, values.T, strict=True)
        ]
        joint += np.bincount(np.ravel_multi_index(tuple(place), shape), shares / len(points), minlength=joint.size)
    return joint.reshape(shape)


def _marginal(channel: CorrelatedNoise, name: str, edges: Floats, shares: Floats, facts: Diagnostics) -> Estimate:
    """One attribute with the error that its own reports leave."""
    noise = channel.marginal(name)
    reach = noise.interval_width(0.99) / 2
    inner = np.concatenate([[edges[0] - reach], *[np.linspace(a, b, 3)[:-1] for a, b in pairwise(edges)], [edges[-1]]])
    table = noise.matrix(true=edges, reported=np.append(inner, edges[-1] + reach))
    spread = fisher_spread(table, shares, facts.reports)
    return Estimate(edges, None, shares, spread.covariance, facts, channel.domains[name].integer)
