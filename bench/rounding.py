"""Shares and quantiles of people who name round numbers: do 90 % bars at round numbers hold?

    python bench/rounding.py                    6 seeds
    python bench/rounding.py --first-seed 900

Normal crowds of random mean and spread on [0, 100], numbers or whole numbers, of whom 30, 60 or 100 % name the nearest
multiple of 5 or 10; n = 1e4 and 3e5; shares below 30, 40, 45 and 50, and the three quartiles. Beside it the same
crowds without rounding, where room for it makes bars wide: stated over actual error. No limits.
"""

import argparse
from collections import defaultdict

import numpy as np

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


def line(errors: list) -> str:
    off, stated = np.array(errors).T
    z = np.abs(off) / stated
    return f"{np.mean(z < 1.645):9.1%}{np.mean(z > 3):8.1%}{np.sqrt(np.mean(stated**2) / np.mean(off**2)):9.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=6, help="how many")
    parser.add_argument("--first-seed", type=int, default=301)
    asked = parser.parse_args()
    head = f"{'cover':>9}{'|z| > 3':>8}{'stated':>9}"
    print(f"{'':38}{'rounded':^26}|{'not rounded':^26}\n{'':38}{head}|{head}")
    for integer in (False, True):
        for name, channel in channels(sf.Interval(0, 100, integer=integer)).items():
            found = defaultdict(list)
            for case in [*((True, *way) for way in ROUNDED), (False, 0.0, 5)]:
                for n in SIZES:
                    for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
                        rng = np.random.default_rng([seed, n, case[2], int(10 * case[1]), integer])
                        people = crowd(rng, n, integer, *case[1:])
                        estimate = sf.reconstruct(channel.randomize(people, rng=rng), channel, 20)
                        for what, errors in told(estimate, people).items():
                            found[what, case[0]] += errors
            for what in ("shares", "quartiles"):
                kind = f"{'whole numbers' if integer else 'numbers'}, {name}, {what}"
                print(f"{kind:38}{line(found[what, True])}|{line(found[what, False])}", flush=True)


if __name__ == "__main__":
    main()
