"""LKT08 §4 and §5.3 on synthetic data: one phase against two, and four mixes of people who chose their own interval
width; densities by reconstruction, then functions 1-5 of AS00 by tree and naive Bayes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import entropy

import sfumato as sf
from reproductions import Rows
from reproductions.agrawal import DOMAINS, draw_records, in_group_a
from reproductions.as00.equations import solve
from reproductions.as00.shapes import SHAPES
from sfumato.domain import Floats
from sfumato.evidence import ChiSquare

INTERVALS = {"normal": 200, "cautious": 100, "extra cautious": 50, "paranoid": 25}
CASES: dict[str, dict[str, float]] = {
    "case 1": {"normal": 0.70, "cautious": 0.30},
    "case 2": {"normal": 0.70, "cautious": 0.25, "extra cautious": 0.05},
    "case 3": {"normal": 0.70, "cautious": 0.20, "extra cautious": 0.10},
    "case 4": {"normal": 0.70, "cautious": 0.20, "extra cautious": 0.05, "paranoid": 0.05},
}
"""Case 4 is the paper's; cases 1-3 are lost in its text and chosen so that privacy loss falls from case 1 to case 4."""

WIDE_INTERVALS = {"narrow": 200, "wide": 4}
WIDE_CASES: dict[str, dict[str, float]] = {
    "5 % wide": {"narrow": 0.95, "wide": 0.05},
    "20 % wide": {"narrow": 0.8, "wide": 0.2},
    "50 % wide": {"narrow": 0.5, "wide": 0.5},
    "all wide": {"wide": 1.0},
}
"""Mixes beyond the paper: intervals so wide that the second phase matters."""

UNIT = sf.Interval(0.0, 1.0)
SHOWN = 20
REDRAWN = (5, 10, 20, 100)
LATER_STOPS = (0.01, 0.0025, 0.0001, 0.00001)
ONE_PHASE, EXACT, NOISE_ONLY = "one phase", "two phases, exact tables", "two phases, noise's table"
GAIN_ERROR = "standard error of the gain"
FUNCTIONS = (1, 2, 3, 4, 5)
PRIVACY, TEST_SHARE = 1.0, 0.34
LEARNERS = BYCLASS, NAIVE_BAYES, JOINT = "ByClass tree", "naive Bayes", "joint tree"


# --- densities --------------------------------------------------------------------------------------------------------


def privacy_loss(channel: sf.Choice, shares: dict[str, float], cells: int = 100) -> float:
    """1 − 2^−I(A; B, level), in which the mutual information is the levels' own, weighted by their shares:
    the relative entropy of a true cell's reports to all reports, on average over the cells."""
    edges = np.linspace(channel.domain.low, channel.domain.high, cells + 1)  # type: ignore[union-attr]
    tables = {name: channel.level(name).matrix(true=edges) for name in shares}
    bits = {name: entropy(law, law.mean(axis=1, keepdims=True), base=2).mean() for name, law in tables.items()}
    return 1.0 - float(2.0 ** -sum(share * bits[name] for name, share in shares.items()))


def privacy_table() -> Rows:
    """Privacy loss of the four cases, gaussian noise of 100 % privacy."""
    choice = sf.TwoPhase(sf.Gaussian(UNIT, privacy=1.0), INTERVALS)
    return [{"case": name, **shares, "privacy loss": privacy_loss(choice, shares)} for name, shares in CASES.items()]


def level_table() -> Rows:
    """Privacy loss of each level by itself, at the same noise."""
    choice = sf.TwoPhase(sf.Gaussian(UNIT, privacy=1.0), INTERVALS)
    return [{"level": name, "intervals": n, "privacy loss": privacy_loss(choice, {name: 1.0})}
            for name, n in INTERVALS.items()]  # fmt: skip


def distance(estimate: Any, values: Floats) -> float:
    """Σ|p̂ − p| over the shown intervals."""
    truth = np.histogram(values, estimate.edges)[0] / values.size
    return float(np.abs(estimate.probabilities - truth).sum())


