"""Secure by default, the same after asking again, different after fork."""

from __future__ import annotations

import hashlib
import hmac
import os
import threading

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.program import Alias, Shift, integer_weights, random_words
from sfumato.channels.program.random_words import KeyedWords, SecureWords, SimulatedWords, secure_words, source_for
from tests.statistics import assert_fits, critical_z

COIN = sf.RandomizedResponse(sf.Categories(range(1000)), keep=0.001)


def test_secure_words_are_uniform_in_every_byte() -> None:
    counts = np.bincount(secure_words().draw(40_000).view(np.uint8), minlength=256)
    assert_fits(counts, np.full(256, 1 / 256))


def test_secure_words_work_without_the_cryptography_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_words, "_aes_counter_stream", lambda: None)
    source, codes = SecureWords(), np.zeros(1000, dtype=np.int64)
    assert len({*source.draw(100).tolist(), *source.row(0, 50), *source.rows(codes, 2).ravel().tolist()}) == 2150


def test_small_requests_never_repeat_a_word() -> None:
    source = SecureWords()
    words = np.concatenate([source.draw(n) for n in (1, 3, 500, 1, 600, 7, 255) * 20])
    assert np.unique(words).size == words.size


def test_forked_processes_have_streams_of_their_own() -> None:
    secure_words().draw(10)
    seen = {tuple(secure_words().draw(4).tolist())}
    for _ in range(20):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, secure_words().draw(4).tobytes())
            os._exit(0)
        os.waitpid(child, 0)
        seen.add(tuple(np.frombuffer(os.read(read, 32), dtype=np.uint64).tolist()))
        os.close(read)
        os.close(write)
    assert len(seen) == 21


def test_threads_have_streams_of_their_own() -> None:
    found: list[int] = []
    workers = [threading.Thread(target=lambda: found.extend(secure_words().draw(1000).tolist())) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(set(found)) == 8000


def test_the_same_device_answers_the_same_and_others_do_not() -> None:
    def asked(secret: bytes, question: str, value: int = 5) -> list[int]:
        return COIN.randomize([value] * 3, key=secret, question=question).tolist()

    mine = asked(b"k" * 32, "colour")
    assert mine == asked(b"k" * 32, "colour") and len(set(mine)) == 1
    others = [asked(b"l" * 32, "colour"), asked(b"k" * 32, "shape"), asked(b"k" * 32, "colour", 6)]
    assert sum(other == mine for other in others) <= 1


def test_keyed_reports_of_many_devices_follow_the_law() -> None:
    channel = sf.RandomizedResponse(sf.Categories(["a", "b", "c"]), keep=0.5)
    reports = [channel.randomize("a", key=i.to_bytes(16, "big"), question="q") for i in range(5000)]
    assert_fits([reports.count(label) for label in "abc"], [0.5, 0.25, 0.25])


def test_the_keyed_words_are_a_published_function() -> None:
    words = KeyedWords(bytes(16), "q").rows(np.array([7]), 5)
    message = b"sfumato/1\0q\0" + (7).to_bytes(8, "big")
    blocks = [hmac.new(bytes(16), message + bytes([0, 0, 0, i]), hashlib.sha256).digest() for i in (0, 1)]
    assert words.astype(">u8").tobytes() == b"".join(blocks)[:40]


@pytest.mark.parametrize("key", [b"short", "text of sixteen!", 5])
def test_a_weak_key_is_refused(key: object) -> None:
    with pytest.raises(ValueError, match=r"token_bytes\(32\)"):
        COIN.randomize([1], key=key, question="q")  # type: ignore[arg-type]


def test_key_and_rng_exclude_each_other_and_a_key_needs_a_question() -> None:
    with pytest.raises(ValueError, match="both rng and key"):
        COIN.randomize([1], rng=1, key=b"k" * 32, question="q")
    with pytest.raises(ValueError, match="needs question="):
        COIN.randomize([1], key=b"k" * 32)


@pytest.mark.parametrize("rng", ["seed", 1.5, True])
def test_a_wrong_rng_is_refused(rng: object) -> None:
    with pytest.raises(TypeError, match="default_rng"):
        source_for(rng)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "source", [SecureWords(), SimulatedWords(np.random.default_rng(1)), KeyedWords(b"k" * 16, "q")]
)
def test_a_row_is_like_a_row_of_rows(source: random_words.WordSource) -> None:
    assert source.rows(np.arange(3), 2).shape == (3, 2) and len(source.row(5, 3)) == 3
    again = KeyedWords(b"k" * 16, "q")
    assert again.rows(np.array([5, 5]), 3).tolist() == [again.row(5, 3)] * 2


