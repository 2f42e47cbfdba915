"""Secure noise against `x + rng.normal(0, s, n)` on ten million values, one thread: at most 0.3 times the time."""

import statistics
import time

import numpy as np

import sfumato as sf

N = 10_000_000
AGE = sf.Interval(20, 80)
CHANNELS = {
    "gaussian": sf.Gaussian(AGE, privacy=1.0),
    "uniform": sf.Uniform(AGE, privacy=1.0),
    "laplace": sf.Laplace(AGE, scale=15),
    "square wave": sf.SquareWave(AGE, gamma=19),
}


def seconds(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def ratio(channel: sf.Channel, values: np.ndarray, rng: np.random.Generator, rounds: int) -> float:
    """Median of paired ratios: both sides are timed one after the other, so that a busy machine slows both."""
    channel.randomize(values)
    pairs = [
        seconds(lambda: channel.randomize(values)) / seconds(lambda: values + rng.normal(0, 15.3, values.size))
        for _ in range(rounds)
    ]
    return statistics.median(pairs)


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    people = rng.uniform(20, 80, N)
    print(f"{'secure reports of 1e7 values':32}{'x numpy normal':>16}{'limit':>8}")
    for name, channel in CHANNELS.items():
        limit = "0.3" if name == "gaussian" else "-"
        print(f"{name:32}{ratio(channel, people, rng, 9):16.3f}{limit:>8}")
