"""Means under a bound: sf.Piecewise beside the mechanisms of the literature, in one run.

Duchi's two outcomes, the piecewise and the hybrid mechanism (Wang et al. 2019) are written here from their papers, in
floats, on [−1, 1]; Laplace noise and the square wave are ours. Two ways to read a mean:

- without bias: the average of numbers u with E[u | x] = x, whose error is √(E(u − x)²/n), measured over many people and
  told as a ratio to the smallest of the literature's five;
    usual       sf.Piecewise(domain, gamma), knowing nothing of the people
    advised     the channel that sf.advise(…, means=True) chooses for such people
    by hybrid   the usual channel's error by that of the hybrid mechanism (the bar at spikes is 1.3)
- by the shape: reconstruct(…).mean() of surveys of 10,000, which leans towards smooth distributions, and is far off
  where people are not spread smoothly: its root mean square error by that of the best unbiased one;
    wave        through the square wave
    own         through the usual channel
    whose ratios, of ten surveys (a run is a survey), are known to a fifth
"""

import math
from collections.abc import Callable

import numpy as np
from harness import Bench, main

import sfumato as sf
from sfumato.privacy.proposals import mean_channel
from sfumato.reconstruction.means import unbiased_numbers

Draw = Callable[[np.ndarray, np.random.Generator], np.ndarray]
UNIT = sf.Interval(0, 1)
GAMMAS = (math.e, 3.0, 19.0)
SURVEY = 10_000


def crowd(name: str, people: int, rng: np.random.Generator) -> np.ndarray:
    if name == "even":
        return rng.random(people)
    if name == "bell":
        return np.clip(rng.normal(0.5, 0.15, people), 0, 1)
    if name == "skewed":
        return rng.beta(2, 5, people)
    if name == "spike":  # most people at one end, as capital gains
        return np.where(rng.random(people) < 0.92, 0.0, rng.beta(1, 8, people))
    return (rng.random(people) < 0.3).astype(float)


CROWDS = ("even", "bell", "skewed", "spike", "two ends")


def duchi(gamma: float) -> Draw:
    reach = (gamma + 1) / (gamma - 1)

    def draw(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(t.size) < (1 + t / reach) / 2, reach, -reach)

    return draw


def piecewise(gamma: float) -> Draw:
    root = math.sqrt(gamma)
    reach = (root + 1) / (root - 1)

    def draw(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        left = (reach + 1) / 2 * t - (reach - 1) / 2
        inside = left + (reach - 1) * rng.random(t.size)
        other = -reach + (reach + 1) * rng.random(t.size)
        other = np.where(other >= left, other + reach - 1, other)
        return np.where(rng.random(t.size) < root / (root + 1), inside, other)

    return draw


def hybrid(gamma: float) -> Draw:
    share = 1 - 1 / math.sqrt(gamma) if math.log(gamma) > 0.61 else 0.0
    one, other = piecewise(gamma), duchi(gamma)

    def draw(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(t.size) < share, one(t, rng), other(t, rng))

    return draw


def on_the_unit(mechanism: Draw) -> Draw:
    return lambda x, rng: (mechanism(2 * x - 1, rng) + 1) / 2


def through(channel: sf.Channel) -> Draw:
    numbers = unbiased_numbers(channel)
    return lambda x, rng: numbers[channel.encode_reports(channel.randomize(x, rng))]


def error(read: Draw, name: str, people: int, seed: int) -> float:
    """Of the mean of one person."""
    rng = np.random.default_rng(seed)
    x = crowd(name, people, rng)
    return float(np.sqrt(np.mean((read(x, rng) - x) ** 2)))


def error_by_shape(channel: sf.Channel, name: str, surveys: int, first: int) -> float:
    """The same, so that it can be compared: √n times the error of a survey of n."""
    found = []
    for seed in range(first, first + surveys):
        rng = np.random.default_rng(seed)
        x = crowd(name, SURVEY, rng)
        found.append(float(sf.reconstruct(channel.randomize(x, rng), channel).mean()) - x.mean())
    return float(np.sqrt(np.mean(np.square(found)) * SURVEY))


def measure(bench: Bench) -> None:
    people, surveys, seed = 100_000 if bench.quick else 1_000_000, bench.runs, bench.seed
    heads = ("usual", "advised", "by hybrid", "wave", "own")
    columns = {"the best of them": "s"} | dict.fromkeys(heads, ".3f")
    bench.table(f"γ, {people:,} people; by the shape {surveys} surveys of {SURVEY:,}", columns)
    for gamma in GAMMAS:
        wave, usual = sf.SquareWave(UNIT, gamma), sf.Piecewise(UNIT, gamma)
        literature = {
            "duchi": on_the_unit(duchi(gamma)), "piecewise": on_the_unit(piecewise(gamma)),
            "hybrid": on_the_unit(hybrid(gamma)), "laplace": through(sf.Laplace(UNIT, gamma=gamma)),
            "square wave": through(wave),
        }  # fmt: skip
        for name in CROWDS:
            known = {key: error(each, name, people, seed) for key, each in literature.items()}
            best = min(known, key=lambda key: known[key])
            prior = np.histogram(crowd(name, 50_000, np.random.default_rng(99)), 100, (0, 1))[0] / 50_000
            own, advised = (error(through(each), name, people, seed) for each in (usual, mean_channel(wave, prior)))
            shaped = [error_by_shape(each, name, surveys, seed) / known[best] for each in (wave, usual)]
            ratios = [own / known[best], advised / known[best], own / known["hybrid"], *shaped]
            bench.row(f"γ = {gamma:.3g}, {name}", best, *ratios)


if __name__ == "__main__":
    main(measure, runs=10)
