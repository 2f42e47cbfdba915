"""Itemsets counted where the baskets are: the same as in memory, bit for bit, however the rows come in batches."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.channels.baskets import BasketReports, SelectASize
from sfumato.itemsets import sources
from sfumato.tables import RowBatch, Source

pytestmark = pytest.mark.filterwarnings("ignore:min_support")

ITEMS = sf.Items([f"item {code}" for code in range(70)])
CHANNEL = sf.SelectASize.design(ITEMS, sizes=[2, 3, 5], gamma=19, up_to=3, prevalence=0.1)
CHOICE = sf.Choice({"shy": sf.SelectASize.design(ITEMS, sizes=[2, 3], gamma=5, up_to=2), "open": CHANNEL})


class ArrowSource(Source):
    """A table in two shares, in batches of so many rows; what travels is pickled."""

    kind = "arrow"

    def __init__(self, columns: dict[str, Any], rows: int) -> None:
        self.table, self.rows = pa.table(columns), rows
        self.names, self.origins = self.table.column_names, []

    def gather(self, work: Callable[[Iterator[RowBatch]], Any], columns: Sequence[str]) -> list[Any]:
        shares = (0, self.table.num_rows // 3), (self.table.num_rows // 3, self.table.num_rows)
        return [sent(sent(work)(self._batches(*share, columns))) for share in shares]

    def _batches(self, first: int, end: int, columns: Sequence[str]) -> Iterator[RowBatch]:
        for start in range(first, end, self.rows):
            length = min(self.rows, end - start)
            yield RowBatch(np.arange(start, start + length), self.table.select(columns).slice(start, length))


def held(columns: dict[str, Any], rows: int, plan: Any = None) -> sf.Reports:
    return sf.Reports(ArrowSource(columns, rows), plan)


def sent(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


def people(count: int, seed: int, sizes: Sequence[int] = (2, 3, 5)) -> list[list[str]]:
    """Baskets of these sizes; some items are popular."""
    rng = np.random.default_rng(seed)
    popular = 1 / np.arange(1, 71)
    picked = [rng.choice(70, rng.choice(sizes), replace=False, p=popular / popular.sum()) for _ in range(count)]
    return [[ITEMS.labels[code] for code in row] for row in picked]


def in_columns(reports: BasketReports, form: str, prefix: str = "") -> dict[str, Any]:
    """Reports as a table holds them."""
    if form == "list":
        return {"basket": reports.to_lists(), "basket.size": reports.sizes}
    return {f"{prefix}size": reports.sizes, f"{prefix}{form}": reports.to_bytes(70 if form == "bitmap" else None)}


def assert_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    assert len(found)


@pytest.mark.parametrize("form", ["bitmap", "seed", "list"])
@pytest.mark.parametrize("prefix", ["", "basket."])
def test_reports_in_a_table_give_the_same_itemsets(form: str, prefix: str) -> None:
    reports = CHANNEL.randomize(people(3000, 1), rng=1, compress=form == "seed")
    source = held({**in_columns(reports, form, prefix), "age": [1] * 3000}, rows=701)
    found = [sf.frequent_itemsets(given, CHANNEL, 0.05, certain=False) for given in (source, reports)]
    assert_same(*found)
    assert source.passes == 3


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 150), st.integers(1, 99), st.sampled_from(["bitmap", "seed", "list"]), st.integers(0, 9))
def test_the_size_of_batches_does_not_matter(count: int, rows: int, form: str, seed: int) -> None:
    reports = CHANNEL.randomize(people(count, seed), rng=seed, compress=form == "seed")
    source = held(in_columns(reports, form, "basket."), rows)
    found = [sf.frequent_itemsets(given, CHANNEL, 0.2, max_len=2, certain=False) for given in (source, reports)]
    assert_same(*found)


@pytest.mark.parametrize("form", ["bitmap", "seed"])
def test_levels_are_counted_in_the_same_passes(form: str) -> None:
    baskets = people(2000, 3, sizes=(2, 3))
    level = np.random.default_rng(1).choice(["open", "shy", None], 2000)
    chosen = {"shy": np.flatnonzero((level == "shy") | (level == None)), "open": np.flatnonzero(level == "open")}  # noqa: E711
    reports = {
        name: CHOICE.level(name).randomize([baskets[row] for row in rows], rng=1, compress=form == "seed")
        for name, rows in chosen.items()
    }
    together = pa.concat_tables(
        pa.table({"row": rows, **in_columns(reports[name], form, "basket."), "basket.level": level[rows]})
        for name, rows in chosen.items()
    ).sort_by("row")
    source = held({name: together[name] for name in together.column_names}, rows=97)
    assert_same(sf.frequent_itemsets(source, CHOICE, 0.05, 2), sf.frequent_itemsets(reports, CHOICE, 0.05, 2))
    assert source.passes == 2
    alone = held({**in_columns(reports["open"], form), "basket.level": ["open"] * len(reports["open"])}, 97)
    assert_same(
        sf.frequent_itemsets(alone, CHOICE, 0.05), sf.frequent_itemsets({"open": reports["open"]}, CHOICE, 0.05)
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sets(st.integers(0, 30), max_size=6), min_size=1, max_size=60).filter(any), st.integers(1, 20))
def test_clean_baskets_give_the_same_itemsets(baskets: list[set[int]], rows: int) -> None:
    lists = list(map(sorted, baskets))
    source = held({"basket": lists, "age": [1] * len(lists)}, rows)
    for max_len in (None, 2):
        assert_same(
            sf.frequent_itemsets(source, None, 0.02, max_len), sf.frequent_itemsets(lists, None, 0.02, max_len)
        )


def test_clean_baskets_of_texts_may_be_the_only_column() -> None:
    baskets = people(2000, 5)
    source = held({"bought": baskets}, rows=333)
    assert_same(sf.frequent_itemsets(source, None, 0.02), sf.frequent_itemsets(baskets, None, 0.02))
    assert source.passes == 3


def test_whatever_is_held_at_once_the_counts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BITS_AT_ONCE", 128 * 100)
    seeds = CHANNEL.randomize(people(1000, 6), rng=1, compress=True)
    source = held(in_columns(seeds, "seed"), 999)
    assert_same(sf.frequent_itemsets(source, CHANNEL, 0.1), sf.frequent_itemsets(seeds, CHANNEL, 0.1))


def test_who_gave_no_size_gave_no_report() -> None:
    reports = CHANNEL.randomize(people(500, 7), rng=1)
    columns = {**in_columns(reports, "bitmap"), "size": pa.array([None, *reports.sizes[1:].tolist()], pa.uint16())}
    given = (held(columns, 99), reports[1:])
    assert_same(*(sf.frequent_itemsets(each, CHANNEL, 0.1, certain=False) for each in given))


# --- refusals ---------------------------------------------------------------------------------------------------------

SEEDS = in_columns(CHANNEL.randomize(people(50, 8), rng=1, compress=True), "seed")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (SEEDS | {"size": [9] * 50}, "size 9 have no design"),
        (SEEDS | {"size": [70_000] * 50}, "a size is no whole number"),
        (SEEDS | {"size": ["two"] * 50}, "a size is no whole number"),
        (SEEDS | {"seed": [None, *SEEDS["seed"][1:]]}, "the bytes are missing"),
        (SEEDS | {"seed": ["xy"] * 50}, "hexadecimal digits"),
        (SEEDS | {"size": [5] * 50, "seed": [bytes(2)] * 50}, "too short"),
        ({"size": [2], "bitmap": [bytes(100)]}, "a report has 104 bytes where 70 items need 16"),
        ({"size": [2] * 5, "basket": [["item 1"]] * 4 + [["item 99"]]}, "in basket 4"),
        ({"size": [2] * 5, "basket": [["item 1"]] * 4 + [["item 1"] * 2]}, "twice in basket 4"),
        ({"size": [2] * 5, "basket": ["item 1"] * 5}, "not of lists of items"),
        ({"seed": [b"1"]}, "needs the columns size and bitmap"),
        ({"size": [2], "bitmap": [b"1"], "seed": [b"1"]}, "needs the columns size and bitmap"),
        ({name: column[:0] for name, column in SEEDS.items()}, "there are no reports"),
    ],
)
def test_reports_that_cannot_be_read_are_refused_in_one_line(columns: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as refused:
        sf.frequent_itemsets(held(columns, 3), CHANNEL, 0.5)
    assert "\n" not in str(refused.value)


def test_a_level_that_is_none_or_missing_is_refused() -> None:
    columns = in_columns(CHANNEL.randomize(people(10, 9, sizes=[2]), rng=1), "bitmap")
    with pytest.raises(ValueError, match=r"'basket\.level' is missing"):
        sf.frequent_itemsets(held(columns, 3), CHOICE, 0.5)
    with pytest.raises(ValueError, match="'bold'"):
        sf.frequent_itemsets(held(columns | {"basket.level": ["bold"] * 10}, 3), CHOICE, 0.5)


def test_seeds_are_not_read_beyond_their_independence() -> None:
    with pytest.raises(ValueError, match="seeds are made for itemsets up to 3"):
        sf.frequent_itemsets(held(SEEDS, 30), CHANNEL, 0.5, max_len=4)


def test_clean_baskets_have_a_column() -> None:
    with pytest.raises(ValueError, match="column 'basket' of baskets is missing"):
        sf.frequent_itemsets(held({"a": [[1]], "b": [[1]]}, 3), None, 0.5)
    with pytest.raises(ValueError, match=r"an item.* is twice in basket 5"):
        sf.frequent_itemsets(held({"basket": [[1, 2]] * 5 + [[1, 1]]}, 4), None, 0.5)


def test_a_channel_must_report_sets_of_items() -> None:
    coin: SelectASize = sf.RandomizedResponse(sf.Categories([1, 2]), keep=0.5)  # type: ignore[assignment]
    with pytest.raises(TypeError, match="itemsets need SelectASize"):
        sf.frequent_itemsets(held(SEEDS, 9), coin, 0.5)


# --- plans ------------------------------------------------------------------------------------------------------------


def plan_of(**channels: Any) -> sf.Plan:
    attributes = {name: {"items": list(ITEMS.labels), **channel.to_spec()} for name, channel in channels.items()}
    return sf.Plan.from_dict({"attributes": attributes | {"age": {"low": 0, "high": 9, "role": "clear"}}})


def test_the_channel_is_that_of_the_plan() -> None:
    reports = CHANNEL.randomize(people(1000, 10), rng=1)
    columns, expected = in_columns(reports, "bitmap", "stops."), sf.frequent_itemsets(reports, CHANNEL, 0.1)
    one, two = plan_of(stops=CHANNEL), plan_of(stops=CHANNEL, other=CHOICE)
    assert_same(sf.frequent_itemsets(held(columns, 99, one), min_support=0.1), expected)
    assert_same(sf.frequent_itemsets(held(columns, 99, two), CHANNEL, min_support=0.1), expected)
    with pytest.raises(ValueError, match="2 attributes of the plan"):
        sf.frequent_itemsets(held(columns, 99, two), min_support=0.1)
    with pytest.raises(ValueError, match="0 attributes of the plan"):
        sf.frequent_itemsets(held(columns, 99, one), CHOICE, min_support=0.1)


@pytest.mark.parametrize("form", ["bitmap", "seed", "list"])
def test_a_table_in_memory_is_read_as_one_batch(form: str) -> None:
    reports = CHANNEL.randomize(people(500, 11), rng=1, compress=form == "seed")
    table = pd.DataFrame(in_columns(reports, form, "basket."))
    table.loc[3, "basket.size"] = None
    found = sf.frequent_itemsets(sf.Reports(table, plan_of(basket=CHANNEL)), min_support=0.1)
    assert_same(found, sf.frequent_itemsets(reports[np.arange(500) != 3], CHANNEL, 0.1))


def test_reports_of_another_plan_are_refused() -> None:
    columns = SEEDS | {"sfumato.plan": ["0123 other"] * 50}
    with pytest.raises(ValueError, match="use the plan that made them"):
        sf.frequent_itemsets(held(columns, 9, plan_of(basket=CHANNEL)), min_support=0.5)


def test_weights_and_a_missing_support_are_refused() -> None:
    with pytest.raises(ValueError, match="leave weights out"):
        sf.frequent_itemsets(sf.Reports(ArrowSource(SEEDS, 9), weights="size"), CHANNEL, 0.5)
    with pytest.raises(ValueError, match="min_support = None is no share"):
        sf.frequent_itemsets(held(SEEDS, 9), CHANNEL)
