"""Do the bars hold what they promise? A small form of bench/reconstruction_coverage.py, always the same draws."""

import numpy as np
import pytest
from scipy.stats import beta, binomtest, norm

import sfumato as sf
from sfumato.counts import Counts, Tally
from tests.statistics import FALSE_ALARM

UNIT = sf.Interval(0, 1)
AGES = sf.Interval(0, 100, integer=True)
SEEDS = 12


def bell(values: np.ndarray) -> np.ndarray:
    share = norm.pdf(values, 42, 17)
    return share / share.sum()


def heaped(values: np.ndarray) -> np.ndarray:
    told = 0.6 * bell(values)
    np.add.at(told, (np.rint(values / 5) * 5).astype(int), 0.4 * bell(values))
    return told


def rounded(cdf, values: np.ndarray) -> np.ndarray:
    """The shares of people whose value is rounded to each of the grid's."""
    return np.diff(cdf(np.concatenate([values[:1], (values[1:] + values[:-1]) / 2, values[-1:]])))


def spiked(values: np.ndarray) -> np.ndarray:
    share = 0.7 * rounded(beta(2, 2).cdf, values)
    share[432] += 0.3
    return share


def piled_up(values: np.ndarray) -> np.ndarray:
    inner = norm.cdf(values[:-1] + 0.5, 12, 20)
    return np.diff(np.concatenate([[0.0], inner, [1.0]]))


def stripes(values: np.ndarray) -> np.ndarray:
    return rounded(lambda x: np.interp(x, np.arange(11) / 10, [0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10]) / 10, values)


CASES = {
    "plateau": (sf.SquareWave(UNIT, gamma=19), lambda x: rounded(lambda e: np.clip(2 * e - 0.5, 0, 1), x)),
    "spike": (sf.SquareWave(UNIT, gamma=19), spiked),
    "skewed": (sf.Uniform(UNIT, halfwidth=0.2), lambda x: rounded(beta(1.6, 6).cdf, x)),
    "near-flat": (sf.Uniform(UNIT, halfwidth=0.5), lambda x: rounded(lambda e: e - np.cos(2 * np.pi * e) / 125, x)),
    "heaps": (sf.Uniform(AGES, halfwidth=20), heaped),
    "clipped end": (sf.SquareWave(AGES, gamma=19), piled_up),
    "under heavy noise": (sf.Gaussian(UNIT, scale=0.25), stripes),
}

def estimates(channel: sf.Channel, truth: np.ndarray, n: int = 100_000) -> list[sf.Estimate]:
    law = channel.law() @ truth
    drawn = [np.random.default_rng([seed, n]).multinomial(n, law / law.sum()) for seed in range(SEEDS)]
    return [sf.reconstruct(Counts({None: Tally(channel, h[None], np.zeros(1, int))}), intervals=20) for h in drawn]


def shares(channel: sf.Channel, truth: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """In each interval; where numbers are not whole, the people at a grid's value lie half a step to both its sides."""
    reach = 0.0 if channel.domain.integer else channel.inputs.step / 4
    places = np.clip(np.add.outer([-reach, reach], channel.inputs.values), edges[0], edges[-1])
    return np.histogram(places, edges, weights=np.tile(truth / 2, (2, 1)))[0]


@pytest.mark.parametrize("name", CASES)
def test_bars_hold_the_population_in_each_kind_of_case(name):
    channel, shape = CASES[name]
    truth = shape(channel.inputs.values)
    truth = truth / truth.sum()
    held = []
    for estimate in estimates(channel, truth):
        low, high = estimate.interval(0.9)
        true = shares(channel, truth, estimate.edges)
        held.append(np.mean((low <= true + 1e-6) & (true <= high + 1e-6)))
    assert np.mean(held) >= 0.8
    assert name != "under heavy noise" or all(e.diagnostics.cannot_tell for e in estimates(channel, truth)[:2])


def test_simultaneous_bands_hold_all_intervals_at_once():
    """Categories: their covariance is exact, so the bands must hold at their rate."""
    channel = sf.RandomizedResponse(sf.Categories(range(8)), keep=0.6)
    truth = np.array([0.3, 0.2, 0.15, 0.1, 0.1, 0.08, 0.05, 0.02])
    held = 0
    for seed in range(300):
        histogram = np.random.default_rng(seed).multinomial(100_000, channel.law() @ truth)
        estimate = sf.reconstruct(Counts({None: Tally(channel, histogram[None], np.zeros(1, int))}), method="inverse")
        low, high = estimate.interval(0.9, simultaneous=True)
        held += bool(((low <= truth) & (truth <= high)).all())
    assert binomtest(held, 300, 0.9).pvalue > FALSE_ALARM


def test_the_mean_at_a_spike_comes_from_the_fine_picture_and_not_from_the_intervals():
    channel = sf.Uniform(sf.Interval(0, 100), halfwidth=20)
    truth = np.zeros(channel.inputs.size)
    truth[[0, 77, 150]] = 0.9, 0.07, 0.03
    mean = truth @ channel.inputs.values
    for estimate in estimates(channel, truth)[:4]:
        assert abs(estimate.mean() - mean) < 0.2
        assert abs(estimate.mean() - mean) < 4 * estimate.mean().stderr + 1e-3
        middles = (estimate.edges[:-1] + estimate.edges[1:]) / 2
        assert abs(estimate.probabilities @ middles - mean) > 1
