"""Targets are read from the words of the people who ask for them."""

from __future__ import annotations

import pytest

from sfumato.privacy.targets import BeliefTarget, WidthTarget, read_target, read_targets


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
    assert read_targets("age: 20 at 95%", ["age"]) == [WidthTarget("age", 20, 0.95)]
    with pytest.raises(ValueError, match="'town', which has no channel; there are age, pay"):
        read_targets(["5% to 50%", "town: 5% to 50%"], ["age", "pay"])
