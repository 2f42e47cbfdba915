"""What one person's reports add up to."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.guarantee import CombinedGuarantee
from sfumato.privacy.accounting import Account, widths_of
from sfumato.privacy.population import believed_people

UNIT = sf.Interval(0, 1)


def account(times: int, **channels: sf.Channel) -> Account:
    return Account(CombinedGuarantee({name: channel.guarantee() for name, channel in channels.items()}), times)


def test_gamma_multiplies_over_attributes_and_repetitions() -> None:
    yes_no = sf.Categories(["yes", "no"])
    twice = account(2, a=sf.RandomizedResponse(yes_no, gamma=3), b=sf.RandomizedResponse(yes_no, gamma=2))
    assert twice.gamma == pytest.approx(36)
    assert "2 times with fresh noise" in str(twice) and "at most 36" in str(twice) and "at most 6" in str(twice)


def test_an_unbounded_attribute_is_named() -> None:
    once = account(1, a=sf.SquareWave(UNIT, gamma=3), b=sf.Gaussian(UNIT, scale=0.1))
    assert once.to_dict()["gamma"] is None and "because of b" in str(once)


@pytest.mark.parametrize("correlation", [0.0, 0.95])
def test_widths_narrow_only_where_answers_are_correlated(correlation: float) -> None:
    rng = np.random.default_rng(0)
    z = rng.multivariate_normal([0, 0, 0], np.full((3, 3), correlation) + (1 - correlation) * np.eye(3), 20_000)
    truth = {name: np.clip(0.5 + 0.12 * column, 0, 1) for name, column in zip("abc", z.T, strict=True)}
    channels = {name: sf.Gaussian(UNIT, scale=0.15) for name in "abc"}
    people = believed_people(channels, None, truth, 500, rng)
    for width in widths_of(people):
        assert width.stated == pytest.approx(width.alone, rel=0.02)
        assert width.alone == pytest.approx(3.92 * 0.12 * 0.15 / math.hypot(0.12, 0.15), rel=0.05)
        assert width.weakened == (correlation > 0)
        assert ("correlation takes" in str(width)) == width.weakened
