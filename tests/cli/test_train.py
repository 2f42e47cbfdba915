import json

import numpy as np
import pytest
from pyarrow import csv, parquet

import sfumato as sf
from sfumato import shipping


@pytest.fixture
def town(sfumato, folder):
    """Reports of a town where the young and the learned are in group A."""
    rng = np.random.default_rng(0)
    age, elevel = rng.integers(20, 81, 3000), rng.integers(0, 5, 3000)
    group = np.where((age < 45) | (elevel == 4), "A", "B")
    folder.people("people.parquet", n=3000, age=age, elevel=elevel, group=group)
    folder.people("known.csv", n=3000, age=age, elevel=elevel, group=group)
    assert sfumato("randomize plan.toml people.parquet -o reports.parquet --seed 1").code == 0
    return folder


def test_a_tree_is_trained_and_its_rules_are_printed(sfumato, town):
    answer = sfumato("train plan.toml reports.parquet -o model.json --method likelihood")
    assert answer.code == 0 and answer.err == ""
    assert "If age is" in answer.out


def test_a_readable_model_is_trained_measured_and_written(sfumato, town):
    answer = sfumato("train plan.toml reports.parquet -o model.json --method readable")
    assert answer.code == 0 and answer.err == ""
    assert "If age is" in answer.out or "log P(" in answer.out
    assert "On true values it should be right for" not in answer.out
    assert answer.out.count("Estimated accuracy on true values: ") == 1
    assert answer.out.rstrip().endswith("written to model.json")
    model = shipping.load(town / "model.json")
    assert model.plan.name == "town"
    assert set(model.measured) == {"method", "trained_on", "held_out"}
    assert model.measured["trained_on"] + model.measured["held_out"]["records"] == 3000


def test_with_known_people_the_accuracy_is_measured_on_them_and_nothing_is_held_out(sfumato, town):
    answer = sfumato("train plan.toml reports.parquet -o model.json --method joint --test known.csv --json")
    found = json.loads(answer.out)
    assert "held_out" not in found
    assert found["trained_on"] == 3000
    people = csv.read_csv(town / "known.csv").to_pydict() | {}
    people["district"] = [str(label) for label in people["district"]]
    told = shipping.load(town / "model.json").predict(people)
    assert found["test"]["accuracy"] == pytest.approx(np.mean(told == np.array(people["group"])))
    assert found["test"]["accuracy"] > 0.85
    assert found["guarantee"]["words"].startswith("Together")


def test_held_out_reports_say_what_they_can(sfumato, town):
    line = "train plan.toml reports.parquet -o model.json --method byclass --holdout 0.4 --json"
    held = json.loads(sfumato(line).out)["held_out"]
    assert held["accuracy_on_reports"] > held["largest_class"]
    assert held["accuracy"] > held["accuracy_on_reports"] and 0 < held["stderr"] < 0.2


@pytest.mark.parametrize("method", list(shipping.METHODS))
def test_every_method_trains_a_model_that_predicts(sfumato, town, method):
    chosen = "" if method == "chooser" else f"--method {method}"
    assert sfumato(f"train plan.toml reports.parquet -o model.json {chosen} --holdout 0").code == 0
    assert shipping.load(town / "model.json").measured["method"] == method
    assert sfumato("predict model.json known.csv -o predictions.csv").code == 0
    told = csv.read_csv(town / "predictions.csv").to_pydict()["group"]
    assert np.mean(np.array(told) == np.array(csv.read_csv(town / "known.csv").to_pydict()["group"])) > 0.65


def test_blurred_classes_and_chosen_levels_are_corrected_for(sfumato, town):
    plan = (
        (town / "plan.toml")
        .read_text()
        .replace('role = "class"', 'role = "class"\nchannel = "randomized-response"\nkeep = 0.8')
    )
    plan = plan.replace('channel = "gaussian"\nprivacy = 0.5\n', 'channel = "choice"\ndefault = "shy"\n')
    levels = '\n[attributes.age.levels]\nopen = {channel = "gaussian", privacy = 0.2}\n'
    levels += 'shy = {channel = "gaussian", privacy = 0.8}\n'
    town.write("own.toml", plan + levels)
    assert sfumato("randomize own.toml people.parquet -o own.parquet --seed 1").code == 0
    assert "age.level" in parquet.read_table(town / "own.parquet").column_names
    answer = sfumato("train own.toml own.parquet -o model.json --method joint --test known.csv --json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["test"]["accuracy"] > 0.8
    assert sfumato("predict model.json known.csv -o predictions.csv").code == 0


def test_a_model_that_learned_nothing_is_not_praised(sfumato, folder):
    answer = sfumato("train plan.toml people.csv -o model.json --method byclass")
    assert "does not show that it has learned anything" in answer.out
    assert "too few to tell how it does on true values" in answer.out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "train plan.toml people.csv -o model.json --method forest",
            "--method forest is unknown; use one of joint, byclass",
        ),
        ("train plan.toml people.csv -o model.pkl", "model.pkl: unknown extension '.pkl'; use .json"),
        ("train plan.toml people.csv -o model.json --holdout 2", "--holdout"),
        ("train plan.toml nobody.csv -o model.json", "nobody.csv: no such file"),
        ("train plan.toml people.csv -o away/model.json", "the folder away does not exist"),
        ("train plan.toml people.csv -o model.json --test gone.csv", "gone.csv: no such file"),
    ],
)
def test_what_cannot_be_trained_says_why(refused, line, words):
    assert words in refused(line)


def test_plans_and_tables_that_cannot_be_learned_from_are_named(refused, folder):
    plan = (folder / "plan.toml").read_text()
    folder.write("classless.toml", plan.replace('role = "class"', 'role = "clear"'))
    assert 'role = "class"' in refused("train classless.toml people.csv -o model.json")
    folder.write("alone.toml", 'name = "a"\n[attributes.group]\ncategories = ["A", "B"]\nrole = "class"\n')
    assert "no attribute beside the class" in refused("train alone.toml people.csv -o model.json")
    baskets = sf.SelectASize.design(sf.Items(6), sizes=[2], gamma=19)
    group = sf.Attribute("group", sf.Categories(["A", "B"]), role="class")
    asked = {"basket": sf.Attribute("basket", baskets.domain, baskets), "group": group}
    folder.write("baskets.json", sf.Plan("shop", asked).to_json())
    assert "no model here reads sets of items" in refused("train baskets.json people.csv -o model.json")
    folder.people("ageless.csv", age=None)
    assert "column 'age' is missing" in refused("train plan.toml ageless.csv -o model.json")
    folder.people("odd.csv", n=2, group=["A", "C"])
    assert "odd.csv: row 2, column 'group'" in refused("train plan.toml odd.csv -o model.json")
    folder.write("gaps.csv", "age,elevel,district,group\n30,1,north,A\n40,2,1,\n")
    assert "row 2 has no class in 'group'" in refused("train plan.toml gaps.csv -o model.json")


def test_reports_that_do_not_fit_are_named_with_their_row(refused, folder):
    folder.people("odd.csv", elevel=[1] * 399 + [9])
    told = refused("train plan.toml odd.csv -o model.json")
    assert "odd.csv: row 400, column 'elevel': " in told
