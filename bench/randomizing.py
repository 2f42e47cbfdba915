"""Secure reports of ten million values against `x + rng.normal(0, s, n)`, one thread; the limit stands beside each."""

import statistics
import sys
import time

import numpy as np
import pandas as pd

import sfumato as sf

N = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
ROUNDS = 5
AGE, WHOLE = sf.Interval(20, 80), sf.Interval(20, 80, integer=True)
LEVELS = sf.Categories([0, 1, 2, 3, 4])
TEXTS = sf.Categories(["never", "rarely", "often", "always"])
GAUSSIAN = sf.Gaussian(AGE, privacy=1.0)
KEYED = {"compress": True, "key": b"a device secret.", "question": "food"}


def cases(rng: np.random.Generator) -> dict[str, tuple]:
    """name → (call, limit)"""
    ages, whole = rng.uniform(20, 80, N), rng.integers(20, 81, N)
    level, text = rng.integers(0, 5, N), np.array(TEXTS.labels)[rng.integers(0, 4, N)]
    column, category = pd.Series(ages), pd.Series(pd.Categorical.from_codes(rng.integers(0, 4, N), list(TEXTS.labels)))
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


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    values = rng.uniform(20, 80, N)
    print(f"{f'reports of {N:,} values':44}{'x numpy normal':>16}{'limit':>8}")
    for name, (call, limit) in cases(rng).items():
        call()
        pairs = [seconds(call) / seconds(lambda: values + rng.normal(0, 15.3, N)) for _ in range(ROUNDS)]
        print(f"{name:44}{statistics.median(pairs):16.3f}{limit:8}")
    one = [seconds(lambda: [GAUSSIAN.randomize(41.5) for _ in range(2000)]) / 2000 for _ in range(ROUNDS)]
    print(f"{'one value through a channel, µs':44}{1e6 * statistics.median(one):16.1f}{20:8}")
    for size in (5, 10):
        baskets = sf.SelectASize.design(sf.Items(1000), sizes=[size], gamma=19)
        basket = [list(range(7, 7 + size))]
        for form, options in {"bitmap": {}, "seed": {"compress": True}, "keyed seed": KEYED}.items():
            many = lambda: [baskets.randomize(basket, **options) for _ in range(2000)]  # noqa: B023, E731
            one = [seconds(many) / 2000 for _ in range(ROUNDS)]
            print(f"{f'one basket of {size} out of 1,000, {form}, µs':44}{1e6 * statistics.median(one):16.1f}{50:8}")
