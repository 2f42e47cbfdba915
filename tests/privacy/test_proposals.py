"""How a limit on everything is shared out."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.privacy import BeliefTarget
from sfumato.privacy.proposals import bounded_channel, gamma_limits


def test_a_limit_on_everything_is_shared_out_and_what_is_not_needed_goes_to_others() -> None:
    limits = gamma_limits({"a": 1.5, "b": 100.0, "c": np.inf}, [BeliefTarget(0.05, 0.5)])
    assert limits["b"] == limits["c"] == pytest.approx(np.sqrt(19 / 1.5), rel=1e-5)
    assert limits["a"] >= 1.5
    twice = gamma_limits({"a": np.inf}, [BeliefTarget(0.05, 0.5)], times=2)
    assert twice["a"] == pytest.approx(np.sqrt(19), rel=1e-5)


@pytest.mark.parametrize(("categories", "kind"), [(11, "randomized-response"), (12, "subset-response")])
def test_many_categories_get_subsets_and_few_randomized_response(categories: int, kind: str) -> None:
    """Below 3γ + 2 categories randomized response has the smaller variance: here γ = 3.2."""
    given = sf.RandomizedResponse(sf.Categories(range(categories)), gamma=99, missing="refuse")
    found = bounded_channel(given, 3.2001)
    assert (found.kind, found.gamma, found.missing) == (kind, pytest.approx(3.2), "refuse")


def test_advice_for_ten_thousand_categories_is_subsets() -> None:
    words = sf.RandomizedResponse(sf.Categories(range(10_000)), gamma=1000)
    advice = sf.advise(words, "5% to 50%", costs=False)
    assert advice.met and isinstance(advice.channel, sf.SubsetResponse)
    assert "subset-response (gamma = 18.99)" in str(advice)
