"""The unbiased inverse: exactly unbiased, with a covariance that is exact."""

import numpy as np
import pytest
from tests.statistics import assert_mean, assert_mean_zero

import sfumato as sf
from sfumato.counts import Counts
from sfumato.reconstruction.methods import left_inverse, unbiased

LABELS = sf.Categories(["a", "b", "c", "d"])
RESPONSE = sf.RandomizedResponse(LABELS, keep=0.4)
TRUTH = np.array([0.7, 0.2, 0.1, 0.0])


def test_it_undoes_the_table_exactly():
    p, _ = unbiased(RESPONSE.matrix(), 1000 * RESPONSE.matrix() @ TRUTH, [4])
    assert np.allclose(p, TRUTH)


def test_it_is_unbiased_and_its_covariance_is_that_of_its_estimates():
    rng = np.random.default_rng(0)
    n, table = 200, RESPONSE.matrix()
    found = [unbiased(table, counts.astype(float), [4]) for counts in rng.multinomial(n, table @ TRUTH, 4000)]
    estimates = np.array([p for p, _ in found])
    undo, q = np.linalg.inv(table), table @ TRUTH
    exact = undo @ (np.diag(q) - np.outer(q, q)) @ undo.T / n
    for category in range(4):
        assert_mean_zero((estimates[:, category] - TRUTH[category]) / np.sqrt(exact[category, category]))
        assert_mean([covariance[category, category] for _, covariance in found], exact[category, category])


def test_single_shares_may_be_negative_and_still_sum_to_one():
    estimate = sf.reconstruct(["a"] * 90 + ["b"] * 10, RESPONSE, method="inverse")
    assert estimate.probabilities.min() < 0
    assert estimate.probabilities.sum() == pytest.approx(1)
    assert estimate.covariance.sum() == pytest.approx(0, abs=1e-12)


def test_more_reports_than_categories_are_undone_without_looking_at_the_data():
    table = np.array([[0.6, 0.1], [0.3, 0.3], [0.1, 0.6]])
    undo = left_inverse(table)
    assert np.allclose(undo @ table, np.eye(2))
    assert np.allclose(undo.sum(axis=0), 1)


def test_people_at_two_levels_are_undone_together_without_bias():
    strong = sf.RandomizedResponse(LABELS, keep=0.3)
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(300):
        people = rng.choice(4, 400, p=TRUTH)
        labels = np.array(LABELS.labels)[people]
        counts = Counts.of(RESPONSE.randomize(labels[:100], rng=rng), RESPONSE, level="light")
        counts += Counts.of(strong.randomize(labels[100:], rng=rng), strong, level="strong")
        estimate = sf.reconstruct(counts, method="inverse")
        errors.append((estimate.probabilities - TRUTH)[0] / estimate.stderr[0])
    assert_mean(errors, 0.0)
    assert np.std(errors) == pytest.approx(1, abs=0.25)


def test_a_table_that_merges_categories_is_refused():
    merged = sf.Tabulated(sf.Categories([0, 1]), [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ValueError, match="has no inverse"):
        sf.reconstruct([0, 1, 1], merged, method="inverse")
