"""The search for a rule: out of what it cannot leave by single moves."""

from dataclasses import replace

import numpy as np

import sfumato as sf
from sfumato.evidence import Axis
from sfumato.learners.tree.rule.boxes import Rule
from sfumato.learners.tree.rule.fitting import form_of
from tests.learners.conftest import Survey

SALARY, AGE = 0, 2
STUCK = np.array([[1, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 1, 1], [1, 1, 1, 1]])


def test_two_cuts_in_the_stead_of_one_are_left_by_taking_one_away():
    """Function 2 cuts age at 40 and 60. With cuts at 57 and 65 instead of 60, and types grown around them, no single
    move raises the score."""
    survey = Survey(2, 60_000, 1.0, seed=3)
    names = [f"x{j}" for j in range(survey.reports.shape[1])]
    channels = dict(zip(names, survey.channels, strict=True))
    reports = sf.Reports({**dict(zip(names, survey.reports.T, strict=True)), "y": survey.y}, channels, target="y")
    axes = [Axis(reports.column(name)) for name in reports.names]
    form = form_of(reports, axes, (SALARY, AGE), 2)
    search = form.moves()
    parts = [part.moved(np.array(places)) for part, places in
             zip(form.parts(), ([0.21, 0.42, 0.63, 0.84], [0.34, 0.61, 0.75]), strict=True)]
    rule = Rule.nothing(parts, np.array([0.5, 0.5]), search.density.size)
    start = search.fit(replace(rule, types=STUCK, logits=np.array([[3.0, -3.0], [-3.0, 3.0]])), 25)
    stuck = search.run(start)
    found = search.run_again(stuck)
    assert stuck.rule.parts[1].parts == 4 and found.score > stuck.score + 5
    np.testing.assert_allclose(found.rule.parts[1].places, [1 / 3, 2 / 3], atol=0.03)
