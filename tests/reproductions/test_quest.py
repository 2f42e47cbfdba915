"""Quest-like baskets have the sizes asked for and habits that can be found."""

from __future__ import annotations

import numpy as np

import sfumato as sf
from reproductions.quest import Quest


def test_baskets_are_sets_of_the_sizes_asked_for() -> None:
    baskets = Quest(items=200).baskets(5000, rng=1)
    assert set(np.unique(baskets.sizes)) == set(range(5, 11))
    assert all(len(set(row)) == len(row) for row in baskets.to_lists())
    assert baskets.codes.min() >= 0 and baskets.codes.max() < 200


def test_frequent_triples_exist() -> None:
    found = sf.frequent_itemsets(Quest().baskets(20_000, rng=2), None, 0.04)
    assert (found["itemsets"].map(len) == 3).sum() >= 3


def test_a_seed_repeats_the_baskets() -> None:
    one, other = (Quest(items=100).baskets(500, rng=3) for _ in range(2))
    assert np.array_equal(one.codes, other.codes)
