"""Supports from reports: the closed form against a direct mean, and Monte Carlo calibration."""

from __future__ import annotations

import numpy as np
import pytest
from tests.statistics import assert_mean_zero

import sfumato as sf
from sfumato.channels.baskets import BasketReports, SelectASize, unpack_bits
from sfumato.mining.itemsets.bitmaps import ColumnBitmaps
from sfumato.mining.itemsets.supports import SupportCounter

ITEMS = 12


@pytest.fixture(scope="module")
def channel() -> SelectASize:
    return sf.SelectASize.design(sf.Items(ITEMS), sizes=[2, 3, 4], gamma=19, up_to=3, prevalence=0.1)


def levels(reports: BasketReports, channel: SelectASize) -> list:
    counter = SupportCounter(ColumnBitmaps.of_reports(reports, channel), channel.laws)
    singles = np.arange(ITEMS)[:, None]
    pairs = np.column_stack(np.triu_indices(ITEMS, 1))
    triples = np.array([[a, b, c] for a in range(4) for b in range(a + 1, 4) for c in range(b + 1, 4)])
    return [counter.count(itemsets) for itemsets in (singles, pairs, triples)]


def population(people: int) -> list[list[int]]:
    rng = np.random.default_rng(7)
    habits = [[0, 1], [0, 1, 2], [0, 1, 2, 3], [4, 5, 6], [7, 8]]
    return [habits[i] if i < 5 else rng.choice(ITEMS, rng.integers(2, 5), replace=False).tolist()
            for i in rng.integers(0, 10, size=people)]  # fmt: skip


def test_estimates_equal_the_mean_of_g_over_all_reports(channel: SelectASize) -> None:
    reports = channel.randomize(population(3000), rng=1)
    shown = unpack_bits(reports.words, ITEMS)
    level = levels(reports, channel)[2]
    for row, itemset in enumerate(level.itemsets):
        means, variances = [], []
        for size in (3, 4):
            law, mine = channel.laws[size], shown[reports.sizes == size][:, itemset]
            g = law.estimator(3)[mine.sum(axis=1)]
            means.append(g.sum() / len(reports))
            variances.append((g**2 - g).sum() / len(reports) ** 2)
        assert level.support[row] == pytest.approx(sum(means))
        assert level.stderr[row] == pytest.approx(np.sqrt(sum(variances)))


@pytest.mark.parametrize("compress", [False, True], ids=["bitmaps", "seeds"])
def test_estimates_are_unbiased_and_their_errors_calibrated(channel: SelectASize, compress: bool) -> None:
    """One population of mixed sizes, reported 500 times: z-scores have mean 0 and standard deviation 1."""
    people = population(4000)
    baskets = channel.read(people)
    held = np.zeros((len(people), ITEMS), dtype=bool)
    held[np.repeat(np.arange(len(people)), baskets.sizes), baskets.codes] = True
    rng = np.random.default_rng(11)
    scores: list[list[float]] = [[], [], []]
    for _ in range(500):
        reports = channel.randomize(baskets, rng=rng, compress=compress)
        for k, level in enumerate(levels(reports, channel)):
            chosen = [0, 5, 11] if k == 0 else [0, 1, 20] if k == 1 else [0, 3]
            for row in chosen:
                truth = held[:, level.itemsets[row]].all(axis=1).mean()
                scores[k].append((level.support[row] - truth) / level.stderr[row])
    for z in scores:
        assert_mean_zero(np.array(z) / np.sqrt(3))  # itemsets that overlap share their noise
        assert abs(np.mean(z)) < 0.1
        assert 0.94 < np.std(z) < 1.06
