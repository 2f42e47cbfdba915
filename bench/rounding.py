"""Shares and quantiles of people who name round numbers: do 90 % bars at round numbers hold?

Normal crowds of random mean and spread on [0, 100], numbers or whole numbers, of whom 30, 60 or 100 % name the nearest
multiple of 5 or 10; n = 1e4 and 3e5; shares below 30, 40, 45 and 50, and the three quartiles. Beside it the same
crowds without rounding, where room for it makes bars wide: stated over actual error. A run is a seed. No limits.
"""

from collections import defaultdict

import numpy as np
from harness import Bench, main

import sfumato as sf

SIZES = (10_000, 300_000)
BOUNDS, QUARTILES = (30, 40, 45, 50), (0.25, 0.5, 0.75)
ROUNDED = [(part, multiple) for part in (0.3, 0.6, 1.0) for multiple in (5, 10)]


def channels(domain: sf.Interval) -> dict[str, sf.Channel]:
    noises = {"gaussian .1": sf.Gaussian(domain, scale=10), "gaussian .25": sf.Gaussian(domain, scale=25)}
    noises |= {"uniform .2": sf.Uniform(domain, halfwidth=20), "uniform .5": sf.Uniform(domain, halfwidth=50)}
    return noises | {"square wave 19": sf.SquareWave(domain, gamma=19)}


def crowd(rng: np.random.Generator, n: int, integer: bool, part: float, multiple: int) -> np.ndarray:
    people = np.clip(rng.normal(rng.uniform(35, 55), rng.uniform(10, 20), n), 0, 100)
    people = np.rint(people) if integer else people
    return np.where(rng.random(n) < part, np.rint(people / multiple) * multiple, people)


def told(estimate: sf.Estimate, people: np.ndarray) -> dict[str, list]:
    """(error, stated error) of shares and quantiles."""
    quartiles = np.quantile(people, QUARTILES, method="inverted_cdf")
    shares = [(estimate.share(high=bound), (people < bound).mean()) for bound in BOUNDS]
    values = [(estimate.quantile(q), true) for q, true in zip(QUARTILES, quartiles, strict=True)]
    return {
        what: [(float(found) - true, found.stderr) for found, true in pairs]
        for what, pairs in (("shares", shares), ("quartiles", values))
    }


def calibration(errors: list) -> tuple[float, float, float]:
    """(share of 90 % bars that hold the truth, share off by three errors, stated over actual error)."""
    off, stated = np.array(errors).T
    z = np.abs(off) / stated
    return float(np.mean(z < 1.645)), float(np.mean(z > 3)), float(np.sqrt(np.mean(stated**2) / np.mean(off**2)))


def measure(bench: Bench) -> None:
    heads = {"90 % bars hold": ".1%", "off by 3 errors": ".1%", "stated / actual": ".2f"}
    bench.table("Rounded, and not rounded", {**heads, **{f"not rounded: {head}": form for head, form in heads.items()}})
    for integer in (False, True):
        for name, channel in channels(sf.Interval(0, 100, integer=integer)).items():
            found = defaultdict(list)
            for case in [*((True, *way) for way in ROUNDED), (False, 0.0, 5)]:
                for n in SIZES[: 1 if bench.quick else None]:
                    for seed in range(bench.seed, bench.seed + bench.runs):
                        rng = np.random.default_rng([seed, n, case[2], int(10 * case[1]), integer])
                        people = crowd(rng, n, integer, *case[1:])
                        estimate = sf.reconstruct(channel.randomize(people, rng=rng), channel, 20)
                        for what, errors in told(estimate, people).items():
                            found[what, case[0]] += errors
            for what in ("shares", "quartiles"):
                kind = f"{'whole numbers' if integer else 'numbers'}, {name}, {what}"
                bench.row(kind, *calibration(found[what, True]), *calibration(found[what, False]))


if __name__ == "__main__":
    main(measure, seed=301, runs=6)
