"""Work that travels to the workers; this module is all that they load of the tests."""

from __future__ import annotations

import os
import threading
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
    begin(folder)
    return rows(batches)


def slow(folder: Path) -> Any:
    return partial(slowly, folder)


def begin(folder: Path) -> None:
    (folder / f"begun-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(1)


class Placed:
    """What is made of rows, with their places beside it; slowly, where there is a folder to say that it has begun."""

    def __init__(self, make: Any, folder: Path | None = None) -> None:
        self.make, self.folder = make, folder

    def __call__(self, places: Any, table: Any) -> Any:
        import pyarrow as pa

        if self.folder is not None:
            begin(self.folder)
        return self.make(places, table).append_column("place", pa.array(places))


def kill_when_two_work(cluster: Any, folder: Path, ended: threading.Event) -> None:
    """On this side: a worker is killed as soon as two processes have begun."""
    while len({path.name.split("-")[1] for path in folder.iterdir()}) < 2 and not ended.wait(0.02):
        pass
    cluster.kill_a_worker()
