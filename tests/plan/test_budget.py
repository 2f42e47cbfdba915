"""A bound for the whole plan: kept in fractions, shared out by what serves the estimates, refused in one line."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import jsonschema
import numpy as np
import pytest

import sfumato as sf
from sfumato.client import Ledger, survey, survey_schema
from sfumato.client.page import page_texts
from sfumato.domain import as_array, is_missing
from sfumato.plan.budget import _cost_of_categories, _usual, variance_by_questions_each
from sfumato.tables import frame_like, read_columns
from tests.statistics import assert_fits

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


def test_numbered_categories_share_a_bound_as_listed_ones_do() -> None:
    """`categories = 20` ended with "object of type 'int' has no len()"."""
    listed, numbered = (
        sf.Plan.from_dict({"name": "x", "gamma": 50, "attributes": {"a": {"categories": a}, "b": {"categories": 3}}})
        for a in (list(range(20)), 20)
    )
    assert numbered.shares == listed.shares and numbered.guarantee().gamma <= 50


def test_more_budget_never_leaves_a_question_behind() -> None:
    """Where sets take the place of randomized response, the cost of a question has no step up to stop at."""
    few = {"smokes": YES_NO, "sick": YES_NO, "job": {"categories": list(range(8))}, "income": NUMBER}
    before = dict.fromkeys(few, 1.0)
    for gamma in (2, 5, 10, 20, 50, 100, 400, 2000):
        plan = plan_of({"gamma": gamma}, **few)
        now = {name: part.gamma for name, part in plan.guarantee().parts.items()}
        assert all(now[name] > before[name] for name in few), gamma
        before = now


@pytest.mark.parametrize("size", [2, 5, 6, 8, 20, 300])
def test_the_cost_of_categories_is_that_of_the_channel_that_is_taken(size: int) -> None:
    for gamma in (1.2, 2.0, 3.0, 7.0, 19.0, 100.0):
        kind = _usual({"categories": list(range(size))}, gamma)
        channel = sf.channels.channel_from_spec(sf.Categories(range(size)), {"channel": kind, "gamma": gamma})
        table, even = channel.law(), 1 / size
        weighted = table.T / (table.sum(axis=1) * even)
        estimator = np.linalg.solve(weighted @ table, weighted)
        variance = ((estimator**2 @ table).sum() * even - even) / (1 - even)
        rough = 0.06 if size < 100 else 0.12  # the grid of a prime that is nearest
        assert 1 + _cost_of_categories(size, gamma, None) == pytest.approx(variance, rel=rough)


# --- each person answers some of the questions ------------------------------------------------------------------------

FIVE = {f"q{i}": YES_NO for i in range(5)}
ALL_OF_IT = {**TWENTY, "gamma": 19}
BASKETS = {"items": 10, **sf.SelectASize.design(sf.Items(10), sizes=[1, 2], gamma=3).to_spec()}


@pytest.mark.parametrize("each", [1, 2, 4])
def test_only_the_largest_of_those_asked_multiply(each: int) -> None:
    plan = plan_of({"gamma": 19, "questions_each": each}, **FIVE, group={**YES_NO, "role": "class"})
    gammas = {Fraction(part.gamma) for part in plan.guarantee().parts.values()}
    assert len(gammas) == 1
    assert Fraction(19) * (1 - Fraction(1, 10**4)) <= max(gammas) ** each <= 19
    assert plan.guarantee().gamma <= 19 and plan.drawn == tuple(FIVE)
    assert f"You answer {each} of these 5 questions" in str(plan.guarantee())
    assert f"all your blurred answers ({each})" in str(plan.guarantee())


@pytest.mark.parametrize(("gamma", "each"), [(g, 2) for g in (1.21, 1.69, 4.41, 4.84, 9)] + [(1.331, 3), (2.197, 3)])
def test_a_bound_with_a_short_root_is_kept_and_used_up(gamma: float, each: int) -> None:
    plan = plan_of({"gamma": gamma, "questions_each": each}, **FIVE)
    share = Fraction(plan.attributes["q0"].channel.guarantee().gamma)
    assert Fraction(gamma) * (1 - Fraction(1, 10**4)) <= share**each <= Fraction(gamma)


def test_own_bounds_count_where_they_are_among_the_largest() -> None:
    own = {**YES_NO, "channel": "randomized-response"}
    large = plan_of({"gamma": 12, "questions_each": 2}, a={**own, "gamma": 4}, b=NUMBER, c=NUMBER)
    assert large.attributes["b"].channel.parameters()["gamma"] == pytest.approx(3, abs=1e-4)
    small = plan_of({"gamma": 9, "questions_each": 2}, a={**own, "gamma": 1.5}, b=NUMBER, c=NUMBER)
    assert small.attributes["b"].channel.parameters()["gamma"] == pytest.approx(3, abs=1e-4)
    blurred = plan_of({"gamma": 12, "questions_each": 1}, a={**own, "gamma": 4, "role": "class"}, b=NUMBER, c=NUMBER)
    assert blurred.attributes["b"].channel.parameters()["gamma"] == pytest.approx(3, abs=1e-4)
    assert blurred.guarantee().gamma == pytest.approx(12, rel=1e-4)


def test_a_plan_that_draws_questions_has_an_identity_of_its_own_and_travels() -> None:
    own = {**YES_NO, "channel": "randomized-response", "gamma": 3}
    plan = plan_of({"questions_each": 2}, **dict.fromkeys(FIVE, own))
    assert sf.Plan.from_dict(plan.to_dict()) == plan
    without = sf.Plan.from_dict({**plan.to_dict(), "questions_each": None})
    assert without.identity != plan.identity and without.guarantee().gamma > plan.guarantee().gamma


@pytest.mark.parametrize("kind", [dict, "pandas", "pyarrow"])
def test_every_person_answers_so_many_and_each_question_is_as_likely(kind: Any) -> None:
    age, town = {**NUMBER, "integer": True}, {**MANY, "role": "clear"}
    plan = plan_of({"gamma": 19, "questions_each": 2}, **FIVE, age=age, town=town)
    people: Any = {name: np.array(["yes", "no"] * 3000) for name in FIVE}
    people |= {"age": np.arange(6000) % 100, "town": np.arange(6000) % 20}
    table = people if kind is dict else frame_like(kind, people)
    reports = read_columns(plan.randomize(table, 5), list(people))
    answered = np.array([[not is_missing(cell) for cell in as_array(reports[name]).tolist()] for name in plan.drawn])
    assert (answered.sum(axis=0) == 2).all()
    for row in answered:
        assert_fits([row.sum(), (~row).sum()], [1 / 3, 2 / 3])
    pairs = (answered.astype(int) @ answered.T.astype(int))[np.triu_indices(6, 1)]
    assert_fits(pairs, np.full(15, 1 / 15))
    assert not any(is_missing(cell) for cell in as_array(reports["town"]).tolist())
    estimate = plan.reconstruct(reports)["q0"]
    assert estimate.diagnostics.reports == answered[0].sum()
    note = "each person was asked 2 of 6 questions: about 4,000 were not asked this one, and no more are missing"
    assert note in estimate.diagnostics.messages[-1]


def test_who_is_not_asked_chooses_no_level_on_a_device_and_in_a_table() -> None:
    """The level of a question that was not asked is the default, whatever the person chose."""
    coin = {"channel": "randomized-response", "gamma": 3}
    choice = {**YES_NO, "channel": "choice", "levels": {"open": {**coin, "gamma": 9}, "shy": coin}}
    plan, levels = plan_of({"questions_each": 1}, a=choice, b=choice), {"a": "shy", "b": "shy"}
    reports = plan.randomize({name: np.full(200, "yes", dtype=object) for name in "ab"}, 3, levels=levels)
    for name in "ab":
        asked = np.array([not is_missing(cell) for cell in as_array(reports[name]).tolist()])
        assert 50 < asked.sum() < 150
        assert as_array(reports[f"{name}.level"]).tolist() == np.where(asked, "shy", "open").tolist()
    told = sf.Device(bytes(32), Ledger()).answer(plan, dict.fromkeys("ab", "yes"), collector="c", levels=levels)
    assert {(told[name] is None, told[f"{name}.level"]) for name in "ab"} == {(False, "shy"), (True, "open")}


def test_gaps_are_told_from_questions_that_were_not_asked_in_number() -> None:
    plan = plan_of({"gamma": 19, "questions_each": 2}, **FIVE)
    people = {name: np.array(["yes", "no"] * 5000, dtype=object) for name in FIVE}
    people["q0"][:5000] = None
    notes = {name: one.diagnostics.messages[-1] for name, one in plan.reconstruct(plan.randomize(people, 3)).items()}
    assert "about 6,000 were not asked this one, and about " in notes["q0"]
    assert 1700 < float(notes["q0"].split("about ")[2].split(" ")[0].replace(",", "")) < 2300
    assert all("no more are missing" in notes[f"q{i}"] for i in range(1, 5))


def test_an_audit_knows_which_questions_are_drawn_and_finds_devices_that_answer_more() -> None:
    plan = plan_of({"gamma": 9, "questions_each": 1}, a=YES_NO, b=YES_NO)
    assert sf.audit(plan, samples=20_000, people=50).passed
    numbers = plan_of({"gamma": 9, "questions_each": 1}, a=NUMBER, b=MANY, c=YES_NO)
    assert sf.audit(numbers, samples=20_000, people=50).passed
    all_of_them = sf.Plan(plan.name, plan.attributes)
    found = sf.audit(plan, implementation=all_of_them.randomize, samples=20_000, people=50)
    assert not found.passed and "all answers" in str(found)


def test_the_choice_is_the_persons_own_and_stays() -> None:
    plan = plan_of({"gamma": 19, "questions_each": 2}, **FIVE)
    answers, asked = dict.fromkeys(FIVE, "yes"), set()
    for person in range(40):
        device = sf.Device(bytes([person]) * 16, sf.Ledger())
        names = device.asks(plan, collector="town")
        reply = device.reply(plan, {name: answers[name] for name in names}, collector="town")
        assert {name for name, report in reply.report.items() if report is not None} == set(names)
        assert reply == device.reply(plan, answers, collector="town")
        assert device.total("town").gamma <= 19 and len(device.ledger.entries) == 2
        asked.add(names)
        keyed = plan.randomize(answers, key=bytes([person]) * 16)
        assert sum(report is not None for report in keyed.values()) == 2
    assert len(asked) == 10


def test_few_questions_each_have_less_variance_under_a_tight_bound_and_more_under_a_loose_one() -> None:
    """Exactly, for yes and no: 1 + R = ((γ + 1)/(γ − 1))²."""
    plan = plan_of({"gamma": 4}, **FIVE)
    tight = variance_by_questions_each(plan.attributes, 4)
    whole = {each: 5 / each * ((4 ** (1 / each) + 1) / (4 ** (1 / each) - 1)) ** 2 for each in range(1, 6)}
    assert tight == pytest.approx({each: one / whole[5] for each, one in whole.items()}, rel=1e-6)
    assert min(tight, key=tight.__getitem__) == 1
    loose = variance_by_questions_each(plan.attributes, 1e12)
    assert min(loose, key=loose.__getitem__) == 5


@pytest.mark.parametrize(
    ("top", "words"),
    [
        ({"questions_each": 0}, "questions_each = 0 is not a whole number from 1"),
        ({"questions_each": 2.5}, "questions_each = 2.5 is not a whole number from 1"),
        ({"questions_each": True}, "questions_each = True is not a whole number from 1"),
        ({"questions_each": "two"}, "questions_each = 'two' is not a whole number from 1"),
        ({"questions_each": 3}, "questions_each = 3 is not a number from 1 to 2; each person answers so many of 3"),
        ({"questions_each": 1, "attributes": {"a": NUMBER}}, "left out where there is one question"),
        ({"questions_each": 1, "attributes": {"a": NUMBER, "b": {**NUMBER, "weight": 2}}}, "weight has no meaning"),
        (
            {"questions_each": 1, "attributes": {"a": NUMBER, "b": {**NUMBER, "missing": "refuse"}}},
            'attributes.b: missing = "refuse" and questions_each exclude each other',
        ),
        ({"questions_each": 1, "attributes": {"a": TWENTY, "b": NUMBER}}, "γ = 20, above the plan's gamma = 19"),
        ({"questions_each": 2, "attributes": {"a": ALL_OF_IT, "b": NUMBER, "c": NUMBER}}, "a use all of the plan's"),
    ],
)  # fmt: skip
def test_a_wrong_number_of_questions_is_one_line(top: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        sf.Plan.from_dict({"gamma": 19, "attributes": {"a": NUMBER, "b": NUMBER, "c": NUMBER}, **top})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("key", [None, "secret", b"k" * 32])
def test_baskets_of_a_table_are_refused_before_questions_are_drawn(key: Any) -> None:
    own = {**YES_NO, "channel": "randomized-response", "gamma": 3}
    attributes = {"bought": BASKETS, "a": own}
    plan = sf.Plan.from_dict({"questions_each": 1, "attributes": attributes})
    people = {"bought": [[1, 2], [3]], "a": ["yes", "no"]}
    with pytest.raises(ValueError, match="column 'bought': baskets do not fit in a table's column"):
        plan.randomize(people | ({"secret": [b"a" * 32, b"b" * 32]} if key == "secret" else {}), key=key)


def test_questions_each_are_not_compared_where_nothing_is_shared() -> None:
    """What a basket tells has no R, and of a blurred class alone there is nothing to draw."""
    plan = plan_of({"gamma": 40}, bought=BASKETS, a=NUMBER)
    assert variance_by_questions_each(plan.attributes, 40) == {}
    assert variance_by_questions_each({}, 40) == {}


def test_devices_are_told_that_they_draw() -> None:
    plan = plan_of({"gamma": 19, "questions_each": 2}, **FIVE)
    document = survey(plan)
    assert document["survey"] == 2 and document["questions_each"] == 2
    jsonschema.validate(document, survey_schema())
    assert json.loads(page_texts(plan)["survey.json"]) == document
