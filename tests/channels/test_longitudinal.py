"""A permanent blur and a fresh one of it at every round: laws, totals, keys, plans and what can be read."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels import longitudinal
from tests.statistics import assert_fits

COLOURS = sf.Categories(["red", "green", "blue"])
ONCE, EACH = sf.RandomizedResponse(COLOURS, gamma=19), sf.RandomizedResponse(COLOURS, gamma=3)
HABIT = sf.Longitudinal(ONCE, EACH)
KEYED = {"key": b"a device's own secret", "question": "q"}


def test_one_round_has_the_law_and_gamma_of_the_chain() -> None:
    chain = ONCE >> EACH
    np.testing.assert_array_equal(HABIT.law(), chain.law())
    assert HABIT.exact_gamma == chain.exact_gamma == HABIT.gamma_of_rounds(1)
    assert HABIT.guarantee().gamma == chain.gamma and HABIT.identity != chain.identity


@pytest.mark.parametrize("times", [2, 3])
def test_the_gamma_of_several_rounds_is_that_of_their_joint_law(times: int) -> None:
    first, later = (np.array(table.drawing.exact(), dtype=object) for table in (ONCE, EACH))
    worst = Fraction(1)
    for reports in itertools.product(range(3), repeat=times):
        joint = [sum(first[z, x] * math.prod(later[y, z] for y in reports) for z in range(3)) for x in range(3)]
        worst = max(worst, Fraction(max(joint), min(joint)))
    assert HABIT.gamma_of_rounds(times) == worst
    assert Fraction(HABIT.guarantee().repeated(times).gamma) >= worst


def test_all_rounds_never_exceed_the_permanent_blur_and_grow_towards_it() -> None:
    found = [HABIT.gamma_of_rounds(k) for k in (1, 2, 4, 8, 16, 32)]
    assert all(a < b for a, b in itertools.pairwise(found))
    assert found[-1] <= ONCE.exact_gamma and float(found[-1]) == pytest.approx(ONCE.gamma, rel=1e-3)


def test_without_much_work_the_bound_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = {k: HABIT.gamma_of_rounds(k) for k in (1, 2, 5)}
    monkeypatch.setattr(longitudinal, "EXACT_ROUNDS", 0)
    assert HABIT.gamma_of_rounds(2) == min(ONCE.exact_gamma, HABIT.exact_gamma**2) >= exact[2]
    assert HABIT.gamma_of_rounds(5) == ONCE.exact_gamma >= exact[5]


def test_every_change_of_the_answer_multiplies_by_the_permanent_gamma_again() -> None:
    stated = HABIT.guarantee()
    assert HABIT.gamma_of_changes(2) == ONCE.exact_gamma**3
    assert Fraction(stated.changes(2).gamma) >= ONCE.exact_gamma**3
    assert "the answer changes 2 times" in str(stated.changes(2)) and "prove nothing" in str(stated.changes(0))
    for wrong, call in (("rounds", stated.repeated), ("changes", stated.changes)):
        with pytest.raises(ValueError, match=f"count of {wrong}"):
            call(-1)


def test_repeated_rounds_are_stated_in_words() -> None:
    said = str(HABIT.guarantee().repeated(4))
    assert "4 rounds" in said and "at most 19 while the answer stays the same" in said and "prove nothing" in said
    unit, wide = sf.Interval(0, 1), sf.Interval(-20, 20)
    loud = sf.Longitudinal(sf.Gaussian(unit, scale=1), sf.Gaussian(wide, scale=1, step=0.1))
    assert loud.guarantee().repeated(3).gamma == math.inf and "too far apart" in str(loud.guarantee().repeated(3))


def test_a_device_keeps_the_permanent_part_and_draws_the_other_afresh() -> None:
    reports = HABIT.randomize(["red"] * 3000, **KEYED)
    kept = ONCE.randomize("red", **KEYED)
    assert_fits([np.sum(reports == label) for label in COLOURS.labels], EACH.law()[:, COLOURS.labels.index(kept)])
    singles = {HABIT.randomize("red", **KEYED) for _ in range(100)}
    assert len(singles) == 3


def test_every_instantaneous_blur_begins_with_the_same_permanent_one() -> None:
    for gamma in (1000.0, 1001.0, 5000.0):
        clearer = sf.Longitudinal(sf.RandomizedResponse(COLOURS, gamma=18), sf.RandomizedResponse(COLOURS, gamma=gamma))
        told = clearer.randomize(["blue"] * 200, **KEYED).tolist()
        assert max(set(told), key=told.count) == ONCE.randomize("blue", **KEYED)


def test_without_a_key_every_part_is_fresh() -> None:
    reports = HABIT.randomize(["red"] * 20_000, rng=1)
    assert_fits([np.sum(reports == label) for label in COLOURS.labels], HABIT.law()[:, 0])


def test_a_plan_states_both_parts_and_reports_are_read_back() -> None:
    text = """
    name = "habits"
    [attributes.colour]
    categories = ["red", "green", "blue"]
    channel = "longitudinal"
    permanent = {channel = "randomized-response", gamma = 19}
    instantaneous = {channel = "randomized-response", gamma = 3}
    [attributes.size]
    low = 0
    high = 10
    channel = "longitudinal"
    permanent = {channel = "square-wave", gamma = 19, step = 0.5}
    instantaneous = {low = -20, high = 30, channel = "laplace", scale = 3, step = 0.5}
    """
    plan = sf.Plan.loads(text)
    assert plan.attributes["colour"].channel == HABIT
    assert sf.Plan.from_dict(plan.to_dict()).identity == plan.identity
    truth = np.repeat(["red", "green", "blue"], [6000, 3000, 1000])
    reports = plan.randomize({"colour": truth, "size": np.linspace(0, 10, truth.size)}, rng=3)
    found = plan.reconstruct(reports)["colour"]
    np.testing.assert_allclose(found.probabilities, [0.6, 0.3, 0.1], atol=0.05)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"permanent": {"channel": "randomized-response", "gamma": 3}}, "instantaneous is missing"),
        ({"permanent": "rr", "instantaneous": {}}, "permanent is missing"),
        ({"permanent": {"categories": [1, 2], "channel": "randomized-response", "gamma": 3},
          "instantaneous": {"channel": "randomized-response", "gamma": 3}}, "another domain"),
    ],
)  # fmt: skip
def test_a_plan_with_a_part_missing_is_refused(spec: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sf.Longitudinal.from_parameters(COLOURS, dict(spec))
