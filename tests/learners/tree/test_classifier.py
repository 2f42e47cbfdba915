import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from reproductions.agrawal import ATTRIBUTES
from sfumato.learners.tree import TreeClassifier
from sfumato.learners.tree.model import Tree


@pytest.fixture(scope="module")
def tree(survey):
    return TreeClassifier(survey.channels, "joint", random_state=0).fit(survey.reports, survey.y)


@pytest.mark.parametrize(
    ("reconstruction", "floor"), [("byclass", 0.86), ("local", 0.88), ("global", 0.65)]
)
def test_a_tree_from_reports_classifies_true_values(survey, reconstruction, floor):
    fitted = TreeClassifier(survey.channels, reconstruction, random_state=0).fit(survey.reports, survey.y)
    assert fitted.score(survey.X_test, survey.y_test) > floor


def test_the_joint_model_does_too_and_beats_taking_reports_for_true_values(tree, survey):
    taken_as_true = TreeClassifier(survey.channels, "none").fit(survey.reports, survey.y)
    accuracy = tree.score(survey.X_test, survey.y_test)
    assert accuracy > max(0.93, taken_as_true.score(survey.X_test, survey.y_test) + 0.01)


def test_without_channels_it_is_as_good_as_scikit_learns_tree(survey):
    ours = TreeClassifier().fit(survey.X, survey.y).score(survey.X_test, survey.y_test)
    theirs = DecisionTreeClassifier(random_state=0).fit(survey.X, survey.y).score(survey.X_test, survey.y_test)
    assert ours > theirs - 0.005


def test_unpruned_on_few_values_it_is_scikit_learns_tree():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (400, 3)).astype(float)
    y = ((X[:, 0] > 2) ^ (X[:, 1] > 3)) | (rng.random(400) < 0.1)
    ours = TreeClassifier(prune=False).fit(X, y)
    theirs = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert ours.score(X, y) == theirs.score(X, y)
    assert ours.tree_.cut[0] == theirs.tree_.threshold[0] and ours.tree_.column[0] == theirs.tree_.feature[0]


@pytest.mark.parametrize("reconstruction", ["byclass", "local", "global"])
def test_through_a_table_without_noise_it_equals_the_clean_tree_on_the_same_intervals(reconstruction):
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 10, 3000)
    z = rng.uniform(0, 10, 3000)
    y = (x > 4) & (z < 7)
    intervals = sf.Discretize(sf.Interval(0, 10), width=1)
    reports = np.column_stack([intervals.randomize(x), intervals.randomize(z)])
    blurred = TreeClassifier([intervals, intervals], reconstruction, intervals=10, prune=False, min_samples_leaf=5)
    clean = TreeClassifier(prune=False, min_samples_leaf=5)
    blurred.fit(reports, y)
    clean.fit(reports, y)
    centres = np.add.outer(np.arange(10), np.zeros(10)) + 0.5
    grid = np.column_stack([centres.ravel(), centres.T.ravel()])
    np.testing.assert_array_equal(blurred.predict(grid), clean.predict(grid))


def test_labels_that_went_through_a_channel_are_corrected_for():
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 10, 20_000)
    y = np.where(x < 2, "rare", "common")
    labels = sf.RandomizedResponse(sf.Categories(["common", "rare"]), keep=0.7)
    channel = sf.Gaussian(sf.Interval(0, 10), scale=1)
    reported = labels.randomize(y, rng)
    for reconstruction in ("byclass", "joint"):
        tree = TreeClassifier([channel], reconstruction, label_channel=labels, random_state=0)
        tree.fit(channel.randomize(x, rng)[:, None], reported)
        assert tree.score(x[:, None], y) > 0.93
        assert tree.predict_proba(np.array([[9.0]]))[0, 0] > 0.9


def test_weights_count_like_repeated_records():
    rng = np.random.default_rng(3)
    channel = sf.Uniform(sf.Interval(0, 1), halfwidth=0.3)
    x = channel.randomize(rng.uniform(0, 1, 500), rng)
    y = (x > 0.5).astype(int)
    weight = rng.integers(1, 3, 500)
    weighted = TreeClassifier([channel], "byclass", intervals=10).fit(x[:, None], y, sample_weight=weight)
    repeated = TreeClassifier([channel], "byclass", intervals=10).fit(
        np.repeat(x, weight)[:, None], np.repeat(y, weight)
    )
    grid = np.linspace(0, 1, 50)[:, None]
    np.testing.assert_array_equal(weighted.predict(grid), repeated.predict(grid))


@pytest.mark.parametrize("reconstruction", ["byclass", "joint"])
def test_categories_numbers_and_gaps_in_one_frame(reconstruction):
    rng = np.random.default_rng(4)
    n = 20_000
    city = rng.choice(["Rome", "Oslo", "Lima"], n)
    age = rng.uniform(20, 80, n)
    y = np.where((city == "Rome") | (age > 55), "yes", "no")
    channels = {
        "city": sf.RandomizedResponse(sf.Categories(["Lima", "Oslo", "Rome"]), keep=0.8),
        "age": sf.Gaussian(sf.Interval(20, 80), scale=6),
    }
    reports = {"city": channels["city"].randomize(city, rng), "age": channels["age"].randomize(age, rng)}
    reports["age"][rng.random(n) < 0.05] = np.nan
    for frame in (pd.DataFrame, pl.DataFrame):
        tree = TreeClassifier(channels, reconstruction, random_state=0).fit(frame(reports), y)
        truth = frame({"city": city, "age": age})
        assert np.mean(tree.predict(truth) == y) > 0.9
    assert "Rome" in tree.export_text() and any("city is" in rule for rule in tree.rules())
    again = TreeClassifier.from_dict(json.loads(json.dumps(tree.to_dict())))
    np.testing.assert_array_equal(again.predict(truth), tree.predict(truth))


