"""Synthetic records from a model of the reports, and their distance from the distributions behind the reports.

    distance = ½ Σ_cells |share of synthetic records − reconstructed probability|

is the share of records that would have to move to agree. The reconstruction has an error of its own, and so has a
finite sample: where synthetic records are as good as the reconstruction, the distance of an attribute is about

    by chance = ½ Σ √(2/π · (stderr² + p(1 − p)/n))
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
"""Intervals of a number in the reconstruction of a pair. Chosen by judgement: more show finer dependence with more
error.
"""

MOST_PAIRED = 50_000
"""The most reports from which pairs are reconstructed, to bound the time. Chosen by judgement: the distances of pairs
are some percent, and more reports would change them by less."""


def synthesize(plan: Plan, reports: Any, records: int, *, seed: int = 0, progress: Progress = silently) -> Any:
    """Draw synthetic records from a joint model fitted to the reports, as a PyArrow table in the plan's column order.

    ``records``: how many to draw. ``seed``: decides the fit and the draws. ``progress``: a function that wraps the
    steps of work, to show them.
    """
    import pyarrow

    given, model = reports_of(plan, reports, seed), estimator("joint-model", plan, seed)
    for _ in progress(["fitting"], f"fitting {len(given):,} reports"):
        model.fit(given)
    drawn = model.sample(records, random_state=int(stream(seed, "records").integers(2**31 - 1)))
    if plan.target is None:
        return drawn
    records_drawn, group = drawn
    return records_drawn.append_column(plan.target, pyarrow.array(group)).select(list(plan.attributes))


def closeness(plan: Plan, reports: Any, synthetic: Any, progress: Progress = silently) -> dict[str, Any]:
    """Measure how far synthetic records lie from the distributions reconstructed from the reports; return a dict.

    The distance is ½ Σ |share of records − reconstructed probability| over the cells (intervals or categories) of each
    attribute, and of each pair of them. Keys: ``records``, ``reports`` (how many), ``attributes`` and ``pairs`` (a dict
    of each), ``left_out_of_pairs`` (names). ``reports``: a table, or `Reports`, of which a sample is read.
    ``synthetic``: the table of records. ``progress``: shows steps of work.
    """
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
    """Return a dict with the distance between synthetic records and the reconstruction for one attribute.

        ``distance``   ½ Σ |share of records − reconstructed probability| over ``cells`` intervals or categories
        ``by_chance``  the distance to expect of records as good as the reconstruction

    ``reports`` and ``synthetic``: tables of reports and of synthetic records.
    """
    name, domain, channel = attribute.name, attribute.domain, attribute.channel
    sample = _present(synthetic.column(name))
    if channel is None:
        edges = _clear_edges(domain, INTERVALS)
        expected = shares(_present(reports.column(name)), domain, edges)
        spread = np.zeros_like(expected)
    else:
        try:
            estimate = estimate_of(name, channel, reports, intervals_for(domain))
        except (ValueError, TypeError) as error:
            raise type(error)(f"attribute {name!r}: {error}") from None
        edges, expected, spread = estimate.edges, estimate.probabilities, estimate.stderr
    drawn_shares = shares(sample, domain, edges)
    usual = np.sqrt(2 / np.pi * (np.square(spread) + expected * np.maximum(1 - expected, 0) / sample.size))
    distance, chance = np.abs(drawn_shares - expected).sum() / 2, np.sum(usual) / 2
    return {"attribute": name, "distance": float(distance), "by_chance": float(chance), "cells": int(drawn_shares.size)}


def pair_distance(a: Attribute, b: Attribute, reports: Any, synthetic: Any) -> dict[str, Any]:
    """Return a dict with the distance between synthetic records and the reconstruction for a pair of attributes.

        ``distance``        ½ Σ |share of records − reconstructed probability| over pairs of cells
        ``if_independent``  the distance of records with the same values, drawn independently of each other

    A cell is an interval or a category. ``reports`` and ``synthetic``: tables of reports and of synthetic records.
    """
    channels = [_observed_through(a), _observed_through(b)]
    columns = {n: _reports_of(attribute, reports, c) for n, attribute, c in zip("ab", (a, b), channels, strict=True)}
    wishes = [None if isinstance(attribute.domain, Categories) else PAIR_INTERVALS for attribute in (a, b)]
    joint = reconstruct_joint(columns, channels, wishes)
    cells = [_cells_of(synthetic.column(c.name), c.domain, e) for c, e in zip((a, b), joint.edges, strict=True)]
    both = (cells[0] >= 0) & (cells[1] >= 0)
    drawn_shares = np.zeros(joint.probabilities.shape)
    np.add.at(drawn_shares, (cells[0][both], cells[1][both]), 1 / max(int(both.sum()), 1))
    independent = np.outer(drawn_shares.sum(axis=1), drawn_shares.sum(axis=0))
    return {
        "pair": [a.name, b.name],
        "distance": float(np.abs(drawn_shares - joint.probabilities).sum() / 2),
        "if_independent": float(np.abs(independent - joint.probabilities).sum() / 2),
    }


def _observed_through(attribute: Attribute) -> Channel:
    """Return the channel through which an attribute's reports are read to reconstruct a pair: its own if it is blurred.

    For an attribute sent as it is, it is a table without noise, in which numbers are cut into PAIR_INTERVALS intervals.
    """
    if isinstance(attribute.channel, Channel):
        return attribute.channel
    if isinstance(attribute.domain, Categories):
        return Tabulated(attribute.domain, np.eye(attribute.domain.size))
    edges = _clear_edges(attribute.domain, PAIR_INTERVALS)
    return Discretize(attribute.domain, edges=edges)  # type: ignore[arg-type]


def _reports_of(attribute: Attribute, reports: Any, channel: Channel) -> NDArray[Any]:
    """Return the array of an attribute's reports.

    Values sent as they are become reports of ``channel``, which adds no noise.
    """
    values = as_array(reports.column(attribute.name))
    return values if attribute.channel is not None else channel.randomize(values)


def _clear_edges(domain: Any, count: int) -> Floats | None:
    """Return the edges of ``count`` equal intervals of a domain of numbers as an array; None for categories."""
    return np.linspace(domain.low, domain.high, count + 1) if isinstance(domain, Interval) else None


def _present(column: Any) -> NDArray[Any]:
    """Return the values of an Arrow column that are not missing."""
    return as_array(column.drop_null())


def _cells_of(column: Any, domain: Any, edges: Floats | None) -> NDArray[np.int64]:
    """Return the number of the interval or category of each synthetic value, −1 where the value is missing.

    ``edges``: of the intervals of numbers; None for categories.
    """
    space = Cells(tuple(edges)) if edges is not None else domain
    return np.asarray(space.encode(as_array(column)))


# --- in words -------------------------------------------------------------------------------------------------------


def pairs_in_words(distances: dict[str, Any]) -> str:
    """Return a sentence on the distances of pairs of attributes: their median, and the five largest.

    ``distances``: what `closeness` returns.
    """
    ordered = sorted(distances["pairs"], key=lambda row: -row["distance"])
    middle = percent(ordered[len(ordered) // 2]["distance"])
    worst = ", ".join(f"{' × '.join(row['pair'])} {percent(row['distance'])}" for row in ordered[:5])
    left = distances["left_out_of_pairs"]
    without = f" Without {', '.join(left)}, where people chose their level." if left else ""
    return f"{len(ordered)} pairs: median distance {middle}; the largest: {worst}.{without}"


def closeness_page(plan: Plan, distances: dict[str, Any]) -> Page:
    """Return a page with the distances of attributes and pairs, and with what synthetic records reveal about people.

    ``distances``: what `closeness` returns.
    """
    lead = f"{distances['records']:,} synthetic records from {distances['reports']:,} reports, and how close they are."
    page = Page(f"Synthetic records: {plan.name}", lead).facts(_headline(distances))
    lead = "Distance: the share of synthetic records that would have to move to agree with the reconstruction."
    rows = [[r["attribute"], percent(r["distance"], 2), percent(r["by_chance"], 2)] for r in distances["attributes"]]
    page.section("Attributes", lead).table(rows, ["attribute", "distance", "by chance alone"])
    if distances["pairs"]:
        ordered = sorted(distances["pairs"], key=lambda row: -row["distance"])
        far = [[" × ".join(r["pair"]), percent(r["distance"], 2), percent(r["if_independent"], 2)] for r in ordered]
        page.section("Pairs", _pair_lead(distances)).table(far, ["pair", "distance", "if drawn independently"])
    lead = "The records are computed from the reports alone, so what the reports promise holds for them too."
    return page.section("What they reveal", lead).note(promise_of(plan)["words"])


def _headline(distances: dict[str, Any]) -> list[tuple[str, str]]:
    """Return pairs of texts for the top of the page: the largest distance of an attribute and of a pair, named."""
    boxes = []
    for key, what in (("attributes", "attribute"), ("pairs", "pair")):
        if distances[key]:
            worst = max(distances[key], key=lambda row: row["distance"])
            name = worst["attribute"] if what == "attribute" else " × ".join(worst["pair"])
            boxes.append((percent(worst["distance"], 2), f"largest distance of a single {what} ({name})"))
    return boxes


def _pair_lead(distances: dict[str, Any]) -> str:
    """Return the text above the page's table of distances of pairs; it names the attributes that are left out."""
    left = distances["left_out_of_pairs"]
    without = f" {', '.join(left)}: people chose their level, so pairs are not reconstructed." if left else ""
    return f"The farthest first; beside it, how far records without any dependence between the two would lie.{without}"
