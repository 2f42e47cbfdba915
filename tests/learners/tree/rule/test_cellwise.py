"""P(y | t) free in every cell, over the density of a rule."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Fold, Reports
from sfumato.evidence import Axis, Expansion
from sfumato.learners.tree.rule import cellwise as module
from sfumato.learners.tree.rule.cellwise import cellwise, cellwise_model
from sfumato.learners.tree.rule.fitting import RuleSearch


@pytest.fixture(scope="module")
def searched():
    """A band in one column, and the rule that was found."""
    rng = np.random.default_rng(6)
    x = rng.random(30_000)
    noise = sf.Gaussian(sf.Interval(0, 1), scale=0.3)
    y = np.where(np.abs(x - 0.55) < 0.2, "in", "out")
    reports = Reports({"x": noise.randomize(x, rng)}, {"x": noise}, target=y)
    search = RuleSearch(reports, [Axis(reports.column("x"))])
    return search, search.find([0]), x, y


def test_the_density_is_that_of_the_rule_and_classes_have_the_shares_of_the_reports(searched):
    search, found, _, _ = searched
    joint = cellwise(found, found.form)
    assert joint.sum() == pytest.approx(1)
    np.testing.assert_allclose(joint.sum(axis=1), search.reports.counts() / 30_000, atol=0.01)


def test_more_steps_fit_better(searched, monkeypatch):
    _, found, _, _ = searched
    values = []
    for steps in (10.0, 40.0, 160.0):
        monkeypatch.setattr(module, "STEPS_OF_SPREAD", steps)
        values.append(Expansion(found.form.evidence, cellwise(found, found.form).ravel()).log_likelihood)
    assert values == sorted(values)


def test_a_fold_is_counted_alone(searched):
    _, found, _, _ = searched
    half = Fold(0, 2, salt=1)
    parts = [cellwise(found, found.form, fold) for fold in (half, ~half)]
    assert not np.allclose(*parts)


def test_the_average_of_grids_decides_nearly_as_the_truth(searched):
    search, found, x, y = searched
    model = cellwise_model(search, found)
    shapes = {member.joint.shape for member in model.members_}
    assert len(shapes) > 1
    decided = np.array(["in", "out"])[model.bayes([x], x.size).argmax(axis=1)]
    assert np.mean(decided == y) > 0.93
