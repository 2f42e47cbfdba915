"""A device tells a collector once what it was asked, however the plan is named, spelt or levelled."""

from __future__ import annotations

import hmac
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.baskets.law import SizeLaw
from sfumato.channels.identity import identity_of
from sfumato.client import Ledger, Limit, LimitError
from sfumato.client.questions import questions_of

SECRET = b"a device's own secret"
COLOURS = ["red", "green", "blue"]
RESPONSE = {"categories": COLOURS, "channel": "randomized-response", "gamma": 19}
SHY = {"channel": "randomized-response", "gamma": 3}
TABLE = {"channel": "tabulated", "table": np.eye(3).tolist(), "reports": ["a", "b", "c"]}
AGE = {"low": 20, "high": 80, "channel": "square-wave", "gamma": 19}


def plan_of(name: str = "survey", **attributes: dict[str, Any]) -> sf.Plan:
    return sf.Plan.from_dict({"name": name, "attributes": attributes})


def device(ledger: Ledger | None = None, secret: bytes = SECRET) -> sf.Device:
    return sf.Device(secret, ledger or Ledger(), today=lambda: date(2026, 5, 12))


@pytest.fixture
def mine() -> sf.Device:
    return device()


def ask(person: sf.Device, plan: sf.Plan, collector: str = "town", **answers: Any) -> dict[str, Any]:
    return person.answer(plan, answers, collector=collector)


def test_a_renamed_plan_gets_the_remembered_report(mine: sf.Device) -> None:
    first = ask(mine, plan_of("first", colour=RESPONSE, age=AGE), colour="red", age=47.3)
    for name in ("second", "third"):
        assert ask(mine, plan_of(name, colour=RESPONSE, age=AGE), colour="red", age=47.3) == first
    assert len(mine.ledger.entries) == 2 and {each.survey for each in mine.ledger.entries} == {"first"}


def test_the_number_of_a_set_is_sent_again_by_its_own_channel_alone(mine: sf.Device) -> None:
    """Under another γ the number stands for another set, and under randomized response for a category."""
    words = {"categories": list(range(200)), "channel": "subset-response", "gamma": 19}
    plain = {**words, "channel": "randomized-response"}
    first = ask(mine, plan_of("first", word=words), word=7)
    assert type(first["word"]) is int and mine.ledger.entries[0].report == {"seed": first["word"]}
    assert ask(mine, plan_of("second", word={**words, "gamma": 19.0}), word=7) == first
    reloaded = device(Ledger.loads(mine.ledger.dumps()))
    assert ask(reloaded, plan_of("third", word=words), word=7) == first and len(reloaded.ledger.entries) == 1
    for other in ({**words, "gamma": 3}, plain):
        with pytest.raises(LimitError):
            ask(mine, plan_of("fourth", word=other), word=7)


def test_respelt_and_relevelled_plans_get_the_remembered_report(mine: sf.Device) -> None:
    first = ask(mine, plan_of(colour=RESPONSE, age=AGE), colour="red", age=47.3)
    for i in range(1, 50):
        other = plan_of(f"plan {i}", colour={**RESPONSE, "gamma": 19 + i / 7}, age={**AGE, "gamma": 2 + i, "step": 0.5})
        again = ask(mine, other, colour="red", age=47.3)
        assert again["colour"] == first["colour"]
        assert abs(again["age"] - first["age"]) <= 0.25  # at the nearest place of the other grid
    assert mine.total("town").gamma == Fraction(mine.ledger.entries[0].gamma) * Fraction(mine.ledger.entries[1].gamma)


