"""Sources of the 64-bit random words that drawing programs draw with.

There are four:

- ``SecureWords`` (the default): AES-256 in counter mode under a key from the operating system, or the operating
  system's own generator where the ``cryptography`` package is missing. A forked process starts a new stream, each
  thread has its own, and a stream is re-keyed after ``REKEY_BYTES``.
- ``SimulatedWords``: a NumPy ``Generator``, for simulations that must repeat. Never for people's answers.
- ``KeyedWords``: HMAC-SHA-256 of (question, true code) under a device secret. The same person asked the same question
  again gives the same report, so that repeating the question reveals nothing more; a changed value draws afresh.
  ``PermanentWords`` takes the first words of a row from them and the others fresh.
- ``RecordWords``: AES-256 of a record's number in its data set under a key of (the secret of a job, question), for a
  job that blurs many people's records at once and may have to run some of them again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.channels.program.alias import Words
from sfumato.domain import Codes

REKEY_BYTES = 1 << 34  # bytes under one key: a quarter of the 2^36 that GCM allows (NIST SP 800-38D, 5.2.1.1)
SMALL_BYTES = 4096
"""Bytes that are produced at once for small requests. By judgement: some hundred reports; larger buffers hold unused
noise in memory for longer, smaller ones call the cipher more often."""
BLOCK = struct.Struct(">4Q")  # the four words of an HMAC's 32 bytes, high byte first (docs/programs.md)
PLACE = struct.Struct(">qI")  # true code and counter in an HMAC's message: 8 and 4 bytes (docs/programs.md)
NOISE_STREAM = 0x5F756D61746F  # any fixed number: keeps a seed's noise apart from data simulated with the same seed


class WordSource(ABC):
    """A source of 64-bit random words: a row of words for every code that a program draws a report for."""

    @abstractmethod
    def rows(self, codes: Codes, per_code: int) -> Words:
        """Return ``per_code`` random 64-bit words for every code, as an array of one row a code."""

    @abstractmethod
    def row(self, code: int, count: int) -> list[int]:
        """Return ``count`` random words for one code, the same that ``rows`` would return, as a list of numbers."""

    def some(self, rows: Any) -> WordSource:
        """Return the source of words for some records alone, by index or mask; itself where words are for anybody."""
        return self


class SecureWords(WordSource):
    """A source of random words that nobody can predict: AES-256 in counter mode, or the operating system's generator.

    It blurs people's real answers.
    """

    def __init__(self) -> None:
        self._stream: Any = None
        self._process = -1
        self._produced = 0
        self._small = b""
        self._buffer = bytearray()
        self._zeros = b""

    def rows(self, codes: Codes, per_code: int) -> Words:
        """Return fresh random words, one row a code; valid until the next call: large requests share one buffer."""
        count = codes.size * per_code
        if 8 * count <= SMALL_BYTES // 2:
            return self.draw(count).reshape(codes.size, per_code)
        return np.frombuffer(self._fill(8 * count), dtype=np.uint64, count=count).reshape(codes.size, per_code)

    def halves(self, count: int) -> Any:
        """Return ``count`` random numbers of 32 bits, valid until the next call."""
        return np.frombuffer(self._fill(4 * count), dtype=np.uint32, count=count)

    def _fill(self, size: int) -> bytearray:
        """Fill the shared buffer with ``size`` random bytes and return it."""
        self._renew()
        if len(self._zeros) != size:
            self._zeros, self._buffer = bytes(size), bytearray(size + 16)
        self._produced += size
        if self._stream is None:
            self._buffer[:size] = os.urandom(size)
        else:
            self._stream.update_into(self._zeros, self._buffer)
        return self._buffer

    def row(self, code: int, count: int) -> list[int]:
        return list(struct.unpack(f"<{count}Q", self._take(8 * count)))

    def draw(self, count: int) -> Words:
        """Return ``count`` fresh words in memory of their own."""
        return np.frombuffer(self._take(8 * count), dtype=np.uint64)

    def _take(self, wanted: int) -> bytes:
        """Return ``wanted`` random bytes; small requests take them from a buffer, whose used part is dropped."""
        self._renew()
        if wanted > SMALL_BYTES // 2:
            return self._generate(wanted)
        if len(self._small) < wanted:
            self._small = self._generate(SMALL_BYTES)
        taken, self._small = self._small[:wanted], self._small[wanted:]
        return taken

    def _renew(self) -> None:
        """Start a stream under a new key if there is none, in a forked process, and after ``REKEY_BYTES``."""
        if self._process != os.getpid() or self._produced > REKEY_BYTES:
            self._process, self._produced, self._small = os.getpid(), 0, b""
            self._stream = _aes_counter_stream()

    def _generate(self, size: int) -> bytes:
        """Produce ``size`` random bytes, from the cipher or the operating system."""
        self._produced += size
        return os.urandom(size) if self._stream is None else self._stream.update(bytes(size))


def _aes_counter_stream() -> Any:
    """Start a stream of AES-256 in counter mode under a random key; None where ``cryptography`` is missing.

    It is the counter mode of GCM, whose tag is never read: OpenSSL computes that faster than plain CTR. One key and
    nonce are good for 2^36 bytes then.
    """
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        return None
    return Cipher(algorithms.AES(os.urandom(32)), modes.GCM(os.urandom(12))).encryptor()


class SimulatedWords(WordSource):
    """A source of random words for simulations that must repeat: one 64-bit draw of a NumPy generator each.

    A batch gives the same words as single calls. A seed's words share nothing with ``default_rng(seed)``; those of a
    generator are scrambled, so that the noise is independent of data drawn from a generator in the same state.
    """

    def __init__(self, rng: np.random.Generator | int) -> None:
        self._scramble = isinstance(rng, np.random.Generator)
        self.generator = generator = noise_generator(rng)
        raw = type(generator.bit_generator).__name__ in ("PCG64", "PCG64DXSM", "SFC64", "Philox")
        self._raw = generator.bit_generator.random_raw if raw else None

    def rows(self, codes: Codes, per_code: int) -> Words:
        count = codes.size * per_code
        drawn = self._raw(count) if self._raw else self.generator.integers(0, 1 << 64, size=count, dtype=np.uint64)
        words: Words = np.asarray(drawn)
        return (scrambled(words) if self._scramble else words).reshape(codes.size, per_code)

    def row(self, code: int, count: int) -> list[int]:
        return [int(word) for word in self.rows(np.zeros(1, dtype=np.int64), count)[0]]


def scrambled(words: Words) -> Words:
    """Scramble words in place by a fixed one-to-one function, the finalizer of splitmix64, and return them."""
    words += np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        words ^= words >> np.uint64(shift)
        if factor > 1:
            words *= np.uint64(factor)
    return words


class KeyedWords(WordSource):
    """A source whose words follow from a device's secret, the question and the true code, so that reports repeat.

        words = HMAC-SHA-256(secret, "sfumato/1" ‖ 0 ‖ context ‖ 0 ‖ true code ‖ counter),   four words a counter

    ``context``: the question, and the identity of the noise (``Channel.noise_identity``).
    """

    def __init__(self, secret: bytes, context: str) -> None:
        self.secret = check_secret(secret, "device")
        self._hmac = hmac.new(self.secret, digestmod=hashlib.sha256)
        self._context = context

    def rows(self, codes: Codes, per_code: int) -> Words:
        """Return the random words of every code, one row a code; computed once for each different code."""
        row_of = {code: self.row(code, per_code) for code in set(codes.ravel().tolist())}
        rows = [row_of[code] for code in codes.ravel().tolist()]
        return np.array(rows, dtype=np.uint64).reshape(codes.size, per_code)

    def row(self, code: int, count: int) -> list[int]:
        return self.row_about(self._context, code, count)

    def row_about(self, context: str, code: int, count: int) -> list[int]:
        """Return ``count`` words for a code under the same secret, for another question and noise (``context``)."""
        opening = _opening(context)
        words: list[int] = []
        for counter in range(-(-count // 4)):
            words += BLOCK.unpack(self.digest(opening + PLACE.pack(code, counter)))
        return words[:count]

    def digest(self, message: bytes) -> bytes:
        """Return the 32 bytes HMAC-SHA-256(secret, message), from which words are made."""
        begun = self._hmac.copy()
        begun.update(message)
        return begun.digest()


def check_secret(secret: Any, whose: str) -> bytes:
    """Return a secret as bytes; raise an error if it has fewer than 16. ``whose``: "device" or "job"."""
    if not isinstance(secret, (bytes, bytearray)) or len(secret) < 16:
        raise ValueError(f"key is not a secret of 16 bytes or more; make one per {whose}: secrets.token_bytes(32)")
    return bytes(secret)


@lru_cache(4096)
def _opening(context: str) -> bytes:
    """Return the bytes that begin the message whose HMAC gives words, before the code and the counter."""
    return b"sfumato/1\0" + context.encode() + b"\0"


class PermanentWords(WordSource):
    """A source that takes the first ``permanent`` words of every row from a device's secret, and the others fresh."""

    def __init__(self, keyed: KeyedWords, permanent: int) -> None:
        self._keyed, self._permanent = keyed, permanent

    def rows(self, codes: Codes, per_code: int) -> Words:
        kept = min(self._permanent, per_code)
        return np.hstack([self._keyed.rows(codes, kept), secure_words().rows(codes, per_code - kept)])

    def row(self, code: int, count: int) -> list[int]:
        kept = min(self._permanent, count)
        return self._keyed.row(code, kept) + secure_words().row(code, count - kept)


