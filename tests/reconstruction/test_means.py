"""`sf.mean`: unbiased, with an error that covers."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from tests.statistics import assert_mean, assert_probability

HUNDRED = sf.Interval(0, 100)
SPIKE = np.where(np.arange(2000) % 20 == 0, 60.0, 0.0)
CHANNELS = [
    sf.Piecewise(HUNDRED, gamma=19), sf.Piecewise(HUNDRED, gamma=3), sf.Piecewise(HUNDRED, epsilon=0.5),
    sf.SquareWave(HUNDRED, gamma=19), sf.Laplace(HUNDRED, gamma=19), sf.Gaussian(HUNDRED, privacy=1.0),
]  # fmt: skip


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_the_mean_of_a_spike_is_unbiased_and_its_error_covers(channel: sf.Channel) -> None:
    found = [sf.mean(channel.randomize(SPIKE, np.random.default_rng(seed)), channel) for seed in range(200)]
    z = np.array([(float(one) - SPIKE.mean()) / one.stderr for one in found])
    assert_mean(z, 0.0, 1.0)
    assert_probability(int((np.abs(z) < 1.645).sum()), z.size, 0.9)


def test_few_reports_that_happen_to_agree_are_no_surer_than_their_noise() -> None:
    hours = sf.Laplace(sf.Interval(0, 60), privacy=0.5)
    assert sf.mean([40.0, 40.0], hours).stderr == pytest.approx(hours.noise_variance**0.5 / 2**0.5, rel=0.01)
    assert sf.mean([40.0, 40.0, 40.0], sf.Discretize(sf.Interval(0, 60), width=10)).stderr >= 0


def test_reports_without_noise_give_the_mean_itself() -> None:
    assert float(sf.mean(SPIKE, sf.Gaussian(HUNDRED, scale=1e-3, step=0.5))) == pytest.approx(SPIKE.mean())


def test_counts_by_class_give_a_mean_a_class() -> None:
    channel = CHANNELS[0]
    group = np.where(SPIKE > 0, "some", "none")
    counts = sf.Counts.of(channel.randomize(SPIKE, 5), channel, by=group)
    found = sf.mean(counts)
    assert set(found) == {"none", "some"} and found["some"] > found["none"] + 40
    both = np.average([found["some"], found["none"]], weights=[1, 19])
    assert float(sf.mean(counts.together())) == pytest.approx(both)


def test_people_who_chose_their_own_level_are_averaged_together() -> None:
    choice = sf.Choice({"open": sf.Piecewise(HUNDRED, gamma=99), "shy": sf.Piecewise(HUNDRED, gamma=9)}, default="shy")
    level = np.where(SPIKE > 0, "shy", "open")
    found = sf.mean(choice.randomize(SPIKE, 3, level=level), choice, level=level)
    assert abs(float(found) - SPIKE.mean()) < 5 * found.stderr


def test_a_channel_whose_mean_is_no_line_is_reconstructed() -> None:
    channel = sf.Gaussian(HUNDRED, scale=5) >> sf.Discretize(sf.Interval(-100, 200), width=30)
    reports = channel.randomize(SPIKE, 1)
    assert float(sf.mean(reports, channel)) == float(sf.reconstruct(reports, channel).mean())


def test_a_distribution_can_still_be_asked_for_and_says_what_it_rests_on() -> None:
    two = sf.Piecewise(HUNDRED, gamma=19, places=2)
    estimate = sf.reconstruct(two.randomize(SPIKE, 1), two)
    assert any("decide about 1 numbers" in message for message in estimate.diagnostics.messages)


@pytest.mark.parametrize(
    ("reports", "channel", "words"),
    [
        (["a", "b"], sf.RandomizedResponse(sf.Categories(["a", "b"]), gamma=19), "a mean needs numbers"),
        ([np.nan, np.nan], sf.Piecewise(HUNDRED, gamma=19), "every one is missing"),
        ([1.0], None, "channel is missing"),
    ],
)
def test_bad_input_is_one_line(reports: list[object], channel: sf.Channel | None, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        sf.mean(reports, channel)