@pytest.mark.parametrize(
    "respelt",
    [
        {"colour": {**RESPONSE, "categories": COLOURS[::-1]}},
        {"colour": {**RESPONSE, "categories": [*COLOURS, "none"]}},
        {"Colour ": {**RESPONSE, "categories": COLOURS[::-1]}},
        {"colour": {"categories": COLOURS, **TABLE}},
        {"colour": {"categories": COLOURS, "role": "clear"}},
        {"colour": {"categories": COLOURS, "channel": "choice", "levels": {"shy": SHY}}},
    ],
    ids=["another order", "another label", "another case", "other reports", "in the clear", "a level"],
)
def test_what_the_remembered_report_cannot_answer_is_a_further_report_and_refused(
    mine: sf.Device, respelt: dict[str, dict[str, Any]]
) -> None:
    ask(mine, plan_of(colour=RESPONSE), colour="red")
    before = mine.ledger.entries
    with pytest.raises(LimitError, match="town already holds as many reports of"):
        mine.answer(plan_of(**respelt), {next(iter(respelt)): "red"}, collector="town")
    assert mine.ledger.entries == before


def test_one_plan_cannot_ask_the_same_thing_twice_under_other_spellings(mine: sf.Device) -> None:
    twins = {"age": AGE, "Age": AGE, "AGE": {**AGE, "gamma": 5}}
    told = mine.answer(plan_of(**twins), dict.fromkeys(twins, 33), collector="town")
    assert len(mine.ledger.entries) == 1 and abs(told["age"] - told["AGE"]) < 1
    with pytest.raises(LimitError):
        mine.answer(plan_of(b=AGE, B={**AGE, "low": 19}), {"b": 33, "B": 33}, collector="town")
    assert len(mine.ledger.entries) == 1


def test_a_changed_answer_is_a_further_report_that_counts_and_can_be_permitted(mine: sf.Device) -> None:
    plan = plan_of(colour=RESPONSE)
    first = ask(mine, plan, colour="red")
    with pytest.raises(LimitError, match="a further one would tell more"):
        ask(mine, plan, colour="blue")
    mine.ledger.set_limit(reports=2)
    ask(mine, plan, colour="blue")
    assert mine.total("town").gamma == Fraction(mine.ledger.entries[0].gamma) ** 2
    assert "Your answer to colour has changed" in str(mine.total("town")) and mine.total().changed == ["colour"]
    assert ask(mine, plan, colour="red") == first and len(mine.ledger.entries) == 2
    with pytest.raises(LimitError, match=r"as you permit \(2\)"):
        ask(mine, plan, colour="green")


def test_beyond_the_limit_on_gamma_nothing_of_a_plan_is_answered(mine: sf.Device) -> None:
    mine.ledger.set_limit(belief=(0.05, 0.5))
    assert mine.ledger.limit.gamma == 19
    ask(mine, plan_of(colour=RESPONSE), colour="red")
    with pytest.raises(LimitError, match=r"with age, town could multiply the odds about you by up to 361"):
        ask(mine, plan_of(colour=RESPONSE, age=AGE), colour="red", age=30)
    assert len(mine.ledger.entries) == 1
    ask(mine, plan_of(colour=RESPONSE), "city", colour="red")
    loud = {"low": 0, "high": 1, "channel": "gaussian", "privacy": 1.0}
    with pytest.raises(LimitError, match="without any bound"):
        ask(mine, plan_of(height=loud), "village", height=0.5)


@pytest.mark.parametrize("value", ["a\"ä", 7, -3.0, 33.3, True, None, ["b", "a"], {"x": 1.5, "a": 2}])
def test_a_mark_is_of_the_canonical_text_of_name_and_value(value: Any) -> None:
    (question,) = questions_of(plan_of(**{"Größe": AGE}))
    assert question.identity_of_answer(value) == identity_of(["größe", value])


def test_collectors_hold_independent_reports_so_that_together_they_hold_no_more_than_the_product() -> None:
    agree = 0
    for i in range(300):
        person = device(secret=i.to_bytes(16, "big"))
        wide = {"categories": list(range(50)), "channel": "randomized-response", "keep": 0.02}
        agree += ask(person, plan_of(n=wide), "a", n=7) == ask(person, plan_of(n=wide), "b", n=7)
    assert agree < 40  # by chance 6; from one draw 300


def test_a_lost_ledger_draws_the_same_report_for_the_same_channel() -> None:
    plan = {"age": {**AGE, "step": 0.01}}
    assert ask(device(), plan_of("one", **plan), age=44) == ask(device(), plan_of("two", **plan), age=44)