@pytest.mark.parametrize("generator", [np.random.PCG64, np.random.MT19937, np.random.SFC64])
def test_a_simulation_draws_a_batch_as_it_draws_singly(generator: type) -> None:
    batch = SimulatedWords(np.random.Generator(generator(3))).rows(np.zeros(6, dtype=np.int64), 2)
    source = SimulatedWords(np.random.Generator(generator(3)))
    assert batch.tolist() == [source.row(0, 2) for _ in range(6)]


@pytest.mark.parametrize("rng", [7, np.random.default_rng(7)], ids=["seed", "generator"])
def test_noise_shares_nothing_with_data_simulated_from_the_same_seed(rng: object) -> None:
    data = np.random.default_rng(7).uniform(20, 80, 20_000)
    noise = sf.Uniform(sf.Interval(20, 80), halfwidth=30).randomize(data, rng=rng) - data
    z = np.corrcoef(data, noise)[0, 1] * np.sqrt(data.size)
    assert abs(z) < critical_z()


def test_a_truth_simulated_from_the_seed_of_its_noise_is_read_back() -> None:
    truth = np.where(np.random.default_rng(1).random(100_000) < 0.3, "yes", "no")
    coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.6)
    estimate = sf.reconstruct(coin.randomize(truth, rng=1), coin, method="inverse")
    assert abs(estimate.probabilities[0] - np.mean(truth == "yes")) < critical_z() * estimate.stderr[0]


@pytest.mark.parametrize("bits", [1, 7, 13, 16])
def test_halves_of_words_give_the_report_of_the_whole_words(bits: int) -> None:
    kernels = pytest.importorskip("sfumato.channels.program.kernels")
    rng = np.random.default_rng(bits)
    shift = Shift(Alias.of(integer_weights(rng.dirichlet(np.ones(1 << bits)))), 1 << (bits - 1), 50, 60)
    words, codes = rng.integers(0, 1 << 64, 1 << 14, dtype=np.uint64), rng.integers(0, 50, 1 << 14).astype(np.int32)
    place = words >> np.uint64(64 - bits)
    tied = (words << np.uint64(bits) >> np.uint64(bits + 32)) == shift.noise.upper[place] >> np.uint32(bits)
    words, codes = words[~tied], codes[~tied]
    whole, half = codes.copy(), codes.copy()
    rest = bits, shift.offset, shift.outputs - 1
    assert kernels.shift(whole, words, shift.noise.entries, *rest)
    assert kernels.shift_by_halves(half, (words >> np.uint64(32)).astype(np.uint32), shift.noise.upper, *rest)
    np.testing.assert_array_equal(half, whole)
    np.testing.assert_array_equal(whole, shift.draw(codes.astype(np.int64), [words]))


@pytest.mark.parametrize("tied", [17, 4500])
def test_a_half_that_does_not_decide_moves_no_code_and_the_whole_words_do(
    tied: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = pytest.importorskip("sfumato.channels.program.kernels")
    age = sf.Gaussian(sf.Interval(20, 80), privacy=1.0)
    (shift,), values = age.drawing.steps, np.linspace(20, 80, 5000)
    noise, place = shift.noise, 3000
    upper, lower = (np.random.default_rng(seed).integers(0, 1 << 32, values.size, dtype=np.uint32) for seed in (1, 2))
    upper[tied] = place << (32 - noise.bits) | int(noise.upper[place]) >> noise.bits
    codes = np.arange(values.size, dtype=np.int32)
    assert not kernels.shift_by_halves(codes, upper, noise.upper, noise.bits, shift.offset, shift.outputs - 1)
    np.testing.assert_array_equal(codes, np.arange(values.size))

    drawn = iter([upper, lower])
    monkeypatch.setattr(SecureWords, "halves", lambda self, count: next(drawn)[-count:])
    reports = age.randomize(values)
    expected = age.drawing.draw(age.encode_entry(values), [upper.astype(np.uint64) << np.uint64(32) | lower])
    np.testing.assert_array_equal(reports, age.outputs.decode(expected))
    assert next(drawn, None) is None
