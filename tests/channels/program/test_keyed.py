"""What a device's key alone keeps: one report a question, and no more than their product from different channels."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.program.random_words import question_of
from tests.statistics import critical_z

COLOURS = ["red", "green", "blue"]
PEOPLE = 1000


def reports_of(channels: list[sf.Channel], truth: list[str]) -> np.ndarray:
    """One row a person, one column a channel, all asked the same question under the person's key."""
    keys = [i.to_bytes(16, "big") for i in range(len(truth))]
    asked = list(zip(keys, truth, strict=True))
    return np.array([[c.randomize(value, key=key, question="q") for c in channels] for key, value in asked])


def recovered(reports: np.ndarray, truth: list[str]) -> float:
    """The share of people whose commonest report is the truth."""
    found = [max(set(row.tolist()), key=row.tolist().count) for row in reports]
    return float(np.mean([guess == value for guess, value in zip(found, truth, strict=True)]))


def test_plans_of_nearly_the_same_gamma_teach_what_one_of_them_does() -> None:
    truth = np.random.default_rng(1).choice(COLOURS, PEOPLE).tolist()
    channels = [sf.RandomizedResponse(sf.Categories(COLOURS), gamma=19 + i / 1e4) for i in range(51)]
    reports = reports_of(channels, truth)
    assert recovered(reports, truth) == recovered(reports[:, :1], truth) < 0.95
    assert np.mean(reports == reports[:, :1]) > 0.999


def test_square_waves_of_nearly_the_same_gamma_give_one_report() -> None:
    waves = [sf.SquareWave(sf.Interval(20, 80), gamma=19 + i / 1e4) for i in range(51)]
    assert len({wave.window.window for wave in waves}) == 1
    keys = [i.to_bytes(16, "big") for i in range(100)]
    reports = np.array([[wave.randomize(47.5, key=key, question="q") for wave in waves] for key in keys])
    assert np.mean(reports == reports[:, :1]) > 0.999 and np.unique(reports[:, 0]).size > 60


def test_plans_of_many_gammas_teach_what_the_least_private_of_them_does() -> None:
    truth = np.random.default_rng(2).choice(COLOURS, PEOPLE).tolist()
    channels = [sf.RandomizedResponse(sf.Categories(COLOURS), gamma=g) for g in (3, 4, 6, 9, 12, 15, 19)]
    reports = reports_of(channels, truth)
    last, spread = channels[-1].keep, np.sqrt(0.1 / PEOPLE)
    assert recovered(reports[:, -1:], truth) < last + critical_z() * spread
    assert recovered(reports, truth) <= recovered(reports[:, -1:], truth)
    share = (reports[:, 0] != reports[:, -1]).mean()  # these people are told apart: why a device keeps a ledger
    assert abs(share - (last - channels[0].keep)) < critical_z() * np.sqrt(0.25 / PEOPLE)


@pytest.mark.parametrize(
    "pair",
    [
        [sf.RandomizedResponse(sf.Categories(labels), gamma=19) for labels in (COLOURS, COLOURS[::-1])],
        [
            sf.RandomizedResponse(sf.Categories(COLOURS), gamma=19),
            sf.Tabulated(sf.Categories(COLOURS), np.full((3, 3), 1 / 3)),
        ],
    ],
    ids=["labels in another order", "a table that tells the word"],
)
def test_channels_of_different_forms_draw_independently_so_that_two_do_not_tell_all(pair: list[sf.Channel]) -> None:
    """From one draw, labels in two orders would show whether the answer was kept, and so every answer."""
    truth = ["red"] * PEOPLE
    first, second = reports_of(pair, truth).T
    kept = first == "red"
    for shares in (kept, ~kept):  # the second report does not depend on what happened in the first
        expected = pair[1].law()[pair[1].outputs.labels.index("red"), pair[1].inputs.labels.index("red")]
        assert abs((second[shares] == "red").mean() - expected) < critical_z() * np.sqrt(0.25 / shares.sum())


def test_levels_of_a_choice_share_the_draw_of_the_channel_itself() -> None:
    plain = sf.RandomizedResponse(sf.Categories(COLOURS), gamma=9)
    levels = sf.Choice({"open": sf.RandomizedResponse(sf.Categories(COLOURS), gamma=9.0001), "shy": plain})
    asked = {"key": b"k" * 16, "question": "q"}
    for value in COLOURS:
        chosen = {levels.randomize(value, level=level, **asked) for level in ("open", "shy")}
        assert chosen == {plain.randomize(value, **asked)}


def test_questions_made_of_names_are_never_the_same() -> None:
    names = [("a/b", "c"), ("a", "b/c"), ("a", 'b","c'), ("a", "b", "c"), ("a\0b", "c")]
    assert len({question_of(*each) for each in names}) == len(names)
    assert question_of("town", "größe") == '["town","größe"]'
