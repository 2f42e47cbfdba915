"""Files written whole or not at all, what a run that was killed left of them, and files of one owner or process."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

UNFINISHED: set[Path] = set()
"""Parts of files that are being written, for whoever must end the process at once."""


def write_whole(path: Path, write: Callable[[Path], Any], *, mode: int | None = None) -> None:
    """Write beside the target and rename: a reader sees the old file or the whole new one, never a part.

    The file keeps its mode unless one is given, a new one gets the usual; a link stays one, and the file that it leads
    to is written.
    """
    target = path.resolve() if path.is_symlink() else path
    for part in target.parent.glob(".*.part*"):
        _remove_abandoned(part)
    part = target.with_name(f".{target.stem}-{token_hex(8)}.part{target.suffix}")
    if mode is None and target.exists():
        mode = target.stat().st_mode & 0o7777
    with _unfinished(part, mode):
        write(part)
        if mode is not None:
            os.chmod(part, mode)
        os.replace(part, target)


@contextmanager
def _unfinished(part: Path, mode: int | None) -> Iterator[None]:
    """A part of a file, locked for as long as somebody writes it, and gone afterwards."""
    UNFINISHED.add(part)
    handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode | 0o200)
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)
        part.unlink(missing_ok=True)
        UNFINISHED.discard(part)


def _remove_abandoned(part: Path) -> None:
    """A part that nobody holds any more: whoever wrote it was killed."""
    if not re.fullmatch(r"\..*-[0-9a-f]{16}\.part(\..*)?", part.name):
        return
    try:
        handle = os.open(part, os.O_RDWR)
    except OSError:  # gone already, or somebody else's
        return
    if _lock(handle):
        part.unlink(missing_ok=True)
    os.close(handle)


def _lock(handle: int) -> bool:
    """Hold an open file until it is closed or the process ends; False: somebody else does, or files cannot be held."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def own_file(path: Path) -> None:
    """An empty file that only its owner can read, where there is none."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


@contextmanager
def held_alone(path: Path, seconds: float = 0.0) -> Iterator[bool]:
    """Whether this process alone holds a file, after waiting for at most so long: by an exclusive transaction of
    SQLite, which holds on every system and ends with the process."""
    import sqlite3

    own_file(path)
    with closing(sqlite3.connect(path, timeout=seconds, isolation_level=None)) as lock:
        try:
            lock.execute("PRAGMA journal_mode = MEMORY")  # no further file beside it
            lock.execute("BEGIN EXCLUSIVE")
            alone = True
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            alone = False
        yield alone
