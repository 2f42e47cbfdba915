"""AS00's recipe against a second reading of Equation 3; the inverse exactly unbiased, with an exact covariance."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

import sfumato as sf
from sfumato.counts import Counts
from sfumato.reconstruction.unbiased import left_inverse, unbiased
from tests.statistics import assert_mean, assert_mean_zero

UNIT = sf.Interval(0, 1)


def equation_3(reports: np.ndarray, density, k: int, reach: float) -> np.ndarray:
    """Equation 3 over reports put in intervals, written as the paper has it."""
    width = 1 / k
    more = int(np.ceil(reach / width))
    edges = np.arange(-more, k + more + 1) * width
    counts = np.histogram(reports, edges)[0]
    reported, true = (edges[:-1] + edges[1:]) / 2, (np.arange(k) + 0.5) * width
    kernel = density(reported[:, None] - true)
    p = np.full(k, 1 / k)
    while True:
        new = np.zeros(k)
        for s in np.flatnonzero(counts):
            below = kernel[s] @ p
            if below > 0:
                new += counts[s] * kernel[s] * p / below
        possible = new.sum()  # a report interval that no midpoint reaches says nothing
        new /= possible
        done = possible * ((new - p) ** 2 / p).sum() < 0.01 * chi2.isf(0.05, k - 1)
        p = new
        if done:
            return p


@pytest.mark.parametrize(
    ("channel", "density"),
    [
        (sf.Gaussian(UNIT, scale=0.25), lambda y: norm.pdf(y, scale=0.25)),
        (sf.Uniform(UNIT, halfwidth=0.48), lambda y: np.where(np.abs(y) <= 0.48, 1.0, 0.0)),
    ],
)
def test_it_is_equation_3_with_the_chi_square_stop(channel, density):
    rng = np.random.default_rng(0)
    reports = rng.triangular(0, 0.25, 0.5, 5000) + 0.5 * (rng.random(5000) < 0.5)
    reports = channel.outputs.decode(channel.encode_reports(channel.randomize(np.clip(reports, 0, 1), rng=rng)))
    reports = reports + 1e-9  # a report on an edge belongs to the interval above it
    expected = equation_3(reports, density, 20, 7 * 0.25)
    found = sf.reconstruct(reports, channel, 20, "as00")
    assert np.allclose(found.probabilities, expected, atol=1e-3)


def test_reports_outside_the_domain_are_counted():
    channel = sf.Gaussian(UNIT, scale=0.25)
    reports = np.full(1000, -0.4)
    estimate = sf.reconstruct(reports, channel, 10, "as00")
    assert estimate.diagnostics.reports == 1000
    assert np.argmax(estimate.probabilities) == 0


def test_the_midpoint_kernel_is_biased_under_uniform_noise():
    """The reason why it is not the default (docs/decisions/0020)."""
    channel = sf.Uniform(UNIT, halfwidth=0.5)
    rng = np.random.default_rng(1)
    people = rng.uniform(0.25, 0.75, 200_000)
    reports = channel.randomize(people, rng=rng)
    truth = np.histogram(people, 20, (0, 1))[0] / people.size
    error = {m: np.abs(sf.reconstruct(reports, channel, 20, m).probabilities - truth).sum() for m in ("as00", "smooth")}
    assert error["smooth"] < 0.1 * error["as00"]


LABELS = sf.Categories(["a", "b", "c", "d"])
RESPONSE = sf.RandomizedResponse(LABELS, keep=0.4)
TRUTH = np.array([0.7, 0.2, 0.1, 0.0])


def test_it_undoes_the_table_exactly():
    p, _ = unbiased(left_inverse(RESPONSE.matrix()), 1000 * RESPONSE.matrix() @ TRUTH, [4])
    assert np.allclose(p, TRUTH)


def test_it_is_unbiased_and_its_covariance_is_that_of_its_estimates():
    rng = np.random.default_rng(0)
    n, table = 200, RESPONSE.matrix()
    undo, q = np.linalg.inv(table), table @ TRUTH
    found = [unbiased(undo, counts.astype(float), [4]) for counts in rng.multinomial(n, table @ TRUTH, 4000)]
    estimates = np.array([p for p, _ in found])
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


@pytest.mark.parametrize("people", [1, 3, 30])
def test_reports_that_are_all_the_same_do_not_state_an_error_of_zero(people):
    estimate = sf.reconstruct(["a"] * people, RESPONSE, method="inverse")
    assert (estimate.stderr > 0.1 / people).all()
    mixed = sf.reconstruct(["a"] * (people + 1) + ["b"], RESPONSE, method="inverse")
    assert (estimate.stderr < 3 * mixed.stderr.max()).all()
