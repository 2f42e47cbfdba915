"""Operations on arrays of probabilities: sums in a stated order, rescaling, draws from the columns of a table."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.evidence.tables import Array


def add_in_order(parts: Iterable[Floats]) -> Floats:
    """Add arrays from the first to the last; NumPy's own sums run in an order that other languages do not know."""
    return np.asarray(sum(parts))


def rescale_columns(masses: Floats) -> Floats:
    """Divide each column by its largest number, so that products of many probabilities stay within doubles."""
    largest = masses.max(axis=0)
    return np.asarray(masses / np.where(largest > 0, largest, 1.0))


def draw_columns(table: Array, columns: Codes, rng: np.random.Generator) -> Codes:
    """Draw, for each entry of ``columns``, a row of the table with the probabilities in that column of it."""
    cumulative = np.cumsum(table, axis=0, dtype=np.float64)
    cumulative = (cumulative / cumulative[-1]).T
    offset = np.arange(cumulative.shape[0])[:, None]
    flat = (cumulative + offset).ravel()
    drawn = np.searchsorted(flat, rng.random(columns.size) + columns, side="right") - columns * table.shape[0]
    return np.asarray(np.clip(drawn, 0, table.shape[0] - 1), np.int64)
