"""Secure randomness never gives one stream twice: after ten thousand forks, in threads of a fork, or re-keyed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sfumato.channels.program import random_words
from sfumato.channels.program.random_words import SecureWords, secure_words

SOURCE = Path(random_words.__file__).parents[2]
FORKS, WORKERS, BATCH = 10_000, 2, 100

# The module is loaded without NumPy and the rest of the package, which the words of one code do not need: what a fork
# costs is the memory of the process that forks.
FORKING = f"""
import gc, os, signal, struct, sys
from types import ModuleType
PACKAGES = ("sfumato", "sfumato.channels", "sfumato.channels.program")
for name in ("numpy", *PACKAGES, "sfumato.channels.program.alias", "sfumato.domain"):
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__path__ = [{str(SOURCE.parent)!r} + "/" + name.replace(".", "/")]
sys.modules["sfumato.channels.program.alias"].Words = sys.modules["sfumato.domain"].Codes = object
from sfumato.channels.program.random_words import secure_words

def drawn():
    return struct.pack("4Q", *secure_words().row(0, 4))

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
drawn()  # the parent has a stream that a child could take over
gc.freeze()
read, write = os.pipe()
for _ in range({FORKS // WORKERS // BATCH}):
    for _ in range({BATCH}):
        if os.fork() == 0:
            os.write(write, drawn())
            os._exit(0)
    wanted = 32 * {BATCH}
    while wanted:
        wanted -= sys.stdout.buffer.write(os.read(read, wanted))
sys.stdout.buffer.write(drawn())
"""


def streams(content: bytes) -> set[bytes]:
    return {content[start : start + 32] for start in range(0, len(content), 32)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_no_stream_repeats_in_ten_thousand_forks() -> None:
    command = [sys.executable, "-c", FORKING]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(WORKERS)]
    contents = [worker.communicate()[0] for worker in running]
    assert [len(content) for content in contents] == [32 * (FORKS // WORKERS + 1)] * WORKERS
    assert len(streams(b"".join(contents))) == FORKS + WORKERS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_threads_of_forked_processes_have_streams_of_their_own() -> None:
    secure_words().draw(4)
    read, write = os.pipe()
    children = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            try:
                workers = [
                    threading.Thread(target=lambda: os.write(write, secure_words().draw(4).tobytes())) for _ in range(4)
                ]
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join()
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    assert len(streams(os.read(read, 32 * 32))) == 32
    os.close(read)
    os.close(write)


def test_a_stream_that_is_keyed_again_goes_on_without_repeating(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_words, "REKEY_BYTES", 1 << 14)
    source = SecureWords()
    words = [word for _ in range(200) for word in source.draw(64).tolist()]
    assert len(set(words)) == len(words)
