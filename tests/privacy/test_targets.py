"""Targets are read from the words of the people who ask for them."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.privacy.targets import BeliefTarget, WidthTarget, judge_belief, read_target, read_targets


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("5% to 50%", BeliefTarget(0.05, 0.5)),
        ("0.05 -> 0.5", BeliefTarget(0.05, 0.5)),
        ("age: 1 % to 10 %", BeliefTarget(0.01, 0.1, "age")),
        ("age: 20 at 95%", WidthTarget("age", 20, 0.95)),
        ("house value: width 2.5e4 at 0.9", WidthTarget("house value", 25_000, 0.9)),
    ],
)
def test_targets_are_read_from_words(text: str, goal: object) -> None:
    assert read_target(text) == goal


@pytest.mark.parametrize("text", ["", "age", "50% to 5%", "age: 20 at 100%", "age: 0 at 95%"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="target"):
        read_target(text)


def test_a_target_for_what_is_not_blurred_lists_what_is() -> None:
    domains = {"age": sf.Interval(20, 80), "smokes": sf.Categories(["yes", "no"])}
    assert read_targets("age: 20 at 95%", domains) == [WidthTarget("age", 20, 0.95)]
    with pytest.raises(ValueError, match="'town', which has no channel; there are age, smokes"):
        read_targets(["5% to 50%", "town: 5% to 50%"], domains)
    with pytest.raises(ValueError, match="'smokes', which is no number; ask for 'smokes: 5% to 50%'"):
        read_targets("smokes: 20 at 95%", domains)


def test_a_missed_target_on_all_reports_says_which_report_shows_it() -> None:
    bounded = sf.SquareWave(sf.Interval(0, 1), gamma=5).guarantee()
    stated = {"pay": bounded, "age": sf.Gaussian(sf.Interval(20, 80), privacy=1.0).guarantee()}
    verdict = judge_belief(BeliefTarget(0.05, 0.5), stated)
    assert not verdict.met and verdict.text.startswith("for age, a report of")
    by_all = judge_belief(BeliefTarget(0.05, 0.5), {"pay": bounded, "debt": bounded})
    assert not by_all.met and "25" in by_all.text
    met = judge_belief(BeliefTarget(0.05, 0.5), {"pay": bounded}, times=1)
    assert met.met and met.text == "γ = 5 is below the 19 that it takes."
