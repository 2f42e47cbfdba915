"""Secure reports of ten million values against `x + rng.normal(0, s, n)`, one thread; the limit stands beside each."""

import statistics
import time

import numpy as np
import pandas as pd
from harness import Bench, main

import sfumato as sf

AGE, WHOLE = sf.Interval(20, 80), sf.Interval(20, 80, integer=True)
LEVELS = sf.Categories([0, 1, 2, 3, 4])
TEXTS = sf.Categories(["never", "rarely", "often", "always"])
GAUSSIAN = sf.Gaussian(AGE, privacy=1.0)
KEYED = {"compress": True, "key": b"a device secret.", "question": "food"}


def cases(n: int, rng: np.random.Generator) -> dict[str, tuple]:
    """name → (call, limit)"""
    ages, whole = rng.uniform(20, 80, n), rng.integers(20, 81, n)
    level, text = rng.integers(0, 5, n), np.array(TEXTS.labels)[rng.integers(0, 4, n)]
    column, category = pd.Series(ages), pd.Series(pd.Categorical.from_codes(rng.integers(0, 4, n), list(TEXTS.labels)))
    wave, response = sf.SquareWave(AGE, gamma=19), sf.RandomizedResponse(LEVELS, gamma=19)
    labels = sf.RandomizedResponse(TEXTS, gamma=19)
    level_of = sf.TwoPhase(GAUSSIAN, {"normal": 200}).level("normal")
    table = sf.Tabulated(LEVELS, np.full((5, 5), 0.1) + 0.5 * np.eye(5))
    integers = sf.Gaussian(WHOLE, privacy=1.0)
    plan = sf.Plan("bench", {"age": sf.Attribute("age", AGE, GAUSSIAN)})
    frame = pd.DataFrame({"age": ages})
    return {
        "gaussian": (lambda: GAUSSIAN.randomize(ages), 0.3),
        "gaussian on integers": (lambda: integers.randomize(whole), 0.4),
        "square wave": (lambda: wave.randomize(ages), 0.5),
        "randomized response, integer labels": (lambda: response.randomize(level), 0.5),
        "randomized response, text labels": (lambda: labels.randomize(text), 4.0),
        "randomized response, pandas categories": (lambda: labels.randomize(category), 1.0),
        "two-phase": (lambda: level_of.randomize(ages), 2.0),
        "tabulated": (lambda: table.randomize(level), 2.0),
        "gaussian, a pandas column": (lambda: GAUSSIAN.randomize(column), 0.6),
        "gaussian, a plan's frame": (lambda: plan.randomize(frame), 0.6),
        "gaussian, rng=7": (lambda: GAUSSIAN.randomize(ages, rng=7), 0.6),
    }


def seconds(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(bench: Bench) -> None:
    n, rng = 1_000_000 if bench.quick else 10_000_000, np.random.default_rng(bench.seed)
    values, rounds = rng.uniform(20, 80, n), range(bench.runs)
    bench.table(f"Reports of {n:,} values", {"× numpy normal": ".3f", "limit": "g"})
    for name, (call, limit) in cases(n, rng).items():
        call()
        pairs = [seconds(call) / seconds(lambda: values + rng.normal(0, 15.3, n)) for _ in rounds]
        bench.row(name, statistics.median(pairs), limit)
    bench.table("One answer at a time", {"µs": ".1f", "limit": "g"})
    one = [seconds(lambda: [GAUSSIAN.randomize(41.5) for _ in range(2000)]) / 2000 for _ in rounds]
    bench.row("one value through a channel", 1e6 * statistics.median(one), 20)
    for size in (5, 10):
        baskets = sf.SelectASize.design(sf.Items(1000), sizes=[size], gamma=19)
        basket = [list(range(7, 7 + size))]
        for form, options in {"bitmap": {}, "seed": {"compress": True}, "keyed seed": KEYED}.items():
            many = lambda: [baskets.randomize(basket, **options) for _ in range(2000)]  # noqa: B023, E731
            one = [seconds(many) / 2000 for _ in rounds]
            bench.row(f"one basket of {size} out of 1,000, {form}", 1e6 * statistics.median(one), 50)


if __name__ == "__main__":
    main(measure, runs=5)