def test_importances_text_rules_and_plot_speak_of_the_same_tree(tree):
    importances = tree.feature_importances_
    assert importances.sum() == pytest.approx(1)
    tested = {ATTRIBUTES[j] for j in np.flatnonzero(importances > 0.01)}
    assert {"age", "salary"} <= tested <= {"age", "salary", "commission"}  # no commission from 75,000 up
    text, rules = tree.export_text(), tree.rules()
    assert text.count("class:") == len(rules) == tree.get_n_leaves()
    assert all(rule.startswith("If x") and rule.endswith("people there).") for rule in rules)
    axes = tree.plot(max_depth=2)
    assert any("?" in label.get_text() for label in axes.texts)


def test_the_joint_model_behind_a_tree_classifies_and_makes_records(tree, survey):
    X, y = tree.joint_.sample(50, random_state=0)
    assert X.shape == (50, 9) and set(y) <= set(tree.classes_)
    assert tree.joint_.score(survey.X_test, survey.y_test) > 0.93


def test_the_joint_model_behind_a_tree_on_frames_makes_frames(survey):
    channels = dict(zip(ATTRIBUTES, survey.channels, strict=True))
    tree = TreeClassifier(channels, "joint", random_state=0).fit(pd.DataFrame(survey.columns)[:3000], survey.y[:3000])
    X, _ = tree.joint_.sample(10, random_state=0)
    assert list(X.columns) == list(ATTRIBUTES) == tree.joint_.feature_names_in_.tolist()


def test_a_saved_tree_answers_the_same(tree, survey):
    again = TreeClassifier.from_dict(json.loads(json.dumps(tree.to_dict())))
    np.testing.assert_array_equal(again.predict(survey.X_test), tree.predict(survey.X_test))
    assert again.rules() == tree.rules()


def test_an_unknown_reconstruction_is_named(survey):
    with pytest.raises(ValueError, match="reconstruction='magic'"):
        TreeClassifier(reconstruction="magic").fit(survey.X[:10], survey.y[:10])


@pytest.mark.parametrize("reconstruction", ["likelihood", "joint", "byclass", "none"])
def test_who_did_not_answer_is_told_by_both_sides_of_a_cut(reconstruction):
    """Two thirds are in the class; where age is missing and everybody else told it, that is all there is to say."""
    rng, noise = np.random.default_rng(0), sf.Gaussian(sf.Interval(20, 80), privacy=0.25)
    age = rng.uniform(20, 80, 6_000)
    model = sf.TreeClassifier([noise], reconstruction=reconstruction)
    model.fit(noise.randomize(age, rng=rng)[:, None], (age < 40) | (age >= 60))
    unknown, young, middle = model.predict_proba([[np.nan], [25.0], [50.0]])
    assert unknown[1] == pytest.approx(2 / 3, abs=0.05)
    assert young[1] > 0.9 and middle[1] < 0.1
    arrived = type(model).from_dict(model.to_dict())
    assert (arrived.predict_proba([[np.nan], [25.0]]) == [unknown, young]).all()
    old = model.to_dict()
    old["tree"].pop("parts")
    assert type(model).from_dict(old).predict_proba([[np.nan]])[0].max() > 0.9  # as files before this say


def test_what_a_gap_meant_in_training_it_means_afterwards():
    rng = np.random.default_rng(1)
    age, ill = rng.uniform(20, 80, 4_000), rng.random(4_000) < 0.3
    table = pd.DataFrame({"age": np.where(ill, np.nan, age), "other": rng.random(4_000)})
    model = sf.TreeClassifier([None, None], reconstruction="none").fit(table, ill)
    assert model.predict_proba(pd.DataFrame({"age": [np.nan], "other": [0.5]}))[0, 1] > 0.9


def test_ways_through_a_tree_are_weighed_by_their_people():
    """Left of the root 30 people, right of it 70, whom a label parts 60 to 10."""
    counts = np.array([[55.0, 45], [25, 5], [30, 40], [30, 30], [0, 10]])
    ways = [0, -1, 1, -1, -1], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1]
    column, left, right = (np.array(part, np.int32) for part in ways)
    bins, cut = np.zeros((5, 3), bool), np.array([10.0, *[np.nan] * 4])
    bins[2, 0] = True
    tree = Tree(column, cut, left, right, np.zeros(5, bool), bins, counts, np.zeros(5), column >= 0)
    values = np.array([[5.0, np.nan, 20, np.nan], [0, 0, -1, -1]])
    told = tree.scores(values, np.array([False, True]))
    assert told[0].tolist() == [25, 5]
    assert np.allclose(told[1:, 0], [0.3 * 25 / 30 + 0.7 / 2, 6 / 7 / 2, 0.3 * 25 / 30 + 0.7 * 6 / 7 / 2])
    assert np.allclose(told[1:].sum(axis=1), 1)
