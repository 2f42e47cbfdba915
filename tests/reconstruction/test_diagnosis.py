"""Error bars from the Fisher information, in the cases with a closed form."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.reconstruction.diagnosis import fisher_spread


def test_without_noise_it_is_the_multinomial_covariance():
    p, n = np.array([0.5, 0.3, 0.2]), 1e6
    spread = fisher_spread(np.eye(3), p, n)
    assert np.allclose(spread.covariance, (np.diag(p) - np.outer(p, p)) / n, atol=1e-10)
    assert spread.degrees_of_freedom == pytest.approx(2, abs=1e-3)


def test_through_an_invertible_table_it_is_the_covariance_of_the_inverse():
    table, p, n = (
        sf.RandomizedResponse(sf.Categories(["a", "b", "c"]), keep=0.5).matrix(),
        np.array([0.6, 0.3, 0.1]),
        1e6,
    )
    undo, q = np.linalg.inv(table), table @ p
    exact = undo @ (np.diag(q) - np.outer(q, q)) @ undo.T / n
    assert np.allclose(fisher_spread(table, p, n).covariance, exact, rtol=1e-2)


def test_a_table_that_hides_everything_leaves_what_a_belief_without_data_leaves():
    k = 4
    spread = fisher_spread(np.full((3, k), 1 / 3), np.full(k, 1 / k), 1e6)
    assert np.allclose(spread.covariance, (np.eye(k) - 1 / k) / (k * (k / 2 + 1)))
    assert spread.degrees_of_freedom == pytest.approx(0, abs=1e-6)


def test_probabilities_that_sum_to_one_have_errors_that_sum_to_zero():
    table = sf.Gaussian(sf.Interval(0, 1), scale=0.25).matrix(true=np.linspace(0, 1, 11))
    spread = fisher_spread(table, np.full(10, 0.1), 1e4)
    assert np.allclose(spread.covariance.sum(axis=0), 0, atol=1e-12)


def test_intervals_of_cells_have_the_covariance_of_their_sums():
    table, p = np.eye(4), np.array([0.1, 0.2, 0.3, 0.4])
    pairs = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    whole = fisher_spread(table, p, 1e5).covariance
    assert np.allclose(fisher_spread(table, p, 1e5, pairs).covariance, pairs @ whole @ pairs.T)
