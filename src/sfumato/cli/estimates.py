"""Estimates as rows: for files, for JSON, for the terminal, for plots."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from rich.table import Table

from sfumato.cli.terminal import console
from sfumato.reconstruction import Estimate

NINETY_PERCENT = 1.6448536269514722  # standard errors on each side
BAR = 30

Row = dict[str, Any]


def rows_of(name: str, estimate: Estimate) -> list[Row]:
    """One row an interval or category: attribute, low, high, category, probability, stderr."""
    p, stderr = np.asarray(estimate.probabilities, float), np.asarray(estimate.stderr, float)
    if estimate.categories is not None:
        places = [{"low": None, "high": None, "category": str(label)} for label in estimate.categories]
    else:
        edges = np.asarray(estimate.edges, float)
        places = [{"low": a, "high": b, "category": None} for a, b in pairwise(edges.tolist())]
    return [
        {"attribute": name, **place, "probability": float(value), "stderr": float(error)}
        for place, value, error in zip(places, p, stderr, strict=True)
    ]


def as_table(rows: list[Row]) -> Any:
    """The rows as a PyArrow table with fixed column types."""
    import pyarrow as pa

    kinds = {"attribute": pa.string(), "low": pa.float64(), "high": pa.float64(), "category": pa.string()}
    kinds |= {"probability": pa.float64(), "stderr": pa.float64()}
    return pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items())))


def place(row: Row) -> str:
    return row["category"] if row["category"] is not None else f"{row['low']:,.6g} – {row['high']:,.6g}"


def show(name: str, rows: list[Row]) -> None:
    """A table with a bar for each share and its 90 % error."""
    table = Table(title=name, title_justify="left", box=None, pad_edge=False)
    for title in ("", "share", "± 90 %"):
        table.add_column(title, justify="right")
    table.add_column("")
    top = max(row["probability"] for row in rows) or 1.0
    for row in rows:
        share, error = row["probability"], NINETY_PERCENT * row["stderr"]
        bar = "█" * round(BAR * max(share, 0.0) / top)
        table.add_row(place(row), f"{100 * share:.2f} %", f"{100 * error:.2f}", bar)
    console().print(table)
