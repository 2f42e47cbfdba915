"""Reports that the law cannot have made are said to be so; sound ones are not."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.reconstruction.misfit import FALSE_ALARM, fit_of

RANGE, LABELS = sf.Interval(20, 80), sf.Categories(list("abcdefgh"))
WORDS = "do not look as if they came through this channel"
CHANNELS = {
    "gaussian": lambda noise: sf.Gaussian(RANGE, privacy=0.5 * noise),
    "square wave": lambda noise: sf.SquareWave(RANGE, gamma=19 ** (1 / noise)),
    "laplace": lambda noise: sf.Laplace(RANGE, privacy=0.5 * noise),
    "randomized response": lambda noise: sf.RandomizedResponse(LABELS, gamma=19 ** (1 / noise)),
}


def people(kind, n, rng):
    if kind == "randomized response":
        return rng.choice(list("abcdefgh"), n, p=[0.4, 0.3, 0.2, 0.1, 0, 0, 0, 0])
    return rng.uniform(20, 80, n)


def said(reports, channel, method="smooth"):
    estimate = sf.reconstruct(reports, channel, method=method)
    told = any(WORDS in message for message in estimate.diagnostics.messages)
    assert told is (estimate.diagnostics.fit < FALSE_ALARM)
    return told


@pytest.mark.parametrize("method", ["smooth", "em", "as00"])
@pytest.mark.parametrize("kind", CHANNELS)
def test_true_answers_passed_as_reports_are_said_to_be_none(kind, method):
    rng = np.random.default_rng(1)
    values, channel = people(kind, 20_000, rng), CHANNELS[kind](1)
    assert said(values, channel, method)
    assert not said(channel.randomize(values, rng), channel, method)


@pytest.mark.parametrize("noise", [0.5, 2])
@pytest.mark.parametrize("kind", ["gaussian", "square wave", "laplace"])
def test_other_noise_is_said_to_be_other(kind, noise):
    rng = np.random.default_rng(2)
    values = people(kind, 20_000, rng)
    assert said(CHANNELS[kind](noise).randomize(values, rng), CHANNELS[kind](1))


def test_shares_below_the_possible_are_seen_and_more_noise_cannot_be():
    """Every mixture of stronger noise is one of weaker noise too: a crowd that is more even."""
    rng = np.random.default_rng(3)
    values = people("randomized response", 20_000, rng)
    half, twice = (CHANNELS["randomized response"](noise).randomize(values, rng) for noise in (0.5, 2))
    assert said(half, CHANNELS["randomized response"](1), "inverse")
    assert not said(twice, CHANNELS["randomized response"](1))


@pytest.mark.parametrize("kind", CHANNELS)
def test_sound_reports_of_many_shapes_are_not(kind):
    rng = np.random.default_rng(4)
    for n in (40, 400, 4_000):
        values = people(kind, n, rng)
        for crowd in (values, np.repeat(values[:1], n), np.sort(values)[: n // 2]):
            for noise in (0.5, 2):
                channel = CHANNELS[kind](noise)
                assert not said(channel.randomize(crowd, rng), channel)


def test_levels_are_judged_together():
    rng = np.random.default_rng(5)
    choice = sf.TwoPhase(sf.Gaussian(RANGE, privacy=0.5), {"normal": 60, "careful": 12})
    values, level = rng.uniform(20, 80, 20_000), rng.choice(["normal", "careful"], 20_000)
    sound = sf.reconstruct(choice.randomize(values, rng, level=level), choice, level=level)
    assert sound.diagnostics.fit >= FALSE_ALARM
    assert sf.reconstruct(values, choice, level=level).diagnostics.fit < FALSE_ALARM


def test_a_report_that_no_value_leads_to_never_fits():
    table = [[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]]
    channel = sf.Tabulated(sf.Categories(["x", "y"]), table, reports=["a", "b", "never"])
    estimate = sf.reconstruct(["a"] * 500 + ["b"] * 450 + ["never"] * 50, channel)
    assert estimate.diagnostics.fit == 0
    assert "would fit as badly never" in estimate.diagnostics.messages[0]


def test_weighted_reports_are_not_judged_unless_all_weigh_the_same():
    reports, channel = ["a"] * 900 + ["h"] * 100, CHANNELS["randomized response"](1)
    different = sf.Counts.of(reports, channel, weights=np.linspace(1, 7, 1000))
    same = sf.Counts.of(reports, channel, weights=np.full(1000, 7.0))
    assert sf.reconstruct(different).diagnostics.fit == 1
    assert sf.reconstruct(same).diagnostics.fit == sf.reconstruct(reports, channel).diagnostics.fit < 1e-5


def test_the_rate_of_false_alarms_is_at_most_the_one_stated():
    """Of 2,000 multinomial samples about a share x falls below x, at every x, when the prediction is the truth."""
    rng, p = np.random.default_rng(6), np.random.default_rng(7).dirichlet(np.ones(200))
    fits = np.array([fit_of(rng.multinomial(3_000, p).astype(float), p) for _ in range(2_000)])
    for share in (0.5, 0.1, 0.01):
        assert np.mean(fits < share) < share + 5 * np.sqrt(share * (1 - share) / 2_000)
