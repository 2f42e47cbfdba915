"""Baskets and their reports in files.

Baskets: a column ``basket``, in Parquet a list of items, in CSV the items with a separator between them. Reports: the
disclosed ``size`` and a column ``bitmap`` or ``seed``, bytes in Parquet and hexadecimal digits in CSV.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.channels.baskets import BasketReports, Baskets, SelectASize
from sfumato.cli.files import check_rows, read_table

BASKET = "basket"


def read_baskets(path: Path, channel: SelectASize, separator: str) -> Baskets:
    """People's true baskets from a table."""
    import pyarrow as pa

    table = check_rows(read_table(path, text=[BASKET]), path)
    if BASKET not in table.column_names:
        raise ValueError(f"{path}: column 'basket' is missing; the file has {', '.join(table.column_names)}")
    column = table[BASKET]
    if not pa.types.is_string(column.type):
        return channel.read(column)
    rows = [_split(text, separator, isinstance(channel.items.labels, range)) for text in column.to_pylist()]
    return channel.read(rows)


def _split(text: str | None, separator: str, numbered: bool) -> list[Any]:
    parts = [part.strip() for part in (text or "").split(separator) if part.strip()]
    return [int(part) if numbered and part.isdigit() else part for part in parts]


def report_table(reports: BasketReports, channel: SelectASize, text: bool) -> Any:
    """Reports as a table; `text` for files that cannot hold bytes."""
    import pyarrow as pa

    rows = reports.to_bytes(max(channel.seed_bits.values()) if reports.compressed else channel.items.size)
    name = "seed" if reports.compressed else "bitmap"
    return pa.table({"size": reports.sizes, name: [row.hex() for row in rows] if text else rows})


def read_reports(path: Path, channel: SelectASize) -> BasketReports:
    """The inverse of `report_table`."""
    table = check_rows(read_table(path, text=["bitmap", "seed"]), path)
    names = [name for name in ("bitmap", "seed") if name in table.column_names]
    if "size" not in table.column_names or len(names) != 1:
        raise ValueError(f"{path}: needs the columns size and bitmap (or seed); it has {', '.join(table.column_names)}")
    cells = table[names[0]].to_pylist()
    try:
        rows = [bytes.fromhex(cell) if isinstance(cell, str) else bytes(cell) for cell in cells]
    except (TypeError, ValueError):
        raise ValueError(
            f"{path}: a {names[0]} is not readable; write the reports with sfumato itemsets randomize"
        ) from None
    return BasketReports.of_bytes(channel.items, table["size"].to_pylist(), rows, names[0] == "seed")
