"""Where the noise comes from: 64-bit words that nobody can predict, repeat or, when keyed, change.

Three sources give words behind one method:

- ``SecureWords`` (the default): AES-256 in counter mode under a key from the operating system, or the operating
  system's own generator where the ``cryptography`` package is missing. A forked process starts a new stream, each
  thread has its own, and a stream is re-keyed after ``REKEY_BYTES``.
- ``SimulatedWords``: a NumPy ``Generator``, for simulations that must repeat. Never for people's answers.
- ``KeyedWords``: HMAC-SHA-256 of (question, true code) under a device secret. The same person asked the same question
  again gives the same report, so that repeating the question teaches nothing; a changed value draws afresh.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from typing import Any, Protocol

import numpy as np

from sfumato.channels.alias import Words
from sfumato.domain import Codes

REKEY_BYTES = 1 << 34
SMALL_BYTES = 4096


class WordSource(Protocol):
    def words(self, codes: Codes, per_code: int) -> Words:
        """Words of shape (codes.size, per_code), row by row."""
        ...


class SecureWords:
    """Cryptographic words; see the module's text."""

    def __init__(self) -> None:
        self._stream: Any = None
        self._process = -1
        self._produced = 0
        self._small = b""

    def words(self, codes: Codes, per_code: int) -> Words:
        return self.draw(codes.size * per_code).reshape(codes.size, per_code)

    def draw(self, count: int) -> Words:
        """``count`` words; small requests are served from a buffer whose used part is forgotten."""
        self._renew()
        wanted = 8 * count
        if wanted > SMALL_BYTES // 2:
            return np.frombuffer(self._generate(wanted), dtype=np.uint64)
        if len(self._small) < wanted:
            self._small = self._generate(SMALL_BYTES)
        taken, self._small = self._small[:wanted], self._small[wanted:]
        return np.frombuffer(taken, dtype=np.uint64)

    def fill(self, zeros: bytes, buffer: bytearray) -> None:
        """Overwrite the buffer with fresh bytes without allocating: ``zeros`` is as long as the bytes wanted."""
        self._renew()
        self._produced += len(zeros)
        if self._stream is None:
            buffer[: len(zeros)] = os.urandom(len(zeros))
        else:
            self._stream.update_into(zeros, buffer)

    def _renew(self) -> None:
        if self._process != os.getpid() or self._produced > REKEY_BYTES:
            self._process, self._produced, self._small = os.getpid(), 0, b""
            self._stream = _aes_counter_stream()

    def _generate(self, size: int) -> bytes:
        self._produced += size
        return os.urandom(size) if self._stream is None else self._stream.update(bytes(size))


def _aes_counter_stream() -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        return None
    return Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()


class SimulatedWords:
    """Words of a NumPy generator, one 64-bit draw each, so that a batch equals single calls."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def words(self, codes: Codes, per_code: int) -> Words:
        return self.generator.integers(0, 1 << 64, size=(codes.size, per_code), dtype=np.uint64)


class KeyedWords:
    """words = HMAC-SHA-256(secret, "sfumato/1" ‖ context ‖ true code ‖ counter), four words a block."""

    def __init__(self, secret: bytes, context: str) -> None:
        if not isinstance(secret, (bytes, bytearray)) or len(secret) < 16:
            raise ValueError("key is not a secret of 16 bytes or more; make one per device: secrets.token_bytes(32)")
        self._secret = bytes(secret)
        self._context = b"sfumato/1\0" + context.encode() + b"\0"

    def words(self, codes: Codes, per_code: int) -> Words:
        known = {code: self._words_of(code, per_code) for code in np.unique(codes).tolist()}
        rows = [known[code] for code in codes.ravel().tolist()]
        return np.array(rows, dtype=np.uint64).reshape(codes.size, per_code)

    def _words_of(self, code: int, count: int) -> list[int]:
        message = self._context + code.to_bytes(8, "big", signed=True)
        blocks = (
            hmac.new(self._secret, message + counter.to_bytes(4, "big"), hashlib.sha256).digest()
            for counter in range(-(-count // 4))
        )
        stream = b"".join(blocks)
        return [int.from_bytes(stream[8 * i : 8 * i + 8], "big") for i in range(count)]


_local = threading.local()


def _forget_streams() -> None:
    _local.__dict__.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_streams)


def secure_words() -> SecureWords:
    """This thread's own secure source."""
    source = getattr(_local, "source", None)
    if source is None:
        source = _local.source = SecureWords()
    return source


def source_for(rng: np.random.Generator | int | None) -> SecureWords | SimulatedWords:
    """The secure source for None; a simulation for a NumPy Generator or a seed."""
    if rng is None:
        return secure_words()
    if isinstance(rng, np.random.Generator):
        return SimulatedWords(rng)
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool):
        return SimulatedWords(np.random.default_rng(int(rng)))
    raise TypeError(f"rng={rng!r} is not usable; leave it out for secure noise or pass numpy.random.default_rng(seed)")
