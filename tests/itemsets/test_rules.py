"""Rules equal mlxtend's on clean itemsets, and their confidence has an honest error on randomized ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from mlxtend.frequent_patterns import association_rules as mlxtend_rules

import sfumato as sf
from sfumato.itemsets.rules import COLUMNS


def clean_itemsets() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    baskets = [rng.choice(8, rng.integers(1, 6), replace=False).tolist() for _ in range(300)]
    return sf.frequent_itemsets([[f"item {i}" for i in basket] for basket in baskets], None, 0.02, max_len=4)


@pytest.mark.parametrize(
    ("metric", "threshold"), [("confidence", 0.3), ("lift", 1.05), ("leverage", 0.0), ("conviction", 1.0)]
)
def test_clean_rules_equal_those_of_mlxtend(metric: str, threshold: float) -> None:
    itemsets = clean_itemsets()
    ours = sf.association_rules(itemsets, metric=metric, min_threshold=threshold)
    theirs = mlxtend_rules(itemsets[["support", "itemsets"]], metric=metric, min_threshold=threshold)
    assert list(ours.columns) == COLUMNS and set(theirs.columns) <= set(COLUMNS)
    keys = ["antecedents", "consequents"]
    ours, theirs = (
        table.assign(key=[(tuple(sorted(a)), tuple(sorted(c))) for a, c in table[keys].itertuples(index=False)])
        .sort_values("key")
        .reset_index(drop=True)
        for table in (ours, theirs)
    )
    assert ours["key"].tolist() == theirs["key"].tolist() and len(ours) > 20
    for column in set(theirs.columns) - {*keys, "key"}:
        np.testing.assert_allclose(ours[column], theirs[column], rtol=1e-12, atol=1e-12, err_msg=column)
    assert (ours["confidence stderr"] == 0).all()


def test_confidence_errors_are_calibrated() -> None:
    """A rule of true confidence 1/2 in a fixed population, reported 300 times."""
    channel = sf.SelectASize.design(sf.Items(10), sizes=[2], gamma=19, up_to=2)
    baskets = channel.read([[0, 1]] * 1500 + [[0, 2]] * 1500 + [[3, 4]] * 3000)
    rng = np.random.default_rng(2)
    scores = []
    for _ in range(300):
        found = sf.frequent_itemsets(channel.randomize(baskets, rng=rng), channel, 0.1)
        rules = sf.association_rules(found, min_threshold=0.0)
        row = next(r for r in rules.to_dict("records") if r["antecedents"] == {0} and r["consequents"] == {1})
        scores.append((row["confidence"] - 0.5) / row["confidence stderr"])
    assert abs(np.mean(scores)) < 0.3
    assert 0.8 < np.std(scores) < 1.2


def test_confidence_never_exceeds_one() -> None:
    noisy = pd.DataFrame(
        {
            "support": [0.30, 0.5, 0.35],
            "stderr": [0.02] * 3,
            "itemsets": [frozenset("a"), frozenset("b"), frozenset("ab")],
        }
    )
    rules = sf.association_rules(noisy, min_threshold=0.0)
    assert rules["confidence"].max() == 1.0
    assert np.isinf(rules["conviction"].max())


def test_rules_with_unknown_parts_are_left_out() -> None:
    lonely = pd.DataFrame({"support": [0.3], "stderr": [0.0], "itemsets": [frozenset("ab")]})
    assert len(sf.association_rules(lonely, min_threshold=0.0)) == 0


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="metric = 'luck' is unknown"):
        sf.association_rules(clean_itemsets(), metric="luck")
    with pytest.raises(ValueError, match="no columns 'support' and 'itemsets'"):
        sf.association_rules(pd.DataFrame({"x": [1]}))
