"""Rotation and projection keep distances, and the attacks undo them."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from reproductions.datasets import load
from reproductions.ib04.linear import (
    exposed,
    random_projection,
    random_rotation,
    undo_projection,
    undo_rotation,
    undo_rotation_by_sample,
)
from sfumato.microdata.draws import Draws


def breast_cancer():
    X = load("wbc").complete().X
    return (X - X.mean(axis=0)) / X.std(axis=0)


Z = breast_cancer()
N, P = Z.shape


def test_a_rotation_keeps_every_distance_and_no_value():
    released = Z @ random_rotation(P, Draws(0))
    assert np.allclose(pdist(released[:50]), pdist(Z[:50]))
    assert exposed(Z, released) < 0.2


def test_projections_keep_squared_distances_on_average():
    ratio = [(pdist(Z[:30] @ random_projection(P, 4, Draws(seed))) ** 2).sum() for seed in range(400)]
    assert np.mean(ratio) == pytest.approx((pdist(Z[:30]) ** 2).sum(), rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_twice_as_many_known_people_as_attributes_give_away_everybody_under_rotation(seed):
    released = Z @ random_rotation(P, Draws(seed))
    known = np.random.default_rng(seed).choice(N, 2 * P, replace=False)
    others = np.setdiff1d(np.arange(N), known)
    guess = undo_rotation(released, Z[known], known)
    assert np.allclose(guess, Z)
    few = undo_rotation(released, Z[known[:2]], known[:2])
    assert np.allclose(few[known[:2]], Z[known[:2]])
    assert exposed(Z[others], few[others]) < 0.5


@pytest.mark.parametrize("seed", range(5))
def test_a_sample_of_others_gives_away_most_values_of_a_rotated_skewed_table(seed):
    """Exponential attributes of different spread, 4,000 released and 4,000 known others: at least 60 %."""
    rng = np.random.default_rng(seed)
    people = (rng.exponential(size=(8_000, 5)) - 1) * [1, 2, 3, 4, 5]
    released = people[:4_000] @ random_rotation(5, Draws(seed))
    guess = undo_rotation_by_sample(released, people[4_000:])
    assert exposed(people[:4_000] / [1, 2, 3, 4, 5], guess / [1, 2, 3, 4, 5]) > 0.6
    assert exposed(people[:4_000], released) < 0.1


def test_a_projection_of_records_that_lie_in_as_many_dimensions_is_undone_exactly():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 8))
    released = points @ random_projection(8, 4, Draws(0))
    guess = undo_projection(released, points[:20], np.arange(20), np.cov(points.T))
    assert np.allclose(guess, points)


def test_the_likeliest_record_halves_the_error_of_guessing_the_mean_where_attributes_go_together():
    """Breast cancer's nine scores projected to five, twenty known people, their own covariance: error below half."""
    released = Z @ random_projection(P, 5, Draws(1))
    rows = np.arange(20)
    guess = undo_projection(released, Z[rows], rows, np.cov(Z[300:600].T))
    assert np.allclose(guess @ random_projection(P, 5, Draws(1)), released)
    assert ((guess - Z) ** 2)[20:].mean() < 0.5 * (Z[20:] ** 2).mean()


def test_a_projection_that_hides_nothing_is_refused():
    with pytest.raises(ValueError, match="5 of 5 dimensions hides nothing"):
        random_projection(5, 5, Draws(0))
