"""Mechanisms as plain data: what is unknown or missing is said in one line, and what is written can be read."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato as sf

UNIT, COLOURS = {"low": 0, "high": 1}, {"categories": ["red", "blue"]}
NOISE = {**UNIT, "channel": "gaussian", "privacy": 1}
WAVE = {"low": -9, "high": 9, "channel": "square-wave", "gamma": 3}
RESPONSE = {"channel": "randomized-response", "gamma": 3}


def plan_of(question: dict[str, Any]) -> sf.Plan:
    return sf.Plan.from_dict({"attributes": {"q": question}})


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({**COLOURS, "channel": "tabulated"}, "table is missing; channel = 'tabulated' needs table"),
        ({**UNIT, "channel": "chain", "stages": [NOISE, {**WAVE, "gama": 3}]},
         "gama is unknown for channel 'square-wave'; did you mean 'gamma'?"),
        ({**UNIT, "channel": "chain", "stages": [{**NOISE, "gamma": 3}, WAVE]}, "gamma cannot be asked of gaussian"),
        ({**COLOURS, "channel": "choice", "levels": {"a": {**RESPONSE, "stepp": 1}}},
         "stepp is unknown for channel 'randomized-response'"),
        ({**UNIT, "channel": "two-phase", "noise": NOISE, "levels": {"a": 5}}, "low is unknown for channel 'gaussian'"),
    ],
)  # fmt: skip
def test_a_key_that_is_unknown_or_missing_is_named_however_deep_it_lies(question: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:
        plan_of(question)
    assert str(error.value).startswith(f"attributes.q: {message}")


@pytest.mark.parametrize(
    "question",
    [
        {**UNIT, "channel": "chain", "stages": [{**NOISE, "missing": "refuse"}, {**WAVE, "outside": "clamp"}]},
        {**COLOURS, "channel": "longitudinal", "instantaneous": RESPONSE,
         "permanent": {**RESPONSE, "missing": "refuse"}},
        {**UNIT, "channel": "two-phase-level", "intervals": 4,
         "noise": {"channel": "gaussian", "privacy": 1, "outside": "clamp"}},
    ],
)  # fmt: skip
def test_the_rules_of_a_part_are_written_once(question: Any) -> None:
    plan = plan_of(question)
    again = sf.Plan.loads(plan.to_json(), "json")
    assert again.identity == plan.identity and again.to_dict() == plan.to_dict()
    first, rule = again.attributes["q"].channel, plan.attributes["q"].channel
    assert (first.missing, first.outside) == (rule.missing, rule.outside) != ("pass", "refuse")
