"""Synthetic records from a model of the reports, and how far they lie from what the reports themselves say.

    distance = ½ Σ_cells |share of synthetic records − reconstructed probability|

the share of records that would have to move. The reconstruction has an error of its own, and so has a finite sample:
where the synthetic records are as good as the reconstruction, the distance of an attribute is about
½ Σ √(2/π · (stderr² + p(1−p)/n)).
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel, Discretize, Tabulated
from sfumato.counts import Reports
from sfumato.domain import Categories, Cells, Floats, Interval, as_array
from sfumato.pages import Page
from sfumato.plan import Attribute, Plan
from sfumato.prose import percent
from sfumato.reconstruction import INTERVALS, estimate_of, intervals_for, reconstruct_joint, shares
from sfumato.shipping.shipped import promise_of
from sfumato.shipping.training import Progress, estimator, reports_of, silently, stream, table_of
from sfumato.tables import to_arrow

PAIR_INTERVALS = 6
MOST_PAIRED = 50_000
"""Pairs are reconstructed from at most so many reports: their distances are of some percent anyway."""


def synthesize(plan: Plan, reports: Any, records: int, *, seed: int = 0, progress: Progress = silently) -> Any:
    """A PyArrow table of synthetic records, its columns in the plan's order."""
    import pyarrow

    given, model = reports_of(plan, reports, seed), estimator("joint-model", plan, seed)
    for _ in progress(["fitting"], f"fitting {len(given):,} reports"):
        model.fit(given)
    drawn = model.sample(records, random_state=int(stream(seed, "records").integers(2**31 - 1)))
    if plan.target is None:
        return drawn
    found, group = drawn
    return found.append_column(plan.target, pyarrow.array(group)).select(list(plan.attributes))


def closeness(plan: Plan, reports: Any, synthetic: Any, progress: Progress = silently) -> dict[str, Any]:
    """The distance of every attribute and of every pair, as plain data; of `Reports`, on a sample in memory."""
    table, drawn = table_of(reports), to_arrow(synthetic)
    names = [name for name in plan.attributes if name in drawn.column_names]
    single = [marginal_distance(plan.attributes[n], table, drawn) for n in progress(names, "attributes")]
    joined = [name for name in names if not plan.attributes[name].has_levels]
    some = table.slice(0, MOST_PAIRED)
    pairs = [
        pair_distance(plan.attributes[a], plan.attributes[b], some, drawn)
        for a, b in progress(list(combinations(joined, 2)), "pairs")
    ]
    left_out = [name for name in names if name not in joined]
    counts = {"records": drawn.num_rows, "reports": len(reports) if isinstance(reports, Reports) else table.num_rows}
    return {**counts, "attributes": single, "pairs": pairs, "left_out_of_pairs": left_out}


def marginal_distance(attribute: Attribute, reports: Any, synthetic: Any) -> dict[str, Any]:
    name, domain, channel = attribute.name, attribute.domain, attribute.channel
    sample = _known(synthetic.column(name))
    if channel is None:
        edges = _clear_edges(domain, INTERVALS)
        expected = shares(_known(reports.column(name)), domain, edges)
        spread = np.zeros_like(expected)
    else:
        try:
            estimate = estimate_of(name, channel, reports, intervals_for(domain))
        except (ValueError, TypeError) as error:
            raise type(error)(f"attribute {name!r}: {error}") from None
        edges, expected, spread = estimate.edges, estimate.probabilities, estimate.stderr
    found = shares(sample, domain, edges)
    usual = np.sqrt(2 / np.pi * (np.square(spread) + expected * np.maximum(1 - expected, 0) / sample.size))
    distance, chance = np.abs(found - expected).sum() / 2, np.sum(usual) / 2
    return {"attribute": name, "distance": float(distance), "by_chance": float(chance), "cells": int(found.size)}