class RecordWords(WordSource):
    """A source whose words follow from a job's secret and a record's number in its data set, in whatever order it runs:

        words 2b and 2b + 1 of record r = AES-256(k, r ‖ b),            r and b of 64 bits, high byte first,
        k = HMAC-SHA-256(secret, "sfumato/1/records" ‖ 0 ‖ question),   words with their low byte first;

    where the ``cryptography`` package is missing, the first 16 bytes of HMAC-SHA-256(k, r ‖ b) stand for AES.

    The words do not depend on the value, unlike a device's: a job blurs each record once, so that there is no second
    value to compare the first with; and a record that is run again after a failure has the same value and gives the
    same report, where fresh noise would be a second report of one answer. That holds within one job. Whoever has the
    secret can take the noise off, and two jobs with one secret would show which answers changed between them; so a job
    makes its secret itself (``secrets.token_bytes(32)``), writes it nowhere, keeps it nowhere, never uses it again.

    ``places``: the numbers of the records, from 0; calls take them in their order, one a code.
    """

    def __init__(self, secret: bytes, places: Any, question: str = "") -> None:
        self._secret, self._question = check_secret(secret, "job"), question
        self._places, self._taken = np.asarray(places), 0
        if self._places.dtype.kind not in "iu" or (self._places < 0).any():
            raise ValueError("places are not whole numbers from 0; give each record's number in the whole data set")
        key = hmac.digest(self._secret, b"sfumato/1/records\0" + question.encode(), "sha256")
        self._encrypted = _aes_blocks(key) or _hmac_blocks(key)

    def about(self, question: str) -> RecordWords:
        """Return the source of words for these records and another question; two questions share no noise."""
        return RecordWords(self._secret, self._places, question)

    def some(self, rows: Any) -> RecordWords:
        """Return the source of the words of some of the records. ``rows``: their indices, or a mask."""
        return RecordWords(self._secret, self._places[rows], self._question)

    def rows(self, codes: Codes, per_code: int) -> Words:
        places = self._places[self._taken : self._taken + codes.size]
        if places.size < codes.size:
            raise ValueError(f"{self._places.size:,} places are too few for the values; give one place a record")
        self._taken += codes.size
        blocks = np.empty((codes.size, -(-per_code // 2), 2), dtype=">u8")
        blocks[:, :, 0], blocks[:, :, 1] = places[:, None], np.arange(blocks.shape[1])
        words = np.frombuffer(self._encrypted(blocks.tobytes()), dtype="<u8").reshape(codes.size, -1)
        return np.ascontiguousarray(words[:, :per_code], dtype=np.uint64)

    def row(self, code: int, count: int) -> list[int]:
        return [int(word) for word in self.rows(np.zeros(1, dtype=np.int64), count)[0]]


def _aes_blocks(key: bytes) -> Callable[[bytes], bytes] | None:
    """Return the function that encrypts blocks of 16 bytes by AES-256; None where ``cryptography`` is missing.

    The blocks are counters, all different, so that this is AES in counter mode for any record.
    """
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        return None
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update


def has_cipher() -> bool:
    """Return whether this machine draws a job's noise (``RecordWords``) by AES, and not by HMAC, which differs.

    Machines of one job must agree, so that a record that is run again gets the same report.
    """
    return _aes_blocks(bytes(32)) is not None


def _hmac_blocks(key: bytes) -> Callable[[bytes], bytes]:
    """Return the function that stands for AES where it is missing: it takes blocks of 16 bytes and scrambles each.

    A block becomes the first 16 bytes of its HMAC-SHA-256 under the key.
    """

    def encrypted(blocks: bytes) -> bytes:
        starts = range(0, len(blocks), 16)
        return b"".join(hmac.digest(key, blocks[start : start + 16], "sha256")[:16] for start in starts)

    return encrypted


def row_codes(rows: Codes) -> Codes:
    """Hash each row of codes (several numbers, or the items of a basket) to one whole number.

    It stands for a person's whole answer where words follow from a secret and the answer (``KeyedWords``).
    """
    digests = [hashlib.sha256(row.astype("<i8").tobytes()).digest()[:8] for row in rows]
    return np.array([int.from_bytes(digest, "big", signed=True) for digest in digests], dtype=np.int64)


_as_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@lru_cache(4096)
def question_of(*names: str | int) -> str:
    """Join the names that make a question (survey and attribute) into one text; different lists, different texts."""
    return _as_text(names)


_local = threading.local()  # each thread's own secure source


def _forget_streams() -> None:
    """Drop the secure sources in a forked process, which would repeat the parent's words."""
    _local.__dict__.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_streams)


def secure_words() -> SecureWords:
    """Return this thread's own source of secure words."""
    source = getattr(_local, "source", None)
    if source is None:
        source = _local.source = SecureWords()
    return source


Key = bytes | RecordWords | None
"""A device's secret, or the words of a job's records."""


def source_for(rng: np.random.Generator | int | None, key: Key = None, context: str = "") -> WordSource:
    """Return the source of random words for what ``randomize`` was given: secure, simulated, keyed or by record.

    ``key``: a device's secret, or the words of a job's records. ``rng``: None for secure words, a NumPy Generator or a
    seed for a simulation. ``context``: what keyed words depend on beside the true code.
    """
    if isinstance(key, RecordWords):
        return key.about(context)
    if key is not None:
        return KeyedWords(key, context)
    return secure_words() if rng is None else SimulatedWords(rng)


def noise_generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return a NumPy generator for simulated noise; a seed's shares nothing with ``default_rng(seed)``."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng()
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool):
        return np.random.default_rng([int(rng), NOISE_STREAM])
    raise TypeError(f"rng={rng!r} is not usable; leave it out for secure noise or pass numpy.random.default_rng(seed)")
