"""Domains: intervals, categories and items, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.domain import domain_from_spec, domain_to_spec


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


@pytest.mark.parametrize("labels", [[1, True], [1, 1.0], [0, False], ["a", "a"]])
def test_labels_that_python_holds_for_equal_are_refused(labels: list[object]) -> None:
    with pytest.raises(ValueError, match="listed twice"):
        sf.Categories(labels)
