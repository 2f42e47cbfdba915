"""How long learning takes, beside a peer, with ten times as many reports, and the first time after an install.

peer   CPU time of a fit on 100,000 x 9 reports ÷ that of scikit-learn's DecisionTreeClassifier on the same reports,
       medians of fits in turn, AS00's functions, gaussian noise at 100 %
size   CPU time on 1,000,000 x 10 reports ÷ that on 100,000 x 10 (function 2, the tenth column tells nothing)
first  CPU seconds by which the first fit with an empty compiler cache is longer than the second

A run is a round of fits in turn; `--only` names parts, with --quick the first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from classification import channels, draw
from harness import Bench, main
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf

Fit = Callable[[Any, Any, Any], Any]
LEARNERS: Mapping[str, Fit] = {
    "likelihood": lambda blur, X, y: sf.TreeClassifier(blur, "likelihood", random_state=0).fit(X, y),
    "joint": lambda blur, X, y: sf.TreeClassifier(blur, "joint", random_state=0).fit(X, y),
    "byclass": lambda blur, X, y: sf.TreeClassifier(blur, "byclass").fit(X, y),
    "additive": lambda blur, X, y: sf.AdditiveClassifier(blur).fit(X, y),
    "mixture": lambda blur, X, y: sf.GaussianMixtureClassifier(blur, random_state=0).fit(X, y),
    "naive Bayes": lambda blur, X, y: sf.NaiveBayesClassifier(blur).fit(X, y),
    "chooser": lambda blur, X, y: sf.Chooser(blur, random_state=0).fit(X, y),
    "readable chooser": lambda blur, X, y: sf.Chooser(blur, readable=True, random_state=0).fit(X, y),
}
BARS = {"likelihood": 6, "additive": 3, "mixture": 6, "chooser": 25, "readable chooser": 25}
SIZE_BAR, FIRST_BAR = 2, 5
COUNTING = ("likelihood", "joint", "byclass", "additive", "mixture", "naive Bayes")


def cpu(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def medians(calls: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The median CPU time of each call, all of them in turn; a round before them compiles."""
    times = [{name: cpu(call) for name, call in calls.items()} for _ in range(rounds + 1)][1:]
    return {name: float(np.median([each[name] for each in times])) for name in calls}


def beside_a_peer(bench: Bench) -> None:
    names, rounds, seed = list(LEARNERS), bench.runs, bench.seed
    bench.table(f"CPU time ÷ scikit-learn's tree, 100,000 × 9, medians of {rounds}", dict.fromkeys(names, ".2f"))
    bench.row("limit", *(BARS.get(name) for name in names))
    for function in (2,) if bench.quick else (1, 2, 3, 4, 5):
        _, X, y, _, _ = draw(function, "gaussian", 1.0, seed + function, 100_000)
        blur = channels("gaussian", 1.0)
        fits = {name: partial(LEARNERS[name], blur, X, y) for name in names}
        found = medians({"peer": partial(DecisionTreeClassifier(random_state=0).fit, X, y), **fits}, rounds)
        bench.row(f"function {function}", *(found[name] / found["peer"] for name in names))


def beside_fewer(bench: Bench) -> None:
    seed = bench.seed
    title = f"CPU time on 1,000,000 × 10 ÷ on 100,000 × 10, medians of {bench.runs}"
    bench.table(title, {"ratio": ".2f", "limit": "g"})
    _, X, y, _, _ = draw(2, "gaussian", 1.0, seed, 1_000_000)
    more = sf.Gaussian(sf.Interval(0, 1), privacy=1.0)
    rng = np.random.default_rng(seed)
    X, blur = np.column_stack([X, more.randomize(rng.uniform(size=len(X)), rng)]), [*channels("gaussian", 1.0), more]
    for name in COUNTING:
        sizes = {"few": 100_000, "many": 1_000_000}
        found = medians({key: partial(LEARNERS[name], blur, X[:n], y[:n]) for key, n in sizes.items()}, bench.runs)
        bench.row(name, found["many"] / found["few"], SIZE_BAR)


def after_an_install(bench: Bench) -> None:
    bench.table("First fit − second fit in an empty compiler cache", {"s of CPU": ".2f", "limit": "g"})
    for name in LEARNERS:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--twice", name]
            done = subprocess.run(
                command, env={**os.environ, "NUMBA_CACHE_DIR": folder}, check=True, capture_output=True, text=True
            )
        first, second = map(float, done.stdout.split())
        bench.row(name, first - second, FIRST_BAR)


def twice(name: str, seed: int) -> None:
    """The first and the second fit of this process."""
    _, X, y, _, _ = draw(2, "gaussian", 1.0, seed, 100_000)
    print(*(cpu(lambda: LEARNERS[name](channels("gaussian", 1.0), X, y)) for _ in range(2)))


def measure(bench: Bench) -> None:
    if bench.options.twice:
        twice(bench.options.twice, bench.seed)
        return
    parts = {"peer": beside_a_peer, "size": beside_fewer, "first": after_an_install}
    for name in ("peer",) if bench.quick and not bench.only else parts:
        if bench.wants(name):
            parts[name](bench)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--twice", help=argparse.SUPPRESS)


if __name__ == "__main__":
    main(measure, seed=60_000, runs=3, options=options)
