"""People choose their own level: reports follow the level's law and carry its name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.channels.mechanism import mechanism_from_spec
from sfumato.prose import voice
from tests.statistics import assert_fits

AGE = sf.Interval(20, 80)
LEVELS = {"normal": 200, "cautious": 100, "extra": 50, "paranoid": 25}
TWO_PHASE = sf.TwoPhase(sf.Gaussian(AGE, privacy=1.0), levels=LEVELS)
PLAN = """
[attributes.age]
low = 20
high = 80
channel = "two-phase"
noise = { channel = "gaussian", privacy = 1.0 }
levels = { normal = 200, cautious = 100 }
[attributes.answer]
categories = ["yes", "no"]
channel = "choice"
default = "careful"
[attributes.answer.levels]
open = { channel = "randomized-response", gamma = 99 }
careful = { channel = "randomized-response", gamma = 3 }
"""


@pytest.mark.parametrize("level", LEVELS)
def test_reports_follow_the_law_of_their_level(level: str) -> None:
    channel = TWO_PHASE.level(level)
    names = np.where(np.arange(60_000) % 3 == 0, level, "normal" if level != "normal" else "extra")
    reports = TWO_PHASE.randomize(np.full(60_000, 33.0), rng=5, level=names)[names == level]
    counts = np.bincount(channel.encode_reports(reports), minlength=channel.outputs.size)
    assert_fits(counts, channel.law()[:, channel.encode(33.0)])


def test_the_second_phase_never_raises_gamma() -> None:
    noise = sf.SquareWave(AGE, gamma=9)
    two_phase = sf.TwoPhase(noise, levels={"fine": 200, "coarse": 10})
    gammas = [two_phase.guarantee(level).gamma for level in ("fine", "coarse")]
    assert gammas[1] <= gammas[0] <= 9 * (1 + 1e-12)


def test_with_as_many_intervals_as_steps_little_changes() -> None:
    noise = sf.Uniform(sf.Interval(0, 1), halfwidth=0.2)
    level = sf.TwoPhase(noise, {"finest": 500}).level("finest")
    np.testing.assert_allclose(level.law(), noise.law(), atol=1e-3)


@pytest.mark.parametrize("noise", [sf.Gaussian(sf.Interval(17, 90, integer=True), privacy=1.0), sf.SquareWave(AGE, 9)])
def test_levels_finer_than_the_values_leave_reports_as_they_are(noise: sf.Channel) -> None:
    """17..90 with 200 intervals: no whole number has another beside it in its interval."""
    two_phase = sf.TwoPhase(noise, {"normal": 10 * noise.inputs.size, "paranoid": 25})
    normal, paranoid = two_phase.level("normal"), two_phase.level("paranoid")
    assert normal.program() == noise.program() and paranoid.program() != noise.program()
    assert normal.describe(voice("en")) == noise.describe(voice("en"))
    np.testing.assert_array_equal(normal.law(), noise.law())
    assert np.isin(two_phase.randomize([33.0] * 50, rng=4), noise.outputs.values).all()
    spec = two_phase.to_spec()
    assert mechanism_from_spec(noise.domain, spec).to_spec() == spec


def test_the_guarantee_without_a_level_is_the_weakest() -> None:
    choice = sf.Choice({"a": sf.SquareWave(AGE, gamma=3), "b": sf.SquareWave(AGE, gamma=19)})
    assert choice.guarantee().gamma == 19 and "protects least" in str(choice.guarantee())
    assert choice.guarantee("a").gamma == 3


def test_a_plan_with_levels_round_trips_and_reports_carry_them() -> None:
    plan = sf.Plan.loads(PLAN)
    assert sf.Plan.loads(plan.to_json(), "json") == plan
    people = pd.DataFrame({"age": [30.0] * 300, "answer": ["yes"] * 300})
    people["age.level"] = ["normal", "cautious", "normal"] * 100
    reports = plan.randomize(people, rng=1, levels={"answer": {"open": 0.5, "careful": 0.5}})
    assert list(reports.columns) == ["age", "age.level", "answer", "answer.level"]
    assert reports["age.level"].tolist() == people["age.level"].tolist()
    assert set(reports["answer.level"]) == {"open", "careful"}
    one = plan.randomize({"age": 30, "answer": "no"}, key=b"a device's own secret")
    assert one["age.level"] == "normal" and one["answer.level"] == "careful"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: TWO_PHASE.randomize([30.0], level="norml"), "did you mean 'normal'"),
        (lambda: TWO_PHASE.randomize([30.0, 40.0], level=["normal"]), "one level per value"),
        (lambda: sf.TwoPhase(sf.Gaussian(AGE, privacy=1.0), {}), "levels is empty"),
        (lambda: sf.TwoPhase(sf.Gaussian(AGE, privacy=1.0), {"a": 0}), "whole number from 1"),
        (lambda: sf.TwoPhase(sf.Gaussian(AGE, privacy=1.0), {"a": 10**400}), "whole number from 1"),
        (lambda: sf.TwoPhase(sf.Gaussian(AGE, privacy=1.0), {"a": 5}, default="b"), "'b' is unknown"),
        (lambda: sf.Choice({"a": sf.SquareWave(AGE, 3), "b": sf.SquareWave(sf.Interval(0, 1), 3)}), "another domain"),
        (lambda: TWO_PHASE.draw_levels({"normal": -1}, 5, 1), "positive sum"),
        (lambda: sf.Plan.loads(PLAN.replace("levels = {", "level = {")), "level is unknown.*did you mean 'levels'"),
        (
            lambda: sf.Plan.loads(PLAN.replace('noise = { channel = "gaussian", privacy = 1.0 }\n', "")),
            "noise is missing",
        ),
    ],
)
def test_wrong_levels_get_one_line_that_helps(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()  # type: ignore[operator]


def test_a_choice_repeats_its_reports_only_if_every_level_does() -> None:
    unit = sf.Interval(0, 1)
    fresh = sf.Longitudinal(sf.SquareWave(unit, 19, step=0.1), sf.Laplace(sf.Interval(-1, 2), scale=1, step=0.1))
    assert sf.Choice({"same": sf.SquareWave(unit, 19), "alike": sf.SquareWave(unit, 3)}).repeats
    spec = {"x": sf.Attribute("x", unit, sf.Choice({"same": sf.SquareWave(unit, 19), "fresh": fresh}))}
    assert sf.audit(sf.Plan("p", spec), samples=2000, people=100).passed
