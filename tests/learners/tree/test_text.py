"""What is said of a tree is true of those it is said of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.learners.tree.text import MOST_LABELS, Condition, bound
from sfumato.prose import LANGUAGES, voice

ENGLISH = voice("en")


@given(st.floats(-1e12, 1e12))
def test_bounds_are_rounded_to_the_side_where_the_sentence_stays_true(cut: float) -> None:
    above, below = (float(bound(cut, ENGLISH, up=up).replace(",", "")) for up in (True, False))
    assert below <= cut <= above
    assert above - below <= max(abs(cut) / 900, 1e-300)


@pytest.mark.parametrize(
    ("cut", "up", "words"),
    [
        (49.5, True, "49.5"), (49.5, False, "49.5"), (1234.25, True, "1234.3"), (1234.25, False, "1234.2"),
        (0.1, True, "0.1"), (20000.5, True, "20,001"), (20000.5, False, "20,000"), (-0.0, False, "0"),
        (-12345.5, False, "-12,346"), (1.23456e-7, True, "1.2346e-07"),
    ],
)  # fmt: skip
def test_bounds_have_about_five_digits(cut: float, up: bool, words: str) -> None:
    assert bound(cut, ENGLISH, up=up) == words


def test_conditions_speak_of_ranges_and_of_labels() -> None:
    assert Condition(high=40.0).sentence("age", ENGLISH) == "age is below 40"
    assert Condition(low=40.0).sentence("age", ENGLISH) == "age is at least 40"
    assert Condition(low=40.0, high=60.5).sentence("age", ENGLISH) == "age is between 40 and 60.5"
    assert Condition(labels=("Rome", "Oslo")).sentence("city", ENGLISH) == "city is Rome or Oslo"
    many = Condition(labels=tuple(range(MOST_LABELS + 3)))
    assert many.sentence("city", ENGLISH) == "city is 0, 1, 2, 3, 4, 5 or one of 3 others"


@pytest.mark.parametrize("language", LANGUAGES)
def test_conditions_follow_the_language(language: str) -> None:
    words = Condition(low=1.5, high=20000.0).sentence("x", voice(language))
    assert words == {
        "en": "x is between 1.5 and 20,000", "de": "x liegt zwischen 1,5 und 20.000",
        "fr": "x\u00a0: entre 1,5 et 20\u202f000",
    }[language]
    assert np.isinf(Condition().low)
