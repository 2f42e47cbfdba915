"""Trees compared rule by rule."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato.microdata import compare_trees, rules_of

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.integers(1, 11, 400), "b": RNG.integers(1, 11, 400), "c": RNG.normal(size=400)})
Y = np.where((X.a > 4) & (X.b > 6), "p", "q")


def grow(y=Y, **options):
    return DecisionTreeClassifier(random_state=0, **options).fit(X, y)


def test_rules_are_the_leaves_with_their_intervals_and_cases():
    rules = rules_of(grow(), X.to_numpy(float), list(X.columns))
    by_words = {str(rule).split(" (")[0] for rule in rules}
    assert "if a > 4.5 and b > 6.5 then p" in by_words
    assert sum(rule.cases for rule in rules) == 400


def test_a_tree_equals_itself_and_cuts_between_the_same_values_are_the_same():
    tree = grow()
    moved = grow()
    moved.tree_.threshold[:] += np.where(tree.tree_.feature >= 0, 0.3, 0)
    for other in (tree, moved):
        found = compare_trees(tree, other, X)
        assert found.identical
        assert found.share_covered == 1


def test_a_lost_rule_is_counted_with_the_records_it_covered():
    cut_off = np.where((X.a > 4) & (X.b > 6) & (X.b < 10), "p", "q")
    found = compare_trees(grow(), grow(cut_off), X)
    assert not found.identical
    assert [str(rule).split(" (")[0] for rule in found.lost] == ["if a > 4.5 and b > 6.5 then p"]
    assert found.share_covered == pytest.approx(1 - ((X.a > 4) & (X.b > 6)).mean())
    assert found.almost_the_same == (found.share_covered >= 0.94)
    assert found.same_attributes


def test_our_trees_compare_with_scikit_learns():
    ours = sf.TreeClassifier(reconstruction="none").fit(X, Y)
    rules = rules_of(ours, X.to_numpy(float), list(X.columns))
    assert sum(rule.cases for rule in rules if rule.prediction == "p") == (Y == "p").sum()
    assert compare_trees(ours, ours, X).identical
    assert compare_trees(grow(), ours, X).same_attributes
