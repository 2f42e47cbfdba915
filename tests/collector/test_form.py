"""A report off the wire becomes the row that its values mean, and nothing else becomes a row."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.client import Device, Ledger
from sfumato.collector.form import ReportError, ReportForm
from sfumato.tables import to_arrow

PLAN = sf.Plan.loads(
    """
name = "everything"
[attributes.age]
low = 20
high = 80
integer = true
channel = "gaussian"
privacy = 1.0
[attributes.height]
low = 1.2
high = 2.2
channel = "square-wave"
gamma = 19
[attributes.smokes]
categories = ["yes", "no"]
channel = "randomized-response"
gamma = 19
missing = "refuse"
[attributes.rooms]
categories = [1, 2, 3]
channel = "randomized-response"
gamma = 9
[attributes.income]
low = 0
high = 1000
channel = "two-phase"
noise = { channel = "gaussian", privacy = 1.0 }
levels = { open = 100, careful = 20 }
[attributes.town]
categories = ["A", "B"]
role = "class"
[attributes.children]
low = 0
high = 10
integer = true
role = "clear"
"""
)
ANSWERS: dict[str, Any] = {
    "age": 41, "height": 1.7, "smokes": "no", "rooms": 2, "income": 300, "town": "B", "children": 2,
}  # fmt: skip


def reports(number: int, **changed: Any) -> list[dict[str, Any]]:
    """What devices send, as it comes off the wire."""
    return devices_send(PLAN, [ANSWERS | changed] * number)


def devices_send(plan: sf.Plan, answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    made = [
        Device(bytes([place]) * 32, Ledger()).reply(plan, each, collector="town.example").report
        for place, each in enumerate(answers)
    ]
    found: list[dict[str, Any]] = json.loads(json.dumps(made))
    return found


def test_a_table_of_rows_is_the_table_of_the_reports() -> None:
    form, sent = ReportForm(PLAN), reports(50)
    table = form.table(form.pack(each) for each in sent)
    assert {len(form.pack(each)) for each in sent} == {form.width}
    for name in ("age", "height", "smokes", "rooms"):
        channel = PLAN.attributes[name].channel
        assert channel is not None
        codes = channel.level(None).encode_reports([each[name] for each in sent])
        assert table[f"{name}.code"].to_pylist() == codes.tolist()
    assert table["town"].to_pylist() == ["B"] * 50 and table["children"].to_pylist() == [2.0] * 50
    assert set(table["income.level"].to_pylist()) == {each["income.level"] for each in sent}


def test_counts_of_a_table_of_rows_are_those_of_the_reports() -> None:
    form, sent = ReportForm(PLAN), reports(80)
    values = to_arrow({name: np.array([each[name] for each in sent]) for name in sent[0]})
    from_rows, from_values = PLAN.counts(form.table(map(form.pack, sent))), PLAN.counts(values)
    for name, counts in from_values.items():
        assert from_rows[name].to_dict() == counts.to_dict(), name


def test_missing_answers_are_kept_where_the_plan_takes_them() -> None:
    form = ReportForm(PLAN)
    (sent,) = reports(1, age=None, rooms=None, income=None, town=None, children=None)
    table = form.table([form.pack(sent)])
    assert table["age.code"].to_pylist() == table["rooms.code"].to_pylist() == table["income.code"].to_pylist() == [-1]
    assert table["town"].to_pylist() == table["children"].to_pylist() == [None]
    with pytest.raises(ReportError, match="smokes"):
        form.pack(sent | {"smokes": None})


@pytest.mark.parametrize(
    "wrong",
    [
        {"age": 41.3}, {"age": "41"}, {"age": True}, {"age": 1e9}, {"age": 10**400}, {"age": [41]},
        {"age": {"size": 1}}, {"height": 1.70000001}, {"height": -math.pi}, {"smokes": "maybe"}, {"smokes": 1},
        {"smokes": ["no"]}, {"rooms": 4}, {"rooms": "2"}, {"town": "C"}, {"town": {}}, {"children": 2.5},
        {"children": 11}, {"children": "2"}, {"income.level": "paranoid"}, {"income.level": None},
        {"income.level": ["open"]}, {"other": 1},
    ],
)  # fmt: skip
def test_what_no_device_sends_is_refused_without_repeating_it(wrong: dict[str, Any]) -> None:
    form = ReportForm(PLAN)
    (sent,) = reports(1)
    (name,) = wrong
    with pytest.raises(ReportError) as refused:
        form.pack(sent | wrong)
    assert name.removesuffix(".level") in str(refused.value)
    assert str(wrong[name]) not in str(refused.value).replace("plan", "") or len(str(wrong[name])) < 3


def test_a_question_left_out_is_refused() -> None:
    form = ReportForm(PLAN)
    (sent,) = reports(1)
    del sent["height"]
    with pytest.raises(ReportError, match="height"):
        form.pack(sent)


FORM, (SENT,) = ReportForm(PLAN), reports(1)
one = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
anything = one | st.dictionaries(st.text(), st.integers())


@given(st.dictionaries(st.sampled_from(sorted(ANSWERS)), anything), st.sampled_from(["open", "careful", "", None]))
def test_whatever_comes_is_a_row_of_the_right_width_or_a_refusal(changed: dict[str, Any], level: Any) -> None:
    form = FORM
    try:
        row = form.pack(SENT | changed | {"income.level": level})
    except ReportError:
        return
    assert len(row) == form.width
    assert form.table([row]).num_rows == 1


def test_no_rows_are_an_empty_table() -> None:
    table = ReportForm(PLAN).table([])
    assert table.num_rows == 0 and "age.code" in table.column_names


def test_numbers_blurred_together_are_kept_as_reported() -> None:
    spec = {"columns": {"a": {"low": 0, "high": 10}, "b": {"low": 0, "high": 10}}, "channel": "correlated-gaussian",
            "covariance": [[4.0, 2.0], [2.0, 4.0]], "ratio": 1.0}  # fmt: skip
    plan = sf.Plan.from_dict({"attributes": {"pair": spec}})
    form = ReportForm(plan)
    sent = devices_send(plan, [{"a": 3, "b": 4}] * 20)
    table = form.table(map(form.pack, sent))
    assert table["a"].to_pylist() == [each["a"] for each in sent]
    with pytest.raises(ReportError, match="a"):
        form.pack({"a": sent[0]["a"] + 1e-7, "b": 4.0})
    with pytest.raises(ReportError, match="b"):
        form.pack({"a": 3.0, "b": 1e9})


@pytest.mark.parametrize("value", [1e299, -1e299, 10**299, 2**64, 1e-300])
def test_numbers_beyond_all_measure_are_refused_on_the_finest_grid_too(value: float) -> None:
    fine: dict[str, Any] = {"low": 0, "high": 1e-12}
    pair = {"columns": {"a": fine, "b": fine}, "channel": "correlated-gaussian",
            "covariance": [[1e-24, 0], [0, 1e-24]], "ratio": 1.0}  # fmt: skip
    noisy = {name: fine | {"channel": name, "privacy": 1.0} for name in ("gaussian", "uniform")}
    for asked in (pair, fine | {"channel": "square-wave", "gamma": 9}, *noisy.values()):
        form = ReportForm(sf.Plan.from_dict({"attributes": {"x": asked}}))
        with pytest.raises(ReportError):
            form.pack(dict.fromkeys(form.codecs[0].names, value))


@pytest.mark.parametrize("labels", [[1, "a"], [True, "no"], [2**63, 1], [10**30, 0.5]])
def test_clear_answers_that_no_column_can_hold_are_refused_before_anybody_answers(labels: list[Any]) -> None:
    plan = sf.Plan.from_dict({"attributes": {"group": {"categories": labels, "role": "clear"}}})
    with pytest.raises(ValueError, match=r"attributes\.group: .*write all of them as text"):
        ReportForm(plan)


@pytest.mark.parametrize("labels", [[1, 2.5], [True, False], ["1", "true"], [-(2**63), 2**63 - 1]])
def test_clear_answers_of_one_kind_are_kept_as_they_are(labels: list[Any]) -> None:
    form = ReportForm(sf.Plan.from_dict({"attributes": {"group": {"categories": labels, "role": "clear"}}}))
    assert form.table([form.pack({"group": label}) for label in labels])["group"].to_pylist() == labels


@pytest.mark.parametrize("items", [64, 100, 1000])
def test_baskets_are_kept_as_seeds_or_bitmaps(items: int) -> None:
    from sfumato.channels.baskets import BasketReports, SelectASize

    channel = SelectASize.design(sf.Items(items), sizes=[3, 5], gamma=19)
    plan = sf.Plan.from_dict({"attributes": {"basket": {"items": items, **channel.to_spec()}}})
    form, form_name = ReportForm(plan), "seed" if channel.has_seeds else "bitmap"
    sent = devices_send(plan, [{"basket": [1, 2, 3 + place]} for place in range(10)])
    table = form.table(map(form.pack, sent))
    assert table["basket.size"].to_pylist() == [3] * 10
    rows = table[f"basket.{form_name}"].to_pylist()
    kept = channel.expand(BasketReports.of_bytes(channel.items, [3] * 10, rows, form_name == "seed"))
    parts = [bytes.fromhex(each["basket"][form_name]) for each in sent]
    told = channel.expand(BasketReports.of_bytes(channel.items, [3] * 10, parts, form_name == "seed"))
    assert (kept.words == told.words).all()
    for wrong in ({"size": 4, form_name: parts[0].hex()}, {"size": 3, form_name: "zz"}, {"size": 3}, 7, "x"):
        with pytest.raises(ReportError, match="basket"):
            form.pack({"basket": wrong})
    assert form.table([form.pack({"basket": None})])["basket.size"].to_pylist() == [None]


def test_a_report_with_more_answers_than_a_person_is_asked_is_refused():
    yes = {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 3}
    clear = {"categories": ["x", "y"], "role": "clear"}
    plan = sf.Plan.from_dict({"questions_each": 2, "attributes": {"a": yes, "b": yes, "c": yes, "town": clear}})
    form = ReportForm(plan)
    for b, c in ((None, None), ("no", None), (None, "yes")):
        form.pack({"a": "yes", "b": b, "c": c, "town": "x"})
    with pytest.raises(ReportError, match="answers more than the 2 questions that a person is asked"):
        form.pack({"a": "yes", "b": "no", "c": "no", "town": None})
