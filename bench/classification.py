"""Accuracy on AS00's functions and time relative to peers: ``python bench/classification.py [--quick]``.

Accuracy: mean over fresh runs, 100,000 training reports (all nine attributes randomized), 5,000 clean test records,
classes balanced as in AS00. Time: CPU time of one fit on the same reports, as a ratio to scikit-learn's
DecisionTreeClassifier (and LightGBM growing one tree of 31 leaves), one thread
(set OPENBLAS_NUM_THREADS, OMP_NUM_THREADS and NUMBA_NUM_THREADS to 1).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from reproductions.agrawal import ATTRIBUTES, DOMAINS, TRUE_CUTS, as_matrix, generate

NOISES = {"gaussian": sf.Gaussian, "uniform": sf.Uniform}
FLOORS = {
    ("byclass", 1.0): ((0.934, 0.970), (0.791, 0.728), (0.845, 0.837), (0.910, 0.905), (0.900, 0.896)),
    ("local", 1.0): ((0.936, 0.970), (0.825, 0.809), (0.854, 0.849), (0.922, 0.912), (0.904, 0.893)),
    ("joint", 1.0): ((0.96, 0.98), (0.93, 0.97), (0.935, 0.96), (0.965, 0.965), (0.945, 0.945)),
    ("joint", 2.0): ((0.93, 0.98), (0.845, 0.945), (0.87, 0.93), (0.95, 0.955), (0.91, 0.925)),
    ("likelihood", 1.0): ((0.99, 0.99), (0.975, 0.985), (0.95, 0.97), (0.965, 0.965), (0.945, 0.945)),
    ("likelihood", 2.0): ((0.98, 0.99), (0.875, 0.96), (0.89, 0.945), (0.95, 0.955), (0.91, 0.925)),
}
"""Of "likelihood" where a tree is the right form, functions 1-3; else those of "joint"."""


def channels(noise: str, privacy: float) -> list[sf.Channel]:
    return [NOISES[noise](domain, privacy=privacy) for domain in DOMAINS.values()]


def draw(function: int, noise: str, privacy: float, seed: int, n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    records, y = generate(n, function, rng)
    test, y_test = generate(5_000, function, rng)
    blurred = [
        channel.randomize(records[name], rng)
        for name, channel in zip(ATTRIBUTES, channels(noise, privacy), strict=True)
    ]
    return as_matrix(records), np.column_stack(blurred).astype(float), y, as_matrix(test), y_test


def check_edges_miss_the_true_cuts(model: sf.JointModel) -> None:
    """A cell edge on a true cut would be luck, and the accuracy with it."""
    for member in model.members_:
        for cells in member.cells:
            for cut in TRUE_CUTS.get(ATTRIBUTES[int(cells.name[1:])], ()):
                gap = np.min(np.abs(cells.edges - cut)) / (cells.edges[-1] - cells.edges[0])
                assert gap > 1e-5, f"an edge of {cells.name} falls on the true cut {cut}"


def check_interval_edges(classifier: sf.TreeClassifier) -> None:
    """The same for the paper's 100 intervals: none of their edges is a multiple of a third of the ages."""
    for feature in classifier.features_:
        for cut in TRUE_CUTS.get(ATTRIBUTES[int(feature.name[1:])], ()):
            assert np.min(np.abs(feature.edges - cut)) > 0, f"an edge of {feature.name} falls on the true cut {cut}"


def accuracy(modes: list[str], functions: list[int], privacies: list[float], runs: int, n: int, seed: int) -> None:
    print(f"accuracy, mean of {runs} runs, {n:,} reports; * below the bar")
    for privacy in privacies:
        for function in functions:
            for noise in NOISES:
                scores: dict[str, list[float]] = {}
                leaves: list[int] = []
                for run in range(runs):
                    _, reports, y, test, y_test = draw(function, noise, privacy, seed + 100 * run + function, n)
                    for mode in modes:
                        model = sf.TreeClassifier(channels(noise, privacy), mode, random_state=run).fit(reports, y)
                        scores.setdefault(mode, []).append(model.score(test, y_test))
                        if mode == "likelihood":
                            leaves.append(model.get_n_leaves())
                        joint = getattr(model, "joint_", None)
                        if joint is not None:
                            check_edges_miss_the_true_cuts(joint)
                        elif mode != "none":
                            check_interval_edges(model)
                        if mode == "joint":
                            p = joint.bayes([test[:, j] for j in joint.selected_], len(test))
                            scores.setdefault("bayes", []).append(float(np.mean(joint.classes_[p.argmax(1)] == y_test)))
                words = []
                for mode, found in scores.items():
                    floors = FLOORS.get((mode, privacy))
                    floor = floors[function - 1][list(NOISES).index(noise)] if floors and function <= 5 else 0.0
                    words.append(f"{mode} {np.mean(found):.4f}{'*' if np.mean(found) < floor else ' '}")
                words += [f"leaves {leaves}"] if leaves else []
                print(f"  F{function} {noise:8s} {privacy:4.0%}  {'  '.join(words)}", flush=True)


