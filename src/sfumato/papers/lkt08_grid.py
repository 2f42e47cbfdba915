"""How often the chooser is right: a grid of data sets × noises, each with its own true test records.

The way that the chooser prefers is represented by its choice, the other by the recipe ranked first there; the chooser
is right where its choice has at least the accuracy of the other on true test records.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

import sfumato as sf
from sfumato.mining.chooser import Chooser
from sfumato.papers.agrawal import draw_records, in_group_a
from sfumato.papers.datasets import load
from sfumato.papers.lkt08_real import Split, randomized, table_of

REAL = ("haberman", "bupa", "pima", "wbc", "adult")
FUNCTIONS = (1, 2, 3, 4, 5)
NOISES: tuple[tuple[str, float], ...] = (("gaussian", 4.0), ("gaussian", 1.0), ("gaussian", 0.25), ("uniform", 1.0))
MOST_RECORDS, SYNTHETIC_RECORDS = 3_000, 2_500
Rows = list[dict[str, Any]]


def real_split(name: str, rng: np.random.Generator) -> Split:
    """Two thirds for training; of a large set 3,000 records, and as many for the test."""
    data = load(name).complete().numeric()
    order = rng.permutation(len(data))[: 2 * MOST_RECORDS]
    cut = min(MOST_RECORDS, 2 * order.size // 3)
    X, y = table_of(data).iloc[order].reset_index(drop=True), data.y[order]
    return Split(X.iloc[:cut], y[:cut], X.iloc[cut:], y[cut:])


def synthetic_split(function: int, rng: np.random.Generator) -> Split:
    import pandas as pd

    records = draw_records(2 * SYNTHETIC_RECORDS, rng)
    X, y = pd.DataFrame(records), in_group_a(records, function)
    cut = SYNTHETIC_RECORDS
    return Split(X.iloc[:cut], y[:cut], X.iloc[cut:].reset_index(drop=True), y[cut:])


def noise_channels(split: Split, kind: str, snr: float) -> dict[str, sf.Channel]:
    """Additive noise of the wanted ratio on every column."""
    found: dict[str, sf.Channel] = {}
    for name in split.X.columns:
        both = np.concatenate([split.X[name].to_numpy(), split.X_test[name].to_numpy()])
        domain = sf.Interval(both.min().item(), both.max().item(), integer=both.dtype.kind == "i")
        deviation = float(both.std()) / snr**0.5
        if kind == "gaussian":
            found[name] = sf.Gaussian(domain, scale=deviation)
        else:
            found[name] = sf.Uniform(domain, halfwidth=deviation * 3**0.5)
    return found


def judged_cell(split: Split, kind: str, snr: float, seed: int) -> dict[str, Any]:
    """What the chooser prefers in one cell of the grid, and what would have been better."""
    channels = noise_channels(split, kind, snr)
    reports = randomized(split.X, channels, np.random.default_rng(seed))
    chooser = Chooser(channels, random_state=seed).fit(reports, split.y)
    scores = chooser.scores_
    first = {
        way: max((name for name in scores if name.startswith(way)), key=lambda name: scores[name])
        for way in ("reconstruct", "direct")
    }
    first[chooser.chosen_.split(",")[0]] = chooser.chosen_
    recipes = chooser._recipes()
    accuracy = {
        way: float(clone(recipes[name]).fit(reports, split.y).score(split.X_test, split.y_test))
        for way, name in first.items()
    }
    preferred = chooser.chosen_.split(",")[0]
    other = "direct" if preferred == "reconstruct" else "reconstruct"
    return {
        "preferred": preferred,
        **{f"{way}: accuracy": value for way, value in accuracy.items()},
        "right": accuracy[preferred] >= accuracy[other],
        "lost": max(accuracy.values()) - accuracy[preferred],
    }


def grid(real: tuple[str, ...] = REAL, functions: tuple[int, ...] = FUNCTIONS, seed: int = 200) -> Rows:
    """All cells, one row each."""
    rows: Rows = []
    for kind, snr in NOISES:
        splits = {name: real_split(name, np.random.default_rng(seed)) for name in real}
        splits |= {f"function {f}": synthetic_split(f, np.random.default_rng([seed, f])) for f in functions}
        for name, split in splits.items():
            rows.append({"data": name, "noise": kind, "SNR": snr, **judged_cell(split, kind, snr, seed)})
    return rows
