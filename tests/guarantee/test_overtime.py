"""Several reports of one answer: what they multiply to, and what a difference between them proves."""

from __future__ import annotations

import sfumato as sf

YES_NO = sf.Categories(["yes", "no"])


def test_repeated_reports_say_that_two_different_ones_prove_a_change() -> None:
    one = sf.RandomizedResponse(YES_NO, gamma=3).guarantee()
    assert "two different reports prove that the answer has changed" in str(one.repeated(2))
    assert "prove" not in str(one.repeated(1))
    plan = sf.Plan.from_dict(
        {"attributes": {"a": {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 3}}}
    )
    assert "prove that the answer has changed" in str(plan.guarantee().repeated(3))
    assert any("prove" in note for note in plan.guarantee().repeated(3).to_dict()["notes"])
