"""Beliefs after a report: EGS03's Example 1, intervals by enumeration, and tables in cells."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.guarantee.statement import shortest_widths
from sfumato.privacy.belief import coarse_law, expected_width, law_columns, posterior, posterior_of_several

UNIT = sf.Interval(0, 1)


def test_the_papers_first_operator_raises_one_percent_to_seventy_two() -> None:
    channel = sf.RandomizedResponse(sf.Categories(range(1001)), keep=0.2)
    prior = np.full(1001, 0.99 / 1000)
    prior[0] = 0.01
    assert posterior(channel.law(), prior, np.array([0]))[0, 0] == pytest.approx(0.7163, abs=5e-5)


def test_two_reports_multiply_their_odds() -> None:
    law = sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=3).law()
    belief = posterior_of_several(law, np.array([0.5, 0.5]), np.array([[0, 0], [0, 1]]))
    np.testing.assert_allclose(belief, [[0.9, 0.1], [0.5, 0.5]])


def test_the_shortest_run_is_found() -> None:
    beliefs = np.array([[0.1, 0.5, 0.3, 0.1], [0.25, 0.25, 0.25, 0.25], [0, 0, 0, 1.0]])
    assert shortest_widths(beliefs, 2.0, 0.75).tolist() == [4, 6, 2]


def test_the_expected_width_is_the_mean_over_all_reports() -> None:
    channel = sf.SquareWave(UNIT, gamma=9, step=0.01)
    law, prior = channel.law(), np.full(101, 1 / 101)
    widths = shortest_widths(posterior(law, prior, np.arange(law.shape[0])), 0.01, 0.9)
    assert expected_width(law, prior, 0.01, 0.9) == pytest.approx(float(widths @ law @ prior), rel=0.01)


@pytest.mark.parametrize(
    "channel",
    [sf.Gaussian(UNIT, scale=0.02), sf.Laplace(UNIT, scale=0.5, step=0.01), sf.Uniform(UNIT, halfwidth=0.4)],
    ids=repr,
)
def test_single_columns_are_those_of_the_law(channel: sf.Channel) -> None:
    codes = np.array([0, channel.inputs.size // 2, channel.inputs.size - 1])
    np.testing.assert_allclose(law_columns(channel, codes), channel.law()[:, codes], atol=1e-15)


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
