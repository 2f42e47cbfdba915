"""Exact binomial bounds against scipy's, and their coverage by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sfumato.privacy.audit.check import lower_bound, p_value, upper_bound


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 10), (10, 10), (250, 100_000)])
def test_the_bounds_are_those_of_clopper_and_pearson(k: int, n: int) -> None:
    known = stats.binomtest(k, n).proportion_ci(0.998, method="exact")
    assert (lower_bound(k, n, 0.001), upper_bound(k, n, 0.001)) == pytest.approx((known.low, known.high), abs=1e-12)


@pytest.mark.parametrize("chance", [0.003, 0.2, 0.5, 0.97])
def test_a_true_chance_lies_outside_its_bounds_no_more_often_than_allowed(chance: float) -> None:
    k = np.arange(41)
    weight = stats.binom.pmf(k, 40, chance)
    assert weight[lower_bound(k, 40, 0.01) > chance].sum() <= 0.01
    assert weight[upper_bound(k, 40, 0.01) < chance].sum() <= 0.01
    assert weight[p_value(k, 40, chance) <= 0.01].sum() <= 0.01


def test_what_the_law_rules_out_has_p_value_zero() -> None:
    assert p_value(1, 1000, 0.0) == 0 and p_value(0, 1000, 0.0) == 1 and p_value(999, 1000, 1.0) == 0
