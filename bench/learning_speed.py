"""How long learning takes: ``python bench/learning_speed.py [--functions 1,2,3,4,5] [--parts peer,size,first]``.

peer   CPU time of a fit on 100,000 x 9 reports ÷ that of scikit-learn's DecisionTreeClassifier on the same reports,
       medians of fits in turn, AS00's functions, gaussian noise at 100 %
size   CPU time on 1,000,000 x 10 reports ÷ that on 100,000 x 10 (function 2, the tenth column tells nothing)
first  CPU seconds by which the first fit with an empty compiler cache is longer than the second

One thread everywhere.
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

ONE_THREAD = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")}
os.environ |= ONE_THREAD

import numpy as np  # noqa: E402 (after the number of threads is said)
from classification import channels, draw  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

import sfumato as sf  # noqa: E402

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


def beside_a_peer(names: list[str], functions: list[int], rounds: int, seed: int) -> None:
    print(f"CPU time ÷ scikit-learn's tree, 100,000 x 9, medians of {rounds}; * above the bar")
    for function in functions:
        _, X, y, _, _ = draw(function, "gaussian", 1.0, seed + function, 100_000)
        blur = channels("gaussian", 1.0)
        fits = {name: partial(LEARNERS[name], blur, X, y) for name in names}
        found = medians({"peer": partial(DecisionTreeClassifier(random_state=0).fit, X, y), **fits}, rounds)
        words = [f"{name} {shown(found[name] / found['peer'], BARS.get(name))}" for name in names]
        print(f"  F{function}  {'  '.join(words)}", flush=True)


def beside_fewer(names: list[str], rounds: int, seed: int) -> None:
    print(f"CPU time on 1,000,000 x 10 ÷ on 100,000 x 10, medians of {rounds}; at most {SIZE_BAR}")
    _, X, y, _, _ = draw(2, "gaussian", 1.0, seed, 1_000_000)
    more = sf.Gaussian(sf.Interval(0, 1), privacy=1.0)
    rng = np.random.default_rng(seed)
    X, blur = np.column_stack([X, more.randomize(rng.uniform(size=len(X)), rng)]), [*channels("gaussian", 1.0), more]
    for name in names:
        sizes = {"few": 100_000, "many": 1_000_000}
        found = medians({key: partial(LEARNERS[name], blur, X[:n], y[:n]) for key, n in sizes.items()}, rounds)
        print(f"  {name:18}{shown(found['many'] / found['few'], SIZE_BAR)}", flush=True)


def after_an_install(names: list[str]) -> None:
    print(f"first fit − second fit in an empty compiler cache, CPU seconds; at most {FIRST_BAR}")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--parts", "both", "--learners", name]
            done = subprocess.run(
                command, env={**os.environ, "NUMBA_CACHE_DIR": folder}, check=True, capture_output=True, text=True
            )
        first, second = map(float, done.stdout.split())
        print(f"  {name:18}{shown(first - second, FIRST_BAR)}", flush=True)


def both(name: str, seed: int) -> None:
    """The first and the second fit of this process."""
    _, X, y, _, _ = draw(2, "gaussian", 1.0, seed, 100_000)
    print(*(cpu(lambda: LEARNERS[name](channels("gaussian", 1.0), X, y)) for _ in range(2)))


def shown(figure: float, bar: float | None) -> str:
    return f"{figure:.2f}{'*' if bar is not None and figure > bar else ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learners", default=",".join(LEARNERS))
    parser.add_argument("--functions", default="1,2,3,4,5")
    parser.add_argument("--parts", default="peer,size,first")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=60_000)
    choice = parser.parse_args()
    names, parts = choice.learners.split(","), choice.parts.split(",")
    if "peer" in parts:
        beside_a_peer(names, [int(f) for f in choice.functions.split(",")], choice.rounds, choice.seed)
    if "size" in parts:
        beside_fewer([name for name in names if name in COUNTING], choice.rounds, choice.seed)
    if "first" in parts:
        after_an_install(names)
    if "both" in parts:
        both(names[0], choice.seed)


if __name__ == "__main__":
    main()
