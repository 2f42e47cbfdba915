import stat
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sfumato.domain import Categories, Interval
from sfumato.tables import (
    as_records,
    as_table,
    column_names,
    frame_like,
    is_table,
    kind_of,
    map_table,
    name_row,
    read_columns,
    read_table,
    write_table,
    write_whole,
)

COLUMNS = {"age": [20, 30, 40], "loan": [1.5, None, 2.5], "zip": ["a", None, "b"], "old": [True, False, True]}
KINDS = {
    "mapping": lambda: dict(COLUMNS),
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas-arrow": lambda: pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    "pandas-nullable": lambda: pd.DataFrame(COLUMNS).convert_dtypes(),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars-lazy": lambda: pl.LazyFrame(COLUMNS),
    "pyarrow": lambda: pa.table(COLUMNS),
    "duckdb": lambda: duckdb.from_arrow(pa.table(COLUMNS)),
}


@pytest.fixture(params=KINDS)
def table(request):
    return KINDS[request.param]()


def test_every_kind_of_table_reads_as_the_same_columns(table):
    found = read_columns(table)
    assert is_table(table)
    assert column_names(table) == list(found) == list(COLUMNS)
    assert found["age"].tolist() == [20, 30, 40]
    assert found["age"].dtype.kind in "iu"
    np.testing.assert_array_equal(found["loan"], [1.5, np.nan, 2.5])
    assert found["zip"].dtype == object
    assert (found["zip"][0], found["zip"][2]) == ("a", "b")
    assert pd.isna(found["zip"][1])
    assert found["old"].tolist() == [True, False, True]
    assert found["old"].dtype == bool


def test_every_kind_of_table_leaves_as_it_came(table):
    changed = map_table(table, lambda columns: {**columns, "age": np.array([1.0, np.nan, 3.0])})
    assert type(changed) is type(table)
    np.testing.assert_array_equal(read_columns(changed)["age"], [1.0, np.nan, 3.0])
    assert read_columns(changed)["old"].tolist() == [True, False, True]


def test_new_columns_come_as_the_kind_and_with_the_types_of_a_table(table):
    values = {name: column[::-1] for name, column in read_columns(table).items()}
    made = frame_like(table, values, keep_types=kind_of(table) != "mapping")
    assert type(made) is type(table)
    assert read_columns(made)["age"].tolist() == [40, 30, 20]
    if not isinstance(table, (dict, pl.LazyFrame)):
        assert str(getattr(made, "schema", None)) == str(getattr(table, "schema", None))
        assert list(getattr(made, "dtypes", ())) == list(getattr(table, "dtypes", ()))


def test_arrow_dictionaries_keep_their_gaps_and_their_type():
    table = pa.table({"zip": pa.array(["a", None, "b"]).dictionary_encode()})
    assert read_columns(table)["zip"].tolist() == ["a", None, "b"]
    assert frame_like(table, {"zip": np.array(["b", "a", None], dtype=object)}, keep_types=True).schema == table.schema


def test_arrays_are_tables_whose_columns_are_numbered():
    found = read_columns(np.arange(6.0).reshape(3, 2))
    assert {name: column.tolist() for name, column in found.items()} == {"x0": [0, 2, 4], "x1": [1, 3, 5]}
    assert not is_table(np.ones((2, 2)))
    assert frame_like("array", found).tolist() == [[0, 1], [2, 3], [4, 5]]


def test_a_kind_is_named_by_a_table_its_type_or_itself():
    assert [kind_of(one) for one in ({}, pd.DataFrame, pl.DataFrame(), pa.table({}), np.ones(1), "duckdb")] == [
        "mapping",
        "pandas",
        "polars",
        "pyarrow",
        "array",
        "duckdb",
    ]
    assert kind_of(duckdb.sql("select 1 as a")) == "duckdb"
    assert isinstance(frame_like(pl.DataFrame, {"a": np.ones(2)}), pl.DataFrame)


