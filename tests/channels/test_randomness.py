"""Secure by default, the same after asking again, different after fork."""

from __future__ import annotations

import hashlib
import hmac
import os
import threading

import numpy as np
import pytest
from tests.statistics import assert_fits

import sfumato as sf
from sfumato.channels import randomness
from sfumato.channels.words import KeyedWords, SecureWords, secure_words, source_for

COIN = sf.RandomizedResponse(sf.Categories(range(1000)), keep=0.001)


def test_secure_words_are_uniform_in_every_byte() -> None:
    counts = np.bincount(secure_words().draw(40_000).view(np.uint8), minlength=256)
    assert_fits(counts, np.full(256, 1 / 256))


def test_secure_words_work_without_the_cryptography_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomness, "_aes_counter_stream", lambda: None)
    source, buffer = SecureWords(), bytearray(800 + 16)
    source.fill(bytes(800), buffer)
    assert len({*source.draw(100).tolist(), *np.frombuffer(buffer[:800], dtype=np.uint64).tolist()}) == 200


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
    words = KeyedWords(bytes(16), "q").words(np.array([7]), 5)
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
