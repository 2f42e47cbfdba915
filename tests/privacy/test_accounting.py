"""What one person's reports add up to."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.privacy.accounting import Account, widths_of
from sfumato.privacy.population import believed_people

UNIT = sf.Interval(0, 1)


def test_gamma_multiplies_over_attributes_and_repetitions() -> None:
    account = Account({"a": 3.0, "b": 2.0}, 2)
    assert account.gamma == 36 and account.epsilon == pytest.approx(math.log(36))
    assert "most of it by a" in str(account)


def test_an_unbounded_attribute_is_named() -> None:
    account = Account({"a": 3.0, "b": math.inf}, 1)
    assert account.to_dict()["gamma"] is None and "because of b" in str(account)


@pytest.mark.parametrize("correlation", [0.0, 0.95])
def test_widths_narrow_only_where_answers_are_correlated(correlation: float) -> None:
    rng = np.random.default_rng(0)
    z = rng.multivariate_normal([0, 0, 0], np.full((3, 3), correlation) + (1 - correlation) * np.eye(3), 20_000)
    truth = {name: np.clip(0.5 + 0.12 * column, 0, 1) for name, column in zip("abc", z.T, strict=True)}
    channels = {name: sf.Gaussian(UNIT, scale=0.15) for name in "abc"}
    people = believed_people(channels, None, truth, 500, rng)
    for width in widths_of(people):
        assert width.stated == pytest.approx(3.92 * 0.15, rel=1e-3)
        assert width.alone == pytest.approx(3.92 * 0.12 * 0.15 / math.hypot(0.12, 0.15), rel=0.05)
        assert width.weakened == (correlation > 0)
        assert ("correlation takes" in str(width)) == width.weakened