def test_anything_that_lists_its_columns_is_read():
    class People:
        columns = ("a",)

        def __getitem__(self, name):
            return [1, 2]

    assert read_columns(People())["a"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("table", "names", "words"),
    [
        ({"a": [1]}, ["b"], "column 'b' is missing; the table has a"),
        ({"a": [1], "b": [1, 2]}, None, "differ in length"),
        ({"a": np.array(["2020-01-01"], dtype="M8[D]")}, None, "column 'a' is of type"),
        ({"a": np.ones((2, 2))}, None, "column 'a' has shape"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), None, "column 'a' appears twice"),
        (7, None, "builtins.int is not a table"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(table, names, words):
    with pytest.raises((ValueError, TypeError), match=words):
        read_columns(table, names)


def test_an_empty_table_has_nobody_to_report():
    with pytest.raises(ValueError, match="nobody to report"):
        map_table(pd.DataFrame({"a": []}), lambda columns: columns)


@pytest.mark.parametrize("row", [0, 1, 57, 99])
def test_a_refused_value_is_named_with_its_row(row):
    ages = np.full(100, 30.0)
    ages[[row, 99]] = 112
    with pytest.raises(ValueError, match=rf"^row {row + 1}, column 'age': the value is outside numbers from 20 to 80;"):
        name_row(Interval(20, 80).clean, ages, "age")


def test_the_words_are_those_of_the_row_that_is_named():
    labels = np.array(["a", "z", "b", "c"])
    with pytest.raises(ValueError, match=r"^row 2, column 'zip': unknown category;"):
        name_row(Categories(["a"]).encode, labels, "zip")


def test_a_column_that_holds_passes_the_check():
    name_row(Interval(20, 80).clean, [20, 80], "age")


def test_results_are_a_frame_with_its_columns_even_when_there_are_none():
    assert list(as_table([], ["a", "b"]).columns) == ["a", "b"]
    assert as_records(as_table([{"a": 1, "b": 2}], ["a", "b"])) == [{"a": 1, "b": 2}]


@pytest.mark.parametrize("extension", [".csv", ".parquet"])
def test_tables_of_every_kind_go_to_files_and_come_back(table, extension, tmp_path: Path):
    place = tmp_path / f"people{extension}"
    write_table(table, place)
    found = read_columns(read_table(place, text=["zip"]))
    assert found["age"].tolist() == [20, 30, 40]
    assert pd.isna(found["zip"][1])
    assert [path.name for path in tmp_path.iterdir()] == [place.name]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path):
    place = tmp_path / "kept.txt"
    place.write_text("old")

    def fails(part: Path) -> None:
        part.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(place, fails)
    assert place.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


def test_a_written_file_has_the_usual_permissions(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("")
    write_whole(tmp_path / "b.csv", lambda part: part.write_text("x"))
    assert stat.S_IMODE((tmp_path / "b.csv").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


@pytest.mark.parametrize("extension", ["csv", "parquet", "CSV"])
def test_what_is_written_is_read_back(tmp_path, extension):
    table = pa.table({"x": [1.25, None, -3.0], "name": ["a", None, "1"]})
    write_table(table, tmp_path / f"t.{extension}")
    assert read_table(tmp_path / f"t.{extension}", text=["name"]).to_pydict() == table.to_pydict()


def test_a_column_of_polars_objects_gets_the_type_of_its_new_values():
    given = pl.DataFrame({"a": np.array([1.5, None], object), "b": np.array([None, "x"], object), "c": [1, 2]})
    assert [str(dtype) for dtype in given.dtypes] == ["Object", "Object", "Int64"]
    new = {"a": np.array([np.nan, 2.5]), "b": np.array([None, "y"], object), "c": np.array([3.0, 4.0])}
    assert frame_like(given, new, keep_types=True).to_dict(as_series=False) == {
        "a": [None, 2.5], "b": [None, "y"], "c": [3, 4]
    }  # fmt: skip
