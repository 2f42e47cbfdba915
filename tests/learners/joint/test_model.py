import json

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from reproductions.agrawal import ATTRIBUTES, DOMAINS
from sfumato.learners.joint import JointModel
from sfumato.learners.joint.mixture import MixtureMember


@pytest.fixture(scope="module")
def model(survey):
    return JointModel(survey.channels, random_state=0, members=3).fit(survey.reports, survey.y)


def test_it_selects_the_attributes_that_tell_about_the_class(model):
    assert {ATTRIBUTES[j] for j in model.selected_} >= {"age", "salary"}
    assert not {ATTRIBUTES[j] for j in model.selected_} & {"car", "hyears", "loan", "elevel"}


def test_bayes_rule_finds_the_classes_of_true_values(model, survey):
    assert model.score(survey.X_test, survey.y_test) > 0.93


def test_probabilities_sum_to_one_and_missing_values_integrate_out(model, survey):
    X = survey.X_test[:50].copy()
    X[:25, 2] = np.nan
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    X[:, :] = np.nan
    np.testing.assert_allclose(model.predict_proba(X), 0.5, atol=0.02)


def test_synthetic_records_stay_in_their_domains_and_keep_what_belongs_together(model):
    X, y = model.sample(20_000, random_state=1)
    assert X.shape == (20_000, 9) and set(y) == {"A", "B"}
    for column, domain in zip(X.T, DOMAINS.values(), strict=True):
        assert domain.low <= column.min() and column.max() <= domain.high
        assert not domain.integer or np.all(column == np.rint(column))
    correlation = np.corrcoef(X[:, ATTRIBUTES.index("zipcode")], X[:, ATTRIBUTES.index("hvalue")])[0, 1]
    assert correlation > 0.5


def test_a_frame_comes_back_as_a_frame_with_whole_numbers_where_they_belong(survey):
    frame = pd.DataFrame(survey.columns)
    channels = dict(zip(ATTRIBUTES, survey.channels, strict=True))
    model = JointModel(channels, random_state=0, members=1).fit(frame, survey.y)
    X, _ = model.sample(100, random_state=0)
    assert list(X.columns) == list(ATTRIBUTES)
    assert X["elevel"].dtype.kind == "i" and X["age"].dtype.kind == "f"


def test_a_saved_model_answers_the_same(model, survey):
    again = JointModel.from_dict(json.loads(json.dumps(model.to_dict())))
    np.testing.assert_array_equal(again.predict_proba(survey.X_test), model.predict_proba(survey.X_test))
    assert again.sample(10, random_state=0)[0].shape == (10, 9)


def test_the_same_seed_gives_the_same_model(survey):
    X, y = survey.reports[:4000], survey.y[:4000]
    first, second = (JointModel(survey.channels, random_state=3, members=2).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(survey.X_test), second.predict_proba(survey.X_test))


def test_without_classes_it_models_the_records_alone():
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "green"], 8000)
    size = np.where(color == "red", rng.uniform(0, 4, 8000), rng.uniform(6, 10, 8000))
    channels = {
        "color": sf.RandomizedResponse(sf.Categories(["red", "green"]), keep=0.8),
        "size": sf.Gaussian(sf.Interval(0, 10), scale=2),
    }
    reports = pd.DataFrame(
        {"color": channels["color"].randomize(color, rng), "size": channels["size"].randomize(size, rng)}
    )
    model = JointModel(channels, random_state=0).fit(reports)
    sample = model.sample(4000, random_state=1)
    assert np.mean((sample["size"] < 5) == (sample["color"] == "red")) > 0.9
    with pytest.raises(ValueError, match="without classes"):
        model.predict(reports)


@pytest.mark.parametrize("structure", ["grid", "mixture"])
def test_randomized_labels_clear_columns_and_gaps_are_taken_together(structure):
    rng = np.random.default_rng(1)
    n = 12_000
    y = rng.integers(0, 3, n)
    noisy, clear = y + rng.uniform(0, 1, n), (y == 2) + rng.normal(0, 0.4, n)
    channel = sf.Gaussian(sf.Interval(0, 3), scale=0.5)
    labels = sf.RandomizedResponse(sf.Categories([0, 1, 2]), keep=0.7)
    X = np.column_stack([channel.randomize(noisy, rng), clear, rng.normal(size=n)])
    X[rng.random(n) < 0.1, 0] = np.nan
    model = JointModel([channel, None, None], label_channel=labels, structure=structure, members=1, random_state=0)
    model.fit(X, labels.randomize(y, rng))
    test = np.column_stack([noisy, clear, rng.normal(size=n)])
    assert np.mean(model.predict(test) == y) > 0.9


