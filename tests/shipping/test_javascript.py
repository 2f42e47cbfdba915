"""A shipped model names the same class in Python and in JavaScript, for everyone and next to every cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page

import sfumato as sf
from sfumato import shipping
from sfumato.learners.naive_bayes import CellDensity
from tests.browser.chromium import in_node
from tests.hostile import mutated
from tests.shipping.models import MODELS, Case, case

SCRIPT = Path(__file__).parent / "predict.js"
CHANGED = {
    "tree, byclass": 80, "direct, tree": 40, "naive Bayes, moments": 80, "direct": 40,
    "joint model, few columns": 80, "mixture": 40, "mixture classifier": 20, "chooser, mixture": 60,
}
"""How often each of these models is changed here: at least one of every form."""
IN_BROWSER = 1_000


def check(case: Case, told: list[Any]) -> None:
    """Labels and rules are equal for the last people, as many as were told; probabilities differ by what exp and
    division leave."""
    labels, shares, rules = zip(*told, strict=True)
    people = {name: column[-len(told) :] for name, column in case.people.items()}
    assert list(labels) == case.shipped.predict(people).tolist()
    np.testing.assert_allclose(np.array(shares), case.shipped.predict_proba(people), rtol=0, atol=1e-9)
    expected = case.shipped.rules(people)
    assert list(rules) == ([None] * len(rules) if expected is None else expected)


def test_every_kind_is_among_the_models(models_folder: Path) -> None:
    assert {type(case(name, models_folder).shipped.model).__name__ for name in MODELS} == set(shipping.KINDS)


@pytest.mark.parametrize("name", MODELS)
def test_node_tells_everyone_what_python_tells(name: str, models_folder: Path) -> None:
    here = case(name, models_folder)
    check(here, *in_node(SCRIPT, given=[[here.text, here.rows]]))


def test_chromium_tells_people_what_python_tells(page: Page, origin: str, models_folder: Path) -> None:
    """The last of them, who are those on the cuts: Node was asked about everyone."""
    page.goto(f"{origin}/tests/vectors/programs.json")
    run = "async (asked) => { const { run } = await import('/tests/shipping/predict.js'); return run(asked); }"
    for name in MODELS:
        here = case(name, models_folder)
        check(here, *json.loads(page.evaluate(run, json.dumps([[here.text, here.rows[-IN_BROWSER:]]]))))


def test_nearly_equal_sums_are_added_in_the_same_order(tmp_path: Path) -> None:
    """Every class has the same probabilities, in another order of the columns: only rounding tells them apart."""
    columns, rng = 9, np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, columns)
    table = {f"x{j}": rng.choice(["a", "b"], 3000) for j in range(columns)}
    model = sf.NaiveBayesClassifier().fit(pd.DataFrame(table), rng.choice(["A", "B", "C"], 3000))
    model.log_prior_ = np.log(np.full(3, 1 / 3))
    shares = [np.array([[each, 1 - each] for each in np.roll(p, 3 * y)]) for y in range(3)]
    model.densities_ = [
        CellDensity.of(density.cells, np.array([share[j] for share in shares]))
        for j, density in enumerate(model.densities_)
    ]
    shipping.save(model, tmp_path / "model.json")
    table = {name: np.where(np.isin(column, "a"), table["x0"], column) for name, column in table.items()}
    here = Case((tmp_path / "model.json").read_text(), shipping.load(tmp_path / "model.json"), table)
    told = in_node(SCRIPT, given=[[here.text, here.rows]])[0]
    check(here, told)
    assert len({label for label, *_ in told}) == 3


# --- files that nobody vouches for ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_model_gives_one_of_its_classes_or_is_refused_in_one_sentence(name: str, models_folder: Path) -> None:
    here, rng = case(name, models_folder), np.random.default_rng(len(name))
    document = json.loads(here.text)
    del document["plan"], document["measured"]
    changed = [json.dumps(mutated(document, rng)) for _ in range(CHANGED[name])]
    found = in_node(SCRIPT, given=[[text, here.rows[-20:]] for text in changed])
    for text, told in zip(changed, found, strict=True):
        for each in told if isinstance(told, list) else [told]:
            assert is_tame(each, text), (each, text[:2000])
    assert any(isinstance(told, dict) for told in found)


def is_tame(told: Any, text: str) -> bool:
    if isinstance(told, dict):
        refusal = told["refusal"]
        return told["kind"] == "Error" and len(refusal.splitlines()) == 1 and "of undefined" not in refusal
    label = json.loads(json.dumps(told[0]), parse_int=float)  # no other language has whole numbers of any size
    return label in json.loads(text, parse_int=float)["device"]["classes"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "The model is damaged; load it again."),
        ("[" * 100_000, "The model is damaged; load it again."),
        ("null", "The model is damaged; load it again."),
        ("[1, 2]", "no model of sfumato"),
        ('{"format": "sfumato-model", "version": 2}', "of version 2; update the device"),
        ('{"format": "sfumato-model", "version": 1}', "no part for devices"),
        ('{"format": "sfumato-model", "version": 1, "device": {"classes": null}}', "no classes"),
        ('{"format": "sfumato-model", "version": 1, "device": {"classes": ["a"], "form": "toString"}}', "damaged"),
    ],
)
def test_what_is_no_model_is_said_to_be_none(text: str, words: str) -> None:
    (told,) = in_node(SCRIPT, given=[[text, []]])
    assert words in told["refusal"] and is_tame(told, text)


# --- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"children": 13}, "no whole number from 0 to 12; correct it."),
        ({"children": -1e-9}, "no whole number from 0 to 12; correct it."),
        ({"children": 2.5}, "no whole number from 0 to 12; correct it."),
        ({"children": "2"}, "no whole number from 0 to 12; correct it."),
        ({"children": True}, "no whole number from 0 to 12; correct it."),
        ({"age": [30]}, "no number from 20 to 80; correct it."),
        ({"school": "plenty"}, "none of the categories; choose one."),
        ({"stars": "1"}, "none of the categories; choose one."),
        ({"stars": None}, "missing; give one."),
    ],
)
def test_answers_are_checked_as_python_checks_them(change: dict[str, Any], words: str, models_folder: Path) -> None:
    here = case("naive Bayes, reconstructed", models_folder)
    sound = PERSON | change
    told = f"{next(iter(change))}: The answer is {words}"
    assert in_node(SCRIPT, given=[[here.text, [sound]]])[0] == [{"refusal": told, "kind": "Error"}]
    with pytest.raises((ValueError, TypeError)):
        here.shipped.predict({name: [value] for name, value in sound.items()})


PERSON = {
    "age": 33, "children": 2, "school": "some", "stars": 1, "rooms": 3, "height": 1.8, "city": "city 1", "owner": True,
    "shoes": "brown",
}


@pytest.mark.parametrize("change", [{"age": 200}, {"age": -1}, {"owner": 1}, {"owner": False}, {"stars": True}])
def test_what_is_clamped_or_spelt_otherwise_is_one_answer(change: dict[str, Any], models_folder: Path) -> None:
    here = case("naive Bayes, moments", models_folder)
    ((label, shares, _),) = in_node(SCRIPT, given=[[here.text, [PERSON | change]]])[0]
    clamped = PERSON | change
    person = {name: [value] for name, value in (clamped | {"age": min(max(clamped["age"], 20), 80)}).items()}
    assert label == here.shipped.predict({name: [value] for name, value in clamped.items()})[0]
    np.testing.assert_allclose(shares, here.shipped.predict_proba(person)[0], atol=1e-9)


def test_an_answer_that_is_not_there_is_named(models_folder: Path) -> None:
    here = case("tree, byclass", models_folder)
    told = in_node(SCRIPT, given=[[here.text, [{"age": 33}, {"__proto__": {"school": "some"}}]]])[0]
    assert told[0]["refusal"] == "children: The answer is not there; give one."
    assert told[1]["refusal"] == "age: The answer is not there; give one."


def test_a_model_without_a_plan_takes_any_label_and_refuses_what_is_no_number(tmp_path: Path) -> None:
    table = pd.DataFrame({"age": [20.0, 30.0, 60.0, 70.0] * 9, "city": ["Rome", "Oslo"] * 18})
    model = sf.TreeClassifier().fit(table, (table["age"] < 45).to_numpy())
    shipping.save(model, tmp_path / "model.json")
    people = [{"age": 21, "city": "Paris"}, {"age": None, "city": None}, {"age": "21", "city": "Rome"}]
    young, nobody, text = in_node(SCRIPT, given=[[(tmp_path / "model.json").read_text(), people]])[0]
    assert young == [True, [0, 1], ["age is below 45"]]
    assert nobody[2] == ["age is unknown to the model"]
    assert text["refusal"].startswith("age: The answer is no number from ")


def test_labels_of_several_kinds_are_the_same_in_both_languages(tmp_path: Path) -> None:
    labels: list[Any] = [1, "1", "yes", False]
    coin = sf.RandomizedResponse(sf.Categories(labels), keep=0.999)
    column = np.array([*(labels * 25), None], dtype=object)[:-1]
    model = sf.NaiveBayesClassifier({"answer": coin}).fit(pd.DataFrame({"answer": column}), column)
    shipping.save(model, tmp_path / "model.json")
    told = in_node(SCRIPT, given=[[(tmp_path / "model.json").read_text(), [{"answer": label} for label in labels]]])[0]
    found = shipping.load(tmp_path / "model.json").predict(pd.DataFrame({"answer": column[:4]})).tolist()
    assert [(type(one[0]), one[0]) for one in told] == [(type(one), one) for one in found]
    assert [(type(one), one) for one in found] == [(type(one), one) for one in labels]


def test_a_joint_model_without_classes_says_that_it_cannot_classify(tmp_path: Path) -> None:
    table = pd.DataFrame({"age": np.random.default_rng(0).uniform(20, 80, 500)})
    model = sf.JointModel([sf.Gaussian(sf.Interval(20, 80), privacy=0.25)], members=1).fit(table)
    shipping.save(model, tmp_path / "model.json")
    (told,) = in_node(SCRIPT, given=[[(tmp_path / "model.json").read_text(), []]])
    assert "no classes" in told["refusal"]


def test_files_of_the_first_builds_still_read_in_python(models_folder: Path, tmp_path: Path) -> None:
    """They state no logarithms and have no part for devices."""
    for name in ("naive Bayes, reconstructed", "naive Bayes, moments", "direct"):
        here = case(name, models_folder)
        document = without(json.loads(here.text), "device", "log_prior", "peak", "log_density")
        (tmp_path / "model.json").write_text(json.dumps(document))
        old = shipping.load(tmp_path / "model.json")
        assert (old.predict(here.people) == here.shipped.predict(here.people)).all()


def without(data: Any, *keys: str) -> Any:
    if isinstance(data, dict):
        return {key: without(part, *keys) for key, part in data.items() if key not in keys}
    return [without(part, *keys) for part in data] if isinstance(data, list) else data
