"""Risk against utility: every point is a release whose stated risk and held-out utility a report would give."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.microdata import find_frontier
from sfumato.microdata.judged.utility import CLASSIFIERS
from tests.microdata.conftest import mixed_table


def test_the_frontier_names_the_best_release_for_a_wanted_risk():
    amounts = {"leafwise": (10,), "sadp": (0.1, 2.0)}
    found = find_frontier(
        mixed_table(600), "class", methods=("leafwise", "sadp"), amounts=amounts, splits=1, attempts=0,
        classifiers=CLASSIFIERS,
    )  # fmt: skip
    risks = {(point.method, point.amount): point.risk for point in found.points}
    assert risks["sadp", 0.1] > risks["sadp", 2.0]
    best = found.best(0.2)
    assert best.risk <= 0.2
    assert best.accuracy == max(point.accuracy for point in found.points if point.risk <= 0.2)
    assert found.to_svg().count(": amount ") == len(found.points)
    with pytest.raises(ValueError, match="no release has risk -1"):
        found.best(-1)


def test_the_risk_of_a_point_is_the_one_that_a_report_states():
    table = mixed_table(300)
    point = find_frontier(
        table, "class", methods=("swap",), amounts={"swap": (0.3,)}, splits=1, classifiers=("tree",), rng=3
    ).points[0]
    risk = sf.release(table, "class", "swap", amount=0.3, rng=np.random.default_rng(3)).report.risk
    assert abs(point.risk - risk.stated) < 0.05  # the intruders' own randomness differs
    assert point.risk >= risk.linked


def test_a_frontier_needs_a_target_and_known_methods():
    with pytest.raises(ValueError, match="nothing to predict"):
        find_frontier(mixed_table(60), None)
    with pytest.raises(ValueError, match="'swapping' is unknown"):
        find_frontier(mixed_table(60), "class", methods=("swapping",))


def test_the_owners_page_draws_the_frontier_and_the_public_one_does_not(released):
    frontier = find_frontier(
        mixed_table(), "class", methods=("swap",), amounts={"swap": (0.3,)}, splits=1, classifiers=("tree",)
    )
    report = released.report.with_frontier(frontier)
    assert "Risk against utility" in report.to_html()
    assert "Risk against utility" not in report.to_html(public=True)
    assert report.to_dict()["frontier"]["points"][0]["method"] == "swap"
    assert "frontier" not in report.to_dict(public=True)
