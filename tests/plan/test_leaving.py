"""What leaves with reports: the columns, and nothing that came beside them."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.domain import showing_values

PLAN = sf.Plan.loads("""
name = "leaving"
[attributes.age]
low = 20
high = 80
channel = "gaussian"
privacy = 1.0
[attributes.town]
categories = ["Bonn", "Ulm"]
channel = "randomized-response"
gamma = 19
[attributes.group]
categories = ["A", "B"]
role = "clear"
""")
PEOPLE = {"age": [30.0, 40.0, 50.0], "town": ["Ulm", "Bonn", "Ulm"], "group": ["A", "B", "A"]}


def test_a_pandas_frame_sends_no_index_no_attributes_and_no_unused_categories() -> None:
    frame = pd.DataFrame(PEOPLE, index=pd.Index(["ann", "bob", "cy"], name="who"))
    frame["group"] = pd.Categorical(PEOPLE["group"], categories=["A", "B", "secret"])
    frame.attrs["source"], frame.columns.name = "ward 7", "hidden"
    reports = PLAN.randomize(frame)
    assert isinstance(reports.index, pd.RangeIndex) and reports.index.name is None
    assert reports.attrs == {} and reports.columns.name is None
    assert reports["group"].cat.categories.tolist() == ["A", "B"]
    assert reports["group"].tolist() == PEOPLE["group"]
    assert "ann" not in repr(reports.__dict__)


def test_columns_in_a_mapping_send_no_index_either() -> None:
    column = pd.Series(PEOPLE["group"], index=["ann", "bob", "cy"], name="secret")
    column.attrs["source"] = "ward 7"
    sent = PLAN.randomize({**PEOPLE, "group": column})["group"]
    assert sent.tolist() == PEOPLE["group"] and isinstance(sent.index, pd.RangeIndex)
    assert sent.name is None and sent.attrs == {}


def test_an_arrow_table_sends_no_metadata_and_no_unused_dictionary() -> None:
    fields = [pa.field("age", pa.float64(), metadata={"who": "ann"}), pa.field("town", pa.string())]
    group = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["A", "B", "secret"]))
    fields.append(pa.field("group", group.type, metadata={"who": "ann"}))
    table = pa.table([PEOPLE["age"], PEOPLE["town"], group], schema=pa.schema(fields, metadata={"source": "ward 7"}))
    reports = PLAN.randomize(table)
    assert reports.schema.metadata is None
    assert all(field.metadata is None for field in reports.schema)
    assert reports["group"].chunk(0).dictionary.to_pylist() == ["A", "B"]


@pytest.mark.parametrize("name", ["age.level", "age.code", "years.level", "sfumato.plan"])
def test_an_attribute_named_like_a_column_of_reports_is_refused(name: str) -> None:
    attributes = {**PLAN.attributes, name: PLAN.attributes["town"]}
    with pytest.raises(ValueError, match=rf"attributes\.{name}: .*rename"):
        sf.Plan("clash", {key: replace(each, name=key) for key, each in attributes.items()})


def test_two_attributes_with_one_column_are_refused() -> None:
    row = sf.CorrelatedNoise({"age": sf.Interval(0, 1), "x": sf.Interval(0, 1)}, [[1, 0.5], [0.5, 1]], ratio=1)
    both = {"age": PLAN.attributes["age"], "body": sf.Attribute("body", row.domain, row)}
    with pytest.raises(ValueError, match="two attributes have a column of this name"):
        sf.Plan("clash", both)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"age": [30.0, 99.25, 50.0]}, "the value in row 2 is outside"),
        ({"age": ["a", "secret", "b"]}, "to numbers first"),
        ({"town": ["Ulm", "Bonn", "secret"]}, "unknown category in row 3"),
        ({"group": ["A", "secret", "B"]}, "unknown category in row 2"),
        ({"town": pd.Categorical(["Ulm", "secret", "Bonn"])}, "unknown category in row 2"),
    ],
)
def test_errors_name_the_row_and_never_the_answer(change: dict[str, Any], where: str) -> None:
    for table in ({**PEOPLE, **change}, pd.DataFrame({**PEOPLE, **change})):
        with pytest.raises((ValueError, TypeError), match=where) as refusal:
            PLAN.randomize(table)
        assert "99.25" not in str(refusal.value) and "secret" not in str(refusal.value)
        with showing_values(), pytest.raises((ValueError, TypeError), match=r"99.25|secret|'a'"):
            PLAN.randomize(table)


@pytest.mark.parametrize(("name", "answer"), [("age", 99.25), ("age", "99.25"), ("town", "99.25"), ("town", 99.25)])
def test_one_persons_answer_is_not_printed(name: str, answer: Any) -> None:
    person = {"age": 30, "town": "Ulm", "group": "A", name: answer}
    with pytest.raises((ValueError, TypeError)) as refusal:
        PLAN.randomize(person)
    assert "99.25" not in str(refusal.value) and name in str(refusal.value)
    with pytest.raises((ValueError, TypeError)) as refusal:
        PLAN.attributes[name].channel.randomize(answer)
    assert "99.25" not in str(refusal.value)


def test_numbers_blurred_together_are_not_printed() -> None:
    row = sf.CorrelatedNoise({"a": sf.Interval(0, 1), "b": sf.Interval(0, 1)}, [[1, 0.5], [0.5, 1]], ratio=1)
    for values in ([["secret", 1]], [[99.25, 1]]):
        with pytest.raises((ValueError, TypeError)) as refusal:
            row.randomize(np.array(values, dtype=object))
        assert "secret" not in str(refusal.value) and "99.25" not in str(refusal.value)


def test_a_report_that_cannot_be_is_shown() -> None:
    with pytest.raises(ValueError, match="unknown category 'Rome'"):
        sf.reconstruct(["Ulm", "Rome"], PLAN.attributes["town"].channel)


# --- keys ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_one_key_for_many_people_is_refused_with_the_way_to_go(make: Any) -> None:
    with pytest.raises(ValueError, match=r"one key for 3 people .* mapping of one person's answers .* key='<column>'"):
        PLAN.randomize(make(PEOPLE), key=b"k" * 32)


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_of_secrets_gives_everybody_the_reports_of_their_own_device(make: Any) -> None:
    keys = [secrets.token_bytes(32) for _ in range(3)]
    reports = PLAN.randomize(make({**PEOPLE, "device": keys}), key="device")
    found = {name: list(reports[name].to_pylist() if make is pa.table else reports[name]) for name in PEOPLE}
    assert len(list(getattr(reports, "column_names", reports))) == 3
    for row, key in enumerate(keys):
        person = {name: column[row] for name, column in PEOPLE.items()}
        assert PLAN.randomize(person, key=key) == {name: column[row] for name, column in found.items()}


def test_secrets_are_there_and_differ() -> None:
    with pytest.raises(ValueError, match="column 'device' of secrets is not in the table"):
        PLAN.randomize(PEOPLE, key="device")
    with pytest.raises(ValueError, match="two people have the same secret"):
        PLAN.randomize({**PEOPLE, "device": [b"k" * 32] * 3}, key="device")
    keys = [secrets.token_bytes(32) for _ in range(3)]
    with pytest.raises(ValueError, match=r"row 2: column 'age': the value is outside"):
        PLAN.randomize({**PEOPLE, "age": [30, 99, 40], "device": keys}, key="device")


def test_a_text_that_means_missing_is_not_a_category_too() -> None:
    spec = PLAN.to_dict() | {"empty": ["Ulm"]}
    with pytest.raises(ValueError, match=r"attributes.town: 'Ulm' is a category and in empty"):
        sf.Plan.from_dict(spec)
    with pytest.raises(ValueError, match="empty is not a list of texts"):
        sf.Plan.from_dict(spec | {"empty": "NA"})
    plan = sf.Plan.from_dict(spec | {"empty": ["NA"]})
    assert plan.empty == ("NA",) and sf.Plan.from_dict(plan.to_dict()) == plan
    assert plan.identity == PLAN.identity
