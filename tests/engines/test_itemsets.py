"""Itemsets are the same from every maker: bitmaps, lists and seeds, of one level and of several, and clean baskets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.counts import Fold, fold_hash

pytestmark = pytest.mark.filterwarnings("ignore:min_support")

ITEMS = sf.Items(30)
SHY, OPEN = (sf.SelectASize.design(ITEMS, sizes=[2, 3], gamma=gamma, up_to=2, prevalence=0.1) for gamma in (5, 49))
CHOICE = sf.Choice({"shy": SHY, "open": OPEN})
RNG = np.random.default_rng(1)
BASKETS = [RNG.choice(30, RNG.integers(2, 4), replace=False, p=np.arange(30, 0, -1) / 465).tolist() for _ in range(600)]


def plan(channel):
    return sf.Plan.from_dict({"attributes": {"stops": {"items": 30, **channel.to_spec()}}})


def objects(rows):
    column = np.empty(len(rows), dtype=object)
    column[:] = rows
    return column


def columns_of(reports, form):
    shown = reports.to_lists() if form == "stops" else reports.to_bytes()
    return {"stops.size": reports.sizes, form: objects(shown)}


def assert_same(found, expected):
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    assert len(expected) > 30


@pytest.mark.parametrize("form", ["stops.bitmap", "stops.seed", "stops"])
def test_reports_give_the_same_itemsets(make, form):
    sent = OPEN.randomize(BASKETS, rng=1, compress=form == "stops.seed")
    reports = make(columns_of(sent, form), plan(OPEN))
    found = sf.frequent_itemsets(reports, min_support=0.02, max_len=2, certain=False)
    assert_same(found, sf.frequent_itemsets(sent, OPEN, 0.02, 2, certain=False))
    assert reports.passes == 2


def test_levels_give_the_same_itemsets(make):
    level = RNG.choice(["shy", "open"], len(BASKETS))
    bitmap, parts = objects([b""] * len(BASKETS)), {}
    for name in ("shy", "open"):
        rows = np.flatnonzero(level == name)
        parts[name] = CHOICE.level(name).randomize([BASKETS[row] for row in rows], rng=2)
        bitmap[rows] = objects(parts[name].to_bytes())
    sizes = np.array([len(basket) for basket in BASKETS])
    reports = make({"stops.size": sizes, "stops.bitmap": bitmap, "stops.level": level.astype(object)}, plan(CHOICE))
    found = sf.frequent_itemsets(reports, min_support=0.02, max_len=2, certain=False)
    assert_same(found, sf.frequent_itemsets(parts, CHOICE, 0.02, max_len=2, certain=False))
    assert reports.passes == 2


@pytest.mark.parametrize("label", [int, "item {}".format])
def test_clean_baskets_give_the_same_itemsets(make, label):
    baskets = [[label(item) for item in basket] for basket in BASKETS]
    reports = make({"basket": objects(baskets), "row": np.arange(len(baskets))})
    found = sf.frequent_itemsets(reports, min_support=0.005)
    assert_same(found, sf.frequent_itemsets(baskets, None, 0.005))


@pytest.mark.parametrize("make", ["duckdb"], indirect=True)
def test_a_fold_gives_the_itemsets_of_its_people(make):
    sent = OPEN.randomize(BASKETS, rng=1)
    reports, half = make(columns_of(sent, "stops.bitmap"), plan(OPEN), seed=3), Fold(0, 2)
    rows = np.flatnonzero(half.holds(fold_hash(3, np.arange(len(BASKETS)))))
    found = sf.frequent_itemsets(reports.within(half), min_support=0.05, max_len=1)
    expected = sf.frequent_itemsets(sent[rows], OPEN, 0.05, max_len=1)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