def test_a_longitudinal_answer_is_remembered_once_and_blurred_at_every_round(mine: sf.Device) -> None:
    habit = {"categories": COLOURS, "channel": "longitudinal",
             "permanent": {"channel": "randomized-response", "gamma": 19}, "instantaneous": SHY}  # fmt: skip
    seen = {ask(mine, plan_of(f"round {i}", colour=habit), colour="red")["colour"] for i in range(60)}
    (told,) = mine.ledger.entries
    permanent = sf.RandomizedResponse(sf.Categories(COLOURS), gamma=19)
    assert seen == set(COLOURS) and Fraction(told.gamma) == permanent.exact_gamma
    assert ask(mine, plan_of(colour=RESPONSE), colour="red")["colour"] == told.report


def test_levels_travel_with_the_report_they_were_drawn_at(mine: sf.Device) -> None:
    levels = {"open": {**SHY, "gamma": 99}, "shy": SHY}
    plan = plan_of(colour={"categories": COLOURS, "channel": "choice", "levels": levels})
    first = mine.answer(plan, {"colour": "red"}, collector="town", levels={"colour": "shy"})
    assert first["colour.level"] == "shy"
    assert mine.answer(plan, {"colour": "red", "colour.level": "open"}, collector="town") == first
    assert Fraction(mine.ledger.entries[0].gamma) <= 3


def test_missing_answers_tell_nothing_but_that_they_are_missing(mine: sf.Device) -> None:
    assert ask(mine, plan_of(colour=RESPONSE, age=AGE), colour=None, age=float("nan")) == {"colour": None, "age": None}
    assert mine.total("town").gamma == 1
    assert str(mine.total("town")) == "Left unanswered, which town can see: colour and age."
    assert ask(mine, plan_of(colour=RESPONSE), colour="red")["colour"] in COLOURS


def test_numbers_blurred_together_and_clear_answers_are_remembered_too(mine: sf.Device) -> None:
    both = {"columns": {"a": {"low": 0, "high": 1}, "b": {"low": 0, "high": 1}}, "channel": "correlated-gaussian",
            "covariance": [[0.1, 0.05], [0.05, 0.1]], "ratio": 1}  # fmt: skip
    group = {"categories": ["A", "B"], "role": "class"}
    plan, answers = plan_of(both=both, group=group), {"a": 0.2, "b": 0.4, "group": "A"}
    first = mine.answer(plan, answers, collector="town")
    assert set(first) == {"a", "b", "group"} and first["group"] == "A"
    assert mine.answer(plan, answers, collector="town") == first
    assert mine.total("town").gamma is None
    said = str(mine.total("town"))
    assert "Sent as it is, without protection: group." in said and "no bound on what the reports of both" in said
    assert mine.answer(plan, {**answers, "group": "A", "a": 0.2}, collector="elsewhere")["a"] != first["a"]


def basket_plan(name: str = "survey", items: int = 70, rho: float = 0.5) -> sf.Plan:
    law = SizeLaw(3, rho, (0.2, 0.2, 0.2, 0.4))
    return plan_of(name, food={"items": items, **sf.SelectASize(sf.Items(items), [law], up_to=1).to_spec()})


def test_baskets_are_told_once(mine: sf.Device) -> None:
    first, again = (ask(mine, basket_plan(name), food=[1, 20, 69])["food"] for name in "ab")
    assert np.array_equal(first.words, again.words) and first.sizes.tolist() == [3] and len(mine.ledger.entries) == 1
    reread = device(Ledger.loads(mine.ledger.dumps()))
    assert np.array_equal(ask(reread, basket_plan("c"), food=[69, 20, 1])["food"].words, first.words)


def test_a_basket_is_remembered_and_sent_as_its_seed_and_read_as_the_bitmap_it_stands_for(mine: sf.Device) -> None:
    plan = basket_plan()
    bitmap = ask(mine, plan, food=[1, 20, 69])["food"]
    (told,) = mine.ledger.entries
    assert set(told.report) == {"size", "seed"} and len(told.report["seed"]) < 70 / 4
    assert mine.reply(plan, {"food": [1, 20, 69]}, collector="town").report == {"food": told.report}
    channel = plan.attributes["food"].channel
    keyed = channel.randomize([[1, 20, 69]], key=SECRET, question='["town","food"]')
    assert np.array_equal(bitmap.words, keyed.words)


