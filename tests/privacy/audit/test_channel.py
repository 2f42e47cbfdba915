"""Known broken implementations are caught at the stated confidence; every channel that we ship passes."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato.channels.base import Channel
from sfumato.privacy.audit.baskets import binomial
from sfumato.privacy.audit.channel import (
    check_amplification,
    check_channel,
    check_fresh_noise,
    draw_tally,
    share_read_off,
)
from sfumato.privacy.audit.check import Check
from sfumato.privacy.audit.law import check_law, residue_events
from sfumato.privacy.audit.probe import ChannelProbe, Effort, law_columns
from tests.laws.test_laws import CHANNELS
from tests.privacy.audit.broken import (
    AGE,
    SeededAtImport,
    clipped,
    digits_left_behind,
    last_item_forgotten,
    multiples_of_four,
    one_draw_for_everybody,
    one_generator,
)
from tests.statistics import FALSE_ALARM

fresh = import_module("sfumato.privacy.audit.fresh")
COLOURS = sf.Categories(["red", "green", "blue"])
UNIT, AGES = sf.Interval(0, 1), sf.Interval(20, 80, integer=True)
QUICK = 120_000


def broken(checks: list[Check]) -> dict[str, str]:
    return {check.name: check.text for check in checks if not check.passed}


@pytest.mark.parametrize("channel", CHANNELS)
def test_every_shipped_channel_passes(channel: Channel) -> None:
    checks = check_channel(channel, samples=60_000, false_alarm=FALSE_ALARM)
    assert broken(checks) == {}
    assert sum(check.false_alarm for check in checks) <= FALSE_ALARM * (1 + 1e-9)


def test_a_biased_coin_is_caught_by_the_bound_on_gamma() -> None:
    stated, actual = (sf.RandomizedResponse(COLOURS, keep=keep) for keep in (0.6, 0.7))
    found = broken(check_channel(stated, actual.randomize, samples=QUICK, false_alarm=FALSE_ALARM))
    assert set(found) >= {"law", "amplification"}
    assert "stated is γ = 3" in found["amplification"]


def test_noise_reused_after_a_fork_is_caught() -> None:
    channel = sf.Gaussian(AGES, privacy=1.0)
    found = broken(check_channel(channel, one_generator(channel), samples=QUICK))
    assert set(found) == {"fresh noise"} and "after a fork" in found["fresh noise"]


def test_noise_that_begins_anew_in_every_new_process_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "CALLS", (128, 128))  # what is drawn here has little to do with other processes
    monkeypatch.setattr(fresh, "LONGEST", fresh.LONG)
    probe, alone = ChannelProbe(AGE, 20_000), SeededAtImport(AGE)
    assert not check_fresh_noise(probe, alone, "x", 1e-7, Effort(seconds=10)).passed
    check = check_fresh_noise(probe, AGE.randomize, "x", 1e-7, Effort(seconds=10))
    assert check.passed and "in a new process" in check.text


def test_one_draw_for_everybody_is_caught() -> None:
    channel = sf.RandomizedResponse(sf.Categories(range(9)), gamma=5)
    assert "fresh noise" in broken(check_channel(channel, one_draw_for_everybody(channel), samples=QUICK))


def test_low_digits_of_the_true_value_are_caught_and_read_off() -> None:
    channel = sf.Gaussian(UNIT, scale=0.25)
    found = broken(check_channel(channel, digits_left_behind(channel), samples=QUICK))
    assert set(found) == {"low digits"}
    assert "100 % of them carry the true value's own digits" in found["low digits"]


def test_noise_in_multiples_of_four_leaves_the_last_two_bits_and_is_caught() -> None:
    channel = sf.Gaussian(sf.Interval(0, 1000, integer=True), scale=200)
    tally = draw_tally(ChannelProbe(channel, QUICK), multiples_of_four(channel), Effort(QUICK))
    assert not check_law(tally, "x", FALSE_ALARM).passed
    residues = residue_events(tally)
    values = residues.p_values
    assert "modulo" in residues.describe(int(np.argmin(values))) and values.min() < FALSE_ALARM / 1e6


@pytest.mark.parametrize("channel", [sf.Gaussian(AGES, privacy=1.0), sf.SquareWave(AGES, gamma=9)], ids=repr)
def test_noise_clipped_at_the_end_of_the_domain_is_caught(channel: Channel) -> None:
    assert "where the law states" in broken(check_channel(channel, clipped(channel), samples=QUICK))["law"]


def test_a_last_item_that_is_never_randomized_is_caught_among_two_hundred() -> None:
    channel = sf.SelectASize.design(sf.Items(200), sizes=[5], gamma=19)
    found = broken(check_channel(channel, last_item_forgotten(channel), samples=16_000))
    assert "item 199" in found["law"] and "item 199" in found["amplification"]


def test_large_sets_of_items_pass() -> None:
    channel = sf.SelectASize.design(sf.Items(100), sizes=[3, 5], gamma=19)
    checks = check_channel(channel, samples=16_000)
    assert broken(checks) == {} and [check.name for check in checks].count("law") == 2


@pytest.mark.parametrize(("n", "chance"), [(0, 0.3), (3, 0.4), (100_000, 0.02), (7, 0.0), (7, 1.0)])
def test_how_many_others_join_a_basket_is_binomial(n: int, chance: float) -> None:
    np.testing.assert_allclose(binomial(n, chance), stats.binom.pmf(np.arange(n + 1), n, chance), atol=1e-11)


def test_reports_of_another_program_are_audited_as_they_come() -> None:
    channel = sf.RandomizedResponse(COLOURS, keep=0.6)
    sound = {label: channel.randomize([label] * 20_000) for label in COLOURS.labels}
    assert broken(check_channel(channel, sound)) == {}
    assert set(broken(check_channel(channel, {**sound, "red": ["red"] * 20_000}))) == {"law", "amplification"}


def test_a_report_that_the_channel_does_not_know_is_named() -> None:
    channel = sf.RandomizedResponse(COLOURS, keep=0.6)
    reports = {"red": ["red", "violet"] * 1000, "green": ["green"] * 2000}
    assert "'violet'" in broken(check_channel(channel, reports))["law"]


@pytest.mark.parametrize(
    "channel",
    [sf.Gaussian(UNIT, scale=0.02), sf.Laplace(UNIT, scale=0.5, step=0.01), sf.Uniform(UNIT, halfwidth=0.4)],
    ids=repr,
)
def test_single_columns_are_those_of_the_law(channel: sf.Channel) -> None:
    codes = np.array([0, channel.inputs.size // 2, channel.inputs.size - 1])
    np.testing.assert_allclose(law_columns(channel, codes), channel.law()[:, codes], atol=1e-15)


def test_the_bound_on_gamma_comes_close_to_the_truth_and_stays_below_it() -> None:
    channel = sf.RandomizedResponse(COLOURS, gamma=19)
    tally = draw_tally(ChannelProbe(channel, 600_000), channel.randomize, Effort(600_000))
    assert 17 < check_amplification(tally, "x", FALSE_ALARM).numbers["least_gamma"] <= 19


def test_digits_left_behind_are_read_off_and_reports_on_the_grid_have_none() -> None:
    true = np.random.default_rng(0).random(1000)
    noise = np.random.default_rng(1).integers(-50, 50, 1000) * 0.01
    assert share_read_off(true, true + noise, 0, 0.01) > 0.99
    assert share_read_off(true, np.rint((true + noise) / 0.01) * 0.01, 0, 0.01) == 0
