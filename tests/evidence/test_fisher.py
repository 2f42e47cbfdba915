"""Fisher scoring on reports: slopes against differences, closed forms, and standard errors that hold."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Reports
from sfumato.evidence import Axis, Evidence, JointPoint, ProductTable, Resolution, fit_family
from sfumato.learners.stiff_density import StiffDensity
from tests.statistics import assert_mean

UNIT = sf.Interval(0, 1)
LABELS = sf.RandomizedResponse(sf.Categories([0, 1]), keep=0.8)


class Step:
    """joint(t, y) = exp(a·cosines(t)) · P(y | side of the middle), the class shares of both sides as logits."""

    def __init__(self, density, ridge=0.0):
        self.density, size = density, density.size + 2
        self.limits, self.ridge = np.full(size, 2.0), np.full(size, ridge)
        self.right = np.arange(density.shape[0]) >= density.shape[0] / 2

    def parts(self, theta):
        g = np.exp(self.density.log(theta[:-2]))
        p = 1 / (1 + np.exp(-np.where(self.right, theta[-1], theta[-2])))
        return g, p

    def joint(self, theta):
        g, p = self.parts(theta)
        return np.concatenate([g * (1 - p), g * p])

    def fields(self, theta):
        g, p = self.parts(theta)
        slope = g * p * (1 - p)
        sides = [np.where(self.right == side, slope, 0.0) for side in (False, True)]
        smooth = np.tile(self.density.basis(), 2) * self.joint(theta)
        return np.vstack([smooth, [np.concatenate([-side, side]) for side in sides]])


def evidence_of(channel, n=4_000, seed=0, *, label_channel=None, gaps=0.0):
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    y = (rng.random(n) < np.where(x < 0.5, 0.2, 0.7)).astype(int)
    report = x if channel is None else channel.randomize(x, rng)
    report = np.where(rng.random(n) < gaps, np.nan, report)
    label = y if label_channel is None else label_channel.randomize(y, rng)
    reports = Reports({"x": report}, [channel], target=label, label_channel=label_channel)
    return Evidence.of_columns(reports, [Axis(reports.column("x"))], Resolution(16, 0.2), dtype=np.float64)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("label_channel", [None, LABELS])
def test_the_score_is_the_slope_of_the_likelihood(gaps, label_channel):
    evidence = evidence_of(sf.Gaussian(UNIT, scale=0.2), gaps=gaps, label_channel=label_channel)
    model = Step(StiffDensity(evidence.cells), ridge=0.5)
    theta = np.random.default_rng(1).normal(0, 0.3, model.ridge.size)

    def value(at):
        return JointPoint.at(evidence, model, at).value

    score, _ = JointPoint.at(evidence, model, theta).slopes
    steps = 1e-5 * np.eye(theta.size)
    numeric = [(value(theta + step) - value(theta - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(score, numeric, rtol=1e-5, atol=1e-4)


def test_a_clear_table_gives_shares_and_their_binomial_errors():
    counts = np.array([[30.0, 10.0], [20.0, 60.0]])  # N(t, y)
    cells = [_cells(2)]
    model = Step(StiffDensity(cells))
    evidence = Evidence.of_counts(ProductTable([np.eye(2)], classes=2), counts, cells=cells)
    fit = fit_family(evidence, model, np.zeros(3), enough=1e-9)
    p = 1 / (1 + np.exp(-fit.theta[-2:]))
    np.testing.assert_allclose(p, [0.25, 0.75], atol=1e-6)
    np.testing.assert_allclose(fit.stderr[-2:], 1 / np.sqrt(counts.sum(axis=1) * p * (1 - p)), rtol=1e-6)
    np.testing.assert_allclose(fit.joint.reshape(2, 2).T, counts / counts.sum(), atol=1e-6)
    expected = float(np.sum(counts * np.log(counts / counts.sum())))
    assert fit.log_likelihood == pytest.approx(expected)


def _cells(size):
    reports = Reports({"x": np.arange(size) + 0.0})
    return Axis(reports.column("x")).at(size)


def test_it_finds_the_shares_behind_the_noise_within_its_standard_errors():
    errors = []
    for seed in range(20):
        evidence = evidence_of(sf.Gaussian(UNIT, scale=0.25), 5_000, seed, gaps=0.1)
        model = Step(StiffDensity(evidence.cells, terms=[2]))
        fit = fit_family(evidence, model, np.zeros(model.ridge.size))
        truth = np.log([0.2 / 0.8, 0.7 / 0.3])
        errors.append((fit.theta[-2:] - truth) / fit.stderr[-2:])
    assert_mean(np.array(errors) ** 2, 1.0, np.sqrt(2.0))


def test_missing_reports_and_levels_are_expected_in_their_own_numbers():
    evidence = evidence_of(sf.Gaussian(UNIT, scale=0.2), gaps=0.25)
    missing = evidence.block_people.reshape(-1, 2)[-1]
    assert missing[0] == evidence.counts.reshape(-1, 2)[-1].sum()
    assert evidence.block_people[0] + missing[0] == evidence.total


def test_the_likelihood_never_falls_and_ends_where_the_score_is_zero():
    evidence = evidence_of(sf.Gaussian(UNIT, scale=0.2))
    model = Step(StiffDensity(evidence.cells), ridge=0.1)
    values = [fit_family(evidence, model, np.zeros(8), steps).value for steps in range(6)]
    assert (np.diff(values) >= 0).all()
    fit = fit_family(evidence, model, np.zeros(8), enough=1e-9)
    score, _ = fit.slopes
    assert np.abs(score * fit.stderr).max() < 1e-2
