"""The answer as it is: a level that people may choose, beside those that blur."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf

COLOURS, AGES = sf.Categories(["red", "green", "blue"]), sf.Interval(20, 80, integer=True)
OPEN = {
    "categories": (COLOURS, sf.RandomizedResponse(COLOURS, gamma=5), ["red", "blue", "green"]),
    "one category": (sf.Categories([1]), sf.Tabulated(sf.Categories([1]), [[1.0]]), [1]),
    "whole numbers": (AGES, sf.SquareWave(AGES, gamma=9), [20, 33, 80]),
    "numbers": (sf.Interval(0, 1), sf.Gaussian(sf.Interval(0, 1), privacy=0.5), [0.0, 0.125, 1.0]),
}


@pytest.mark.parametrize("name", OPEN)
def test_a_level_without_a_channel_sends_the_answer(name: str) -> None:
    domain, blur, values = OPEN[name]
    choice = sf.Choice({"open": None, "shy": blur}, default="shy")
    assert choice.randomize(values, level="open").tolist() == values
    assert choice.levels["open"] == sf.Clear(domain) and choice.levels["shy"] == blur


def test_its_bound_is_infinite_and_said_in_words() -> None:
    choice = sf.Choice({"shy": sf.RandomizedResponse(COLOURS, gamma=5), "open": None})
    assert choice.guarantee("open").gamma == math.inf == choice.guarantee().gamma
    assert "without protection" in str(choice.guarantee("open"))
    assert choice.guarantee("shy").gamma == 5


def test_every_level_may_be_clear() -> None:
    choice = sf.Choice({"open": sf.Clear(COLOURS), "too": None})
    assert choice.randomize(["red", None], level=["open", "too"]).tolist() == ["red", None]


def test_levels_without_any_channel_name_no_domain() -> None:
    with pytest.raises(ValueError, match=r"give one of them as sf\.Clear\(domain\)"):
        sf.Choice({"a": None, "b": None})


def test_a_number_is_rounded_to_its_step() -> None:
    fine = sf.Clear(sf.Interval(0, 1), step=0.0001)
    assert fine.randomize([0.12344, 0.5]).tolist() == [0.1234, 0.5]
    assert sf.Clear(sf.Interval(0, 1)).randomize(0.1234) == 0.123


def test_plans_have_clear_levels() -> None:
    spec = {"attributes": {
        "colour": {"categories": ["red", "green"], "channel": "choice",
                   "levels": {"open": {"channel": "clear"}, "shy": {"channel": "randomized-response", "gamma": 3}}},
        "age": {"low": 0, "high": 10, "channel": "choice",
                "levels": {"open": {"channel": "clear", "step": 0.5}, "shy": {"channel": "square-wave", "gamma": 3}}},
    }}  # fmt: skip
    plan = sf.Plan.from_dict(spec)
    again = sf.Plan.loads(plan.to_json(), "json")
    assert again.identity == plan.identity and again.to_dict() == plan.to_dict()
    rng = np.random.default_rng(5)
    people = {"colour": rng.choice(["red", "green"], 4000, p=[0.8, 0.2]), "age": rng.uniform(2, 4, 4000)}
    shares = {"open": 0.5, "shy": 0.5}
    reports = plan.randomize(people, rng, levels={"colour": shares, "age": shares})
    found = plan.reconstruct(plan.counts(reports))
    np.testing.assert_allclose(found["colour"].probabilities, [0.8, 0.2], atol=0.04)
    assert found["age"].mean() == pytest.approx(3, abs=0.1)
    assert plan.guarantee().gamma == math.inf


def test_a_table_of_all_clear_levels_is_the_data() -> None:
    choice = sf.Choice({"open": sf.Clear(COLOURS)})
    estimate = sf.reconstruct(["red"] * 60 + ["blue"] * 40, choice.levels["open"])
    np.testing.assert_allclose(estimate.probabilities, [0.6, 0, 0.4], atol=1e-6)


def test_a_device_sends_it() -> None:
    choice = sf.Choice({"open": None, "shy": sf.RandomizedResponse(COLOURS, gamma=3)})
    plan = sf.Plan("p", {"colour": sf.Attribute("colour", COLOURS, choice)})
    device = sf.Device(b"0123456789abcdef0123456789abcdef", sf.Ledger())
    sent = device.answer(plan, {"colour": "blue"}, collector="https://a.example")
    assert sent == {"colour": "blue", "colour.level": "open"}
