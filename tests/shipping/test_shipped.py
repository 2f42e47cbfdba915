import json
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import shipping
from sfumato.shipping.training import estimator
from tests.hostile import some_recipes

PLAN = """
name = "town"
[attributes.age]
low = 20
high = 80
channel = "gaussian"
privacy = 0.25
[attributes.elevel]
categories = ["none", "some", "much"]
channel = "randomized-response"
gamma = 19
[attributes.rooms]
low = 1
high = 9
integer = true
role = "clear"
[attributes.group]
categories = ["A", "B"]
role = "class"
"""

NUMBERS = """
name = "town"
[attributes.age]
low = 20
high = 80
channel = "gaussian"
privacy = 0.25
[attributes.salary]
low = 0
high = 100
channel = "uniform"
privacy = 0.25
[attributes.group]
categories = ["A", "B"]
role = "class"
"""


@pytest.fixture(scope="module")
def plan():
    return sf.Plan.loads(PLAN)


def draw_people(n, seed):
    rng = np.random.default_rng(seed)
    age, elevel = rng.uniform(20, 80, n), rng.choice(["none", "some", "much"], n)
    group = np.where((age < 45) ^ (elevel == "much"), "A", "B")
    return {"age": age, "elevel": elevel, "rooms": rng.integers(1, 10, n), "group": group}


MODELS = {
    "joint tree": lambda plan: sf.TreeClassifier(plan.channels, random_state=0),
    "byclass tree": lambda plan: sf.TreeClassifier(plan.channels, "byclass"),
    "joint model": lambda plan: sf.JointModel(plan.channels, members=2, random_state=0),
    "naive bayes": lambda plan: sf.NaiveBayesClassifier(plan.channels),
}


@pytest.fixture(scope="module")
def fit(plan):
    """A model of one kind, fitted once on the same reports."""
    import pandas as pd

    reports = pd.DataFrame(plan.randomize(draw_people(4000, 0), np.random.default_rng(1)))
    return cache(lambda name: MODELS[name](plan).fit(reports[["age", "elevel", "rooms"]], reports["group"]))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_predicts_the_same_after_a_trip_through_json(fit, plan, tmp_path, name):
    import pandas as pd

    people = draw_people(2000, 2)
    shipping.save(fit(name), tmp_path / "model.json", plan=plan, measured={"accuracy": 0.9})
    arrived = shipping.load(tmp_path / "model.json")
    before = fit(name).predict(pd.DataFrame(people)[["age", "elevel", "rooms"]])
    assert (arrived.predict(people) == before).all()
    assert np.mean(before == people["group"]) > 0.6
    assert arrived.plan == plan
    assert arrived.measured == {"accuracy": 0.9}
    assert "Sent as it is, without protection: rooms and group" in arrived.guarantee["words"]


@pytest.mark.parametrize("method", shipping.METHODS)
def test_every_method_s_model_arrives_as_it_left(method, tmp_path):
    plan = sf.Plan.loads(NUMBERS)
    rng = np.random.default_rng(0)
    people = {"age": rng.uniform(20, 80, 1500), "salary": rng.uniform(0, 100, 1500)}
    people["group"] = np.where(people["age"] + people["salary"] < 100, "A", "B")
    reports = pa.table(plan.randomize(people, np.random.default_rng(1)))
    model = estimator(method, plan, seed=0)
    if isinstance(model, sf.Chooser):
        model.set_params(recipes=some_recipes(plan, model.readable))
    model.fit(reports.select(["age", "salary"]), reports["group"].to_numpy())
    shipping.save(model, tmp_path / "model.json", plan=plan)
    arrived = shipping.load(tmp_path / "model.json")
    fresh = pa.table({name: people[name] for name in ("age", "salary")})
    assert (arrived.predict(fresh) == model.predict(fresh)).all()
    np.testing.assert_allclose(arrived.predict_proba(fresh), model.predict_proba(fresh), atol=1e-5)
    assert np.mean(arrived.predict(fresh) == people["group"]) > 0.7


