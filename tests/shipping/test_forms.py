"""Forms that devices evaluate: what they state is what the model does."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato import shipping
from sfumato.learners.face_value.plain import first_above
from sfumato.prose import voice
from sfumato.shipping.forms import device_part

CUTS = st.floats(-1e30, 1e30, allow_subnormal=False)


@given(CUTS, st.integers(-3, 3))
def test_a_cut_in_double_precision_parts_numbers_as_single_precision_does(cut: float, steps: int) -> None:
    border = first_above(cut)
    value = border
    for _ in range(abs(steps)):
        value = float(np.nextafter(value, np.copysign(np.inf, steps)))
    for x in (value, cut, float(np.float32(cut))):
        assert (x < border) == bool(np.float32(x) <= cut)


def test_answers_are_read_by_the_plan_and_without_one_as_what_the_model_makes_of_them() -> None:
    table = pd.DataFrame({"age": [20.0, 30.0, 60.0, 70.0] * 9, "city": ["Rome", "Oslo"] * 18})
    model = sf.NaiveBayesClassifier().fit(table, table["age"] < 45)
    age = {"low": 0, "high": 99, "integer": True, "channel": "laplace", "scale": 9, "outside": "clamp"}
    spec = {"age": age, "city": {"categories": ["Rome", "Oslo", "Bern"], "role": "clear"}}
    read = device_part(model, sf.Plan.from_dict({"attributes": spec}))["reads"]
    rules = {"missing": "pass", "outside": "clamp"}
    assert read[0] == {"name": "age", "low": 0, "high": 99, "integer": True, **rules}
    assert read[1] == {"name": "city", "labels": ["Rome", "Oslo", "Bern"]}
    largest = float(np.finfo(float).max)
    assert device_part(model, None)["reads"] == [{"name": "age", "low": -largest, "high": largest}, {"name": "city"}]


def test_a_tree_of_scikit_learn_asks_for_labels_and_says_so() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"city": rng.choice(["Rome", "Oslo", "Bern"], 300), "age": rng.uniform(20, 80, 300)})
    model = sf.FaceValueClassifier(DecisionTreeClassifier(max_depth=1)).fit(table, table["city"] == "Oslo")
    root = model.device_form(voice("en")).data["nodes"][0]
    assert root["said"] == ["city is Bern or Rome", "city is Oslo", "city is unknown to the model"]
    assert (root["cut"], root["missing_left"]) == ([0, 2], True)


def test_answers_beyond_the_ends_count_as_the_ends_where_the_channel_clamps(tmp_path) -> None:
    spec = {"low": 20, "high": 80, "channel": "gaussian", "privacy": 0.25, "outside": "clamp"}
    plan = sf.Plan.from_dict({"attributes": {"age": spec, "old": {"categories": [True, False], "role": "class"}}})
    age = np.random.default_rng(0).uniform(20, 80, 500)
    model = sf.NaiveBayesClassifier(plan.channels).fit(pd.DataFrame({"age": age}), age > 50)
    shipping.save(model, tmp_path / "model.json", plan=plan)
    arrived = shipping.load(tmp_path / "model.json")
    shares = arrived.predict_proba({"age": [-9.0, 20.0, 80.0, np.inf]})
    assert (shares[0] == shares[1]).all() and (shares[2] == shares[3]).all()


def test_the_rule_that_decided_is_told_in_the_language_of_the_plan(tmp_path) -> None:
    spec = {"low": 20, "high": 80, "channel": "gaussian", "privacy": 0.25}
    old = {"categories": ["ja", "nein"], "role": "class"}
    plan = sf.Plan.from_dict({"language": "de", "attributes": {"Alter": spec, "alt": old}})
    age = np.random.default_rng(0).uniform(20, 80, 500)
    model = sf.TreeClassifier(max_depth=1).fit(pd.DataFrame({"Alter": age}), np.where(age < 49.5, "nein", "ja"))
    shipping.save(model, tmp_path / "model.json", plan=plan)
    young, nobody = shipping.load(tmp_path / "model.json").rules({"Alter": [30.0, np.nan]})
    assert young[0].startswith("Alter liegt unter 49,") and nobody == ["Alter ist dem Modell unbekannt"]
