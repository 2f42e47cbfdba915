"""Work that travels to the workers; this module is all that they load of the tests."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.tables import read_columns
from sfumato.tables.sources import Batch


def rows(batches: Iterator[Batch]) -> list[tuple[int, tuple[Any, ...]]]:
    """The place and the values of every row."""
    found = []
    for batch in batches:
        columns = [column.to_pylist() for column in batch.table.columns]
        found += list(zip(batch.places.tolist(), zip(*columns, strict=True), strict=True))
    return found


def counted(batches: Iterator[Batch]) -> int:
    return sum(len(batch.places) for batch in batches)


def read(batches: Iterator[Batch]) -> list[list[Any]]:
    """The columns as counting reads them."""
    return [column.tolist() for batch in batches for column in read_columns(batch.table).values()]


def refuse(batches: Iterator[Batch]) -> None:
    if any(5 in batch.places for batch in batches):
        raise ValueError("row 6, column 'value': too much")


def fail(batches: Iterator[Batch]) -> None:
    raise LookupError("nobody knows")


def slowly(folder: Path, batches: Iterator[Batch]) -> list[tuple[int, tuple[Any, ...]]]:
    """Rows, after a second, with a word that it has begun."""
    (folder / f"begun-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(1)
    return rows(batches)


def slow(folder: Path) -> Any:
    return partial(slowly, folder)
