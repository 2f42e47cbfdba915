"""The bound on γ, and digits that noise left behind."""

from __future__ import annotations

import numpy as np
from tests.statistics import FALSE_ALARM

import sfumato as sf
from sfumato.privacy.audit.check import draw_samples
from sfumato.privacy.audit.law import least_gamma, share_read_off


def test_the_bound_on_gamma_comes_close_to_the_truth_and_stays_below_it() -> None:
    channel = sf.RandomizedResponse(sf.Categories(["red", "green", "blue"]), gamma=19)
    samples = draw_samples(channel, channel.randomize, 600_000)
    bound, _ = least_gamma(samples, FALSE_ALARM)
    assert 17 < bound <= 19


def test_digits_left_behind_are_read_off_and_reports_on_the_grid_have_none() -> None:
    true = np.random.default_rng(0).random(1000)
    noise = np.random.default_rng(1).integers(-50, 50, 1000) * 0.01
    assert share_read_off(true, true + noise, 0, 0.01) > 0.99
    assert share_read_off(true, np.rint((true + noise) / 0.01) * 0.01, 0, 0.01) == 0
