"""EGS03 end to end: frequent itemsets of people who only ever sent randomized baskets."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from sfumato.channels.itemsets import Baskets
from sfumato.channels.select_a_size import SelectASize
from sfumato.domain import Items
from sfumato.mining.itemsets import frequent_itemsets
from sfumato.tables import as_records
from sfumato.papers.datasets import load
from sfumato.papers.quest import Quest

Rows = list[dict[str, Any]]

GAMMA = 19.0


def quest_rows(quick: bool) -> Rows:
    """Quest-like baskets of 5 to 10 out of 1,000 items: easy ones with few habits, harder ones with more of them."""
    people, runs, support = (300_000, 1, 0.07) if quick else (1_000_000, 3, 0.04)
    channel = SelectASize.design(Items(1000), sizes=range(5, 11), gamma=GAMMA, n=people, prevalence=0.1)
    rows: Rows = []
    for patterns in (10,) if quick else (10, 15, 20):
        for run in range(runs):
            baskets = Quest(patterns=patterns).baskets(people, rng=100 + run)
            compress = quick and run == 0
            reports = channel.randomize(baskets, rng=run, compress=compress)
            rows.append(
                {
                    "data": f"Quest-like, {patterns} habits",
                    "run": run + 1,
                    "people": people,
                    **compare(baskets, reports, channel, support),
                }
            )
    return rows


def supermarket_rows(quick: bool) -> Rows:
    """Weka's supermarket: its own customers, which are too few for gamma = 19, and a million drawn from them."""
    baskets, items = supermarket_baskets(seed=1)
    channel = SelectASize.design(items, sizes=[5], gamma=GAMMA, n=1e6, prevalence=0.15)
    rows: Rows = []
    for people, support in ((len(baskets), 0.2), (300_000 if quick else 1_000_000, 0.04 if quick else 0.03)):
        drawn = baskets if people == len(baskets) else _resampled(baskets, people, seed=2)
        reports = channel.randomize(drawn, rng=3)
        name = "supermarket" if drawn is baskets else "supermarket, resampled"
        rows.append({"data": name, "run": 1, "people": people, **compare(drawn, reports, channel, support)})
    return rows


def supermarket_baskets(seed: int) -> tuple[Baskets, Items]:
    """Five random ones of the 40 commonest products, from every customer who bought at least five of them."""
    data = load("supermarket")
    names = [name for name in data.attributes if not name.startswith("department")]
    bought = np.column_stack([data.columns[name] == "t" for name in names])
    common = np.argsort(-bought.sum(axis=0), kind="stable")[:40]
    names, bought = [names[i] for i in common], bought[:, common]
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(row), 5, replace=False).tolist() for row in bought if row.sum() >= 5]
    items = Items(names)
    return Baskets.read([[names[i] for i in row] for row in chosen], items), items


def _resampled(baskets: Baskets, people: int, seed: int) -> Baskets:
    rows = np.random.default_rng(seed).integers(0, len(baskets), size=people)
    return Baskets(baskets.items, 5 * np.arange(people + 1), baskets.members(rows, 5).ravel())


def compare(baskets: Baskets, reports: Any, channel: SelectASize, min_support: float) -> dict[str, Any]:
    """F1 of the frequent itemsets found in the reports, by itemset size, and the z-scores of their supports."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {row["itemsets"]: row for row in as_records(frequent_itemsets(reports, channel, min_support))}
    truth = {row["itemsets"]: row["support"] for row in as_records(frequent_itemsets(baskets, None, min_support))}
    row: dict[str, Any] = {"minimum support": min_support}
    discoverable = channel.lowest_discoverable_support(len(reports), prevalence=0.1)
    for k in (1, 2, 3):
        ours, theirs = ({itemset for itemset in side if len(itemset) == k} for side in (found, truth))
        row[f"frequent {k}"] = len(theirs)
        row[f"F1 of {k}"] = 2 * len(ours & theirs) / (len(ours) + len(theirs)) if ours or theirs else None
        row[f"discoverable {k}"] = discoverable[k]
    errors = [(found[s]["support"] - truth[s]) / found[s]["stderr"] for s in found if s in truth]
    row["spread of z"] = float(np.sqrt(np.mean(np.square(errors)))) if errors else None
    return row