def test_any_kind_of_table_and_any_order_of_columns_gives_the_same_classes(fit, plan, tmp_path):
    import duckdb
    import pandas as pd
    import polars as pl

    people = draw_people(300, 3)
    shipping.save(fit("joint tree"), tmp_path / "model.json", plan=plan)
    arrived = shipping.load(tmp_path / "model.json")
    expected = arrived.predict(people)
    swapped = dict(reversed(people.items()))
    arrow = pa.table(swapped)
    for table in (pd.DataFrame(swapped), pl.DataFrame(swapped), arrow, duckdb.from_arrow(arrow)):
        assert (arrived.predict(table) == expected).all()
    assert arrived.predict_proba(people).sum(axis=1) == pytest.approx(1)


@pytest.mark.filterwarnings("error")
def test_one_person_gets_one_class_without_a_warning(fit, plan, tmp_path):
    shipping.save(fit("joint tree"), tmp_path / "model.json", plan=plan)
    arrived = shipping.load(tmp_path / "model.json")
    assert arrived.predict({"age": 25, "elevel": "none", "rooms": 3}) == "A"
    assert arrived.predict({"age": 75, "elevel": "none", "rooms": 3}) == "B"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"age": 300}, "column 'age': the value is outside"),
        ({"elevel": "plenty"}, "column 'elevel'"),
        ({"rooms": 2.5}, "column 'rooms'"),
        ({"rooms": [1, 2]}, "differ in length"),
    ],
)
def test_values_that_the_plan_does_not_allow_are_refused(fit, plan, tmp_path, changed, words):
    shipping.save(fit("joint tree"), tmp_path / "model.json", plan=plan)
    arrived = shipping.load(tmp_path / "model.json")
    with pytest.raises(ValueError, match=words):
        arrived.predict({"age": 25, "elevel": "none", "rooms": 3} | changed)


def test_a_missing_column_is_named(fit, plan, tmp_path):
    shipping.save(fit("joint tree"), tmp_path / "model.json", plan=plan)
    with pytest.raises(ValueError, match=r"'age' is missing; the model reads age, elevel, rooms"):
        shipping.load(tmp_path / "model.json").predict({"elevel": "none", "rooms": 3})


def test_the_file_is_strict_json_without_a_trace_of_the_records(fit, plan, tmp_path):
    shipping.save(fit("joint tree"), tmp_path / "model.json", plan=plan, measured={"gain": float("inf")})
    document = json.loads((tmp_path / "model.json").read_text(), parse_constant=pytest.fail)
    assert document["measured"] == {"gain": "infinity"}
    assert (document["format"], document["version"]) == ("sfumato-model", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


def test_truncated_and_foreign_files_are_refused(fit, tmp_path):
    whole = tmp_path / "model.json"
    shipping.save(fit("joint tree"), whole)
    text = whole.read_text()
    document = json.loads(text)
    damaged = {key: part for key, part in document["model"].items() if key != "tree"}
    cases = {
        text[: len(text) // 2]: "not a whole JSON file",
        "": "not a whole JSON file",
        "[1, 2]": "not a model of sfumato",
        json.dumps({"format": "onnx"}): "not a model of sfumato",
        json.dumps(document | {"version": 99}): "version 99 of the format, this sfumato reads 1",
        json.dumps(document | {"kind": "os.system"}): "holds a 'os.system', which is unknown",
        json.dumps(document | {"model": damaged}): "the model inside is damaged",
    }
    for content, words in cases.items():
        whole.write_text(content)
        with pytest.raises(ValueError, match=words):
            shipping.load(whole)
    with pytest.raises(ValueError, match="no such file"):
        shipping.load(tmp_path / "nothing.json")


def test_what_cannot_be_shipped_is_refused_and_the_old_file_survives(fit, tmp_path):
    target = tmp_path / "model.json"
    target.write_text("precious")
    with pytest.raises(TypeError, match="dict cannot be shipped; use one of TreeClassifier"):
        shipping.save({}, target)
    with pytest.raises(ValueError, match=r"\.json"):
        shipping.save(fit("joint tree"), tmp_path / "model.pkl")
    with pytest.raises(Exception, match="not fitted"):
        shipping.save(sf.TreeClassifier(), target)
    assert target.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
