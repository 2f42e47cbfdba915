"""Risk against utility: every point is a release whose stated risk and held-out utility a report would give."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.microdata import IB04, Donors, Swap, find_frontier, usual_methods
from sfumato.microdata.judged.utility import CLASSIFIERS
from tests.microdata.conftest import mixed_table


def test_the_frontier_names_the_best_release_for_a_wanted_risk():
    methods = Donors(attempts=0), Swap(0.05), Swap(1.0)
    found = find_frontier(mixed_table(600), "class", methods=methods, splits=1, classifiers=CLASSIFIERS)
    risks = {(point.method, point.amount): point.risk for point in found.points}
    assert risks["swap", 0.05] > risks["swap", 1.0]
    best = found.best(0.2)
    assert best.risk <= 0.2
    assert best.accuracy == max(point.accuracy for point in found.points if point.risk <= 0.2)
    assert found.to_svg().count(": amount ") == len(found.points)
    with pytest.raises(ValueError, match="no release has risk -1"):
        found.best(-1)


def test_the_risk_of_a_point_is_the_one_that_a_report_states():
    table = mixed_table(300)
    point = find_frontier(table, "class", methods=[Swap(0.3)], splits=1, classifiers=("tree",), rng=3).points[0]
    risk = sf.release(table, "class", Swap(window=0.3), rng=np.random.default_rng(3)).report.risk
    assert abs(point.risk - risk.stated) < 0.05  # the intruders' own randomness differs
    assert point.risk >= risk.linked


def test_a_frontier_needs_a_target_and_methods():
    with pytest.raises(ValueError, match="nothing to predict"):
        find_frontier(mixed_table(60), None)
    with pytest.raises(ValueError, match="methods is empty"):
        find_frontier(mixed_table(60), "class", methods=())


def test_the_usual_methods_are_those_to_choose_from_and_the_chosen_one_in_its_own_way():
    names = [one.name for one in usual_methods()]
    assert list(dict.fromkeys(names)) == ["donors", "gadp", "swap"]
    assert {one.labels for one in usual_methods(Donors(labels="ppt")) if one.name == "donors"} == {"ppt"}
    assert {one.amount for one in usual_methods(IB04()) if one.name == "ib04"} == {0.1, 0.276, 0.5, 1.0}


def test_the_owners_page_draws_the_frontier_and_the_public_one_does_not(released):
    frontier = find_frontier(mixed_table(), "class", methods=[Swap(0.3)], splits=1, classifiers=("tree",))
    report = released.report.with_frontier(frontier)
    assert "Risk against utility" in report.to_html()
    assert "Risk against utility" not in report.to_html(public=True)
    assert report.to_dict()["frontier"]["points"][0]["method"] == "swap"
    assert "frontier" not in report.to_dict(public=True)
