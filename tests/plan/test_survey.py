"""The survey document has all that a device needs, in the plan's language, and its figures can be checked."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import jsonschema
import pytest

import sfumato as sf
from sfumato.channels.baskets.law import SizeLaw
from sfumato.channels.identity import identity_of
from sfumato.client import survey, survey_schema
from sfumato.prose import LANGUAGES

YES_NO = {"categories": ["yes", "no"]}
RESPONSE = {"channel": "randomized-response", "gamma": 19}
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "smokes": {**YES_NO, **RESPONSE, "question": "Do you smoke?", "missing": "refuse"},
    "age": {"low": 20, "high": 80, "channel": "gaussian", "privacy": 1.0, "step": 0.5, "outside": "clamp"},
    "colour": {**YES_NO, "channel": "choice", "levels": {"open": RESPONSE, "shy": {**RESPONSE, "gamma": 3}}},
    "habit": {**YES_NO, "channel": "longitudinal", "permanent": RESPONSE, "instantaneous": {**RESPONSE, "gamma": 3}},
    "both": {"columns": {"a": {"low": 0, "high": 1}, "b": {"low": 0, "high": 1}}, "channel": "correlated-gaussian",
             "covariance": [[0.1, 0.05], [0.05, 0.1]], "ratio": 1},
    "food": {"items": 70, **sf.SelectASize(sf.Items(70), [SizeLaw(3, 0.5, (0.2, 0.2, 0.2, 0.4))], 1).to_spec()},
    "group": {"categories": ["A", "B"], "role": "class"},
}  # fmt: skip


def plan_of(language: str = "en", **attributes: dict[str, Any]) -> sf.Plan:
    return sf.Plan.from_dict({"name": "town", "language": language, "attributes": attributes or ATTRIBUTES})


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return survey(plan_of(), collector="https://town.example", submit="/reports")


def test_it_is_plain_json_of_the_published_form(document: dict[str, Any]) -> None:
    again = json.loads(json.dumps(document, allow_nan=False))
    assert again == document
    jsonschema.Draft202012Validator(survey_schema()).validate(again)
    with pytest.raises(jsonschema.ValidationError):
        again["questions"][0]["program"]["steps"][0]["inside"] = 3
        jsonschema.Draft202012Validator(survey_schema()).validate(again)


def test_every_figure_can_be_computed_from_the_rest(document: dict[str, Any]) -> None:
    for question in document["questions"]:
        drawn = {"domain": question["domain"], "program": question["program"]}
        assert question["mechanism"] == (identity_of(drawn) if question["program"] else None)
    asked = ("name", "domain", "missing", "outside", "role", "question")
    attributes = [{**{key: each[key] for key in asked}, "channel": each["mechanism"]} for each in document["questions"]]
    assert document["plan"] == identity_of({"name": document["name"], "attributes": attributes}) == plan_of().identity


def test_gamma_and_words_of_every_level_are_those_of_the_guarantee(document: dict[str, Any]) -> None:
    levels = {each["name"]: each["levels"] for each in document["questions"]}
    gammas = {name: {level: part["gamma"] for level, part in found.items()} for name, found in levels.items()}
    assert list(gammas["colour"]) == ["open", "shy"] and 2.9 < Fraction(gammas["colour"]["shy"]) <= 3
    assert gammas["habit"] == gammas["smokes"] and 18.9 < Fraction(gammas["smokes"][""]) <= 19
    assert gammas["age"] == gammas["both"] == gammas["group"] == {"": None}
    part = plan_of().attributes["age"].channel.guarantee()
    said = {"sent": part.sent, "worst": part.worst, "usual": part.usual, "visible": part.besides}
    assert levels["age"][""]["words"] == said
    assert levels["habit"][""]["words"]["worst"] == levels["smokes"][""]["words"]["worst"]
    assert "which level you chose" in levels["colour"]["shy"]["words"]["visible"]
    assert levels["group"][""]["words"]["sent"] == "Your answer is sent as it is, without protection."
    assert document["together"] == str(plan_of().guarantee()).splitlines()


def test_a_person_who_does_not_choose_has_the_default_level(document: dict[str, Any]) -> None:
    assert {each["name"]: each["default"] for each in document["questions"] if each["default"]} == {"colour": "open"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_words_are_in_the_plans_language_and_only_those_that_a_device_uses(language: str) -> None:
    made = survey(plan_of(language, smokes=ATTRIBUTES["smokes"]))
    said = {name: text for name, text in made["words"].items() if not name.startswith(("device.", "page."))}
    assert {name.split(".")[0] for name in said} == {"number", "and", "or", "quoted", "told", "limit"}
    assert made["words"]["and"] == {"en": "and", "de": "und", "fr": "et"}[language]


def test_a_plan_that_blurs_nothing_says_so() -> None:
    made = survey(plan_of(group=ATTRIBUTES["group"]))
    assert made["together"][0] == "Sent as it is, without protection: group."


def test_an_address_is_text_or_nothing() -> None:
    with pytest.raises(ValueError, match="submit is neither an address nor None"):
        survey(plan_of(), submit=" ")
