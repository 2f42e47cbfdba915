"""How accurate trees are on AS00's functions: from blurred reports, clean records and a model's own people.

Mean over fresh runs, 100,000 training reports (20,000 with --quick, of two functions), all nine attributes randomized,
5,000 clean test records, classes balanced as in AS00; * below the limit. Parts: accuracy, clean, synthetic. What it
costs: learning_speed.py.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

import numpy as np
from harness import Bench, main
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


def accuracy(bench: Bench, functions: list[int], n: int) -> None:
    modes, runs, seed = bench.options.modes.split(","), bench.runs, bench.seed
    privacies = [1.0] if bench.quick else [1.0, 2.0]
    columns = [*modes, *(["bayes"] if "joint" in modes else [])]
    heads = dict.fromkeys(columns, "s") | ({"leaves": "s"} if "likelihood" in modes else {})
    bench.table(f"Accuracy from {n:,} reports, mean of {runs}", heads)
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
                for mode in columns:
                    floors = FLOORS.get((mode, privacy))
                    floor = floors[function - 1][list(NOISES).index(noise)] if floors and function <= 5 else 0.0
                    words.append(f"{np.mean(scores[mode]):.4f}{'*' if np.mean(scores[mode]) < floor else ''}")
                words += [", ".join(map(str, leaves))] if leaves else []
                bench.row(f"function {function}, {noise}, {privacy:.0%}", *words)


def clean(bench: Bench, functions: list[int], n: int) -> None:
    bench.table("Accuracy from clean records", {"our tree": ".4f", "scikit-learn's": ".4f"})
    for function in functions:
        records, _, y, test, y_test = draw(function, "gaussian", 1.0, bench.seed + function, n)
        ours = sf.TreeClassifier().fit(records, y).score(test, y_test)
        theirs = DecisionTreeClassifier(random_state=0).fit(records, y).score(test, y_test)
        bench.row(f"function {function}", ours, theirs)


def synthetic(bench: Bench, functions: list[int], n: int) -> None:
    heads = {"Bayes' rule": ".4f", "scikit-learn's tree": ".4f", "boosting": ".4f"}
    bench.table("Accuracy from people that the joint model made up", heads)
    for function in functions:
        for noise in NOISES:
            _, reports, y, test, y_test = draw(function, noise, 1.0, bench.seed + function, n)
            model = sf.JointModel(channels(noise, 1.0), random_state=0).fit(reports, y)
            X, labels = model.sample(100_000, random_state=1)
            tree = DecisionTreeClassifier(min_samples_leaf=100, random_state=0).fit(X, labels)
            boosting = HistGradientBoostingClassifier(random_state=0).fit(X, labels)
            scores = [fitted.score(test, y_test) for fitted in (model, tree, boosting)]
            bench.row(f"function {function}, {noise}", *scores)


def measure(bench: Bench) -> None:
    functions, n = ([2, 4], 20_000) if bench.quick else ([1, 2, 3, 4, 5], 100_000)
    for name, part in {"accuracy": accuracy, "clean": clean, "synthetic": synthetic}.items():
        if bench.wants(name):
            part(bench, functions, n)


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--modes", default="byclass,local,joint,likelihood", help="reconstructions of the tree")


if __name__ == "__main__":
    main(measure, seed=20_000, runs=3, options=options)