def pair_distance(a: Attribute, b: Attribute, reports: Any, synthetic: Any) -> dict[str, Any]:
    """The distance of a pair's joint distribution; beside it that of a sample with the two drawn independently."""
    channels = [_observed_through(a), _observed_through(b)]
    columns = {n: _seen(one, reports, c) for n, one, c in zip("ab", (a, b), channels, strict=True)}
    wishes = [None if isinstance(one.domain, Categories) else PAIR_INTERVALS for one in (a, b)]
    joint = reconstruct_joint(columns, channels, wishes)
    places = [_cells_of(synthetic.column(one.name), one.domain, joint.edges[i]) for i, one in enumerate((a, b))]
    both = (places[0] >= 0) & (places[1] >= 0)
    found = np.zeros(joint.probabilities.shape)
    np.add.at(found, (places[0][both], places[1][both]), 1 / max(int(both.sum()), 1))
    independent = np.outer(found.sum(axis=1), found.sum(axis=0))
    return {
        "pair": [a.name, b.name],
        "distance": float(np.abs(found - joint.probabilities).sum() / 2),
        "if_independent": float(np.abs(independent - joint.probabilities).sum() / 2),
    }


def _observed_through(attribute: Attribute) -> Channel:
    """The channel of the reports; a clear attribute is seen exactly, or exactly up to its interval."""
    if isinstance(attribute.channel, Channel):
        return attribute.channel
    if isinstance(attribute.domain, Categories):
        return Tabulated(attribute.domain, np.eye(attribute.domain.size))
    edges = _clear_edges(attribute.domain, PAIR_INTERVALS)
    return Discretize(attribute.domain, edges=edges)  # type: ignore[arg-type]


def _seen(attribute: Attribute, reports: Any, channel: Channel) -> NDArray[Any]:
    values = as_array(reports.column(attribute.name))
    return values if attribute.channel is not None else channel.randomize(values)


def _clear_edges(domain: Any, count: int) -> Floats | None:
    return np.linspace(domain.low, domain.high, count + 1) if isinstance(domain, Interval) else None


def _known(column: Any) -> NDArray[Any]:
    return as_array(column.drop_null())


def _cells_of(column: Any, domain: Any, edges: Floats | None) -> NDArray[np.int64]:
    """The cell of each synthetic value, −1 where it is missing."""
    space = Cells(tuple(edges)) if edges is not None else domain
    return np.asarray(space.encode(as_array(column)))


# --- in words -------------------------------------------------------------------------------------------------------

SHOWN = 5


def pairs_in_words(found: dict[str, Any]) -> str:
    ordered = sorted(found["pairs"], key=lambda row: -row["distance"])
    middle = percent(ordered[len(ordered) // 2]["distance"])
    worst = ", ".join(f"{' × '.join(row['pair'])} {percent(row['distance'])}" for row in ordered[:SHOWN])
    left = found["left_out_of_pairs"]
    without = f" Without {', '.join(left)}, where people chose their level." if left else ""
    return f"{len(ordered)} pairs: median distance {middle}; the largest: {worst}.{without}"


def closeness_page(plan: Plan, found: dict[str, Any]) -> Page:
    """How far each attribute and each pair lies from what the reports say, and what the records reveal."""
    lead = f"{found['records']:,} synthetic records from {found['reports']:,} reports, and how close they are."
    page = Page(f"Synthetic records: {plan.name}", lead).facts(_headline(found))
    lead = "Distance: the share of synthetic records that would have to move to agree with the reconstruction."
    rows = [[r["attribute"], percent(r["distance"], 2), percent(r["by_chance"], 2)] for r in found["attributes"]]
    page.section("Attributes", lead).table(rows, ["attribute", "distance", "by chance alone"])
    if found["pairs"]:
        ordered = sorted(found["pairs"], key=lambda row: -row["distance"])
        far = [[" × ".join(r["pair"]), percent(r["distance"], 2), percent(r["if_independent"], 2)] for r in ordered]
        page.section("Pairs", _pair_lead(found)).table(far, ["pair", "distance", "if drawn independently"])
    lead = "The records are computed from the reports alone, so what the reports promise holds for them too."
    return page.section("What they reveal", lead).note(promise_of(plan)["words"])


def _headline(found: dict[str, Any]) -> list[tuple[str, str]]:
    boxes = []
    for key, what in (("attributes", "attribute"), ("pairs", "pair")):
        if found[key]:
            worst = max(found[key], key=lambda row: row["distance"])
            name = worst["attribute"] if what == "attribute" else " × ".join(worst["pair"])
            boxes.append((percent(worst["distance"], 2), f"largest distance of a single {what} ({name})"))
    return boxes


def _pair_lead(found: dict[str, Any]) -> str:
    left = found["left_out_of_pairs"]
    without = f" {', '.join(left)}: people chose their level, so pairs are not reconstructed." if left else ""
    return f"The farthest first; beside it, how far records without any dependence between the two would lie.{without}"
