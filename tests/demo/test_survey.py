import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.demo.survey import SimulatedSurvey, learn, survey_page

PLAN = """
name = "town"
[attributes.age]
low = 20
high = 80
channel = "gaussian"
privacy = 0.25
[attributes.smokes]
categories = ["yes", "no"]
channel = "choice"
default = "shy"
[attributes.smokes.levels]
open = {channel = "randomized-response", keep = 0.9}
shy = {channel = "randomized-response", keep = 0.6}
[attributes.group]
categories = ["A", "B"]
role = "class"
"""


def draw_people(n: int, rng: np.random.Generator) -> dict:
    age = np.clip(rng.normal(45, 12, n), 20, 80)
    smokes = np.where(rng.random(n) < 0.3, "yes", "no")
    return {"age": age, "smokes": smokes, "group": np.where(age < 45, "A", "B")}


@pytest.fixture(scope="module")
def survey():
    return SimulatedSurvey.simulate(sf.Plan.loads(PLAN), lambda rng: draw_people(4000, rng), np.random.default_rng(1))


def test_estimates_lie_nearer_to_the_truth_than_the_reports(survey):
    assert list(survey.channels) == ["age", "smokes"]
    for name in survey.channels:
        one = survey.compare(name)
        assert one.error < one.error_of_reports
        assert one.truth.sum() == pytest.approx(1)
        assert 0 <= one.covered <= one.truth.size


def test_a_tree_from_reports_lies_between_the_largest_class_and_the_truth(survey):
    fresh = pa.table(draw_people(2000, np.random.default_rng(2)))
    lesson = learn(survey, fresh, seed=0)
    assert lesson.largest_class + 0.1 < lesson.from_reports <= lesson.from_truth + 0.01
    assert lesson.measured()["test"]["records"] == 2000
    page = survey_page(survey, [survey.compare(name) for name in survey.channels], lesson).html()
    for words in ("A town survey, blurred", "you choose how much is hidden: open or shy", "What can be learned"):
        assert words in page
