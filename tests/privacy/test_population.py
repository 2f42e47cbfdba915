"""Beliefs after a report (EGS03's Example 1, intervals by enumeration, tables in cells), and people like those behind
the reports."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.guarantee.statement import smallest_sets
from sfumato.privacy.population import (
    believed_people,
    coarse_law,
    expected_width,
    posterior,
    posterior_of_several,
    true_covariance,
)

UNIT = sf.Interval(0, 1)


def test_the_papers_first_operator_raises_one_percent_to_seventy_two() -> None:
    channel = sf.RandomizedResponse(sf.Categories(range(1001)), keep=0.2)
    prior = np.full(1001, 0.99 / 1000)
    prior[0] = 0.01
    assert posterior(channel.law(), prior, np.array([0]))[0, 0] == pytest.approx(0.7163, abs=5e-5)


def test_two_reports_multiply_their_odds() -> None:
    law = sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=3).law()
    belief = posterior_of_several(law, np.array([0.5, 0.5]), [np.array([0, 0]), np.array([0, 1])])
    np.testing.assert_allclose(belief, [[0.9, 0.1], [0.5, 0.5]])


def test_the_smallest_set_is_found() -> None:
    beliefs = np.array([[0.1, 0.5, 0.3, 0.1], [0.25, 0.25, 0.25, 0.25], [0, 0, 0, 1.0]])
    assert smallest_sets(beliefs, 2.0, 0.8).tolist() == pytest.approx([4, 6.4, 1.6])
    wide = smallest_sets(np.array([[0.4, 0.2, 0.4]]), np.array([1.0, 1.0, 4.0]), 0.6)
    assert wide.tolist() == pytest.approx([2.0])  # the densest first: .4 on 1, .2 on 1


def test_the_expected_width_is_the_mean_over_all_reports() -> None:
    channel = sf.SquareWave(UNIT, gamma=9, step=0.01)
    law, prior = channel.law(), np.full(101, 1 / 101)
    widths = smallest_sets(posterior(law, prior, np.arange(law.shape[0])), 0.01, 0.9)
    assert expected_width(law, prior, 0.01, 0.9) == pytest.approx(float(widths @ law @ prior), rel=0.01)


def test_a_fine_table_is_summed_into_cells() -> None:
    channel = sf.Gaussian(UNIT, scale=0.05)
    coarse, law = coarse_law(channel), channel.law()
    assert coarse.law.shape[0] <= 1500 and coarse.law.shape[1] <= 600
    rows = np.zeros((coarse.law.shape[0], law.shape[0]))
    rows[coarse.report_cell, np.arange(law.shape[0])] = 1
    columns = np.zeros((law.shape[1], coarse.law.shape[1]))
    columns[np.arange(law.shape[1]), coarse.true_cell] = 1
    np.testing.assert_allclose(coarse.law, rows @ law @ (columns / columns.sum(axis=0)), atol=1e-12)
    np.testing.assert_allclose(coarse.law.sum(axis=0), 1)


def test_people_believed_from_reports_have_the_correlation_of_the_true_ones() -> None:
    rng = np.random.default_rng(5)
    z = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 20_000)
    truth = {"a": np.clip(0.5 + 0.12 * z[:, 0], 0, 1), "b": np.clip(0.5 + 0.12 * z[:, 1], 0, 1)}
    channels = {"a": sf.Gaussian(UNIT, scale=0.15), "b": sf.SquareWave(UNIT, gamma=50)}
    reports = {name: channel.randomize(truth[name], rng) for name, channel in channels.items()}
    people = believed_people(channels, reports, None, 3000, rng)
    drawn = np.array([target.true_numbers for target in people.numeric])
    assert np.corrcoef(drawn)[0, 1] == pytest.approx(0.8, abs=0.1)
    np.testing.assert_allclose(drawn.std(axis=1), 0.12, rtol=0.1)
    assert people.covariance == pytest.approx(np.cov(z.T) * 0.12**2, rel=0.2)


def test_the_estimated_covariance_has_no_negative_direction() -> None:
    reports = np.random.default_rng(20).normal(size=(50, 8))
    assert np.linalg.eigvalsh(true_covariance(reports, 2 * np.eye(8))).min() > -1e-12


def test_too_few_complete_people_are_refused() -> None:
    channels = {name: sf.Gaussian(UNIT, scale=0.15) for name in "ab"}
    truth = {"a": np.linspace(0, 1, 30), "b": np.where(np.arange(30) < 15, np.nan, 0.5)}
    with pytest.raises(ValueError, match="only 15 people have every value; the attacks need 20"):
        believed_people(channels, None, truth, 100, np.random.default_rng(0))
