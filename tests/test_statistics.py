"""The checks that sampling tests go through raise no alarm more often than they declare."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.statistics import FALSE_ALARM, POOLED, assert_fits


def test_a_rare_cell_that_is_hit_a_few_times_too_often_is_no_alarm() -> None:
    expected = np.array([1.4, 10.0, 100.0, 200_000.0, 300_000.0])
    observed = np.array([9, 10, 100, 200_000, 300_000])
    assert stats.poisson.sf(observed[0] - 1, expected[0]) > 10 * FALSE_ALARM
    assert_fits(observed, expected)


@pytest.mark.parametrize("cells", [2, 12, 40])
def test_a_share_that_is_off_is_an_alarm_whatever_the_number_of_cells(cells: int) -> None:
    expected = np.full(cells, 1.5 * POOLED)
    assert_fits(expected, expected)
    with pytest.raises(AssertionError, match="χ²"):
        assert_fits(expected * np.r_[2, np.ones(cells - 1)], expected)


def test_what_the_law_rules_out_is_an_alarm_at_once() -> None:
    with pytest.raises(AssertionError, match="rules out"):
        assert_fits([1, 1_000_000], [0.0, 1.0])
