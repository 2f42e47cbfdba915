"""A bound for the whole plan: kept in fractions, shared out by what serves the estimates, refused in one line."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import jsonschema
import pytest

import sfumato as sf

NUMBER: dict[str, Any] = {"low": 0, "high": 100}
YES_NO: dict[str, Any] = {"categories": ["yes", "no"]}
MANY: dict[str, Any] = {"categories": list(range(20))}
TWENTY: dict[str, Any] = {**NUMBER, "channel": "square-wave", "gamma": 20}
NORMAL: dict[str, Any] = {**NUMBER, "channel": "gaussian", "scale": 9}


def plan_of(top: dict[str, Any], **attributes: Any) -> sf.Plan:
    spec = {**top, "attributes": attributes}
    jsonschema.validate(spec, sf.Plan.schema())
    return sf.Plan.from_dict(spec)


@pytest.mark.parametrize("top", [{"gamma": 19}, {"epsilon": 1}, {"epsilon": 6}, {"gamma": 1.5}, {"gamma": 1e6}])
def test_all_answers_together_keep_the_bound_in_fractions(top: dict[str, float]) -> None:
    plan = plan_of(top, a=NUMBER, b={**NUMBER, "channel": "piecewise"}, c=YES_NO, d=MANY)
    assert plan.budget is not None
    total = math.prod(Fraction(part.gamma) for part in plan.guarantee().parts.values())
    assert Fraction(plan.budget) * (1 - Fraction(1, 10**4)) <= total <= Fraction(plan.budget)
    assert plan.guarantee().gamma <= plan.budget and sum(plan.shares.values()) <= 1


def test_a_plan_with_shares_is_the_plan_with_their_gammas_written_out() -> None:
    plan = plan_of({"gamma": 19}, a=NUMBER, c={**YES_NO, "weight": 3})
    assert sf.Plan.from_dict(plan.to_dict()) == plan
    gammas = {name: each.channel.parameters()["gamma"] for name, each in plan.attributes.items()}
    by_hand = plan_of({}, a={**NUMBER, "channel": "square-wave", "gamma": gammas["a"]},
                      c={**YES_NO, "channel": "randomized-response", "gamma": gammas["c"]})  # fmt: skip
    assert by_hand.identity == plan.identity
    assert plan_of({"epsilon": math.log(19)}, a=NUMBER, c={**YES_NO, "weight": 3}).identity == plan.identity


def test_one_question_gets_all_of_it() -> None:
    assert plan_of({"gamma": 19}, a=NUMBER).attributes["a"].channel == sf.SquareWave(sf.Interval(0, 100), gamma=19)


def test_equals_share_equally_and_weight_and_many_categories_get_more() -> None:
    alike = plan_of({"gamma": 19}, a=NUMBER, b=NUMBER).shares
    assert alike["a"] == alike["b"]
    heavy = plan_of({"gamma": 19}, a={**NUMBER, "weight": 8}, b=NUMBER).shares
    assert heavy["a"] > 1.5 * heavy["b"]
    kinds = plan_of({"gamma": 19}, few=YES_NO, many=MANY).shares
    assert kinds["many"] > 1.5 * kinds["few"]


def test_what_states_its_own_parameter_is_taken_off_first() -> None:
    own = {**YES_NO, "channel": "randomized-response", "gamma": 19}
    plan = plan_of({"gamma": 361}, x=own, y=NUMBER, group={**YES_NO, "role": "class"})
    assert plan.shares["x"] == pytest.approx(0.5) and plan.shares["y"] == pytest.approx(0.5, abs=1e-5)
    assert list(plan.attributes) == ["x", "y", "group"] and plan.attributes["group"].channel is None


@pytest.mark.parametrize(
    ("top", "attributes", "words"),
    [
        ({"gamma": 19, "epsilon": 1}, {"a": NUMBER}, "give either gamma= or epsilon= for the whole plan, one of them"),
        ({"gamma": 1}, {"a": NUMBER}, "gamma=1 is not above 1"),
        ({"epsilon": 0}, {"a": NUMBER}, "epsilon=0 is not above 0"),
        ({"epsilon": math.nan}, {"a": NUMBER}, "epsilon=nan is not above 0"),
        ({"gamma": "19"}, {"a": NUMBER}, "gamma='19' is not a number"),
        ({"gamma": 1.0001}, {"a": NUMBER}, "gamma = 1.0001 is too little for a question"),
        ({"gamma": 1.002}, {"a": NUMBER, "b": NUMBER, "c": NUMBER}, "too little for 3 questions: .*ask less"),
        ({"gamma": 19}, {"a": TWENTY, "b": NUMBER}, "a use all of the plan's"),
        ({"gamma": 19}, {"a": TWENTY}, "γ = 20, above the plan's gamma = 19"),
        ({"gamma": 19}, {"a": NORMAL, "b": NUMBER}, "attributes.a: gaussian has no"),
        ({"gamma": 19}, {"a": {**NUMBER, "weight": 0}}, "weight = 0 is not a number above 0"),
        ({"gamma": 19}, {"a": {**NUMBER, "weight": "two"}}, "weight = 'two' is not a number"),
        ({}, {"a": {**NUMBER, "channel": "square-wave", "gamma": 3, "weight": 2}}, "attributes.a: weight is for"),
        ({}, {"a": NUMBER}, "attributes.a: no channel"),
    ],
)
def test_a_bad_budget_is_one_line(top: dict[str, Any], attributes: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words) as error:
        sf.Plan.from_dict({**top, "attributes": attributes})
    assert "\n" not in str(error.value)


def test_a_question_of_many_categories_is_answered_by_a_set_unless_its_channel_is_named() -> None:
    many = {"categories": list(range(300))}
    plan = plan_of({"gamma": 19}, few=YES_NO, many=many)
    kinds = {name: each.channel.kind for name, each in plan.attributes.items()}
    assert kinds == {"few": "randomized-response", "many": "subset-response"}
    named = plan_of({"gamma": 19}, many={**many, "channel": "randomized-response"})
    assert named.attributes["many"].channel.kind == "randomized-response"
    assert Fraction(19) >= math.prod(Fraction(part.gamma) for part in plan.guarantee().parts.values())
