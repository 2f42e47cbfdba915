"""Frequent words from beginnings: those that are there are found with their shares, and no others."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.itemsets.words import _tries
from tests.statistics import assert_mean, assert_mean_zero

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SLANG = sf.Words(LETTERS, longest=8, gamma=19)
SAID = {"hello": 0.25, "spoon": 0.15, "elephant": 0.12, "a": 0.1, "hell": 0.08}


def crowd(n: int, rng: np.random.Generator) -> list[str]:
    """People who say these words, and others with a word of their own."""
    own = ["".join(rng.choice(list(LETTERS), 7)) for _ in range(200)]
    words, shares = [*SAID, *own], [*SAID.values(), *np.full(200, (1 - sum(SAID.values())) / 200)]
    return rng.choice(words, n, p=shares).tolist()


def test_frequent_words_are_found_with_their_shares_and_no_others() -> None:
    rng = np.random.default_rng(11)
    found = sf.frequent_words(SLANG.randomize(crowd(60_000, rng), rng), SLANG)
    assert found["word"].tolist()[0] == "hello" and set(found["word"]) == set(SAID)
    for word, share, stderr in found.itertuples(index=False):
        assert abs(share - SAID[word]) < 6 * stderr
    error = dict(zip(found["word"], found["stderr"], strict=True))
    assert error["a"] < 0.75 * error["elephant"]  # all lengths tell of a short word
    assert found["share"].is_monotonic_decreasing


def test_a_least_share_leaves_the_rarer_out() -> None:
    rng = np.random.default_rng(12)
    reports = SLANG.randomize(crowd(60_000, rng), rng)
    assert set(sf.frequent_words(reports, SLANG, min_share=0.2)["word"]) == {"hello"}


def test_a_word_of_few_letters_and_its_continuation_are_two_words() -> None:
    words = sf.Words("ab", longest=4, gamma=19)
    found = sf.frequent_words(words.randomize(["ab"] * 4000 + ["abab"] * 6000, rng=3), words)
    assert found["word"].tolist() == ["abab", "ab"]


def test_noise_alone_finds_next_to_nothing() -> None:
    """In one survey of twenty at most, so that in eight of ten a chance of less than the false-alarm rate finds any."""
    words, with_any = sf.Words("abcdefgh", longest=5, gamma=19), 0
    for seed in range(10):
        reports = np.random.default_rng([13, seed]).integers(0, 2 * words.buckets.slices.outputs, 20_000)
        with_any += len(sf.frequent_words(reports, words)) > 0
    assert len(words.lengths) == 2 and with_any < 8


def test_shares_are_unbiased_and_their_errors_calibrated() -> None:
    """Of a word so frequent that it is always found; those of rarer ones are, where luck decides, too large."""
    words, scores = sf.Words("ab", longest=3, gamma=19), []
    for seed in range(60):
        found = sf.frequent_words(words.randomize(["ab"] * 700 + ["bbb"] * 300, rng=seed), words)
        row = found[found["word"] == "ab"].iloc[0]
        scores.append((row["share"] - 0.7) / row["stderr"])
    assert_mean_zero(scores)
    assert_mean(np.square(scores), 1.0, np.sqrt(2))


def test_a_rare_word_is_found_every_second_time_at_the_stated_share() -> None:
    words = sf.Words("abcdefgh", longest=5, gamma=19)
    n = 40_000
    share, found = words.lowest_discoverable_share(n), 0
    for seed in range(12):
        rng = np.random.default_rng([14, seed])
        people = np.where(rng.random(n) < share, "cabed", rng.choice(["aa", "bbb", "gh"], n)).tolist()
        found += "cabed" in set(sf.frequent_words(words.randomize(people, rng), words)["word"])
    assert 1 <= found <= 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], SLANG), "there are too few reports"),
        (([1], sf.Categories(["a"])), "words is a Categories; give the sf.Words"),
        (([1], SLANG, 2), "min_share = 2 is no share"),
        (([1], SLANG, float("nan")), "min_share = nan is no share"),
        (([1], SLANG, "half"), "min_share = 'half' is no share"),
    ],
)
def test_bad_input_is_one_line(arguments: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words) as error:
        sf.frequent_words(*arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("breadth", [0, 2.5, "wide"])
def test_a_breadth_of_nothing_is_refused(breadth: Any) -> None:
    with pytest.raises(ValueError, match=f"breadth = {breadth!r} follows no beginning"):
        sf.frequent_words([1], SLANG, breadth=breadth)


def test_beginnings_are_tried_in_blocks_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    words = sf.Words("abcdefgh", longest=7, gamma=19)
    reports = words.randomize(["hagab"] * 3000 + ["fee"] * 3000 + ["bedhead"] * 3000, rng=3)
    whole = sf.frequent_words(reports, words)
    monkeypatch.setattr("sfumato.itemsets.words.BLOCK", 1000)
    assert sf.frequent_words(reports, words).equals(whole) and len(whole) >= 3


@pytest.mark.parametrize(("going", "length"), [([""], 3), (["ab", "ba"], 3), (["ab", "ba"], 4), (["a"], 1)])
def test_beginnings_are_numbered_before_they_are_made(going: list[str], length: int) -> None:
    words = sf.Words("abc", longest=20, gamma=3)
    assert _tries(words, going, length) == len(list(words.extend(going, length)))


def test_more_beginnings_than_can_be_tried_are_refused_with_what_to_do() -> None:
    words = sf.Words("".join(map(chr, range(1000, 4000))), longest=3, gamma=19)
    letters = [chr(1000 + place) for place in range(40)]
    with pytest.raises(ValueError, match="beginnings of 3 letters are too many to try; use breadth = 11"):
        sf.frequent_words(words.randomize([letter * 3 for letter in letters] * 500, rng=1), words)


def test_of_words_in_one_bucket_the_one_that_people_have_is_kept():
    """Some words that nobody has share buckets with frequent ones here, and were found beside all forty."""
    rng, words = np.random.default_rng(102), sf.Words(string.ascii_lowercase, 5, gamma=19)
    true = {"".join(rng.choice([*string.ascii_lowercase], 5)) for _ in range(40)}
    reports = words.randomize([word for word in sorted(true) for _ in range(2_000)], rng=102)
    assert set(sf.frequent_words(reports, words)["word"]) == true
