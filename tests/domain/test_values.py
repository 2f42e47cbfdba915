"""Values of every library."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.domain import as_numbers


@pytest.mark.parametrize(
    "column",
    [
        [1, None, 2],
        np.array([1, np.nan, 2]),
        pd.Series([1, None, 2]),
        pd.Series([1, None, 2], dtype="Int64"),
        pl.Series([1, None, 2]),
        pa.array([1, None, 2]),
        pa.chunked_array([[1, None], [2]]),
        np.ma.array([1, 9, 2], mask=[0, 1, 0]),
    ],
    ids=lambda column: type(column).__name__,
)
def test_columns_of_every_library_become_numbers(column: object) -> None:
    np.testing.assert_array_equal(as_numbers(column), [1, np.nan, 2])
    np.testing.assert_array_equal(sf.Categories([2, 1]).encode(column), [1, -1, 0])


@pytest.mark.parametrize(
    "column", [["41"], np.array(["x"]), [True, False], np.array(["2020-01-01"], dtype="M8[D]"), [{}]]
)
def test_columns_that_are_no_numbers_are_refused_by_value(column: object) -> None:
    with pytest.raises(TypeError, match=r"convert the column to numbers"):
        as_numbers(column)
