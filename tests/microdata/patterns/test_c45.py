"""C4.5: gain ratios and limits worked by hand, the tree that Weka's J48 grows, and laws on any table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.utils.estimator_checks import parametrize_with_checks

import sfumato as sf
from reproductions.datasets import load
from sfumato.microdata import IB04, Donors, compare_trees, rules_of
from sfumato.microdata.patterns.c45 import C45Tree, best_cuts, expected_errors, upper_error
from tests.microdata.conftest import mixed_table

PLAY = np.array([0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0])
"""Quinlan's fourteen days: whether the game was played."""
WINDY = np.array([0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1.0])
HUMIDITY = np.array([85, 90, 78, 96, 80, 70, 65, 95, 70, 80, 70, 90, 75, 80.0])


@parametrize_with_checks([C45Tree()])
def test_it_is_a_scikit_learn_classifier(estimator, check):
    check(estimator)


def sorted_by(column):
    order = np.argsort(column, kind="stable")
    return best_cuts(column[order][None, :], PLAY[order][None, :], 2, 2)


def test_the_weather_tables_gain_ratio_of_wind_is_quinlans():
    """info(14 days) = 0.940; windy leaves 0.892, so gain 0.048; 8 and 6 days have split info 0.985; one cut costs 0."""
    wind = sorted_by(WINDY)
    assert wind.gain[0] == pytest.approx(0.048, abs=5e-4)
    assert wind.ratio[0] == pytest.approx(0.048 / 0.985, abs=5e-4)


def test_the_weather_tables_humidity_is_cut_above_80_and_pays_for_the_cuts_tried():
    """Nine days up to 80 (7 played) and five above (2 played): gain 0.102. Between its nine values six cuts leave two
    days on both sides; to name one of them costs log2(6) bits."""
    humidity = sorted_by(HUMIDITY)
    assert (humidity.below[0], humidity.above[0]) == (80, 85)
    assert humidity.gain[0] == pytest.approx(0.1022 - np.log2(6) / 14, abs=5e-4)


def test_a_day_without_a_value_lowers_the_gain_and_splits_three_ways():
    """Of ten records two have no value; the cut parts the other eight 4 : 4 and clean."""
    values = np.array([[1, 1, 1, 1, 2, 2, 2, 2, np.nan, np.nan]])
    classes = np.array([[0, 0, 0, 0, 1, 1, 1, 1, 0, 1]])
    cut = best_cuts(values, classes, 2, 2)
    assert cut.gain[0] == pytest.approx(0.8)
    assert cut.ratio[0] == pytest.approx(0.8 / -(0.8 * np.log2(0.4) + 0.2 * np.log2(0.2)))


def test_upper_limits_are_the_textbooks_and_solve_the_binomial_equation():
    assert upper_error([0, 0, 0], [6, 9, 1], 0.25) == pytest.approx([0.206, 0.143, 0.75], abs=5e-4)
    limit = upper_error([1, 3, 40], [16, 7, 200], 0.25)
    assert binom.cdf([1, 3, 40], [16, 7, 200], limit) == pytest.approx(0.25)
    assert upper_error(5, 5, 0.25) == 1


def test_quinlans_voting_subtree_is_replaced_by_a_leaf():
    """Leaves of 6, 9 and 1 cases without an error expect 6·0.206 + 9·0.143 + 1·0.750 = 3.273 errors; one leaf with one
    error in 16 cases expects fewer."""
    leaves = expected_errors(np.array([[6, 0], [9, 0], [0, 1]]), 0.25)
    assert leaves.sum() == pytest.approx(3.273, abs=2e-3)
    assert expected_errors(np.array([[15, 1]]), 0.25)[0] < leaves.sum()


J48 = """if bare_nuclei <= 2 and cell_size <= 2 and clump_thickness <= 5 then benign
if bare_nuclei > 2 and cell_size <= 1 and clump_thickness <= 5 then benign
if bare_nuclei > 2 and 1 < cell_size <= 2 and clump_thickness <= 5 then malignant
if cell_size <= 2 and clump_thickness > 5 and nucleoli <= 2 then benign
if cell_size <= 2 and clump_thickness > 5 and nucleoli > 2 then malignant
if adhesion <= 5 and cell_shape <= 2 and 2 < cell_size <= 4 and clump_thickness <= 9 then benign
if adhesion <= 4 and 2 < cell_shape <= 4 and 2 < cell_size <= 4 and chromatin <= 5 and clump_thickness <= 9 then malignant
if 4 < adhesion <= 5 and 2 < cell_shape <= 4 and 2 < cell_size <= 4 and chromatin <= 5 and clump_thickness <= 9 then benign
if adhesion <= 5 and 2 < cell_shape <= 4 and 2 < cell_size <= 4 and chromatin > 5 and clump_thickness <= 9 then benign
if adhesion <= 5 and cell_shape <= 4 and 2 < cell_size <= 4 and clump_thickness > 9 then malignant
if adhesion > 5 and cell_shape <= 4 and 2 < cell_size <= 4 then malignant
if cell_shape <= 4 and cell_size > 4 then malignant
if cell_shape > 4 and cell_size > 2 then malignant"""  # noqa: E501
"""The leaves that Weka 3.9's J48 -S finds in the first 349 records of Wisconsin breast cancer."""


