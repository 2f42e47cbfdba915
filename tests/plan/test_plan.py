"""Plans: read, refused with the fix, applied to every kind of table, and what they guarantee."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf

CREDIT = """
name = "credit"
[attributes.age]
low = 20
high = 80
channel = "gaussian"
privacy = 1.0
[attributes.elevel]
categories = [0, 1, 2, 3, 4]
channel = "randomized-response"
gamma = 19
[attributes.town]
categories = ["Ulm", "Rom"]
channel = "randomized-response"
keep = 0.5
[attributes.group]
categories = ["A", "B"]
role = "class"
"""
PEOPLE: dict[str, list[Any]] = {
    "age": [20.0, 41.5, None, 80.0],
    "elevel": [0, 1, 2, 4],
    "town": ["Ulm", None, "Rom", "Rom"],
    "group": ["A", "B", "A", "A"],
}


def test_the_plan_of_the_design_reads_as_written() -> None:
    plan = sf.Plan.loads(CREDIT)
    assert list(plan.attributes) == ["age", "elevel", "town", "group"]
    assert plan.channels["age"] == sf.Gaussian(sf.Interval(20, 80), privacy=1.0)
    assert plan.channels["elevel"] == sf.RandomizedResponse(sf.Categories(range(5)), gamma=19)
    assert plan.target == "group" and "group" not in plan.channels


def test_a_plan_round_trips_and_fits_its_schema() -> None:
    plan = sf.Plan.loads(CREDIT)
    written = json.loads(plan.to_json())
    assert sf.Plan.from_dict(written) == plan
    jsonschema.Draft202012Validator.check_schema(sf.Plan.schema())
    jsonschema.validate(written, sf.Plan.schema())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("privacy", "privcy", r"attributes\.age: privcy is unknown.*did you mean 'privacy'"),
        ("gaussian", "gausian", r"attributes\.age: channel = 'gausian'.*did you mean 'gaussian'"),
        ("high = 80", "high = 10", r"attributes\.age: low=20 is not below high=10"),
        ("high = 80\n", "", r"attributes\.age: high is missing"),
        ("gamma = 19", "gamma = 0.5", r"attributes\.elevel: gamma=0.5"),
        ("gamma = 19", "keeps = 0.5", r"attributes\.elevel: keeps is unknown.*did you mean 'keep'"),
        ('role = "class"', 'role = "clas"', r"attributes\.group: role = 'clas'.*did you mean 'class'"),
        ('role = "class"\n', "", r"attributes\.group: no channel"),
        ("name = ", "nane = ", r"key 'nane' is unknown.*did you mean 'name'"),
        ('channel = "gaussian"\n', "", r"attributes\.age: privacy is unknown|attributes\.age: .*channel"),
        ("[0, 1, 2, 3, 4]", "[0, 0]", r"attributes\.elevel: category 0 is listed twice"),
        ("[attributes.age]", "[attributes.age", "not valid TOML"),
    ],
)
def test_a_wrong_plan_names_the_key_and_the_fix(old: str, new: str, words: str) -> None:
    assert old in CREDIT
    with pytest.raises(ValueError, match=words) as caught:
        sf.Plan.loads(CREDIT.replace(old, new, 1))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"), [("privacy", "privcy"), ("gaussian", "gausian"), ("gamma = 19", "gamma = 1"), ("high = 80\n", "")]
)
def test_the_schema_refuses_what_the_plan_refuses(old: str, new: str) -> None:
    import tomllib

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(CREDIT.replace(old, new, 1)), sf.Plan.schema())


@pytest.mark.parametrize("text", ["", "attributes = 3", "[attributes]", "attributes = {age = 5}", "[[attributes]]"])
def test_plans_without_attributes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="attributes"):
        sf.Plan.loads(text)


KEYS = st.sampled_from(["name", "attributes", "age", "low", "high", "channel", "gamma", "categories", "role"])
LEAVES = st.none() | st.booleans() | st.integers() | st.text()


@given(st.recursive(LEAVES, lambda inner: st.dictionaries(KEYS, inner) | st.lists(inner)))
def test_no_data_makes_reading_a_plan_fail_in_another_way(data: Any) -> None:
    try:
        sf.Plan.from_dict(data)
    except (ValueError, TypeError) as error:
        assert str(error) and "\n" not in str(error)


def test_files_are_read_by_extension_and_errors_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(CREDIT)
    plan = sf.Plan.load(tmp_path / "plan.toml")
    (tmp_path / "plan.json").write_text(plan.to_json())
    assert sf.Plan.load(tmp_path / "plan.json") == plan
    with pytest.raises(FileNotFoundError, match="check the path"):
        sf.Plan.load(tmp_path / "nothing.toml")
    (tmp_path / "cut.json").write_text(plan.to_json()[:100])
    with pytest.raises(ValueError, match=r"cut\.json: not valid JSON.*complete"):
        sf.Plan.load(tmp_path / "cut.json")
    (tmp_path / "plan.yaml").write_text("x")
    with pytest.raises(ValueError, match=r"neither \.toml nor \.json"):
        sf.Plan.load(tmp_path / "plan.yaml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="UTF-8"):
        sf.Plan.load(tmp_path / "bytes.toml")


FRAMES = {
    "pandas": lambda: pd.DataFrame(PEOPLE, index=[7, 5, 3, 1]),
    "polars": lambda: pl.DataFrame(PEOPLE),
    "pyarrow": lambda: pa.table(PEOPLE),
    "duckdb": lambda: duckdb.from_arrow(pa.table(PEOPLE)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_table_leaves_as_the_kind_it_came(kind: str) -> None:
    table = FRAMES[kind]()
    reports = sf.Plan.loads(CREDIT).randomize(table, rng=3)
    assert type(reports) is type(table)
    as_pandas = {"pandas": lambda t: t, "polars": lambda t: t.to_pandas(), "pyarrow": lambda t: t.to_pandas(),
                 "duckdb": lambda t: t.df()}[kind](reports)  # fmt: skip
    expected = sf.Plan.loads(CREDIT).randomize(
        {name: np.array(column, dtype=object) for name, column in PEOPLE.items()}, rng=3
    )
    assert as_pandas["age"].isna().tolist() == [False, False, True, False]
    np.testing.assert_array_equal(as_pandas["age"].to_numpy(dtype=float), expected["age"])
    assert as_pandas["town"].isna().tolist() == [False, True, False, False]
    assert as_pandas["elevel"].tolist() == expected["elevel"].tolist()
    assert as_pandas["group"].tolist() == PEOPLE["group"]
    if kind == "pandas":
        assert reports.index.tolist() == [0, 1, 2, 3]


def test_one_person_is_a_mapping_and_answers_the_same_again() -> None:
    plan = sf.Plan.loads(CREDIT)
    person = {"age": 41, "elevel": 2, "town": "Ulm", "group": "A"}
    first, again = (plan.randomize(person, key=b"my device's own secret") for _ in range(2))
    assert first == again and first["group"] == "A" and isinstance(first["age"], float)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"phone": [1, 2, 3, 4]}, r"column 'phone' has no channel; drop it or declare it"),
        ({"age": [20, 30, 40, 90]}, r"column 'age': the value in row 4 is outside"),
        ({"age": ["x", "y", "z", "w"]}, r"column 'age': .*convert the column to numbers"),
        ({"elevel": [0, 1, 2, 9]}, r"column 'elevel': unknown category in row 4"),
        ({"group": ["A", "B", "C", "A"]}, r"column 'group': unknown category in row 3"),
    ],
)
def test_a_wrong_table_names_the_column_and_the_fix(change: dict[str, list[Any]], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        sf.Plan.loads(CREDIT).randomize(pd.DataFrame({**PEOPLE, **change}))


def test_a_missing_column_an_empty_table_and_no_table_are_refused() -> None:
    plan = sf.Plan.loads(CREDIT)
    with pytest.raises(ValueError, match="column 'town' of the plan is not in the table"):
        plan.randomize(pd.DataFrame(PEOPLE).drop(columns="town"))
    with pytest.raises(ValueError, match="empty"):
        plan.randomize(pd.DataFrame(PEOPLE).iloc[:0])
    with pytest.raises(TypeError, match="not a table"):
        plan.randomize([1, 2, 3])


def test_the_total_guarantee_multiplies_and_names_what_is_in_the_clear() -> None:
    plan = sf.Plan.loads(CREDIT.replace('channel = "gaussian"\nprivacy = 1.0', 'channel = "square-wave"\ngamma = 5'))
    total = plan.guarantee()
    assert total.gamma == pytest.approx(5 * 19 * 1)
    assert "without protection: group" in str(total)
    json.dumps(total.to_dict(), allow_nan=False)
    assert "because of age" in str(sf.Plan.loads(CREDIT).guarantee())


def test_a_plan_that_blurs_nothing_has_no_guarantee() -> None:
    plan = sf.Plan.loads('[attributes.a]\ncategories = [1]\nrole = "clear"')
    with pytest.raises(ValueError, match="blurs nothing"):
        plan.guarantee()


def test_baskets_in_a_table_are_refused_with_the_way_to_go() -> None:
    baskets = sf.SelectASize.design(sf.Items(6), sizes=[3], gamma=5, up_to=2)
    plan = sf.Plan("shop", {"basket": sf.Attribute("basket", baskets.domain, baskets)})
    assert plan.guarantee().gamma == pytest.approx(5)
    with pytest.raises(ValueError, match=r"column 'basket': baskets do not fit.*sfumato itemsets"):
        plan.randomize({"basket": [[0, 1, 2]]})


TOGETHER = """
name = "bodies"
[attributes.body]
channel = "correlated-gaussian"
covariance = [[100, 60], [60, 80]]
ratio = 1.0
[attributes.body.columns]
height = { low = 140, high = 210 }
weight = { low = 40, high = 160 }
[attributes.sport]
categories = ["yes", "no"]
channel = "randomized-response"
gamma = 9
"""


def test_a_plan_holds_numbers_that_are_blurred_together() -> None:
    plan = sf.Plan.loads(TOGETHER)
    assert sf.Plan.loads(plan.to_json(), "json").identity == plan.identity
    assert sf.Plan.loads(TOGETHER.replace("100, 60", "100.0, 60")).identity == plan.identity
    people = pd.DataFrame({"height": [170.0, 180.0], "sport": ["yes", "no"], "weight": [70.0, None]})
    reports = plan.randomize(people, rng=1)
    assert list(reports.columns) == ["height", "weight", "sport"]
    assert reports["height"].notna().tolist() == reports["weight"].notna().tolist() == [True, False]
    one = plan.randomize({"height": 170, "weight": 70, "sport": "yes"}, key=b"a device's own secret")
    assert one == plan.randomize({"height": 170, "weight": 70, "sport": "yes"}, key=b"a device's own secret")
    assert "body" in str(plan.guarantee())
    with pytest.raises(ValueError, match="column 'weight' of the plan is not in the table"):
        plan.randomize({"height": 170, "sport": "yes"})


@pytest.mark.parametrize(
    ("old", "new"), [("gamma = 9", "gamma = 9.0"), ("low = 140", "low = 140.0"), ("ratio = 1.0", "ratio = 1")]
)
def test_a_plans_identity_is_not_its_spelling(old: str, new: str) -> None:
    assert sf.Plan.loads(TOGETHER.replace(old, new)).identity == sf.Plan.loads(TOGETHER).identity
    others = [("gamma = 9", "gamma = 10"), ("bodies", "body"), ("low = 140", "low = 141"), ("sport", "chess")]
    identities = {sf.Plan.loads(TOGETHER.replace(*other)).identity for other in others}
    assert len({*identities, sf.Plan.loads(TOGETHER).identity}) == 5
