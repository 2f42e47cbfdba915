"""Forms that devices evaluate: what they state is what the model does."""

from __future__ import annotations

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato import shipping
from sfumato.shipping.forms import device_part


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
