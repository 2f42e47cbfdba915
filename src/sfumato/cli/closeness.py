"""How far synthetic records lie from what the reports themselves say, attribute by attribute and pair by pair.

    distance = ½ Σ_cells |share of synthetic records − reconstructed probability|

the share of records that would have to move. The reconstruction has an error of its own, and so has a finite sample:
where the synthetic records are as good as the reconstruction, the distance of an attribute is about
½ Σ √(2/π · (stderr² + p(1−p)/n)).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel, Choice, Discretize, Tabulated
from sfumato.cli.estimates import estimate_of
from sfumato.cli.plans import naming
from sfumato.cli.survey import intervals_for, shares
from sfumato.domain import Categories, Interval, as_array
from sfumato.plan import Attribute, Plan
from sfumato.reconstruction import Estimate, reconstruct_joint

PAIR_INTERVALS = 6
MOST_PAIRED = 50_000
"""Pairs are reconstructed from at most so many reports: their distances are of some percent anyway."""

Progress = Callable[[Iterable[Any], str], Iterator[Any]]


def distances(plan: Plan, reports: Any, synthetic: Any, progress: Progress) -> dict[str, Any]:
    """Marginal and pair distances, and the largest of each."""
    names = [name for name, attribute in plan.attributes.items() if name in synthetic.column_names]
    single = [marginal_distance(plan.attributes[n], reports, synthetic) for n in progress(names, "attributes")]
    joined = [name for name in names if not isinstance(plan.attributes[name].channel, Choice)]
    some = reports.slice(0, MOST_PAIRED)
    pairs = [
        pair_distance(plan.attributes[a], plan.attributes[b], some, synthetic)
        for a, b in progress(list(combinations(joined, 2)), "pairs")
    ]
    left_out = [name for name in names if name not in joined]
    return {"attributes": single, "pairs": pairs, "left_out_of_pairs": left_out}


def marginal_distance(attribute: Attribute, reports: Any, synthetic: Any) -> dict[str, Any]:
    name, domain, channel = attribute.name, attribute.domain, attribute.channel
    sample = known(synthetic.column(name))
    if channel is None:
        edges = clear_edges(domain, 20)
        expected = shares(known(reports.column(name)), domain, edges)
        spread = np.zeros_like(expected)
    else:
        with naming(f"attribute {name!r}"):
            estimate: Estimate = estimate_of(name, channel, reports, intervals_for(domain))
        edges, expected, spread = estimate.edges, estimate.probabilities, estimate.stderr
    found = shares(sample, domain, edges)
    error = np.sqrt(2 / np.pi * (np.square(spread) + expected * np.maximum(1 - expected, 0) / sample.size))
    distance, chance = np.abs(found - expected).sum() / 2, np.sum(error) / 2
    return {"attribute": name, "distance": float(distance), "by_chance": float(chance), "cells": int(found.size)}


def pair_distance(a: Attribute, b: Attribute, reports: Any, synthetic: Any) -> dict[str, Any]:
    """The distance of a pair's joint distribution; beside it that of a sample with the two drawn independently."""
    channels = [observed_through(a), observed_through(b)]
    columns = {n: seen(one, reports, c) for n, one, c in zip("ab", (a, b), channels, strict=True)}
    wishes = [None if isinstance(one.domain, Categories) else PAIR_INTERVALS for one in (a, b)]
    joint = reconstruct_joint(columns, channels, wishes)
    places = [cells_of(synthetic.column(one.name), one.domain, joint.edges[i]) for i, one in enumerate((a, b))]
    both = (places[0] >= 0) & (places[1] >= 0)
    found = np.zeros(joint.probabilities.shape)
    np.add.at(found, (places[0][both], places[1][both]), 1 / max(int(both.sum()), 1))
    independent = np.outer(found.sum(axis=1), found.sum(axis=0))
    return {
        "pair": [a.name, b.name],
        "distance": float(np.abs(found - joint.probabilities).sum() / 2),
        "if_independent": float(np.abs(independent - joint.probabilities).sum() / 2),
    }


def observed_through(attribute: Attribute) -> Channel:
    """The channel of the reports; a clear attribute is seen exactly, or exactly up to its interval."""
    if isinstance(attribute.channel, Channel):
        return attribute.channel
    if isinstance(attribute.domain, Categories):
        return Tabulated(attribute.domain, np.eye(attribute.domain.size))
    edges = clear_edges(attribute.domain, PAIR_INTERVALS)
    return Discretize(attribute.domain, edges=edges)  # type: ignore[arg-type]


def seen(attribute: Attribute, reports: Any, channel: Channel) -> NDArray[Any]:
    values = as_array(reports.column(attribute.name))
    return values if attribute.channel is not None else channel.randomize(values)


def clear_edges(domain: Any, count: int) -> NDArray[np.float64] | None:
    return np.linspace(domain.low, domain.high, count + 1) if isinstance(domain, Interval) else None


def known(column: Any) -> NDArray[Any]:
    return as_array(column.drop_null())


def cells_of(column: Any, domain: Any, edges: NDArray[np.float64] | None) -> NDArray[np.int64]:
    """The cell of each synthetic value, −1 where it is missing."""
    values = as_array(column)
    if isinstance(domain, Categories):
        return np.asarray(domain.encode(values))
    numbers = np.asarray(values, dtype=np.float64)
    places = np.searchsorted(np.asarray(edges)[1:-1], numbers, side="right")
    return np.where(np.isnan(numbers), -1, places)
