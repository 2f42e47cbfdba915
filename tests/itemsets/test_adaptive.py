"""Asking in phases: unbiased answers, strong itemsets found, and a table that says when it is better."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.itemsets.adaptive import PaddingAndSampling, compare_collections, response_noise, unary_noise
from tests.statistics import assert_mean_zero

HABITS = [[0, 1, 2], [3, 4, 5, 6], [7, 8]]


def population(people: int) -> list[list[int]]:
    rng = np.random.default_rng(1)
    return [HABITS[i] for i in rng.choice(3, size=people, p=[0.4, 0.35, 0.25])]


def test_itemsets_that_many_hold_are_found_with_calibrated_errors() -> None:
    people = population(60_000)
    truth = sf.frequent_itemsets(people, None, 0.1)
    known = dict(zip(truth["itemsets"], truth["support"], strict=True))
    found = PaddingAndSampling(gamma=19, min_support=0.1).mine(people, sf.Items(30), rng=2)
    assert set(found["itemsets"]) == set(known)
    singles = found[found["itemsets"].map(len) == 1]
    z = [(row.support - known[row.itemsets]) / row.stderr for row in singles.itertuples()]
    assert_mean_zero(np.array(z))
    assert np.abs(z).max() < 6


@pytest.mark.parametrize("answers", [5, 200])
def test_shares_of_answers_are_unbiased_and_calibrated(answers: int) -> None:
    """Few answers go through randomized response, many through unary coding."""
    asked = PaddingAndSampling(gamma=19, min_support=0.1)
    truth = np.random.default_rng(3).integers(0, 4, size=3000)
    rng = np.random.default_rng(4)
    z = []
    for _ in range(150):
        sample = truth[rng.integers(0, truth.size, truth.size)]
        mean, error = asked._ask(sample, np.full(sample.size, 2.0), answers, rng)
        z.append((mean[:4] - 2.0 * np.bincount(truth, minlength=4) / truth.size) / error[:4])
    assert abs(np.mean(z)) < 0.2
    assert 0.9 < np.std(z) < 1.1


def test_unary_coding_wins_for_many_answers_only() -> None:
    assert response_noise(19, 10) < unary_noise(19) < response_noise(19, 1000)


def test_large_baskets_are_better_asked_in_phases_and_small_ones_at_once() -> None:
    small = sf.SelectASize.design(sf.Items(1000), sizes=[3], gamma=19, prevalence=0.1)
    large = sf.SelectASize.design(sf.Items(1000), sizes=[20], gamma=19, prevalence=0.1, resolution=128)
    assert set(compare_collections(small, 1_000_000)["better"]) == {"select-a-size"}
    assert compare_collections(large, 1_000_000)["better"].tolist()[2] == "padding and sampling"


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"gamma = 1\.0"):
        PaddingAndSampling(gamma=1.0, min_support=0.1)
    with pytest.raises(ValueError, match="min_support = 0"):
        PaddingAndSampling(gamma=19, min_support=0)
    with pytest.raises(ValueError, match="basket 1 is empty"):
        PaddingAndSampling(gamma=19, min_support=0.1).mine([[1], []], sf.Items(5))
