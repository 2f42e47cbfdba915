"""Simulated surveys as the collector holds them: tables of codes, levels, clear answers and baskets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.domain import Items

STOPS = ["Market", "Station", "Harbour", "Hospital", "Mill", "School"]
LEVELS = {"normal": 36, "cautious": 12}


def town(**changes: Any) -> sf.Plan:
    """Every kind of question: levels, categories, a basket, several numbers, clear answers, a blurred class."""
    noise = sf.Gaussian(sf.Interval(18, 90, integer=True), privacy=0.3)
    baskets = sf.SelectASize.design(sf.Items(STOPS), [1, 2, 3], 19, 1)
    attributes: dict[str, Any] = {
        "age": {"question": "How old are you?", "low": 18, "high": 90, "integer": True,
                **sf.TwoPhase(noise, LEVELS).to_spec()},
        "fare": {"question": "Have you travelled without a ticket?", "categories": ["yes", "no", "rather not say"],
                 "channel": "randomized-response", "gamma": 19},
        "stops": {"question": "Which stops do you use?", "items": STOPS, **baskets.to_spec()},
        "body": {"columns": {"height": {"low": 140, "high": 210}, "weight": {"low": 40, "high": 140}},
                 "channel": "correlated-gaussian", "covariance": [[100, 80], [80, 225]], "ratio": 1.0},
        "district": {"categories": ["North", "South"], "role": "clear"},
        "years": {"low": 0, "high": 40, "role": "clear"},
        "bus": {"question": "Would you take a night bus?", "categories": ["yes", "no"], "role": "class",
                "channel": "randomized-response", "gamma": 9},
    }  # fmt: skip
    return sf.Plan.from_dict({"name": "town", "attributes": attributes, **changes})


def people(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Those who would take a night bus are younger, and more of them travel without a ticket."""
    young = rng.random(n) < 0.4
    height = rng.normal(172, 8, n).clip(140, 210)
    return {
        "age": np.where(young, rng.normal(30, 5, n), rng.normal(60, 8, n)).clip(18, 90).round().astype(int),
        "fare": np.where(rng.random(n) < np.where(young, 0.5, 0.1), "yes", "no"),
        "stops": [sorted({"Market", STOPS[place]}) for place in rng.integers(0, len(STOPS), n)],
        "height": height,
        "weight": (0.8 * (height - 172) + rng.normal(75, 10, n)).clip(40, 140),
        "district": rng.choice(["North", "South"], n),
        "years": rng.uniform(0, 20, n),
        "bus": np.where(young, "yes", "no"),
    }


def collected(plan: sf.Plan, answers: dict[str, Any], seed: int = 1, shares: Any = None) -> pa.Table:
    """The table that a collector of these people's reports reads; ``shares`` of the levels that people choose."""
    rng, n, columns = np.random.default_rng(seed), len(next(iter(answers.values()))), {}
    for name, each in plan.attributes.items():
        if isinstance(each.domain, Items):
            reports = each.channel.randomize(answers[name], rng, compress=each.channel.has_seeds)
            bits = max(each.channel.seed_bits.values()) if reports.compressed else None
            columns[f"{name}.size"] = pa.array(reports.sizes, pa.uint16())
            form = "seed" if reports.compressed else "bitmap"
            rows = reports.to_bytes(bits)
            columns[f"{name}.{form}"] = pa.array(rows, pa.binary(len(rows[0]) if rows else 8))
        elif each.columns != (name,):
            columns |= each.channel.randomize({column: answers[column] for column in each.columns}, rng)
        elif each.channel is None:
            columns[name] = answers[name]
        else:
            level = each.channel.draw_levels(shares or {"normal": 1.0}, n, rng) if each.has_levels else None
            reports = each.channel.randomize(answers[name], rng, level=level)
            given = {name: reports} | ({} if level is None else {f"{name}.level": level})
            columns |= sf.Reports(given, {name: each.channel}).to_codes()
    return pa.table(columns)