def errors(
    choice: sf.TwoPhase, shares: dict[str, float], shape: str, n: int, rng: np.random.Generator, method: str = "smooth"
) -> dict[str, float]:
    """L1 errors on the same people: one phase, and two phases with exact tables or with the noise's alone."""
    values = SHAPES[shape](n, rng)
    levels = choice.draw_levels(shares, n, rng)
    reports = choice.randomize(values, rng, level=levels)
    one_phase = choice.noise.randomize(values, rng)
    return {
        ONE_PHASE: distance(sf.reconstruct(one_phase, choice.noise, SHOWN, method=method), values),
        EXACT: distance(sf.reconstruct(reports, choice, SHOWN, method=method, level=levels), values),
        NOISE_ONLY: distance(sf.reconstruct(reports, choice.noise, SHOWN, method=method), values),
    }


def stopped_later(n: int, runs: int, seed: int = 8) -> Rows:
    """L1 errors of AS00's algorithm under gaussian noise of 0.25 by its stop: the paper's .25 %, and down to a
    thousandth of AS00's."""
    noise, rows = sf.Gaussian(UNIT, scale=0.25), []
    for shape, draw in SHAPES.items():
        rng, found = np.random.default_rng(seed), []
        for _ in range(runs):
            values = draw(n, rng)
            reports = noise.randomize(values, rng)
            ends = {stop: solve(reports, noise, SHOWN, ChiSquare(stop)) for stop in LATER_STOPS}
            found.append([distance(end, values) for end in ends.values()])
        means = np.mean(found, axis=0).tolist()
        named = [f"{100 * stop:g} % of χ²" for stop in LATER_STOPS]
        rows.append({"shape": shape, "n": n, **dict(zip(named, means, strict=True))})
    return rows


def figures_1_2(n: int, seed: int = 3) -> Rows:
    """Distribution functions of W, values with gaussian noise of deviation 0.25, and of W′, redrawn from the interval
    into which W fell: exact, for the values of n people."""
    rng, noise, rows = np.random.default_rng(seed), sf.Gaussian(UNIT, scale=0.25), []
    for shape, draw in SHAPES.items():
        people = np.bincount(noise.encode(draw(n, rng)), minlength=noise.inputs.size) / n
        curves = {"W": np.cumsum(noise.law() @ people)}
        for intervals in REDRAWN:
            redrawn = sf.TwoPhase(noise, {"everyone": intervals}).level("everyone")
            curves[f"W′ of {intervals} intervals"] = np.cumsum(redrawn.law() @ people)
        for place in range(0, noise.outputs.size, 10):
            point = {name: float(curve[place]) for name, curve in curves.items()}
            rows.append({"shape": shape, "value": float(noise.outputs.values[place]), **point})
    return rows


def figure_4(n: int, runs: int, seed: int = 4) -> Rows:
    """The paper's own comparison, by AS00's reconstruction and by ours: intervals of 1/20 on noise of two kinds."""
    rng = np.random.default_rng(seed)
    noises = {"gaussian": sf.Gaussian(UNIT, scale=0.25), "uniform": sf.Uniform(UNIT, halfwidth=0.5)}
    rows = []
    for kind, noise in noises.items():
        choice = sf.TwoPhase(noise, {"everyone": SHOWN})
        for method in ("as00", "smooth"):
            for shape in SHAPES:
                found = [errors(choice, {"everyone": 1.0}, shape, n, rng, method) for _ in range(runs)]
                rows.append({"shape": shape, "noise": kind, "method": method, "n": n, **mean_errors(found)})
    return rows


def mixes(n: int, runs: int, seed: int = 5) -> Rows:
    """All mixes, at the paper's noise and at noise so small that wide intervals matter."""
    rng = np.random.default_rng(seed)
    settings = [(0.25, INTERVALS, mix, shares) for mix, shares in CASES.items()]
    settings += [(0.05, WIDE_INTERVALS, mix, shares) for mix, shares in WIDE_CASES.items()]
    rows = []
    for noise, intervals, mix, shares in settings:
        choice = sf.TwoPhase(sf.Gaussian(UNIT, scale=noise), intervals)
        for shape in SHAPES:
            found = [errors(choice, shares, shape, n, rng) for _ in range(runs)]
            rows.append({"shape": shape, "mix": mix, "noise": noise, "n": n, **mean_errors(found)})
    return rows


