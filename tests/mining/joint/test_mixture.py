"""The mixture's M-step is reconstruction's EM, and it reads combinations of cells, not records."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Reports
from sfumato.mining.joint import mixture
from sfumato.mining.joint.grid import Resolution
from sfumato.mining.joint.mixture import MixtureFit, inner_steps
from sfumato.reconstruction import Axis, DenseTable, Steps, maximise_likelihood

CHANNEL = sf.Gaussian(sf.Interval(0, 10), scale=2)


def fit_of(n=3_000, components=4, **settings):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, n)
    columns = {f"x{j}": CHANNEL.randomize(np.clip(rng.normal(3 + 4 * y, 1), 0, 10), rng) for j in range(2)}
    reports = Reports(columns, [CHANNEL, CHANNEL], target=y)
    axes = [Axis(reports.column(name)) for name in reports.names]
    return MixtureFit(reports, axes, Resolution(8, 0.3), np.random.default_rng(0), components, **settings)


def test_theta_of_one_component_is_one_em_step_from_all_counts():
    fit = fit_of()
    table = DenseTable(fit.cells[0].table)
    counts = fit.reports.counts(["x0"], [fit.cells[0]], by_class=False)
    start = np.full((1, table.shape[1]), 1 / table.shape[1])
    found = inner_steps(table, start, counts[None], 0.0, steps=1)
    step = maximise_likelihood(table, counts, start=start, stop=Steps(1)).probabilities
    np.testing.assert_allclose(found, step, rtol=0, atol=1e-9)
    smoothed = inner_steps(table, start, counts[None], 0.2, steps=1)
    expected = found * counts.sum() + 0.2
    np.testing.assert_allclose(smoothed, expected / expected.sum(), rtol=0, atol=1e-9)


def test_a_component_that_nobody_has_becomes_flat():
    table = DenseTable(fit_of().cells[0].table)
    start = np.eye(table.shape[1])[:1] + 0.01
    found = inner_steps(table, start, np.zeros((1, table.shape[0])), 0.2)
    np.testing.assert_allclose(found, 1 / table.shape[1])


def test_combinations_and_records_give_the_same_mixture(monkeypatch):
    one = fit_of()
    monkeypatch.setattr(mixture, "MOST_NUMBERED", 1.0)
    other = fit_of()
    assert other.weight.size > one.weight.size and other.weight.sum() == one.weight.sum()
    other.prior, other.thetas = one.prior.copy(), [theta.copy() for theta in one.thetas]
    one.step()
    other.step()
    for ours, theirs in zip(one.thetas, other.thetas, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("by_class", [True, False])
def test_the_class_is_one_more_column_where_it_is_wanted(by_class):
    member = fit_of(by_class=by_class).run()
    assert member.classes == (2 if by_class else 1)
    assert member.weights.sum() == pytest.approx(1, abs=1e-5)
    mass = member.joint_of_classes([np.array([0, 7]), np.array([0, 7])])
    if by_class:
        assert mass[0, 0] > mass[0, 1] and mass[1, 1] > mass[1, 0]
