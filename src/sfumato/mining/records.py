"""Tables of results: pandas where it is installed, plain records where it is not."""

from __future__ import annotations

from typing import Any

Records = list[dict[str, Any]]


def as_table(rows: Records, columns: list[str]) -> Any:
    """A pandas DataFrame with these columns, or the rows themselves."""
    try:
        import pandas as pd
    except ImportError:
        return rows
    return pd.DataFrame(rows, columns=columns)


def as_records(table: Any) -> Records:
    """The rows of what `as_table` gave."""
    if hasattr(table, "to_dict"):
        return list(table.to_dict("records"))
    return list(table)
