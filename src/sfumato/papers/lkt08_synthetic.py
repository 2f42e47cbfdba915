"""LKT08 §5.3: functions 1-5 of AS00, tree and naive Bayes, one phase against the four mixes of two-phase users."""

from __future__ import annotations

from typing import Any

import numpy as np

import sfumato as sf
from sfumato.papers.agrawal import DOMAINS, Records, draw_records, in_group_a
from sfumato.papers.lkt08_mixes import CASES, INTERVALS

FUNCTIONS = (1, 2, 3, 4, 5)
PRIVACY = 1.0
TEST_SHARE = 0.34
BYCLASS, NAIVE_BAYES, JOINT = "ByClass tree", "naive Bayes", "joint tree"
Rows = list[dict[str, Any]]


def noises() -> dict[str, sf.Channel]:
    """Gaussian noise of 100 % privacy on every attribute."""
    return {name: sf.Gaussian(domain, privacy=PRIVACY) for name, domain in DOMAINS.items()}


def two_phase_channels() -> dict[str, sf.Channel | sf.Choice]:
    """Two phases on continuous attributes; on those of few whole numbers an interval holds one of them at most."""
    return {name: noise if DOMAINS[name].integer else sf.TwoPhase(noise, INTERVALS) for name, noise in noises().items()}


def table(columns: dict[str, Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)


def one_phase_reports(records: Records, rng: np.random.Generator) -> Any:
    return table({name: channel.randomize(records[name], rng) for name, channel in noises().items()})


def two_phase_reports(records: Records, shares: dict[str, float], rng: np.random.Generator) -> Any:
    """Everybody keeps one level for all attributes."""
    people = len(records["age"])
    levels = rng.choice(np.array(list(shares), dtype=object), people, p=list(shares.values()))
    columns: dict[str, Any] = {}
    for name, channel in two_phase_channels().items():
        if isinstance(channel, sf.Choice):
            columns[name] = channel.randomize(records[name], rng, level=levels)
            columns[f"{name}.level"] = levels
        else:
            columns[name] = channel.randomize(records[name], rng)
    return table(columns)


def learners(channels: Any) -> dict[str, Any]:
    """AS00's ByClass tree, as in the paper; naive Bayes on reconstructed densities; a tree from the joint model."""
    return {
        BYCLASS: sf.TreeClassifier(channels, "byclass"),
        NAIVE_BAYES: sf.NaiveBayes(channels, density="reconstructed"),
        JOINT: sf.TreeClassifier(channels, "joint", random_state=0),
    }


def accuracies(function: int, n: int, seed: int, chosen: tuple[str, ...]) -> Rows:
    """Accuracy on true values for one phase and for each case."""
    rng = np.random.default_rng([seed, function])
    records, test = draw_records(n, rng), draw_records(int(n * TEST_SHARE), rng)
    y, y_test = in_group_a(records, function), in_group_a(test, function)
    arms: list[tuple[str, Any, Any]] = [("one phase", noises(), one_phase_reports(records, rng))]
    arms += [(name, two_phase_channels(), two_phase_reports(records, shares, rng)) for name, shares in CASES.items()]
    return [
        {"function": function, "users": users, "learner": name, "accuracy": model.fit(X, y).score(table(test), y_test)}
        for users, channels, X in arms
        for name, model in learners(channels).items()
        if name in chosen
    ]


def functions(
    n: int,
    runs: int,
    seed: int = 6,
    chosen: tuple[int, ...] = FUNCTIONS,
    by: tuple[str, ...] = (BYCLASS, NAIVE_BAYES, JOINT),
) -> Rows:
    """Mean accuracy over runs of every function, learner and mix."""
    found = [row for run in range(runs) for function in chosen for row in accuracies(function, n, seed + run, by)]
    by_place: dict[tuple[Any, ...], list[float]] = {}
    for row in found:
        by_place.setdefault((row["function"], row["users"], row["learner"]), []).append(row["accuracy"])
    return [
        {"function": f, "users": u, "learner": w, "accuracy": float(np.mean(each))}
        for (f, u, w), each in by_place.items()
    ]