def mean_errors(runs: list[dict[str, float]]) -> dict[str, float]:
    """Means over runs, and the standard error of what exact tables gain on the same people."""
    means = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
    gains = [run[NOISE_ONLY] - run[EXACT] for run in runs]
    return {**means, GAIN_ERROR: float(np.std(gains) / max(len(runs) - 1, 1) ** 0.5)}


# --- classifiers ------------------------------------------------------------------------------------------------------


def noises() -> dict[str, sf.Channel]:
    """Gaussian noise of 100 % privacy on every attribute."""
    return {name: sf.Gaussian(domain, privacy=PRIVACY) for name, domain in DOMAINS.items()}


def two_phase_channels(noises: Mapping[str, sf.Channel]) -> dict[str, sf.TwoPhase]:
    """The four levels on every attribute; on few whole numbers the finer ones leave reports as they are."""
    return {name: sf.TwoPhase(noise, INTERVALS) for name, noise in noises.items()}


def randomized(records: Any, channels: dict[str, sf.Channel], rng: np.random.Generator) -> Any:
    """A table of reports on the columns of a table."""
    return pd.DataFrame({name: channel.randomize(np.asarray(records[name]), rng) for name, channel in channels.items()})


def two_phase_reports(
    records: Any, channels: Mapping[str, sf.TwoPhase], shares: dict[str, float], rng: np.random.Generator
) -> Any:
    """Everybody keeps one level for all attributes."""
    people = len(np.asarray(records[next(iter(channels))]))
    levels = rng.choice(np.array(list(shares), dtype=object), people, p=list(shares.values()))
    columns: dict[str, Any] = {}
    for name, channel in channels.items():
        columns[name] = channel.randomize(np.asarray(records[name]), rng, level=levels)
        columns[f"{name}.level"] = levels
    return pd.DataFrame(columns)


def learners(channels: Any) -> dict[str, Any]:
    """AS00's ByClass tree, as in the paper; naive Bayes on reconstructed densities; a tree from the joint model."""
    return {
        BYCLASS: sf.TreeClassifier(channels, "byclass"),
        NAIVE_BAYES: sf.NaiveBayesClassifier(channels, density="reconstructed"),
        JOINT: sf.TreeClassifier(channels, "joint", random_state=0),
    }


def accuracies(function: int, n: int, seed: int, chosen: tuple[str, ...]) -> Rows:
    """Accuracy on true values for one phase and for each case."""
    rng = np.random.default_rng([seed, function])
    records, test = draw_records(n, rng), draw_records(int(n * TEST_SHARE), rng)
    y, y_test, tested = in_group_a(records, function), in_group_a(test, function), pd.DataFrame(test)
    levels = two_phase_channels(noises())
    arms: list[tuple[str, Any, Any]] = [(ONE_PHASE, noises(), randomized(records, noises(), rng))]
    arms += [(name, levels, two_phase_reports(records, levels, shares, rng)) for name, shares in CASES.items()]
    return [
        {"function": function, "users": users, "learner": name, "accuracy": model.fit(X, y).score(tested, y_test)}
        for users, channels, X in arms
        for name, model in learners(channels).items()
        if name in chosen
    ]


def functions(
    n: int, runs: int, seed: int = 6, chosen: tuple[int, ...] = FUNCTIONS, by: tuple[str, ...] = LEARNERS
) -> Rows:
    """Mean accuracy over runs of every function, learner and mix."""
    found = [[row for function in chosen for row in accuracies(function, n, seed + run, by)] for run in range(runs)]
    return mean_accuracies(found)


def mean_accuracies(runs: list[Rows]) -> Rows:
    """Rows of equal places averaged over runs."""
    means = [float(np.mean([row["accuracy"] for row in same])) for same in zip(*runs, strict=True)]
    return [{**row, "accuracy": mean} for row, mean in zip(runs[0], means, strict=True)]
