"""Everything that leaves the device is counted, and what cannot be known is said to be open."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.guarantee import CombinedGuarantee

YES_NO = {"categories": ["yes", "no"]}


def plan_with(**attributes: dict) -> sf.Plan:
    blurred = {**YES_NO, "channel": "randomized-response", "gamma": 3}
    return sf.Plan.from_dict({"name": "survey", "attributes": {"sick": blurred, **attributes}})


WITH_CLEAR = plan_with(told={**YES_NO, "role": "clear"})


def test_without_clear_answers_the_bound_is_unconditional() -> None:
    total = plan_with().guarantee()
    assert total.gamma == 3 and total.breach(0.05, 0.5).excluded
    assert "multiply the odds of anything by at most 3" in str(total)


def test_a_clear_answer_leaves_every_breach_open() -> None:
    total = WITH_CLEAR.guarantee()
    assert not total.excludes(0.05, 0.5)
    found = total.breach(0.05, 0.5)
    assert found.possible and "in the clear (told) may by itself" in str(found)
    assert "No report can move" not in f"{total} {found}"
    assert "Beyond what your answers in the clear (told) tell" in str(total)
    assert total.to_dict()["conditional"]


def test_a_clear_answer_that_equals_the_blurred_one_is_told_to_prove_it() -> None:
    answers = np.random.default_rng(1).choice(["yes", "no"], 500, p=[0.03, 0.97])
    total = WITH_CLEAR.guarantee(truth=pd.DataFrame({"sick": answers, "told": answers}))
    found = total.breach(0.05, 0.5)
    assert found.possible and found.posterior == 1 and found.report == "yes"
    told = "told alone tells about sick: where it is yes, the probability that the answer is “yes” goes from"
    assert told in str(total)
    assert "to 100.00 %" in str(total)


def test_a_clear_answer_that_tells_little_leaves_the_bound() -> None:
    rng = np.random.default_rng(2)
    truth = {name: rng.choice(["yes", "no"], 20_000) for name in ("sick", "told")}
    total = WITH_CLEAR.guarantee(truth=truth)
    assert total.clear_counts is not None and 1 < total.clear_counts[0].gamma < 1.1
    assert total.excludes(0.05, 0.5) and not total.excludes(0.05, total.worst_posterior(0.05))
    assert "told alone" not in str(total)


def test_two_clear_answers_that_tell_only_together_are_found() -> None:
    rng = np.random.default_rng(3)
    one, other = (rng.integers(0, 2, 2000) for _ in range(2))
    truth = {"sick": np.where(one ^ other, "yes", "no"), "a": one, "b": other}
    clear = {name: {"categories": [0, 1], "role": "clear"} for name in "ab"}
    assert plan_with(**clear).guarantee(truth=truth).breach(0.05, 0.5).posterior in (0, 1)


def test_a_clear_number_is_counted_in_ranges() -> None:
    ages = np.random.default_rng(4).uniform(20, 80, 3000)
    attributes = {
        "age": {"low": 20, "high": 80, "channel": "square-wave", "gamma": 3},
        "copy": {"low": 20, "high": 80, "role": "clear"},
    }
    total = sf.Plan.from_dict({"attributes": attributes}).guarantee(truth={"age": ages, "copy": ages})
    assert "copy alone tells about age" in str(total) and math.isinf(max(one.gamma for one in total.clear_counts or ()))


def test_all_that_is_visible_is_said_and_every_note_of_a_part_appears() -> None:
    age = {"low": 20, "high": 80}
    levels = {"normal": 60, "shy": 10}
    noise = {"channel": "laplace", "scale": 60}
    rows = {"columns": {"x": age, "y": age}, "covariance": [[100, 50], [50, 100]], "ratio": 1}
    designs = [{"size": 3, "rho": 0.3125, "kept": [0.2, 0.2, 0.2, 0.4]}]
    basket = {"items": 50, "channel": "select-a-size", "designs": designs, "up_to": 2}
    plan = plan_with(
        income={**age, "channel": "two-phase", "noise": noise, "levels": levels},
        both={**rows, "channel": "correlated-gaussian"}, basket=basket,
        must={**age, "channel": "square-wave", "gamma": 3, "missing": "refuse"},
    )
    total = plan.guarantee()
    words = str(total)
    for part in total.parts.values():
        for note in part.notes:
            assert note in words
    assert "Whether you answered sick, income and both is visible." in words
    assert "Which level you chose for income is visible." in words
    assert "How many items you have (basket) is visible." in words
    assert "That you take part at all is visible" in words
    assert "answers again with fresh noise" in words and "have to do with each other" in words


def test_products_of_gammas_are_rounded_up() -> None:
    parts = {str(g): sf.RandomizedResponse(sf.Categories(range(7)), gamma=g).guarantee() for g in (1.1, 2.3, 19.7, 3.3)}
    for times in (1, 2, 5, 40):
        total = CombinedGuarantee(parts).repeated(times)
        assert Fraction(total.gamma) >= math.prod(Fraction(part.gamma) for part in parts.values()) ** times
        assert total.epsilon >= times * sum(math.log(part.gamma) for part in parts.values()) * (1 - 1e-15)


def test_one_voice_a_question_and_the_page_in_the_plans_language() -> None:
    attributes = {
        "age": {"low": 20, "high": 80, "channel": "gaussian", "privacy": 1.0, "question": "Wie alt sind Sie?"},
        "sick": {**YES_NO, "channel": "randomized-response", "gamma": 3},
        "group": {"categories": ["</script><b>", "b"], "role": "class"},
    }
    page = sf.Plan.from_dict({"language": "de", "attributes": attributes}).page().html()
    assert '<html lang="de">' in page and "Wie alt sind Sie?" in page and "Was gesendet wird" in page
    assert "</script><b>" not in page
    assert page.count("<dd>") == 9
    with pytest.raises(ValueError, match="language = 'xx' is unknown; there are en, de and fr"):
        sf.Plan.from_dict({"language": "xx", "attributes": attributes})
