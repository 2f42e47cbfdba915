"""Columns left over hang on what they depend on, and are drawn after it."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Reports
from sfumato.evidence import Axis
from sfumato.learners.joint import JointModel, model
from sfumato.learners.joint.forest import forest_from_dict, grow_forest

CHANNEL = sf.Gaussian(sf.Interval(0, 10), scale=2)


@pytest.fixture(scope="module")
def forest():
    """x1 follows x0, x2 follows x1, x3 follows nothing."""
    rng = np.random.default_rng(1)
    first, alone = rng.uniform(0, 10, (2, 8_000))
    second = np.clip(first + rng.normal(0, 0.5, 8_000), 0, 10)
    third = np.clip(10 - second + rng.normal(0, 0.5, 8_000), 0, 10)
    columns = {f"x{j}": CHANNEL.randomize(x, rng) for j, x in enumerate((first, second, third, alone))}
    reports = Reports(columns, [CHANNEL] * 4)
    return grow_forest(reports, [Axis(reports.column(name)) for name in reports.names], (0,))


def test_a_column_hangs_on_one_that_it_depends_on_and_stands_alone_if_there_is_none(forest):
    parents = {branch.child: branch.parent for branch in forest}
    assert set(parents) == {1, 2, 3}
    assert parents[1] in (0, 2) and parents[2] in (0, 1) and parents[3] is None


def test_a_parent_is_drawn_before_its_children_and_they_keep_what_belongs_together(forest):
    rng = np.random.default_rng(2)
    values = {0: rng.uniform(0, 10, 5_000)}
    for branch in forest:
        values[branch.child] = branch.draw(None if branch.parent is None else values[branch.parent], 5_000, rng)
    correlation = np.corrcoef([values[j] for j in range(4)])
    assert correlation[0, 1] > 0.8 and correlation[0, 2] < -0.8
    assert np.abs(correlation[3, :3]).max() < 0.1


def test_it_comes_back_from_plain_data(forest):
    plain = [branch.to_dict() for branch in forest]
    assert [branch.to_dict() for branch in forest_from_dict(plain, (0,), 4)] == plain


def test_a_column_that_is_drawn_twice_or_before_its_parent_is_refused(forest):
    plain = [branch.to_dict() for branch in forest]
    for wrong, placed in (([plain[0], *plain], (0,)), (plain, (0, 3)), (plain, ())):
        with pytest.raises(ValueError, match="drawn twice, or before"):
            forest_from_dict(wrong, placed, 4)


def test_where_no_column_is_left_over_none_is_grown(monkeypatch):
    monkeypatch.setattr(model, "grow_forest", None)
    x = np.random.default_rng(3).uniform(0, 10, 2_000)
    assert JointModel([CHANNEL], random_state=0, members=1).fit(x[:, None], x > 5).forest_ == []
