"""Tables too large to hold: where their rows are, and how something small is worked out there.

A *source* brings its rows in batches to a piece of work: in this process where the engine is embedded (Parquet, DuckDB,
Polars), on the workers where it is a cluster (Spark). What the work returns for each share of the rows travels to
whoever asked; the rows do not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")
BATCH_ROWS = 1 << 18


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows: their places (the numbers of the rows in the whole table, from 0) and their columns, in Arrow."""

    places: NDArray[np.int64]
    table: Any


class Source(ABC):
    """A table whose rows stay where they are."""

    kind: ClassVar[str]
    names: list[str]
    origins: list[str | None]
    """What the table says of the plan that made it, without looking at the rows; [] where it says nothing."""

    @abstractmethod
    def gather(self, work: Callable[[Iterator[Batch]], Result], columns: Sequence[str]) -> list[Result]:
        """What the work makes of the batches of each share of the rows, reading these columns alone.

        Work and result must be picklable, and the result small. Every row is in exactly one batch of one share;
        batches hold about BATCH_ROWS rows.
        """
