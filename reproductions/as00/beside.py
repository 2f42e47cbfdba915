"""AS00's experiments beside its figures: the work of the three algorithms, value classes, the buried XOR, ages."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import sfumato as sf
from reproductions import Rows
from reproductions.agrawal import DOMAINS, as_matrix, generate
from reproductions.as00 import equations
from reproductions.as00.runs import NOISES, Extent, blurred, channels_for, fitted, warmed_up
from reproductions.as00.shapes import INTERVALS
from sfumato.evidence import WITHIN_CLASSES, ChiSquare

ALGORITHMS = ("global", "byclass", "local")
CLASS_LEVELS = (25, 50, 100)
LEAST_GAINS = (0.0, 0.0001, 0.001)
"""What a split must lower the gini index by."""


@dataclass(frozen=True)
class Beside:
    """A row a function and noise; a row a function and level; a row a least gain; a row a function."""

    effort: Rows
    value_classes: Rows
    xor: Rows
    ages: Rows
    work: tuple[int, int]


def beside(extent: Extent) -> Beside:
    chosen = extent.functions
    return Beside(
        effort_rows(extent.train, chosen),
        class_rows(extent, chosen),
        xor_rows(extent),
        age_rows(extent.train),
        reconstruction_work(extent.shape_values),
    )


def effort_rows(n: int, functions: tuple[int, ...], rounds: int = 3) -> Rows:
    """Seconds to fit at 100 %, the least of some rounds; what is made once for a channel is there before."""
    warmed_up()
    rows = []
    for function in functions:
        people, group = generate(n, function, np.random.default_rng([function, 4]))
        for noise in NOISES:
            channels = channels_for(noise, 100)
            reports = blurred(as_matrix(people), channels, np.random.default_rng([function, 5]))
            spent: dict[str, list[float]] = {name: [] for name in ALGORITHMS}
            fitted("byclass", channels, reports, group, 0)
            for name in ALGORITHMS * rounds:
                start = time.process_time()
                fitted(name, channels, reports, group, 0)
                spent[name].append(time.process_time() - start)
            row = {"function": function, "noise": noise, **{name: min(each) for name, each in spent.items()}}
            grown = {f"{name} leaves": leaves_grown(name, channels, reports, group) for name in ALGORITHMS[:2]}
            rows.append(row | grown)
    return rows


def leaves_grown(name: str, channels: Any, reports: Any, group: Any) -> int:
    """Leaves before pruning."""
    tree = sf.TreeClassifier(channels, name, prune=False).fit(reports, group).tree_
    return int(np.count_nonzero(tree.column < 0))


def reconstruction_work(n: int) -> tuple[int, int]:
    """How often Global and ByClass apply a table in reconstructing nine attributes (function 2, gaussian, 100 %)."""
    people, group = generate(n, 2, np.random.default_rng(0))
    channels = channels_for("gaussian", 100)
    reports = blurred(as_matrix(people), channels, np.random.default_rng(1))
    together, apart, stop = 0, 0, ChiSquare(WITHIN_CLASSES.share)
    for channel, column in zip(channels, reports.T, strict=True):
        assert channel is not None
        together += equations.fitted(column, channel, INTERVALS, stop)[1].applications
        apart += equations.fitted(column, channel, INTERVALS, stop, by=group)[1].applications
    return together, apart


def class_rows(extent: Extent, functions: tuple[int, ...]) -> Rows:
    """Accuracy on clean records of a tree from value classes, each attribute cut so that its privacy is the stated."""
    rows = []
    for function in functions:
        seed = [function, 6]
        people, group = generate(extent.train, function, np.random.default_rng(seed))
        tested, truth = generate(extent.test, function, np.random.default_rng([*seed, 1]))
        for level in CLASS_LEVELS:
            channels: list[Any] = [sf.Discretize(domain, privacy=level / 100) for domain in DOMAINS.values()]
            told = blurred(as_matrix(people), channels, np.random.default_rng(0))
            tree = fitted("original", [None] * len(channels), told, group, 0)
            accuracy = float(np.mean(tree.predict(as_matrix(tested)) == truth))
            rows.append({"function": function, "privacy": level, "value classes": accuracy})
    return rows


def xor_rows(extent: Extent) -> Rows:
    """Clean trees of function 2 that ask each split for a least gain of the gini index."""
    from sklearn.tree import DecisionTreeClassifier

    people, group = generate(extent.train, 2, np.random.default_rng([2, 7]))
    tested, truth = generate(extent.test, 2, np.random.default_rng([2, 8]))
    rows = []
    for least in LEAST_GAINS:
        tree = DecisionTreeClassifier(min_impurity_decrease=least, random_state=0).fit(as_matrix(people), group)
        score = float(tree.score(as_matrix(tested), truth))
        rows.append({"least gain": least, "leaves": int(tree.get_n_leaves()), "accuracy": score})
    return rows


def age_rows(n: int) -> Rows:
    """The largest difference of the two classes' distribution functions of age, in the whole and where salary is in the
    middle third of its range."""
    rows = []
    for function in (1, 2, 3):
        people, group = generate(n, function, np.random.default_rng([function, 9]))
        age, salary = people["age"], people["salary"]
        middle = np.abs(salary - DOMAINS["salary"].low - DOMAINS["salary"].width / 2) < DOMAINS["salary"].width / 6
        apart = {"everybody": _apart(age, group), "one third of salary": _apart(age[middle], group[middle])}
        rows.append({"function": function, **apart})
    return rows


def _apart(values: Any, group: Any) -> float:
    from scipy.stats import ks_2samp

    first = group == group[0]
    return float(ks_2samp(values[first], values[~first]).statistic)