def test_on_breast_cancer_it_is_the_tree_of_wekas_j48():
    data = load("wbc").take(np.arange(349))
    rules = rules_of(C45Tree().fit(data.X, data.y), data.X, data.attributes)
    assert {str(rule).split(" (")[0] for rule in rules} == set(J48.splitlines())


@st.composite
def tables(draw):
    n, columns = draw(st.integers(2, 60)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(0, draw(st.integers(1, 30)), (n, columns)).astype(float)
    X[rng.random(X.shape) < draw(st.sampled_from([0, 0.2]))] = np.nan
    y = rng.integers(0, draw(st.integers(1, 3)), n) + (np.nan_to_num(X[:, 0]) > 3)
    return X, y


@settings(max_examples=100, deadline=None)
@given(tables(), st.integers(1, 5), st.floats(0.01, 1))
def test_pruning_never_expects_more_errors_and_every_leaf_holds_what_it_must(table, fewest, confidence):
    X, y = table
    whole, pruned = (C45Tree(fewest, level).fit(X, y) for level in (None, confidence))
    grown = expected_errors(whole.counts_[whole.tree_.is_leaf], confidence).sum()
    assert pruned.expected_errors_ <= grown + 1e-9
    assert pruned.get_n_leaves() <= whole.get_n_leaves()
    for tree in (whole, pruned):
        nodes, leaf = tree.tree_, tree.apply(X)
        assert np.array_equal(
            np.bincount(leaf, minlength=nodes.size)[nodes.is_leaf], tree.counts_[nodes.is_leaf].sum(axis=1)
        )
        assert nodes.size == 1 or tree.counts_.sum(axis=1).min() >= fewest
        inner = np.flatnonzero(~nodes.is_leaf)
        assert (nodes.left[inner] > inner).all()
        assert np.array_equal(tree.counts_[inner], tree.counts_[nodes.left[inner]] + tree.counts_[nodes.right[inner]])
        assert np.array_equal(tree.predict(X), tree.classes_[tree.predict_proba(X).argmax(axis=1)])


@settings(max_examples=50, deadline=None)
@given(tables(), st.integers(0, 1000))
def test_the_order_of_records_and_the_scale_of_values_do_not_matter(table, seed):
    X, y = table
    shuffled = np.random.default_rng(seed).permutation(len(y))
    tree, again, scaled = C45Tree().fit(X, y), C45Tree().fit(X[shuffled], y[shuffled]), C45Tree().fit(8 * X, y)
    assert compare_trees(tree, again, X, classes=tree.classes_).identical
    assert np.array_equal(tree.apply(X), scaled.apply(8 * X))


def test_blocks_of_columns_give_the_same_tree(monkeypatch):
    data = load("wbc").complete()
    whole = C45Tree().fit(data.X, data.y)
    monkeypatch.setattr("sfumato.microdata.patterns.c45.BLOCK", 1)
    assert compare_trees(whole, C45Tree().fit(data.X, data.y), data.X, data.attributes).identical


def test_what_cannot_be_is_refused():
    for options, words in (({"min_cases": 0}, "min_cases=0"), ({"confidence": 0}, "confidence=0")):
        with pytest.raises(ValueError, match=words):
            C45Tree(**options).fit([[0.0], [1.0]], [0, 1])


def test_a_release_looks_through_it_also_where_columns_are_categories():
    done = sf.release(mixed_table(), "class", IB04(law="rank", leaves="c45"), rng=0)
    assert not done.tree.single_precision  # scikit-learn's own are
    assert done.report.rules.share_covered > 0.9
    with pytest.raises(ValueError, match="leaves='id3' is unknown"):
        sf.release(mixed_table(), "class", Donors(leaves="id3"))
