"""P(t) behind reports when P(y | t) is given."""

import numpy as np

import sfumato as sf
from sfumato.evidence import Axis, Evidence, Resolution
from sfumato.evidence.grids import GivenClasses, joint_given, spread_steps, squared_correlation

SCORE = sf.Gaussian(sf.Interval(0, 1), privacy=0.5)


def evidence_and_classes() -> tuple[Evidence, np.ndarray]:
    rng = np.random.default_rng(5)
    x = rng.beta(2, 3, 4_000)
    reports = sf.Reports({"x": SCORE.randomize(x, rng)}, {"x": SCORE}).aimed((x < 0.4).astype(int), classes=range(2))
    evidence = Evidence.of_columns(reports, [Axis(reports.column("x"))], Resolution(20, 0.2), dtype=np.float64)
    below = np.clip((0.4 - np.linspace(0, 0.95, 20)) / 0.05, 0.0, 1.0)
    return evidence, np.array([1 - below, below])


def test_back_is_the_transpose_of_forth() -> None:
    evidence, p_class = evidence_and_classes()
    table, rng = GivenClasses(evidence.table, p_class), np.random.default_rng(1)
    p, r = rng.random(table.shape[1]), rng.random(table.shape[0])
    assert np.isclose(table.apply(p) @ r, p @ table.adjoint(r))
    assert np.allclose(table.dense() @ p, table.apply(p))


def test_people_are_spread_as_the_reports_tell_and_classes_stay_as_given() -> None:
    evidence, p_class = evidence_and_classes()
    joint = joint_given(evidence, p_class, 100)
    people = joint.sum(axis=0)
    assert np.allclose(joint, people * p_class)
    mean = people @ np.linspace(0.025, 0.975, 20)
    assert abs(mean - 0.4) < 0.02  # that of beta(2, 3)


def test_more_noise_tells_less_and_takes_more_steps() -> None:
    rng = np.random.default_rng(2)
    cells = []
    for privacy in (0.2, 1.0, 2.0):
        channel = sf.Gaussian(sf.Interval(0, 1), privacy=privacy)
        column = sf.Reports({"x": channel.randomize(rng.random(100), rng)}, {"x": channel}).column("x")
        cells.append(Axis(column).at(20, 0.1))
    parts = [squared_correlation(cut) for cut in cells]
    assert 1 > parts[0] > parts[1] > parts[2] > 0
    assert spread_steps(cells[:1]) < spread_steps(cells[1:2]) <= spread_steps(cells[2:])
