"""Counts: what is counted, and that parts add up to the whole."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.counts import Counts, columns

AGE = sf.Gaussian(sf.Interval(20, 80), privacy=1.0)
STRONG = sf.Gaussian(sf.Interval(20, 80), privacy=2.0)
COLOUR = sf.RandomizedResponse(sf.Categories(["red", "green", "blue"]), keep=0.7)


def reports(n: int = 1000, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return AGE.randomize(rng.uniform(20, 80, n), rng=rng)


def test_counting_gives_each_code_the_number_of_its_reports():
    some = reports()
    assert np.array_equal(
        Counts.of(some, AGE).histogram, np.bincount(AGE.encode_reports(some), minlength=AGE.outputs.size)
    )


def test_the_compiled_pass_counts_like_numpy(monkeypatch):
    some = reports(columns.WORTH_COMPILING + 5)
    some[[3, 77]] = np.nan
    some[5], some[6] = 1e9, -1e9
    fast = Counts.of(some, AGE)
    monkeypatch.setattr(columns, "kernels_for", lambda size: None)
    slow = Counts.of(some, AGE)
    assert np.array_equal(fast.histogram, slow.histogram)
    assert fast.missing == slow.missing == 2


@pytest.mark.parametrize("dtype", [np.int64, np.int16, np.float32])
def test_the_compiled_pass_reads_every_kind_of_number(dtype):
    ages = sf.Gaussian(sf.Interval(20, 80, integer=True), scale=5)
    some = np.arange(columns.WORTH_COMPILING) % 90
    expected = np.bincount(ages.encode_reports(some), minlength=ages.outputs.size)
    assert np.array_equal(Counts.of(some.astype(dtype), ages).histogram, expected)


def test_the_compiled_pass_rounds_as_the_grid_does():
    """On values with three decimals, half of them half way between codes: (x − origin)/step would miss some."""
    grid = sf.Gaussian(sf.Interval(0.1, 1.3), scale=0.25, step=0.002)
    some = np.arange(-500, 2000).repeat(30) / 1000
    codes = columns.codes_of(some, grid)
    assert some.size > columns.WORTH_COMPILING
    assert np.array_equal(codes, grid.outputs.encode(some))
    assert np.array_equal(Counts.of(some, grid).histogram, np.bincount(codes, minlength=grid.outputs.size))
    origin, step, last = grid.outputs.origin, grid.outputs.step, grid.outputs.size - 1
    assert not np.array_equal(codes, np.clip(np.rint((some - origin) / step), 0, last))


def test_missing_reports_are_counted_apart():
    counts = Counts.of(["red", None, "blue", None], COLOUR)
    assert (counts.total, counts.missing) == (2, 2)
    assert counts.histogram.tolist() == [1, 0, 1]


@given(st.lists(st.sampled_from(["red", "green", "blue", None]), max_size=30), st.integers(0, 30))
def test_counting_parts_and_adding_equals_counting_together(labels, cut):
    parts = [np.array(part, dtype=object) for part in (labels[:cut], labels[cut:], labels)]
    first, second, whole = (Counts.of(part, COLOUR) for part in parts)
    merged = first + second
    assert np.array_equal(merged.histogram, whole.histogram)
    assert (merged.total, merged.missing) == (whole.total, whole.missing)


def test_adding_does_not_depend_on_the_order():
    a, b = Counts.of(reports(seed=1), AGE), Counts.of(reports(seed=2), AGE)
    assert np.array_equal((a + b).histogram, (b + a).histogram)


def test_counts_by_class_are_the_counts_of_each_class():
    some, group = reports(), np.arange(1000) % 3
    counts = Counts.of(some, AGE, by=group)
    assert counts.classes == (0, 1, 2)
    for name in counts.classes:
        assert np.array_equal(counts.select(name).histogram, Counts.of(some[group == name], AGE).histogram)
    assert np.array_equal(counts.together().histogram, Counts.of(some, AGE).histogram)


def test_classes_that_only_one_part_has_survive_merging():
    merged = Counts.of(["red"], COLOUR, by=["a"]) + Counts.of(["blue", None], COLOUR, by=["b", "b"])
    assert merged.classes == ("a", "b")
    assert merged.select("b").histogram.tolist() == [0, 0, 1]
    assert merged.select("b").missing == 1


def test_each_level_keeps_its_own_channel_and_histogram():
    some, level = reports(), np.where(np.arange(1000) < 400, "normal", "strong")
    counts = Counts.of(some, {"normal": AGE, "strong": STRONG}, level=level)
    assert np.array_equal(counts.levels["normal"].histogram[0], Counts.of(some[:400], AGE).histogram)
    assert np.array_equal(counts.levels["strong"].histogram[0], Counts.of(some[400:], STRONG).histogram)
    apart = Counts.of(some[:400], AGE, level="normal") + Counts.of(some[400:], STRONG, level="strong")
    assert all(np.array_equal(apart.levels[name].histogram, counts.levels[name].histogram) for name in counts.levels)


def test_weights_say_how_many_people_a_report_stands_for():
    counts = Counts.of(["red", "blue", None], COLOUR, weights=[2.5, 1, 4])
    assert counts.histogram.tolist() == [2.5, 0, 1]
    assert (counts.total, counts.missing) == (3.5, 4)


weighted_reports = st.lists(
    st.tuples(st.sampled_from(["red", "green", "blue", None]), st.just(0.0) | st.floats(1e-9, 1e6)), max_size=30
)


@given(weighted_reports, st.integers(0, 30))
def test_weighted_parts_add_up_to_the_whole_and_travel(pairs, cut):
    def counted(some):
        labels = np.array([label for label, _ in some], dtype=object)
        return Counts.of(labels, COLOUR, weights=[weight for _, weight in some])

    merged, whole = counted(pairs[:cut]) + counted(pairs[cut:]), counted(pairs)
    assert np.allclose(merged.levels[None].weight_sums.squares, whole.levels[None].weight_sums.squares)
    assert merged.reports == whole.reports == sum(label is not None for label, _ in pairs)
    assert merged.worth == pytest.approx(whole.worth)
    assert whole.worth <= whole.reports * (1 + 1e-9)
    again = Counts.from_dict(json.loads(json.dumps(whole.to_dict())), COLOUR)
    assert (again.worth, again.reports, again.total) == (whole.worth, whole.reports, whole.total)


def test_weights_of_very_different_sizes_travel():
    table = {"colour": ["red", "blue", "green"]}
    counts = sf.Reports(table, {"colour": COLOUR}, weights=[1e6, 1e-3, 1e-3]).of("colour")
    assert counts.histogram[1] > 0
    assert Counts.from_dict(counts.to_dict(), COLOUR).worth == counts.worth == pytest.approx(1)


def test_unweighted_counts_beside_weighted_ones_count_once():
    plain, heavy = Counts.of(["red", "blue"], COLOUR), Counts.of(["red", None], COLOUR, weights=[3.0, 1.0])
    for both in (plain + heavy, heavy + plain):
        assert both.histogram.tolist() == [4, 0, 1]
        assert both.levels[None].weight_sums.squares.tolist() == [[10, 0, 1]]
        assert (both.reports, both.worth) == (3, 25 / 11)
    assert "3 reports for 5 people" in repr(plain + heavy)


def test_what_reports_are_worth_is_known_by_class():
    by, weights = ["a", "a", "b", "b"], [1.0, 3.0, 2.0, 2.0]
    counts = Counts.of(["red", "blue", "red", "blue"], COLOUR, by=by, weights=weights)
    assert counts.select("a").worth == 16 / 10
    assert counts.select("b").worth == 2
    assert counts.together().worth == 64 / 18
    assert counts.effective().select("b").histogram.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("squares", [[0.0, 0.0, 0.0]]), ("squares", [[1.0, 1.0]]), ("squares", [[-1.0, 0.0, 1.0]]), ("reports", [0]),
        ("squares", [[1e-9, 0.0, 1e-9]]), ("missing_reports", None), ("squares", [["a", "b", "c"]]),
    ],
)  # fmt: skip
def test_squares_that_no_weights_have_are_refused(key, value):
    data = Counts.of(["red", "blue"], COLOUR, weights=[2.0, 3.0]).to_dict()
    data["levels"][0][key] = value
    with pytest.raises(ValueError) as caught:
        Counts.from_dict(data, COLOUR)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("column", [pd.Series, pl.Series, pa.array, list])
def test_any_kind_of_column_is_counted(column):
    some = reports(50)
    assert np.array_equal(Counts.of(column(some), AGE).histogram, Counts.of(some, AGE).histogram)


BAD = {
    "not a channel": (lambda: Counts.of([1.0], "gaussian"), "is not a channel"),
    "an item channel": (
        lambda: Counts.of([[1]], sf.SelectASize.design(sf.Items(50), sizes=[3], gamma=19, up_to=2)),
        "frequent_itemsets",
    ),
    "an infinite report": (lambda: Counts.of([1.0, np.inf], AGE), "infinite"),
    "an infinite report among many": (lambda: Counts.of(np.append(reports(1 << 17), np.inf), AGE), "infinite"),
    "text for numbers": (lambda: Counts.of(["young"], AGE), "convert the column to numbers"),
    "an unknown category": (lambda: Counts.of(["mauve"], COLOUR), "unknown category 'mauve'"),
    "an unknown level": (lambda: Counts.of([30.0], {"a": AGE}, level="b"), "level 'b' is unknown"),
    "channels without level": (lambda: Counts.of([30.0], {"a": AGE}), "level="),
    "levels without channels": (lambda: Counts.of([30.0, 31.0], AGE, level=["a", "b"]), "mapping"),
    "too few classes": (lambda: Counts.of([30.0, 31.0], AGE, by=["a"]), "by has 1 entries for 2 reports"),
    "a word for classes": (lambda: Counts.of([30.0], AGE, by="group"), "by='group' is one text; give the class"),
    "a table for a column": (
        lambda: Counts.of(pd.DataFrame({"age": [30.0], "income": [5.0]}), AGE),
        "reports are a table with the columns age, income; give one of them",
    ),
    "a plan for a channel": (
        lambda: Counts.of([30.0], sf.Plan.from_dict({"attributes": {"x": {"categories": ["a"], "role": "clear"}}})),
        "channel=Plan is not a channel",
    ),
    "a missing class": (lambda: Counts.of([30.0, 31.0], AGE, by=["a", None]), "missing class"),
    "a negative weight": (lambda: Counts.of([30.0], AGE, weights=[-1]), "weights"),
    "two channels in one level": (lambda: Counts.of([30.0], AGE) + Counts.of([30.0], STRONG), "channels differ"),
    "by class and not": (lambda: Counts.of([30.0], AGE) + Counts.of([30.0], AGE, by=["a"]), "by class"),
    "a class nobody counted": (lambda: Counts.of([30.0], AGE, by=["a"]).select("b"), "class 'b' is unknown"),
    "the one channel of two": (
        lambda: (Counts.of([30.0], AGE, level="a") + Counts.of([30.0], STRONG, level="b")).channel,
        "2 levels",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(case):
    call, words = BAD[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
