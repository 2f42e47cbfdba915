"""Noise has the law it states: reflected, mean-keeping, uniform where it should be; classes move inside leaves:
RPT keeps counts exactly, PPT on average, ALPT reaches pure leaves too."""

import numpy as np
from scipy.stats import norm

from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.noise import Room, additive_noise, blur, blur_labels, crowded, rank_noise, reflect
from sfumato.microdata.table.fields import Field
from tests.statistics import assert_fits, assert_mean, assert_probability

LEAF = np.repeat([0, 1], 30_000)
Y = np.concatenate([np.repeat([0, 1], [27_000, 3_000]), np.zeros(30_000, int)])
INTEGER = Field("score", "integer", 1, 10, 1.0)


def test_reflection_folds_the_line():
    assert np.allclose(reflect(np.array([-0.25, 0.5, 1.25, 2.25, -1.5]), 0.0, 1.0), [0.25, 0.5, 0.75, 0.25, 0.5])
    assert np.array_equal(reflect(np.array([3.0, 9.0]), 4.0, 4.0), [4.0, 4.0])


def test_integer_noise_is_a_rounded_folded_normal():
    n, sd = 200_000, 0.276 * 9
    noisy = additive_noise(np.full(n, 2.0), np.full(n, 1.0), np.full(n, 10.0), 0.276, INTEGER, Draws(1))
    found = np.bincount(INTEGER.snap(noisy, np.full(n, 1.0), np.full(n, 10.0)).astype(int), minlength=11)[1:]
    edges = np.arange(0.5, 11)
    images = [(20 * k + edges, 20 * k + 1 - edges[::-1]) for k in range(-2, 3)]
    law = sum(np.diff(norm.cdf(up, 2, sd)) + np.diff(norm.cdf(down, 2, sd))[::-1] for up, down in images)
    assert_fits(found, law)


def test_rank_noise_permutes_a_leafs_values_and_moves_ranks_by_its_amount():
    values = np.arange(50_000.0)
    group = np.zeros(values.size, np.int64)
    moved = rank_noise(values, group, 0.05, Draws(2), smooth=False)
    assert np.array_equal(np.sort(moved), values)
    middle = slice(20_000, 30_000)
    shift = (moved - values)[middle] / values.size
    assert_mean(shift, 0.0)
    assert_mean(shift**2, 0.05**2)


def test_smoothed_quantiles_are_new_values_inside_the_old_range():
    rng = np.random.default_rng(0)
    values, group = rng.normal(size=2000), rng.integers(0, 4, 2000)
    moved = rank_noise(values, group, 1.0, Draws(3), smooth=True)
    for leaf in range(4):
        before, after = values[group == leaf], moved[group == leaf]
        assert before.min() <= after.min()
        assert after.max() <= before.max()
        assert abs(after.mean() - before.mean()) < 0.01
        assert abs(after.std() / before.std() - 1) < 0.01
    assert np.isin(moved, values).mean() < 0.01


def test_small_leaves_get_additive_noise():
    values = np.array([2.0, 3.0])
    room = Room(INTEGER, np.full(2, 1.0), np.full(2, 10.0), np.zeros(2, np.int64))
    ranked = crowded(values, room.group)
    assert not ranked.any()
    seen = {tuple(blur(values, 0.5, room, ranked, Draws(seed))) for seed in range(20)}
    assert len(seen) > 10


def test_secure_draws_are_uniform_and_normal():
    draws = Draws()
    assert_fits(np.histogram(draws.uniform(100_000), 20, (0, 1))[0], np.full(20, 0.05))
    assert_mean(draws.normal(100_000), 0.0, 1.0)


def test_rpt_gives_every_record_of_a_leaf_the_minority_with_the_same_probability():
    found = blur_labels(Y, LEAF, "rpt", Draws(1))
    assert np.bincount(found[LEAF == 0]).tolist() == [27_000, 3_000]
    assert (found[LEAF == 1] == 0).all()
    assert_fits([found[27_000:30_000].sum(), found[:27_000].sum()], [0.1, 0.9])


def test_ppt_draws_from_the_leafs_shares_and_leaves_pure_leaves_alone():
    found = blur_labels(Y, LEAF, "ppt", Draws(2))
    assert_probability(found[LEAF == 0].sum(), 30_000, 0.1)
    assert (found[LEAF == 1] == 0).all()


def test_alpt_lends_pure_leaves_the_average_minority_share():
    assert_probability(blur_labels(Y, LEAF, "alpt", Draws(3))[LEAF == 1].sum(), 30_000, 0.1)
