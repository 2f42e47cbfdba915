"""Words that no list holds: the public hash, the law of a report, what a device sends, bad input."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.bounded.words import END
from sfumato.channels.program import Program
from sfumato.channels.program.random_words import RecordWords
from tests.statistics import assert_fits

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SLANG = sf.Words(LETTERS, longest=6, gamma=19)


def test_lengths_begin_where_all_can_be_tried_and_end_with_the_whole_word() -> None:
    assert SLANG.lengths == (3, 5, 6)
    assert sf.Words(LETTERS, longest=12, gamma=3).lengths == (3, 5, 7, 9, 11, 12)
    assert sf.Words("01", longest=8, gamma=3).lengths == (8,)
    assert sf.Words("01", longest=16, gamma=3).lengths == (9, 11, 13, 15, 16)


def test_the_bucket_is_the_published_hash() -> None:
    digest = hashlib.sha256(b"sfumato/1/words\x003\x00cat").digest()
    assert SLANG.bucket("cat") == int.from_bytes(digest[:8], "big") % 2**19 == 177_508
    assert SLANG.pad("cat") == "cat" + 3 * END and SLANG.pad("elephant") == "elepha"


def test_beginnings_go_on_with_every_letter_and_behind_an_end_mark_with_nothing() -> None:
    small = sf.Words("ab", longest=20, gamma=3)
    assert list(small.extend([""], 1)) == ["a", "b"]
    assert list(small.extend(["ab", "b" + END], 3)) == ["aba", "abb", "ab" + END, "b" + 2 * END]


@pytest.mark.parametrize("bound", [{"gamma": 19}, {"gamma": np.e}, {"epsilon": 1}])
def test_a_report_has_the_gamma_asked_for_and_the_set_is_a_drawing_program(bound: dict[str, float]) -> None:
    words = sf.Words(LETTERS, 8, **bound)
    wanted = bound.get("gamma") or np.exp(bound["epsilon"])
    exact = words.buckets.exact_gamma
    assert exact is not None and Fraction(wanted) * (1 - Fraction(1, 10**9)) < exact <= Fraction(wanted)
    assert words.guarantee().gamma == pytest.approx(wanted)
    assert Program.from_dict(words.buckets.program()).gamma == exact


def test_the_length_is_even_whatever_the_word_and_the_set_holds_its_beginning_as_often_as_the_law_says() -> None:
    reports = SLANG.randomize(["spoon"] * 30_000, rng=1)
    groups, sets = np.divmod(reports, SLANG.buckets.slices.outputs)
    assert_fits(np.bincount(groups, minlength=3), np.full(3, 1 / 3))
    for group, beginning in enumerate(["spo", "spoon", "spoon" + END]):
        seen = sets[groups == group]
        hit = SLANG.buckets.slices.holds(SLANG.bucket(beginning), seen)
        chance = SLANG.buckets.slices.chance
        assert_fits([hit.sum(), (~hit).sum()], [chance, 1 - chance])


def test_a_device_says_the_same_of_the_same_word() -> None:
    secret = b"sixteen bytes or more"
    first = SLANG.randomize("spoon", key=secret, question="slang")
    assert first == SLANG.randomize("spoon", key=secret, question="slang")
    words = ["spoon", "fork", "knife", "plate"]
    lengths = {SLANG.randomize(word, key=secret, question="slang") // SLANG.buckets.slices.outputs for word in words}
    assert len(lengths) == 1
    people = {SLANG.randomize("spoon", key=bytes([i]) * 16, question="slang") for i in range(20)}
    assert len(people) > 15


def test_what_is_missing_stays_missing_and_long_words_are_cut() -> None:
    assert SLANG.randomize(None) is None and SLANG.randomize(float("nan")) is None
    reports = SLANG.randomize(["spoon", None, "elephant"], rng=1)
    assert reports[1] is None and reports[0] >= 0
    assert sum(map(np.sum, SLANG.count(reports))) == 2
    assert SLANG.randomize(["elephant"], rng=2) == SLANG.randomize(["elepha"], rng=2)


def test_a_records_report_does_not_depend_on_others_being_missing() -> None:
    secret, words = b"j" * 32, ["spoon", "fork", "knife"]
    beside = SLANG.randomize([None, *words], key=RecordWords(secret, np.arange(4)), question="slang")
    alone = SLANG.randomize(words, key=RecordWords(secret, np.arange(1, 4)), question="slang")
    assert beside[0] is None and list(beside[1:]) == list(alone)
    assert SLANG.randomize([None], key=RecordWords(secret, np.arange(1)), question="slang")[0] is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sf.Words("", 5, gamma=3), "alphabet='' is no text of different letters"),
        (lambda: sf.Words("aba", 5, gamma=3), "alphabet='aba' is no text of different letters"),
        (lambda: sf.Words(7, 5, gamma=3), "alphabet=7 is no text"),  # type: ignore[arg-type]
        (lambda: sf.Words(LETTERS, 0, gamma=3), "longest=0 is not a whole number of letters from 1 to 64"),
        (lambda: sf.Words(LETTERS, True, gamma=3), "longest=True is not"),
        (lambda: sf.Words(LETTERS, 5), "give either gamma= or epsilon= for words"),
        (lambda: sf.Words(LETTERS, 5, gamma=1), "not above 1"),
        (lambda: SLANG.randomize(["ok", "Ok"]), "row 2: 'O' is not in the alphabet; add it there"),
        (lambda: SLANG.randomize(["ok", ""]), "row 2: '' is not a word; give texts"),
        (lambda: SLANG.randomize([3]), "row 1: 3 is not a word"),
        (lambda: SLANG.randomize(5), "row 1: 5 is not a word"),
        (lambda: SLANG.count([float("inf")]), "inf is no report of words; give the numbers"),
        (lambda: SLANG.count([10**30]), "0 is no report of words; give the numbers"),
        (lambda: SLANG.count([1.5, None]), "1.5 is no report of words"),
        (lambda: SLANG.lowest_discoverable_share(0), "n=0 is not a number of people"),
        (lambda: SLANG.lowest_discoverable_share(-5), "n=-5 is not a number of people"),
        (lambda: SLANG.lowest_discoverable_share("many"), "n='many' is not"),  # type: ignore[arg-type]
        (lambda: SLANG.count([10**9]), "1,000,000,000 is no report of these words"),
        (lambda: SLANG.count([-1]), "-1 is no report of these words"),
        (lambda: SLANG.count(["spoon"]), "'spoon' is no report of words; give the numbers"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        make()
    assert "\n" not in str(error.value)


def test_repr_makes_it_again() -> None:
    assert repr(sf.Words("ab", 4, epsilon=1.5)) == "Words('ab', longest=4, epsilon=1.5)"