def test_thirty_attributes_and_few_records_are_no_trouble():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 300)
    X = rng.uniform(0, 1, (300, 30))
    X[:, 7] = np.clip(X[:, 7] * 0.5 + 0.5 * y, 0, 1)
    channels = [sf.Gaussian(sf.Interval(0, 1), scale=0.2) for _ in range(30)]
    reports = np.column_stack([c.randomize(x, rng) for c, x in zip(channels, X.T, strict=True)])
    model = JointModel(channels, random_state=0).fit(reports, y)
    assert model.score(X, y) > 0.9
    assert model.sample(50, random_state=0)[0].shape == (50, 30)


def test_cells_do_not_line_up_with_the_true_cuts(model):
    for member in model.members_:
        for cells in member.cells:
            cuts = {"x2": (40, 60), "x0": (25_000, 50_000, 75_000, 100_000, 125_000)}.get(cells.name, ())
            assert all(np.min(np.abs(cells.edges - cut)) > 0 for cut in cuts)


def test_bad_arguments_are_named(survey):
    with pytest.raises(ValueError, match="structure='tree'"):
        JointModel(structure="tree").fit(survey.X[:50], survey.y[:50])
    with pytest.raises(ValueError, match="channels has 1 entries"):
        JointModel([None]).fit(survey.X[:50], survey.y[:50])
    with pytest.raises(ValueError, match="'wage'"):
        JointModel({"wage": None}).fit(pd.DataFrame(survey.columns), survey.y)


def test_many_classes_that_want_more_columns_than_a_grid_holds_have_a_mixture_of_all(monkeypatch):
    monkeypatch.setattr("sfumato.learners.joint.model.MOST_GRID_DIMENSIONS", 2.0)
    rng = np.random.default_rng(11)
    y = rng.integers(0, 8, 3_000)
    X = np.clip(rng.random((8, 6))[y] + rng.normal(0, 0.05, (3_000, 6)), 0, 1)
    channel = sf.Gaussian(sf.Interval(0, 1), scale=0.2)
    model = JointModel([channel] * 6, random_state=0).fit(channel.randomize(X, rng), y)
    assert model.selected_ == tuple(range(6)) and isinstance(model.members_[0], MixtureMember)
    assert model.score(X, y) > 0.95


def test_people_too_few_to_select_by_have_a_mixture_of_all_columns():
    rng = np.random.default_rng(12)
    y = rng.integers(0, 2, 200)
    X = np.clip(rng.normal(0.45 + 0.1 * y[:, None], 0.1, (200, 6)), 0, 1)
    channel = sf.Gaussian(sf.Interval(0, 1), scale=0.4)
    model = JointModel([channel] * 6, random_state=0).fit(channel.randomize(X, rng), y)
    assert len(model.selected_) == 6 and model.score(X, y) > 0.6


@pytest.mark.parametrize("structure", ["auto", "grid", "mixture"])
@pytest.mark.parametrize("town", [{"categories": ["a", "b"]}, {"low": 0, "high": 9}], ids=["labels", "numbers"])
def test_a_clear_column_that_nobody_answered_is_left_out_and_sampled_without_answers(structure, town):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    plan = sf.Plan.from_dict({"attributes": {
        "age": {"low": 0, "high": 9, "channel": "gaussian", "privacy": 0.5},
        "town": {**town, "role": "clear"},
        "y": {"categories": [0, 1], "role": "class"},
    }})  # fmt: skip
    people = {"age": 2.0 + 5 * y, "town": np.full(200, None if "categories" in town else np.nan), "y": y}
    model = sf.JointModel(structure=structure).fit(sf.Reports(plan.randomize(people, rng=1), plan))
    drawn, _ = model.sample(5, random_state=1)
    assert drawn["town"].tolist() == [None] * 5
    assert np.isfinite(sf.JointModel.from_dict(model.to_dict()).predict_proba(people)).all()