def test_a_ledger_that_remembers_a_bitmap_still_answers_with_it() -> None:
    plan, bitmap = basket_plan(), "0700000000000000" * 2
    ask(first := device(), plan, food=[1, 20, 69])
    old = Ledger([replace(told, report={"size": 3, "bitmap": bitmap}) for told in first.ledger.entries])
    for asked in (plan, basket_plan(rho=0.25)):
        assert device(old).reply(asked, {"food": [1, 20, 69]}, collector="town").report["food"]["bitmap"] == bitmap
    assert ask(device(old), plan, food=[1, 20, 69])["food"].to_lists() == [[0, 1, 2, 64, 65, 66]]


def test_a_seed_is_not_sent_as_a_report_of_another_mechanism_where_it_stands_for_other_items(mine: sf.Device) -> None:
    ask(mine, basket_plan(), food=[1, 20, 69])
    with pytest.raises(LimitError, match="town already holds as many reports of food"):
        ask(mine, basket_plan(rho=0.25), food=[1, 20, 69])


def test_the_same_report_has_the_same_id_and_another_one_the_next() -> None:
    mine, plan = device(Ledger(limit=Limit.of(reports=2))), plan_of(colour=RESPONSE)
    first = mine.reply(plan, {"colour": "red"}, collector="town")
    place = f'sfumato/1/id\0["town","{plan.identity}",0]'.encode()
    assert first.id == hmac.digest(SECRET, place, "sha256").hex()[:32] and first.plan == plan.identity
    assert mine.reply(plan, {"colour": "red"}, collector=" town ") == first
    others = [mine.reply(plan, {"colour": c}, collector="town") for c in ("blue", "red", "blue")]
    assert others[1] == first and others[0] == others[2] and (others[0].report == first.report) == (others[0] == first)
    assert mine.reply(plan, {"colour": "red"}, collector="city").id != first.id
    renamed = mine.reply(plan_of("renamed", colour=RESPONSE), {"colour": "red"}, collector="town")
    assert renamed.report == first.report and renamed.id != first.id
    assert len({each.id for each in mine.ledger.receipts}) == len(mine.ledger.receipts)


def test_what_is_blurred_afresh_is_a_new_report_every_time(mine: sf.Device) -> None:
    habit = {"categories": COLOURS, "channel": "longitudinal",
             "permanent": {"channel": "randomized-response", "gamma": 19}, "instantaneous": SHY}  # fmt: skip
    ids = {mine.reply(plan_of(colour=habit), {"colour": "red"}, collector="town").id for _ in range(20)}
    assert len(ids) == len(mine.ledger.receipts) == 20 and len(mine.ledger.entries) == 1
    gaps = {mine.reply(plan_of(colour=habit), {"colour": None}, collector="city").id for _ in range(3)}
    assert len(gaps) == 1


def test_a_refused_reply_leaves_no_receipt(mine: sf.Device) -> None:
    mine.reply(plan_of(colour=RESPONSE), {"colour": "red"}, collector="town")
    with pytest.raises(LimitError):
        mine.reply(plan_of(colour=RESPONSE), {"colour": "blue"}, collector="town")
    assert len(mine.ledger.receipts) == 1


def test_what_cannot_be_answered_says_why(mine: sf.Device) -> None:
    with pytest.raises(ValueError, match="collector is empty"):
        ask(mine, plan_of(age=AGE), " ", age=3)
    with pytest.raises(ValueError, match="one person"):
        ask(mine, plan_of(age=AGE), age=[30, 40])
    with pytest.raises(ValueError, match="age: the answer is missing"):
        ask(mine, plan_of(age={**AGE, "missing": "refuse"}), age=None)
    with pytest.raises(ValueError, match="column 'age' of the plan"):
        ask(mine, plan_of(age=AGE))
    with pytest.raises(ValueError, match=r"token_bytes\(32\)"):
        sf.Device(b"short", Ledger())
    assert mine.ledger.entries == ()
