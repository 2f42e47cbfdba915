"""Baskets are read alike from every form; reports keep their people, sizes and bits through every change of form."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import sfumato as sf
from sfumato.channels.baskets.reports import BasketReports, Baskets, pack_bits, pick_bits, rows_by_size, unpack_bits
from sfumato.domain import showing_values

ROWS = [[3, 1], [0], [2, 0, 3], []]


def one_hot() -> np.ndarray:
    table = np.zeros((4, 5), dtype=bool)
    for row, basket in enumerate(ROWS):
        table[row, basket] = True
    return table


@pytest.mark.parametrize(
    "baskets",
    [
        ROWS,
        [set(row) for row in ROWS],
        [np.array(row, dtype=int) for row in ROWS],
        pd.Series(ROWS),
        pa.array(ROWS),
        pa.chunked_array([pa.array(ROWS[:2]), pa.array(ROWS[2:])]),
        pl.Series(ROWS),
        sparse.csr_matrix(one_hot()),
        sparse.coo_array(one_hot().astype(int)),
        pd.DataFrame(one_hot(), columns=range(5)),
    ],
    ids=lambda baskets: type(baskets).__name__,
)
def test_every_form_gives_the_same_baskets(baskets: object) -> None:
    read = Baskets.read(baskets, sf.Items(5))
    assert read.to_lists() == [sorted(row) for row in ROWS]
    assert read.sizes.tolist() == [2, 1, 3, 0]


def test_bits_survive_packing() -> None:
    bits = np.random.default_rng(2).random((7, 131)) < 0.4
    assert np.array_equal(unpack_bits(pack_bits(bits), 131), bits)


def test_baskets_are_chosen_by_row_and_rows_by_size() -> None:
    read = Baskets.read(ROWS, sf.Items(5))
    assert read[np.array([2, 0])].to_lists() == [[0, 2, 3], [1, 3]]
    assert read[1:].to_lists() == [[0], [0, 2, 3], []]
    assert read[:0].to_lists() == []
    found = [(size, rows.tolist()) for size, rows in rows_by_size(np.array([2, 1, 2, 2]), [1, 2, 3], 2)]
    assert found == [(1, [1]), (2, [0, 2]), (2, [3])]


def test_labels_are_found_and_sorted_when_no_items_are_given() -> None:
    read = Baskets.read([["tea", "milk"], ["bread"]])
    assert read.items.labels == ("bread", "milk", "tea")
    assert read.to_lists() == [["milk", "tea"], ["bread"]]


@pytest.mark.parametrize(
    ("baskets", "message"),
    [
        ([[1], [7]], "unknown item in basket 1; use the items 0 to 4"),
        ([[1], ["tea"]], "unknown item in basket 1"),
        ([[1, 2, 1]], "an item is twice in basket 0"),
        (sparse.csr_matrix(np.ones((2, 3))), "3 columns for 5 items"),
        (pa.array([[1], None]), "a basket is missing"),
    ],
)
def test_bad_baskets_are_refused_in_one_line(baskets: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        Baskets.read(baskets, sf.Items(5))
    assert "\n" not in str(refusal.value)


def test_an_unknown_label_is_named_by_its_basket_and_shown_to_its_owner_alone() -> None:
    with pytest.raises(ValueError, match="unknown item in basket 2"):
        Baskets.read([["tea"], ["milk"], ["tea", "gin"]], sf.Items(["tea", "milk"]))
    with showing_values(), pytest.raises(ValueError, match="unknown item 'gin' in basket 2"):
        Baskets.read([["tea"], ["milk"], ["tea", "gin"]], sf.Items(["tea", "milk"]))


@pytest.mark.parametrize("baskets", [["tea", "milk"], "tea", 5])
def test_what_is_no_list_of_baskets_is_refused(baskets: object) -> None:
    with pytest.raises(TypeError, match=r"give a list"):
        Baskets.read(baskets, sf.Items(["tea", "milk"]))


def test_a_one_hot_table_with_other_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="other than 0/1"):
        Baskets.read(pd.DataFrame({"tea": [0, 2]}))


ITEMS = sf.Items(["tea", "milk", "bread"])
SHOWN = [["tea"], [], ["milk", "bread"]]


def reports() -> BasketReports:
    return BasketReports.of_lists(ITEMS, SHOWN, [2, 1, 2])


def test_lists_come_back() -> None:
    assert reports().to_lists() == SHOWN


def test_bytes_come_back() -> None:
    again = BasketReports.of_bytes(ITEMS, [2, 1, 2], reports().to_bytes(), compressed=False)
    assert again.to_lists() == SHOWN
    assert again.sizes.tolist() == [2, 1, 2]


def test_bytes_may_be_as_few_as_the_bits_need() -> None:
    short = reports().to_bytes(bits=3)
    assert [len(row) for row in short] == [1, 1, 1]
    assert BasketReports.of_bytes(ITEMS, [2, 1, 2], short, compressed=False).to_lists() == SHOWN


def test_reports_of_other_people_add_up() -> None:
    both = reports() + reports()[1:]
    assert both.to_lists() == SHOWN + SHOWN[1:]
    assert both.sizes.tolist() == [2, 1, 2, 1, 2]


def test_seeds_and_bitmaps_do_not_add_up() -> None:
    seeds = BasketReports(ITEMS, np.ones(1, dtype=np.uint16), np.zeros((1, 1), dtype=np.uint64), compressed=True)
    with pytest.raises(ValueError, match="do not add up"):
        reports() + seeds
    with pytest.raises(ValueError, match=r"channel\.expand"):
        seeds.to_lists()


def test_a_size_is_needed_for_every_report() -> None:
    with pytest.raises(ValueError, match="2 sizes for 3 reports"):
        BasketReports.of_lists(ITEMS, SHOWN, [2, 1])


@pytest.mark.parametrize(
    "kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1), pa.dictionary(pa.int8(), pa.binary())]
)
def test_bytes_come_back_from_every_kind_of_arrow(kind: pa.DataType) -> None:
    short = reports().to_bytes(bits=3)
    column = pa.chunked_array([pa.array(part, kind) for part in (short, short[:1], [])])
    again = BasketReports.of_arrow(ITEMS, pa.array([2, 1, 2, 2]), column, compressed=False)
    assert again.to_lists() == [*SHOWN, SHOWN[0]]
    assert again[1:].sizes.tolist() == [1, 2, 2]
    part = BasketReports.of_arrow(ITEMS, [1, 2], column.slice(1, 2), compressed=False)
    assert part.to_lists() == SHOWN[1:]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_texts_of_hexadecimal_digits_are_bytes(kind: pa.DataType) -> None:
    column = pa.array(["0fA0", "", "01020304050607080910"], kind)
    seeds = BasketReports.of_arrow(ITEMS, [1, 1, 1], column, compressed=True)
    assert seeds.words.tolist() == [[0xA00F, 0], [0, 0], [0x0807060504030201, 0x1009]]


@pytest.mark.parametrize("cells", [["0g"], ["012"], [None], ["0 "]])
def test_other_texts_are_no_reports(cells: list[str | None]) -> None:
    with pytest.raises(ValueError, match=r"hexadecimal digits|missing"):
        BasketReports.of_arrow(ITEMS, [1], pa.array(cells, pa.string()), compressed=True)


@pytest.mark.parametrize("sizes", [[-1], [65_536 + 2], [2.5], [np.nan], ["2"]])
def test_a_size_that_is_none_is_refused(sizes: list[object]) -> None:
    with pytest.raises(ValueError, match="a size is no whole number"):
        BasketReports.of_lists(ITEMS, [["tea"]], np.array(sizes))


def test_reports_over_other_items_are_refused() -> None:
    with pytest.raises(ValueError, match="a report has 16 bytes where 3 items need 8"):
        BasketReports.of_arrow(ITEMS, [1], pa.array([bytes(9)]), compressed=False)


@pytest.mark.parametrize("compiled", [True, False])
def test_some_items_alone_are_picked(monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    if not compiled:
        monkeypatch.setattr("sfumato.channels.baskets.reports.kernels_in", lambda module: None)
    bits = np.random.default_rng(1).random((50, 150)) < 0.5
    for places in (np.array([3, 64, 149]), np.arange(0, 150, 2), np.array([149, 0])):
        assert np.array_equal(unpack_bits(pick_bits(pack_bits(bits), places), places.size), bits[:, places])


def test_baskets_hold_what_they_hold_of_some_items() -> None:
    baskets = Baskets.read([["tea", "bread"], [], ["milk"], ["bread"]], ITEMS)
    assert baskets.holding(np.array([0, 2])).to_lists() == [["tea", "bread"], [], [], ["bread"]]


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view()])
def test_labels_in_arrow_lists_are_found(kind: pa.DataType) -> None:
    column = pa.array(SHOWN, pa.list_(pa.string())).cast(pa.list_(kind))
    assert Baskets.read(column).to_lists() == [["tea"], [], ["bread", "milk"]]
    assert Baskets.read(column, ITEMS).to_lists() == SHOWN
    with pytest.raises(ValueError, match=r"unknown item.* in basket 2"):
        Baskets.read(column, sf.Items(["tea", "bread"]))
    with pytest.raises(ValueError, match=r"unknown item.* in basket 0"):
        Baskets.read(column, sf.Items(3))


def test_a_column_of_arrow_without_lists_is_refused() -> None:
    with pytest.raises(TypeError, match="not of lists"):
        Baskets.read(pa.array(["tea"]))
