"""Spaces of codes behind numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.domain import Cells, Grid


@given(st.floats(-1e3, 1e3), st.integers(-4, 4), st.integers(1, 2000))
def test_grid_values_have_their_own_codes(origin: float, power: int, size: int) -> None:
    grid = Grid(round(origin, 3), 10.0**power, size)
    np.testing.assert_array_equal(grid.encode(grid.values), np.arange(size))


def test_grid_numbers_are_the_decimals_people_write() -> None:
    assert Grid(-12.3, 0.1, 300).values[[0, 126, 299]].tolist() == [-12.3, 0.3, 17.6]


def test_cells_hold_their_lower_edge_and_gather_what_lies_beyond() -> None:
    cells = Cells((0.0, 1.0, 3.0))
    assert cells.encode([-5, 0, 1, 2.9, 3, 9, np.nan]).tolist() == [0, 0, 1, 1, 1, 1, -1]
    assert cells.values.tolist() == [0.5, 2.0]
