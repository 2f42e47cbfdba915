"""Domains and code spaces."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.domain import (
    Cells,
    Grid,
    array_of_labels,
    as_numbers,
    codes_of_labels,
    domain_from_spec,
    domain_to_spec,
    texts_of,
)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sf.Interval(80, 20), "swap"),
        (lambda: sf.Interval(1, 1), "swap"),
        (lambda: sf.Interval(float("nan"), 1), "not finite"),
        (lambda: sf.Interval(0, float("inf")), "not finite"),
        (lambda: sf.Interval(0.5, 3, integer=True), "whole number"),
        (lambda: sf.Categories([]), "empty"),
        (lambda: sf.Categories(["a", "a"]), "twice"),
        (lambda: sf.Categories(["a", None]), "missing"),
        (lambda: sf.Items(0), "no item"),
    ],
)
def test_impossible_domains_are_refused_with_the_fix(make: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    "make", [lambda: sf.Interval("a", 1), lambda: sf.Categories("abc"), lambda: sf.Interval(True, 3)]
)
def test_wrong_types_are_refused(make: object) -> None:
    with pytest.raises(TypeError):
        make()  # type: ignore[operator]


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1))
def test_categories_round_trip_with_gaps(values: list[str | None]) -> None:
    colours = sf.Categories(["c", "a", "b"])
    assert colours.decode(colours.encode(np.array(values, dtype=object))).tolist() == values


def test_categories_that_are_their_numbers_are_as_good_as_listed_ones() -> None:
    numbered, listed = sf.Categories(4), sf.Categories([0, 1, 2, 3])
    for values in ([3, 0, None, 1], np.array([2, 0]), [3.0, 1.0]):
        assert numbered.encode(values).tolist() == listed.encode(values).tolist()
    assert numbered.decode(np.array([3, -1, 0])).tolist()[::2] == [3, 0] and numbered.size == 4
    assert domain_to_spec(numbered) == {"categories": 4} and domain_from_spec({"categories": 4}) == numbered
    coins = (sf.RandomizedResponse(each, gamma=9) for each in (numbered, listed))
    reports = [coin.randomize([3, 0, 1] * 50, rng=5).tolist() for coin in coins]
    assert reports[0] == reports[1]
    for channel in (sf.RandomizedResponse(numbered, gamma=9), sf.SubsetResponse(numbered, gamma=3)):
        estimate = sf.reconstruct(channel.randomize([3] * 900 + [0] * 100, rng=5), channel)
        assert estimate.categories == (0, 1, 2, 3) and estimate.probabilities.argmax() == 3


@pytest.mark.parametrize("labels", [[0, 1, 2], [2.5, 0.5], [True, False], ["x", "y"], ["x", 1, True and 2]])
def test_labels_keep_their_type(labels: list[object]) -> None:
    space = sf.Categories(labels)
    assert space.decode(space.encode(labels)).tolist() == labels
    assert space.decode(np.array(1)).item() == labels[1]
    assert space.decode(np.array(-1)).item() in (None, pytest.approx(np.nan, nan_ok=True))


@pytest.mark.parametrize(
    "column",
    [
        [1, None, 2],
        np.array([1, np.nan, 2]),
        pd.Series([1, None, 2]),
        pd.Series([1, None, 2], dtype="Int64"),
        pl.Series([1, None, 2]),
        pa.array([1, None, 2]),
        pa.chunked_array([[1, None], [2]]),
        np.ma.array([1, 9, 2], mask=[0, 1, 0]),
    ],
    ids=lambda column: type(column).__name__,
)
def test_columns_of_every_library_become_numbers(column: object) -> None:
    np.testing.assert_array_equal(as_numbers(column), [1, np.nan, 2])
    np.testing.assert_array_equal(sf.Categories([2, 1]).encode(column), [1, -1, 0])


@pytest.mark.parametrize(
    "column", [["41"], np.array(["x"]), [True, False], np.array(["2020-01-01"], dtype="M8[D]"), [{}]]
)
def test_columns_that_are_no_numbers_are_refused_by_value(column: object) -> None:
    with pytest.raises(TypeError, match=r"convert the column to numbers"):
        as_numbers(column)


TWO = sf.Categories(["yes", "no"])
BAD = {
    "categories that repeat": (lambda: sf.Categories(["a", "b", "a"]), "category 'a' is listed twice"),
    "numbers that repeat as truth values": (lambda: sf.Categories([1, True]), "listed twice"),
    "an empty list": (lambda: sf.Categories([]), "categories is empty"),
    "an empty array": (lambda: sf.Categories(np.array([])), "categories is empty"),
    "a missing label": (lambda: sf.Categories(["a", None]), "a category is missing"),
    "one text": (lambda: sf.Categories("abc"), "is one text; give a list"),
    "a number": (lambda: sf.Categories(3.5), "categories=3.5 is of type float; give a list"),
    "a truth value": (lambda: sf.Categories(True), "categories=True is of type bool; give a list"),
    "a number of no category": (lambda: sf.Categories(0), "categories = 0 holds no item; give a positive number"),
    "a number of too many": (lambda: sf.Categories(1 << 30), "1.07e+09 categories are more than 1,048,576"),
    "a set": (lambda: sf.Categories({"a", "b"}), "order matters; give a list"),
    "a mapping": (lambda: sf.Categories({"a": 1}), "order matters; give a list"),
    "half an item": (lambda: sf.Items(2.5), "give a list of labels"),
    "no item": (lambda: sf.Items(0), "holds no item"),
    "one category": (lambda: sf.RandomizedResponse(sf.Categories(["a"]), gamma=19), "at least two categories"),
    "one category in subsets": (lambda: sf.SubsetResponse(sf.Categories(["a"]), gamma=19), "2 to 524,288 categories"),
    "gamma of one": (lambda: sf.RandomizedResponse(TWO, gamma=1), "gamma=1 is not above 1"),
    "gamma below one": (lambda: sf.SubsetResponse(TWO, gamma=0.5), "gamma=0.5 is not above 1"),
    "gamma of one for numbers": (lambda: sf.SquareWave(sf.Interval(0, 1), gamma=1), "gamma=1 is not above 1"),
    "gamma of one for means": (lambda: sf.Piecewise(sf.Interval(0, 1), gamma=1), "gamma=1 is not above 1"),
    "gamma of one for baskets": (
        lambda: sf.SelectASize.design(sf.Items(9), sizes=[3], gamma=1, up_to=2), "give a number above 1"
    ),
    "a bound nobody can read through": (lambda: sf.Laplace(sf.Interval(0, 1), gamma=1.0001), "too wide to read"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(case: str) -> None:
    call, words = BAD[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.floats(-1e3, 1e3), st.integers(-4, 4), st.integers(1, 2000))
def test_grid_values_have_their_own_codes(origin: float, power: int, size: int) -> None:
    grid = Grid(round(origin, 3), 10.0**power, size)
    np.testing.assert_array_equal(grid.encode(grid.values), np.arange(size))


def test_grid_numbers_are_the_decimals_people_write() -> None:
    assert Grid(-12.3, 0.1, 300).values[[0, 126, 299]].tolist() == [-12.3, 0.3, 17.6]


def test_cells_hold_their_lower_edge_and_gather_what_lies_beyond() -> None:
    cells = Cells((0.0, 1.0, 3.0))
    assert cells.encode([-5, 0, 1, 2.9, 3, 9, np.nan]).tolist() == [0, 0, 1, 1, 1, 1, -1]
    assert cells.values.tolist() == [0.5, 2.0]


def test_one_missing_answer_among_texts_stays_missing() -> None:
    channel = sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=3)
    assert channel.randomize(None) is None
    assert channel.randomize(None, key=b"sixteen bytes or more", question="q") is None


MIXED = [True, "yes", 2]


def test_the_text_of_a_label_stands_for_it_where_labels_are_of_several_kinds() -> None:
    mixed = sf.Categories(MIXED)
    assert mixed.mixed and not sf.Categories([1, 2.5]).mixed
    assert mixed.encode(np.array(["yes", "True", "2"])).tolist() == mixed.encode(["yes", True, 2]).tolist() == [1, 0, 2]
    assert sf.Categories([1, "1"]).encode(np.array(["1"])).tolist() == [1]  # a label that is this text itself
    with pytest.raises(ValueError, match="unknown category"):
        sf.Categories([1, 2]).encode(["1"])


def test_labels_of_several_kinds_are_sorted_and_coded_kind_by_kind() -> None:
    labels = np.array(["b", 2, True, "a", 1.5, 2], dtype=object)
    found, codes = codes_of_labels(labels)
    assert [(type(one), one) for one in found] == [(bool, True), (float, 1.5), (int, 2), (str, "a"), (str, "b")]
    assert found[codes].tolist() == labels.tolist()
    assert array_of_labels([True, False]).dtype == bool and array_of_labels([1, "1"]).tolist() == [1, "1"]


@pytest.mark.parametrize("labels", [[1, True], [1, 1.0], [0, False], ["a", "a"]])
def test_labels_that_python_holds_for_equal_are_refused(labels: list[object]) -> None:
    with pytest.raises(ValueError, match="listed twice"):
        sf.Categories(labels)


def test_labels_that_are_the_same_text_are_refused_for_a_column_of_one_type() -> None:
    assert texts_of(np.array([*MIXED, None], dtype=object)).tolist() == ["True", "yes", "2", None]
    with pytest.raises(ValueError, match="labels 2 and '2' are the same text"):
        texts_of(np.array([2, "2"], dtype=object))
