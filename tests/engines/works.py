"""Work that travels to the workers; this module is all that they load of the tests."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.tables import RowBatch, read_columns

KILLED = "killed"


def rows(batches: Iterator[RowBatch]) -> list[tuple[int, tuple[Any, ...]]]:
    """The place and the values of every row."""
    found = []
    for batch in batches:
        columns = [column.to_pylist() for column in batch.table.columns]
        found += list(zip(batch.places.tolist(), zip(*columns, strict=True), strict=True))
    return found


def counted(batches: Iterator[RowBatch]) -> int:
    return sum(len(batch.places) for batch in batches)


def read(batches: Iterator[RowBatch]) -> list[list[Any]]:
    """The columns as counting reads them."""
    return [column.tolist() for batch in batches for column in read_columns(batch.table).values()]


def refuse(batches: Iterator[RowBatch]) -> None:
    if any(5 in batch.places for batch in batches):
        raise ValueError("row 6, column 'value': too much")


def fail(batches: Iterator[RowBatch]) -> None:
    raise LookupError("nobody knows")


def held_up(folder: Path, batches: Iterator[RowBatch]) -> list[tuple[int, tuple[Any, ...]]]:
    """Rows, once a worker was killed."""
    wait_for_the_killing(folder)
    return rows(batches)


def wait_for_the_killing(folder: Path) -> None:
    """Say which process has begun, and go on when the worker of the first to say so is dead."""
    (folder / f"begun-{os.getpid()}-{time.monotonic_ns()}").touch()
    give_up = time.monotonic() + 60
    while not (folder / KILLED).exists() and time.monotonic() < give_up:
        time.sleep(0.02)


class Placed:
    """What is made of rows, with their places beside it; where there is a folder, once a worker was killed."""

    def __init__(self, make: Any, folder: Path | None = None) -> None:
        self.make, self.folder = make, folder

    def __call__(self, places: Any, table: Any) -> Any:
        import pyarrow as pa

        if self.folder is not None:
            wait_for_the_killing(self.folder)
        return self.make(places, table).append_column("place", pa.array(places))


@contextmanager
def a_worker_dies(cluster: Any, folder: Path) -> Iterator[None]:
    """On this side: the worker of the first process that has begun is killed, before it could end."""
    killer = threading.Thread(target=kill_the_first, args=(cluster, folder))
    killer.start()
    yield
    killer.join()


def kill_the_first(cluster: Any, folder: Path) -> None:
    give_up = time.monotonic() + 60
    while not (begun := list(folder.glob("begun-*"))) and time.monotonic() < give_up:
        time.sleep(0.02)
    cluster.kill_the_worker_of(int(begun[0].name.split("-")[1]))
    (folder / KILLED).touch()
