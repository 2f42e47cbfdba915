"""Noise keyed by record: a published function of (secret, question, place), whatever is drawn before or beside."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.program import random_words
from sfumato.channels.program.random_words import RecordWords
from tests.statistics import assert_fits, critical_z

SECRET = bytes(range(32))
AGE, UNIT = sf.Interval(20, 80), sf.Interval(0, 1)
COLOURS = sf.Categories(["red", "green", "blue"])
BASKETS = sf.SelectASize.design(sf.Items(6), sizes=[2, 3], gamma=5, up_to=2)
SIZE = 9000
CASES: dict[str, tuple[sf.Mechanism, Any]] = {
    "one word": (sf.Gaussian(AGE, privacy=1.0), np.linspace(20, 80, SIZE)),
    "two words": (sf.RandomizedResponse(COLOURS, gamma=19), np.resize(["red", "green", "blue"], SIZE)),
    "three words": (sf.Gaussian(AGE, scale=9) >> sf.SquareWave(sf.Interval(-80, 180), 9), np.linspace(20, 80, SIZE)),
    "rounds": (sf.Longitudinal(*[sf.RandomizedResponse(COLOURS, gamma=g) for g in (19, 3)]), np.full(SIZE, "red")),
    "several numbers": (
        sf.CorrelatedNoise({"a": UNIT, "b": AGE}, [[0.04, 0.5], [0.5, 100.0]], ratio=1.5),
        np.column_stack([np.linspace(0, 1, SIZE), np.linspace(80, 20, SIZE)]),
    ),
}


def blurred(mechanism: sf.Mechanism, values: Any, places: Any, secret: bytes = SECRET, question: str = "q") -> Any:
    return mechanism.randomize(values, key=RecordWords(secret, places), question=question)


def test_the_words_are_a_published_function() -> None:
    """AES-256 of the counter, with the vectors of FIPS 197 for the cipher itself."""
    cipher = random_words._aes_blocks(bytes(range(32)))
    if cipher is None:
        pytest.skip("the cryptography package is not installed")
    assert cipher(bytes.fromhex("00112233445566778899aabbccddeeff")).hex() == "8ea2b7ca516745bfeafc49904b496089"
    key = hmac.digest(SECRET, b"sfumato/1/records\0q", hashlib.sha256)
    blocks = b"".join((2**40).to_bytes(8, "big") + b.to_bytes(8, "big") for b in range(2))
    found = RecordWords(SECRET, [2**40], "q").rows(np.zeros(1), 3)
    assert found.astype("<u8").tobytes() == random_words._aes_blocks(key)(blocks)[:24]  # type: ignore[misc]


def test_known_words() -> None:
    """As openssl gives them too; with other ones a job that is half done would draw other noise for its rest."""
    assert RecordWords(SECRET, [0, 1, 2**62], "q").rows(np.zeros(3), 2).tolist() == [
        [3734685086623648223, 5155742097829238419],
        [15968427909869775151, 9877925787654816826],
        [11688681679966010976, 12132287680695632491],
    ]


def test_without_the_package_the_words_are_those_of_hmac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_words, "_aes_blocks", lambda key: None)
    key = hmac.digest(SECRET, b"sfumato/1/records\0q", hashlib.sha256)
    digest = hmac.digest(key, (7).to_bytes(8, "big") + bytes(8), hashlib.sha256)
    assert RecordWords(SECRET, [7], "q").rows(np.zeros(1), 2).astype("<u8").tobytes() == digest[:16]
    values = np.linspace(20, 80, 300)
    reports = blurred(CASES["one word"][0], values, np.arange(300))
    assert (reports[200:] == blurred(CASES["one word"][0], values[200:], np.arange(200, 300))).all()


@pytest.mark.parametrize("case", CASES)
def test_neither_order_nor_batches_nor_repetition_matter(case: str) -> None:
    mechanism, values = CASES[case]
    places = np.arange(SIZE) + 2**33
    whole = blurred(mechanism, values, places)
    np.testing.assert_array_equal(blurred(mechanism, values, places), whole)
    for start, stop in ((0, 1), (1, 17), (17, 5000), (5000, SIZE)):
        part = blurred(mechanism, values[start:stop], places[start:stop])
        np.testing.assert_array_equal(part, whole[start:stop])
    order = np.random.default_rng(0).permutation(SIZE)
    np.testing.assert_array_equal(blurred(mechanism, values[order], places[order]), whole[order])


@pytest.mark.parametrize("case", CASES)
def test_secrets_questions_and_places_have_noise_of_their_own(case: str) -> None:
    mechanism, values = CASES[case]
    same, places = values[:1].repeat(SIZE, axis=0), np.arange(SIZE)
    mine = blurred(mechanism, same, places)
    others = [blurred(mechanism, same, places, bytes(32)), blurred(mechanism, same, places, question="r"),
              blurred(mechanism, same, places + SIZE), np.roll(mine, 1, axis=0)]  # fmt: skip
    for other in others:
        equal = (mine == other).reshape(SIZE, -1).all(axis=1).mean()
        counts = np.unique(np.concatenate([mine, other]), axis=0, return_counts=True)[1]
        agreed = ((counts / counts.sum()) ** 2).sum()
        assert abs(equal - agreed) < critical_z() * np.sqrt(max(agreed, 1 / SIZE) / SIZE)


def test_everybody_keeps_their_words_where_people_chose_levels() -> None:
    choice = sf.Choice({name: sf.RandomizedResponse(COLOURS, gamma=g) for name, g in (("open", 9), ("shy", 3))})
    values, levels, places = np.resize(COLOURS.labels, 600), np.resize(["open", "open", "shy"], 600), np.arange(600)

    def reports(rows: Any) -> Any:
        key = RecordWords(SECRET, places[rows])
        return choice.randomize(values[rows], level=levels[rows], key=key, question="q")

    whole = reports(slice(None))
    for rows in (slice(0, 7), slice(7, 600), np.arange(600)[::-1]):
        np.testing.assert_array_equal(reports(rows), whole[rows])


@pytest.mark.parametrize("compress", [False, True])
def test_everybody_keeps_their_words_where_baskets_have_sizes(compress: bool) -> None:
    baskets, places = [[0, 1], [1, 2, 3], [4, 5]] * 50, np.arange(150)

    def words(rows: slice) -> Any:
        key = RecordWords(SECRET, places[rows])
        return BASKETS.randomize(baskets[rows], key=key, question="q", compress=compress).words

    np.testing.assert_array_equal(np.vstack([words(slice(0, 4)), words(slice(4, 150))]), words(slice(0, 150)))


def test_one_value_is_a_batch_of_one() -> None:
    channel = CASES["two words"][0]
    singles = [blurred(channel, "red", [place]) for place in range(40)]
    assert singles == blurred(channel, ["red"] * 40, np.arange(40)).tolist()


def test_words_of_records_are_uniform_in_every_byte() -> None:
    words = RecordWords(SECRET, np.arange(20_000), "q").rows(np.zeros(20_000), 3)
    assert_fits(np.bincount(words.view(np.uint8).ravel(), minlength=256), np.full(256, 1 / 256))


@pytest.mark.parametrize(
    ("secret", "places", "words"),
    [
        (b"short", [0], r"one per job: secrets.token_bytes\(32\)"),
        (SECRET, [-1], "whole numbers from 0"),
        (SECRET, [0.5], "whole numbers from 0"),
        (SECRET, [0, 1], "2 places are too few"),
    ],
)
def test_what_cannot_key_noise_is_refused(secret: bytes, places: list[Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        blurred(CASES["one word"][0], [30.0] * 3, places, secret)
