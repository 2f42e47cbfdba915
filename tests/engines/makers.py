"""Makers of reports: the same table, held by every engine; the places where they differ are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from pyarrow import parquet

import sfumato as sf
from sfumato.tables import sources

Maker = Callable[..., sf.Reports]
FILES = 3


def written(table: pa.Table, folder: Path) -> list[Path]:
    """The rows in a few files of unequal length."""
    folder.mkdir(exist_ok=True)
    cuts = [0, table.num_rows // 7, table.num_rows // 2, table.num_rows]
    paths = [folder / f"part-{number}.parquet" for number in range(FILES)]
    for path, low, high in zip(paths, cuts, cuts[1:], strict=False):
        parquet.write_table(table.slice(low, high - low), path, row_group_size=max(table.num_rows // 11, 1))
    return paths


def relation(table: pa.Table, folder: Path) -> Any:
    written(table, folder)
    return duckdb.connect().read_parquet(str(folder / "*.parquet"))


def distributed(table: pa.Table, folder: Path) -> Any:
    """A frame of the cluster whose session is open."""
    from pyspark.sql import SparkSession

    written(table, folder)
    return SparkSession.active().read.parquet(str(folder))


MAKERS: dict[str, Callable[[pa.Table, Path], tuple[Any, dict[str, Any]]]] = {
    "parquet": lambda table, folder: (written(table, folder), {}),
    "pattern": lambda table, folder: (written(table, folder) and str(folder / "part-*.parquet"), {}),
    "duckdb": lambda table, folder: (written(table, folder), {"engine": "duckdb"}),
    "duckdb relation": lambda table, folder: (relation(table, folder), {}),
    "polars": lambda table, folder: (written(table, folder), {"engine": "polars"}),
    "polars lazy": lambda table, folder: (pl.from_arrow(table).lazy(), {}),
    "spark": lambda table, folder: (distributed(table, folder), {}),
}


def arrow(columns: dict[str, Any]) -> pa.Table:
    """Columns as Arrow holds them, NaN and None both missing, texts as texts."""
    return pa.table(
        {
            name: pa.array([None if value != value else value for value in column.tolist()])
            if column.dtype.kind in "Of"
            else pa.array(column)
            for name, column in columns.items()
        }
    )


def small_batches(monkeypatch: Any, rows: int = 97) -> None:
    """Batches of few rows, so that a small table has many."""
    monkeypatch.setattr(sources, "BATCH_ROWS", rows)


def same(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other)) and one.dtype == other.dtype
