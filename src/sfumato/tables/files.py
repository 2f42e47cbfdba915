"""Files written whole or not at all, and what a run that was killed left of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