def clean(functions: list[int], n: int, seed: int) -> None:
    print("without channels: our tree and scikit-learn's on clean records")
    for function in functions:
        records, _, y, test, y_test = draw(function, "gaussian", 1.0, seed + function, n)
        ours = sf.TreeClassifier().fit(records, y).score(test, y_test)
        theirs = DecisionTreeClassifier(random_state=0).fit(records, y).score(test, y_test)
        print(f"  F{function}  ours {ours:.4f}  scikit-learn {theirs:.4f}", flush=True)


def synthetic(functions: list[int], n: int, seed: int) -> None:
    print("learning from sample(n) of the joint model: Bayes' rule, then scikit-learn's tree and boosting")
    for function in functions:
        for noise in NOISES:
            _, reports, y, test, y_test = draw(function, noise, 1.0, seed + function, n)
            model = sf.JointModel(channels(noise, 1.0), random_state=0).fit(reports, y)
            X, labels = model.sample(100_000, random_state=1)
            tree = DecisionTreeClassifier(min_samples_leaf=100, random_state=0).fit(X, labels)
            boosting = HistGradientBoostingClassifier(random_state=0).fit(X, labels)
            scores = [fitted.score(test, y_test) for fitted in (model, tree, boosting)]
            print(f"  F{function} {noise:8s} " + "  ".join(f"{score:.4f}" for score in scores), flush=True)


def cpu(fit: Callable[[], Any], repeats: int) -> float:
    fit()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        fit()
        times.append(time.process_time() - start)
    return min(times)


def speed(n: int, large: int, repeats: int) -> None:
    print(f"time relative to scikit-learn's DecisionTreeClassifier, {n:,} reports of functions 2, 3 and 5, one thread")
    for function in (2, 3, 5):
        _, reports, y, _, _ = draw(function, "gaussian", 1.0, 7, n)
        blur = channels("gaussian", 1.0)
        base = cpu(partial(DecisionTreeClassifier().fit, reports, y), repeats)
        for mode, bar in (("byclass", 0.2), ("local", 0.5), ("joint", 10.0), ("likelihood", 6.0)):
            ours = cpu(partial(sf.TreeClassifier(blur, mode, random_state=0).fit, reports, y), repeats)
            print(f"  F{function} {mode:8s} {ours / base:6.3f}  (at most {bar})", flush=True)
    if large:
        large_speed(large, repeats)


def large_speed(n: int, repeats: int) -> None:
    import lightgbm

    _, reports, y, _, _ = draw(2, "gaussian", 1.0, 7, n)
    labels = (y == "A").astype(int)
    settings = {"objective": "binary", "num_threads": 1, "verbose": -1, "num_leaves": 31}
    base = cpu(lambda: lightgbm.train(settings, lightgbm.Dataset(reports, labels), num_boost_round=1), repeats)
    noise = channels("gaussian", 1.0)
    ours = cpu(lambda: sf.TreeClassifier(noise, "byclass").fit(reports, labels), repeats)
    print(f"  byclass on {n:,} relative to LightGBM growing one tree {ours / base:6.3f}  (at most 0.5)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two functions, one run, 20,000 reports")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=20_000)
    parser.add_argument("--functions", default="1,2,3,4,5")
    parser.add_argument("--privacy", default="1,2")
    parser.add_argument("--modes", default="byclass,local,joint")
    parser.add_argument("--parts", default="accuracy,clean,synthetic,speed")
    choice = parser.parse_args()
    functions = [2, 4] if choice.quick else [int(f) for f in choice.functions.split(",")]
    n, runs = (20_000, 1) if choice.quick else (100_000, choice.runs)
    privacies = [1.0] if choice.quick else [float(p) for p in choice.privacy.split(",")]
    parts = choice.parts.split(",")
    if "accuracy" in parts:
        accuracy(choice.modes.split(","), functions, privacies, runs, n, choice.seed)
    if "clean" in parts:
        clean(functions, n, choice.seed)
    if "synthetic" in parts:
        synthetic(functions, n, choice.seed)
    if "speed" in parts:
        speed(n, 0 if choice.quick else 1_000_000, 1 if choice.quick else 3)


if __name__ == "__main__":
    main()
