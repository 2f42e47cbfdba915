"""Correlated noise is audited like any other: its law holds, broken copies are caught, attacks gain nothing."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from tests.privacy.audit.broken import independent_columns, one_generator

SPREAD = np.array([[100.0, 95.0, 60.0], [95.0, 100.0, 60.0], [60.0, 60.0, 80.0]])
DOMAINS = {"age": sf.Interval(20, 80, integer=True), "years": sf.Interval(0, 60), "pay": sf.Interval(0, 90)}
NOISE = sf.CorrelatedNoise(DOMAINS, SPREAD, ratio=1)


def test_it_passes_and_no_attack_gets_below_what_its_own_report_gives() -> None:
    told = sf.audit(NOISE, samples=60_000, targets=["age: 25 at 95%"])
    assert told.passed, str(told)
    for finding in told.findings:
        if not finding.attack.startswith("Bayes"):
            assert finding.recovered >= 0.9 * min(finding.stated, finding.without_report)
    for width in told.account.widths:
        assert width.together == pytest.approx(width.alone, rel=0.01) and not width.weakened


def test_independent_noise_in_its_place_is_caught() -> None:
    told = sf.audit(NOISE, implementation=independent_columns(NOISE), samples=20_000)
    assert "law" in [check.name for check in told.broken]


def test_noise_reused_after_a_fork_and_digits_left_behind_are_caught() -> None:
    reused = sf.audit(NOISE, implementation=one_generator(NOISE), samples=20_000)
    assert [check.name for check in reused.broken] == ["fresh noise"]
    leaky = sf.audit(NOISE, implementation=lambda values: NOISE.randomize(values) + values % 0.001, samples=20_000)
    assert "low digits" in [check.name for check in leaky.broken]


def test_a_wrong_covariance_is_told_by_the_reports() -> None:
    rng = np.random.default_rng(1)
    people = np.clip(rng.multivariate_normal([50, 30, 45], SPREAD, 5000), [20, 0, 0], [80, 60, 90])
    people[:, 0] = np.rint(people[:, 0])
    wrong = sf.CorrelatedNoise(DOMAINS, np.diag(np.diag(SPREAD)), ratio=1)
    told = sf.audit(wrong, wrong.randomize(people, rng), samples=20_000)
    assert told.passed and any(width.weakened for width in told.account.widths)
    right = sf.audit(NOISE, truth=people, samples=20_000, targets=["5% to 50%"])
    assert not right.passed and not right.broken and not any(width.weakened for width in right.account.widths)


def test_a_plan_may_hold_it_beside_other_attributes() -> None:
    smokes = sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=3)
    asked = [sf.Attribute("body", NOISE.domain, NOISE), sf.Attribute("smokes", smokes.domain, smokes)]
    plan = sf.Plan("clinic", {each.name: each for each in asked})
    told = sf.audit(plan, samples=20_000, people=300, targets=["age: 25 at 95%", "smokes: 5% to 50%"])
    assert told.passed, str(told)
    assert set(told.guarantees) == {"smokes", *DOMAINS}
    assert {check.attribute for check in told.checks} == {"age, years, pay", "smokes", "all answers"}
    assert "because of body" in str(told.account)
    advice = sf.advise(plan, "5% to 50%", costs=False)
    assert not advice.met and list(advice.changes) == []
    with pytest.raises(ValueError, match="'age', which is blurred with others"):
        sf.advise(plan, "age: 50 at 95%")
