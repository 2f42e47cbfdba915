"""Texts become what they say and are written as they stood."""

import csv

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.microdata.table.texts import Texts

KINDS = {
    "int64": st.integers(-(10**9), 10**9).map(str),
    "double": st.floats(-1e6, 1e6).map(lambda x: f"{x:.3f}").filter(lambda text: text != "-0.000"),
    "date32[day]": st.dates().map(str).filter(lambda text: text > "1900"),
    "string": st.sampled_from(["007", "08520", "+3", "1,5", "True", "n/a", "", " ", 'x "y"', "1e"]),
}


def written(texts, path):
    texts.write(texts.typed, path)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@given(st.sampled_from(sorted(KINDS)), st.data())
def test_a_column_is_written_as_it_was_read(tmp_path_factory, kind, data):
    values = data.draw(st.lists(KINDS[kind] | st.none(), min_size=1, max_size=20).filter(lambda all_: any(all_)))
    texts = Texts.read(pa.table({"x": pa.array([value or None for value in values], pa.string()), "y": values}))
    if kind != "string":
        assert str(texts.typed.schema.field("x").type) == kind
    rows = written(texts, tmp_path_factory.mktemp("texts") / "x.csv")
    assert [row[0] for row in rows[1:]] == [value or "" for value in values]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2", None], "int64"),
        (["1", "2.5", "-3.25"], "double"),
        (["1e-5", "2.5", "3E+7"], "double"),
        (["01", "2"], "string"),
        (["1", "NA"], "string"),
        (["123456789012345678", "1"], "string"),
        (["31.12.2020", "01.02.2021"], "date32[day]"),
        (["31.12.2020", "1.2.2021"], "string"),
        (["2020-02-01T10:00:00", "2021-02-01T23:59:59"], "timestamp[s]"),
        (["2020-02-30", "2021-02-01"], "string"),
        (["08:15", "23:59"], "time64[us]"),
    ],
)
def test_a_type_is_one_that_all_texts_have(values, kind):
    texts = Texts.read(pa.table({"x": values}))
    assert str(texts.typed.schema.field("x").type) == kind
    assert str(Texts.read(pa.table({"x": values}), labels=["x"]).typed.schema.field("x").type) == "string"


def test_decimals_of_different_lengths_are_written_without_closing_zeros(tmp_path):
    texts = Texts.read(pa.table({"x": ["1.5", "2", "0.25"]}))
    assert [row[0] for row in written(texts, tmp_path / "x.csv")] == ["x", "1.5", "2", "0.25"]
