"""Mining: exact on clean baskets, right on randomized ones, and clear about what it cannot see."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from mlxtend.frequent_patterns import apriori as mlxtend_apriori

import sfumato as sf
from sfumato.channels.baskets import BasketReports
from sfumato.itemsets.apriori import FALSE_SHARE, SupportWarning, certain_itemsets, join
from sfumato.itemsets.supports import Level
from sfumato.tables import as_records
from tests.statistics import assert_probability


def random_baskets(people: int, items: int, seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, items + 1)
    weights /= weights.sum()
    return [rng.choice(items, rng.integers(1, 6), replace=False, p=weights).tolist() for _ in range(people)]


def supports(table: pd.DataFrame) -> dict[frozenset[object], float]:
    return dict(zip(table["itemsets"], table["support"], strict=True))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("min_support", [0.2, 0.05, 0.01])
def test_clean_supports_equal_those_of_mlxtend(seed: int, min_support: float) -> None:
    baskets = random_baskets(500, 20, seed)
    table = pd.DataFrame([{i: i in basket for i in range(20)} for basket in baskets])
    theirs = mlxtend_apriori(table, min_support=min_support, use_colnames=True)
    for form in (baskets, table):
        ours = sf.frequent_itemsets(form, None, min_support, max_len=None)
        assert supports(ours) == supports(theirs)
        assert (ours["stderr"] == 0).all() and (ours["certainty"] == 1).all()


def test_clean_supports_equal_those_of_pyfim() -> None:
    fim = pytest.importorskip("fim", reason="pyfim ships as C source only and is optional")
    baskets = random_baskets(800, 30, 4)
    theirs = {
        frozenset(items): count / 800 for items, count in fim.apriori(baskets, supp=3, zmin=1, zmax=3, report="a")
    }
    assert supports(sf.frequent_itemsets(baskets, None, 0.03)) == theirs


def test_longer_itemsets_stop_at_max_len() -> None:
    baskets = [["a", "b", "c", "d"]] * 5
    assert max(map(len, sf.frequent_itemsets(baskets, None, 0.5)["itemsets"])) == 3
    assert max(map(len, sf.frequent_itemsets(baskets, None, 0.5, max_len=None)["itemsets"])) == 4


@pytest.mark.parametrize("compress", [False, True], ids=["bitmaps", "seeds"])
def test_strong_itemsets_are_found_in_reports(compress: bool) -> None:
    channel = sf.SelectASize.design(sf.Items(40), sizes=[3, 4], gamma=19, up_to=3, prevalence=0.1)
    rng = np.random.default_rng(5)
    others = rng.permuted(np.tile(np.arange(7, 40), (60_000, 1)), axis=1)[:, :3].tolist()
    chance = rng.random(60_000)
    people = [
        [0, 1, 2] if u < 0.3 else [3, 4, 5, 6] if u < 0.6 else other for u, other in zip(chance, others, strict=True)
    ]
    found = sf.frequent_itemsets(channel.randomize(people, rng=6, compress=compress), channel, min_support=0.2)
    expected = set(sf.frequent_itemsets(people, None, 0.2)["itemsets"])
    assert set(found["itemsets"]) == expected and len(expected) == 7 + 9 + 5
    truth = supports(sf.frequent_itemsets(people, None, 0.2))
    z = [(row.support - truth[row.itemsets]) / row.stderr for row in found.itertuples()]
    assert np.abs(z).max() < 6
    assert (found["certainty"] > 0.99).all()


def test_an_itemset_at_the_threshold_is_within_the_noise() -> None:
    channel = sf.SelectASize.design(sf.Items(20), sizes=[2], gamma=19, up_to=1)
    people = [[0, 1]] * 5000 + [[2, 3]] * 5000
    found = sf.frequent_itemsets(channel.randomize(people, rng=1), channel, min_support=0.49, max_len=1)
    assert found["certainty"].between(0.4, 0.999).any()


def test_a_support_below_what_is_discoverable_warns_with_the_reports_needed() -> None:
    channel = sf.SelectASize.design(sf.Items(50), sizes=[3], gamma=19, up_to=2)
    reports = channel.randomize([[1, 2, 3]] * 1000, rng=1)
    with pytest.warns(
        SupportWarning, match=r"below what 1,000 reports can show for itemsets of 2: about [\d,]+ reports"
    ):
        sf.frequent_itemsets(reports, channel, min_support=0.01, max_len=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sf.frequent_itemsets(reports, channel, min_support=0.9, max_len=2)


def planted(people: int, items: int, seed: int) -> list[list[int]]:
    """Three random items each; three in ten hold 0, 1 and 2."""
    rng = np.random.default_rng(seed)
    others = rng.permuted(np.tile(np.arange(3, items), (people, 1)), axis=1)[:, :3].tolist()
    return [[0, 1, 2] if u < 0.3 else other for u, other in zip(rng.random(people), others, strict=True)]


def test_below_the_discoverable_support_only_what_is_certain_is_output() -> None:
    channel = sf.SelectASize.design(sf.Items(60), sizes=[3], gamma=19, up_to=3)
    reports = channel.randomize(planted(20_000, 60, 1), rng=2)
    with pytest.warns(SupportWarning, match=r"below \d\.\d\d% only itemsets that are certain are shown"):
        found = sf.frequent_itemsets(reports, channel, min_support=0.001)
    strong = {frozenset(part) for part in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2])}
    assert strong <= set(found["itemsets"])
    assert {itemset for itemset in found["itemsets"] if len(itemset) > 1} <= strong
    assert "certain" in found.attrs["note"]
    with pytest.warns(SupportWarning):
        everything = sf.frequent_itemsets(reports, channel, min_support=0.001, max_len=2, certain=False)
    assert len(everything) > 500 and "certain" not in everything.attrs["note"]


def test_from_the_discoverable_support_on_the_rule_is_the_papers() -> None:
    channel = sf.SelectASize.design(sf.Items(60), sizes=[3], gamma=19, up_to=3)
    reports = channel.randomize(planted(20_000, 60, 3), rng=4)
    limit = max(channel.lowest_discoverable_support(20_000).values()) + 1e-9
    found = [sf.frequent_itemsets(reports, channel, limit, certain=certain) for certain in (True, False)]
    pd.testing.assert_frame_equal(*found)
    assert len(found[0]) >= 7 and not found[0].attrs


def test_what_nobody_holds_is_hardly_ever_certain() -> None:
    """Of 1,000 candidates without signal, the chance that any is called certain is FALSE_SHARE."""
    rng, runs = np.random.default_rng(5), 2000
    codes = np.arange(1000)[:, None]
    alarms = sum(
        certain_itemsets(Level(codes, rng.normal(0, 0.01, 1000), np.full(1000, 0.01)), 1e-9, 0.01).any()
        for _ in range(runs)
    )
    assert_probability(alarms, runs, FALSE_SHARE)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("mean", [2, 15], ids=["sparse", "dense"])
def test_clean_baskets_are_counted_alike_in_every_way(
    monkeypatch: pytest.MonkeyPatch, mean: int, compiled: bool
) -> None:
    if not compiled:
        monkeypatch.setattr("sfumato.itemsets.supports._kernels", lambda: None)
    rng = np.random.default_rng(mean)
    baskets = [rng.choice(40, min(n, 40), replace=False).tolist() for n in rng.poisson(mean, 3000)]
    found = supports(sf.frequent_itemsets(baskets, None, 0.002, max_len=4))
    held = [set(basket) for basket in baskets]
    for itemset in list(found)[:: max(1, len(found) // 300)]:
        assert found[itemset] == sum(itemset <= basket for basket in held) / 3000
    assert {len(itemset) for itemset in found} >= {1, 2}


def test_seeds_are_not_read_beyond_their_independence() -> None:
    channel = sf.SelectASize.design(sf.Items(50), sizes=[3], gamma=19, up_to=2)
    reports = channel.randomize([[1, 2, 3]] * 100, rng=1, compress=True)
    with pytest.raises(ValueError, match="seeds are made for itemsets up to 2"):
        sf.frequent_itemsets(reports, channel, min_support=0.9, max_len=3)


def test_reports_must_fit_their_channel() -> None:
    channel = sf.SelectASize.design(sf.Items(50), sizes=[3], gamma=19, up_to=2)
    with pytest.raises(TypeError, match="carry no true sizes"):
        sf.frequent_itemsets([[1, 2]], channel, 0.5)
    with pytest.raises(ValueError, match="size 9 have no design"):
        sf.frequent_itemsets(BasketReports.of_lists(sf.Items(50), [[1, 2]], [9]), channel, 0.5)
    with pytest.raises(ValueError, match="over 20 items"):
        sf.frequent_itemsets(BasketReports.of_lists(sf.Items(20), [[1, 2]], [3]), channel, 0.5)
    with pytest.raises(ValueError, match="there are no reports"):
        sf.frequent_itemsets(channel.randomize([[1, 2, 3]], rng=1)[:0], channel, 0.5)


@pytest.mark.parametrize("min_support", [0, -0.1, 1.5, float("nan")])
def test_an_impossible_support_is_refused(min_support: float) -> None:
    with pytest.raises(ValueError, match="is no share of the people"):
        sf.frequent_itemsets([["a"]], None, min_support)


def test_candidates_have_only_surviving_subsets() -> None:
    survivors = np.array([[0, 1], [0, 2], [1, 2], [1, 3], [2, 4]])
    assert join(survivors).tolist() == [[0, 1, 2]]
    assert join(np.empty((0, 1), dtype=np.int64)).shape == (0, 2)


def test_without_pandas_the_result_is_a_list_of_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    found = sf.frequent_itemsets([["a", "b"], ["a"]], None, 0.6)
    assert found == [{"support": 1.0, "stderr": 0.0, "itemsets": frozenset("a"), "certainty": 1.0}]
    assert as_records(found) == found
