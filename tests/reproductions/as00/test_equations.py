"""AS00's stopping rules, and its algorithm on every record."""

import numpy as np
import pytest

import sfumato as sf
from reproductions.as00.equations import Observed, records_evidence, solve
from sfumato.counts import Counts
from sfumato.evidence import ENOUGH, ChiSquare, DenseTable, Evidence, Steps, maximise_likelihood
from sfumato.reconstruction.request import request_of

EQUATIONS = ("Equation 3", "Equation 2")


@pytest.fixture(scope="module")
def triangles() -> tuple[sf.Channel, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    values = rng.choice([0.0, 0.6], 40_000) + rng.triangular(0.0, 0.2, 0.4, 40_000)
    channel = sf.Gaussian(sf.Interval(0, 1), scale=0.25)
    return channel, channel.randomize(values, rng), np.histogram(values, np.linspace(0, 1, 21))[0] / values.size


def test_equation_3_as_the_paper_stops_it_is_the_method_as00(triangles):
    channel, reports, _ = triangles
    own, found = solve(reports, channel, 20), sf.reconstruct(reports, channel, 20, "as00")
    assert np.array_equal(own.probabilities, found.probabilities)
    assert own.steps == found.diagnostics.iterations
    assert np.array_equal(own.edges, found.edges)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_a_smaller_share_of_chi_square_stops_later_and_the_default_is_one_percent(triangles, equation):
    channel, reports, _ = triangles
    stops = (None, ChiSquare(0.01), ChiSquare(0.0025), ChiSquare(0.001))
    steps = [solve(reports, channel, 20, stop, equation).steps for stop in stops]
    assert steps[0] == steps[1] < steps[2] < steps[3]


def test_every_stop_ends_nearer_to_the_truth_than_the_reports(triangles):
    channel, reports, truth = triangles
    raw = np.abs(np.histogram(reports, np.linspace(0, 1, 21))[0] / reports.size - truth).sum()
    for equation in EQUATIONS:
        for stop in (ChiSquare(), Observed(), ENOUGH):
            found = solve(reports, channel, 20, stop, equation).probabilities
            assert np.abs(found - truth).sum() < raw, (equation, stop)
            assert found.sum() == pytest.approx(1)


def test_where_the_observed_rule_stops_the_predicted_reports_pass_the_chi_square_test():
    rng = np.random.default_rng(0)
    table = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    counts = rng.multinomial(10_000, table @ [0.6, 0.3, 0.1])[None].astype(float)
    fit = maximise_likelihood(Evidence.of_counts(DenseTable(table), counts), stop=Observed())
    expected = 10_000 * table @ fit.probabilities[0]
    assert ((counts[0] - expected) ** 2 / expected).sum() < 5.99147  # χ² with two degrees of freedom at 95 %
    assert fit.converged and fit.iterations > 1


def test_equation_2_is_one_step_of_the_sum_over_records():
    channel = sf.Gaussian(sf.Interval(0, 1), scale=0.25)
    reports = channel.randomize(np.random.default_rng(1).uniform(0, 1, 50), np.random.default_rng(2))
    problem = request_of(Counts.of(reports, channel), 10)
    middles = (problem.layout.cells[:-1] + problem.layout.cells[1:]) / 2
    density = channel.density(reports[:, None] - middles)
    by_record = (density / density.sum(axis=1, keepdims=True)).mean(axis=0)
    once = maximise_likelihood(records_evidence(problem), stop=Steps(1)).probabilities[0]
    assert once == pytest.approx(by_record, rel=1e-9)


def test_equation_2_is_refused_for_other_channels():
    with pytest.raises(ValueError, match="is for added noise"):
        solve([0.5], sf.SquareWave(sf.Interval(0, 1), gamma=19), 20, equation="Equation 2")
