"""Reports: one question, the same answer however the reports came and whatever counted them."""

import json
from importlib import import_module

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.counts import Fold, Reports, columns

AGE = sf.Gaussian(sf.Interval(20, 80), privacy=1.0)
COLOUR = sf.RandomizedResponse(sf.Categories(["red", "green", "blue"]), keep=0.7)
CHOICE = sf.Choice({"soft": sf.RandomizedResponse(COLOUR.domain, keep=0.9), "hard": COLOUR})
TWO = sf.Choice({"a": AGE, "b": sf.Gaussian(AGE.domain, privacy=2.0)})
CHANNELS = {"age": AGE, "colour": COLOUR}


def table(n: int = 400, seed: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    age = AGE.randomize(rng.uniform(20, 80, n), rng=rng)
    colour = COLOUR.randomize(rng.choice(["red", "green", "blue"], n), rng=rng).astype(object)
    age[rng.random(n) < 0.1], colour[rng.random(n) < 0.1] = np.nan, None
    return {"age": age, "colour": colour, "town": rng.choice(["A", "B"], n), "group": rng.choice(["x", "y", "z"], n)}


def by_hand(reports: Reports, names, cells, weight, chosen) -> np.ndarray:
    """Count records one by one."""
    sizes = [int(np.max(cell)) + 1 + reports.column(name).has_missing for name, cell in zip(names, cells, strict=True)]
    counts = np.zeros((*sizes, len(reports.classes)))
    for i in np.flatnonzero(chosen):
        place = [
            cell[reports.column(name).codes[i]] if reports.column(name).codes[i] >= 0 else max(cell) + 1
            for name, cell in zip(names, cells, strict=True)
        ]
        counts[(*place, reports.class_codes[i])] += weight[i]
    return counts


@pytest.fixture(params=[True, False], ids=["compiled", "numpy"])
def compiled(request, monkeypatch):
    kernels = import_module("sfumato.counts.kernels") if request.param else None
    monkeypatch.setattr(columns, "kernels_for", lambda size: kernels)


def halves(channel, cells: int) -> np.ndarray:
    return np.arange(channel.outputs.size) * cells // channel.outputs.size


@pytest.mark.parametrize("fold", [None, Fold(0, 3), ~Fold(0, 3), Fold(range(2, 5), 10, salt=7)])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_combination_is_counted_as_by_hand(compiled, fold, weighted):
    given = table()
    weight = np.random.default_rng(1).integers(1, 5, 400) / 2 if weighted else np.ones(400)
    reports = Reports(given, CHANNELS, target="group", weights=weight if weighted else None, seed=5)
    names, cells = ["age", "colour", "town"], [halves(AGE, 4), np.array([0, 1, 1]), np.array([0, 1])]
    chosen = np.ones(400, bool) if fold is None else reports.chosen(fold)
    expected = by_hand(reports, names, cells, weight, chosen)
    found = reports.counts(names, cells, fold=fold)
    assert found.shape == (5, 3, 2, 3)
    assert np.array_equal(found, expected)
    assert np.array_equal(reports.counts(names, cells, fold=fold, by_class=False), expected.sum(axis=-1))
    occurring = reports.combinations(names, cells, fold=fold)
    assert np.array_equal(occurring.counts, expected[tuple(occurring.rows.T)])
    assert len(occurring.rows) == np.count_nonzero(expected.sum(axis=-1))


def test_a_fold_is_one_more_cell():
    reports = Reports(table(), CHANNELS, target="group")
    apart = reports.counts(["colour"], by_fold=4)
    assert np.array_equal(apart.sum(axis=0), reports.counts(["colour"]))
    for number in range(4):
        assert np.array_equal(apart[number], reports.counts(["colour"], fold=Fold(number, 4)))


def test_squares_of_weights_are_summed_for_standard_errors():
    reports = Reports({"colour": ["red", "red"]}, {"colour": COLOUR}, weights=[2.0, 3.0])
    assert reports.counts(["colour"], squared=True).tolist() == [13, 0, 0]


def test_no_columns_give_the_counts_of_classes():
    given = table()
    assert Reports(given, CHANNELS, target="group").counts().tolist() == [
        (given["group"] == name).sum() for name in "xyz"
    ]


def test_cells_may_be_given_by_an_object_that_knows_how_many_there_are():
    class Cells:
        cell_of_code, reported = np.array([0, 0, 2]), 5

    assert Reports({"colour": ["red", "blue"]}, [COLOUR]).counts("colour", [Cells]).tolist() == [1, 0, 1, 0, 0]


FRAMES = {
    "mapping": lambda t: t,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "duckdb": lambda t: duckdb.from_arrow(pa.table(t)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_table_gives_the_same_counts(kind):
    given = table()
    plain = Reports(given, CHANNELS, target="group").counts(["age", "colour", "town"])
    assert np.array_equal(Reports(FRAMES[kind](given), CHANNELS, target="group").counts([0, 1, 2]), plain)


def test_an_array_has_columns_x0_x1():
    ages = np.column_stack([table()["age"]] * 2)
    reports = Reports(ages, [AGE, None], target=np.arange(400) % 2)
    assert reports.names == ("x0", "x1")
    assert np.array_equal(reports.of("x0").histogram, sf.Counts.of(ages[:, 0], AGE).histogram)
    assert reports.counts(["x1"]).sum() == 400


def test_one_column_gives_the_counts_that_reconstruction_reads():
    given = table()
    found = Reports(given, CHANNELS, target="group").of("age", by_class=True)
    plain = sf.Counts.of(given["age"], AGE, by=given["group"])
    assert found.classes == plain.classes
    assert np.array_equal(found.histogram, plain.histogram)
    assert np.array_equal(found.levels[None].missing, plain.levels[None].missing)


def test_levels_of_labels_are_read_from_an_array_of_text_too():
    level = np.array(["hard", "soft", "hard"])
    given = {"colour": np.array(["red", "green", "blue"]), "colour.level": level}
    found = Reports(given, {"colour": CHOICE}).of("colour")
    assert [tally.histogram.sum() for tally in found.levels.values()] == [1, 2]


@pytest.mark.parametrize("beside", ["column", "argument"])
def test_levels_follow_one_another_and_come_apart_again(beside):
    rng = np.random.default_rng(2)
    level = rng.choice(["hard", "soft"], 300)
    colour = CHOICE.randomize(rng.choice(["red", "green", "blue"], 300), rng=rng, level=level).astype(object)
    colour[:7] = None
    given = {"colour": colour, **({"colour.level": level} if beside == "column" else {})}
    reports = Reports(given, {"colour": CHOICE}, levels=None if beside == "column" else {"colour": level})
    plain = sf.Counts.of(colour, CHOICE, level=level)
    assert reports.names == ("colour",)
    assert reports.column("colour").size == 6
    for name, tally in plain.levels.items():
        assert np.array_equal(reports.of("colour").levels[name].histogram, tally.histogram)
        assert np.array_equal(reports.of("colour").levels[name].missing, tally.missing)


def test_people_who_name_no_level_have_the_default():
    reports = Reports({"colour": ["red", "red"], "colour.level": [None, "hard"]}, {"colour": CHOICE})
    assert reports.column("colour").codes.tolist() == [0, 3]
    assert Reports({"colour": ["red"]}, {"colour": CHOICE}).column("colour").codes.tolist() == [0]


@pytest.mark.parametrize("kind", FRAMES)
def test_values_and_codes_read_back_the_same(kind):
    given = table()
    level = np.random.default_rng(0).choice(["hard", "soft"], 400)
    reports = Reports({**given, "colour.level": level}, {"age": AGE, "colour": CHOICE})
    coded = reports.to_codes()
    assert set(coded) == {"age.code", "colour.code", "colour.level", "town", "group"}
    again = Reports(FRAMES[kind](coded), {"age": AGE, "colour": CHOICE})
    assert again.names == reports.names
    for name in reports.names:
        assert np.array_equal(again.sampled().column(name).codes, reports.column(name).codes)


def test_values_are_the_reports_as_they_came_or_decoded():
    given = table()
    level = np.random.default_rng(0).choice(["hard", "soft"], 400)
    reports = Reports({**given, "colour.level": level}, {"age": AGE, "colour": CHOICE})
    again = Reports(reports.to_codes(), {"age": AGE, "colour": CHOICE})
    assert np.array_equal(again.values("age"), given["age"], equal_nan=True)
    assert again.values("colour").tolist() == reports.values("colour").tolist() == given["colour"].tolist()


def test_reports_are_aimed_at_another_class_without_reading_them_again():
    given = table()
    reports = Reports(given, CHANNELS)
    reports.column("age")
    aimed = reports.aimed("group", weights=np.full(400, 2.0))
    assert aimed.column("age") is reports.column("age")
    assert (aimed.names, aimed.classes) == (("age", "colour", "town"), ("x", "y", "z"))
    assert np.array_equal(aimed.counts("age"), 2 * Reports(given, CHANNELS, target="group").counts("age"))
    assert reports.classes is None


PLAN = sf.Plan.from_dict(
    {
        "name": "survey",
        "attributes": {
            "age": {"low": 20, "high": 80, "channel": "gaussian", "privacy": 1.0},
            "colour": {"categories": ["red", "green", "blue"], "channel": "randomized-response", "keep": 0.7},
            "town": {"categories": ["A", "B"], "role": "clear"},
            "group": {"categories": ["x", "y", "z"], "role": "class"},
        },
    }
)


def test_a_plan_knows_its_channels_and_its_class():
    given = table()
    reports = Reports({**given, "number": np.arange(400)}, PLAN)
    assert (reports.names, reports.target) == (("age", "colour", "town"), "group")
    assert np.array_equal(reports.counts(["age"]), Reports(given, CHANNELS, target="group").counts(["age"]))


def test_plan_counts_are_the_counts_of_its_blurred_attributes():
    given = table()
    assert set(PLAN.counts(pd.DataFrame(given))) == {"age", "colour"}
    assert np.array_equal(PLAN.counts(given)["age"].histogram, sf.Counts.of(given["age"], AGE).histogram)
    assert PLAN.counts(given, by="group")["colour"].classes == ("x", "y", "z")
    assert PLAN.counts({"age": given["age"]}).keys() == {"age"}


def test_counts_travel_as_plain_data_with_the_identity_of_their_channel():
    given = table()
    for channel, level in ((AGE, None), ({"a": AGE}, "a")):
        counts = sf.Counts.of(given["age"], channel, by=given["group"], level=level)
        again = sf.Counts.from_dict(json.loads(json.dumps(counts.to_dict())), channel)
        assert again.classes == counts.classes
        assert np.array_equal(again.histogram, counts.histogram)
        assert again.missing == counts.missing
        assert (again + counts).total == 2 * counts.total


BAD = {
    "another channel": (
        lambda: sf.Counts.from_dict(sf.Counts.of([30.0], AGE).to_dict(), sf.Gaussian(sf.Interval(20, 80), privacy=2)),
        "another channel",
    ),
    "a level that the channel lacks": (
        lambda: sf.Counts.from_dict(sf.Counts.of(["red"], CHOICE, level="hard").to_dict(), {"soft": COLOUR}),
        "level 'hard' is unknown",
    ),
    "an unknown column": (lambda: Reports({"age": [1.0]}, [AGE]).column("aeg"), "'aeg' is not among the reports"),
    "an infinite report": (
        lambda: Reports({"age": [30.0] * 17 + [np.inf]}, [AGE]).column("age"),
        "row 18, column 'age': the report is infinite",
    ),
    "an unknown category": (
        lambda: Reports({"colour": ["red"] * 9 + ["mauve"] + ["red"] * 9}, [COLOUR]).column("colour"),
        "row 10, column 'colour': unknown category 'mauve'",
    ),
    "a code that is none": (
        lambda: Reports({"colour.code": [0, 1, 3]}, {"colour": COLOUR}).column("colour"),
        "row 3, column 'colour.code': 3 is no report code",
    ),
    "an infinite report of one level": (
        lambda: Reports({"age": [30.0, 31.0, np.inf], "age.level": ["a", "b", "b"]}, [TWO]).column("age"),
        "row 3, column 'age': the report is infinite",
    ),
    "columns of two lengths": (lambda: Reports({"a": [1.0], "b": [1.0, 2.0]}), "differ in length"),
    "a channel for no column": (lambda: Reports({"a": [1.0]}, {"b": AGE}), "'b', which is not there"),
    "too many channels": (lambda: Reports({"a": [1.0]}, [AGE, AGE]), "2 entries for 1 columns"),
    "one channel for a table": (lambda: Reports({"a": [1.0]}, AGE), "neither a list"),
    "a class column that is not there": (lambda: Reports({"a": [1.0]}, target="b"), "class column 'b'"),
    "an unknown level": (
        lambda: Reports({"c": ["red"], "c.level": ["mild"]}, {"c": CHOICE}).column("c"),
        "level 'mild' is unknown",
    ),
    "cells for other codes": (lambda: Reports({"c": ["red"]}, [COLOUR]).counts("c", [[0, 1]]), "there are 3"),
    "a fold that is none": (lambda: Fold(3, 3), "folds are numbered"),
    "a flat array": (lambda: Reports(np.zeros(3)), "shape (3,)"),
    "counts of a clear column": (lambda: Reports({"a": [1.0]}).of("a"), "sent in the clear"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(case):
    call, words = BAD[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def held_in(kind: str, columns: dict[str, np.ndarray]):
    """The columns as a mapping, a pandas frame, or a lazy one."""
    frame = {"mapping": dict, "pandas": pd.DataFrame, "lazy": lambda given: pl.from_pandas(pd.DataFrame(given)).lazy()}
    return frame[kind](columns)


@pytest.mark.parametrize("kind", ["mapping", "pandas", "lazy"])
def test_clear_numbers_with_gaps_are_numbers_in_every_table(kind):
    column = Reports(held_in(kind, {"n": np.array([2, None, 0, 2], object)})).column("n")
    assert column.labels is None and column.values.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("kind", ["mapping", "pandas", "lazy"])
def test_a_clear_column_that_nobody_answered_holds_the_labels_of_the_plan(kind):
    spec = {"town": {"categories": ["A", "B"], "role": "clear"}, "age": {"low": 0, "high": 9, "role": "clear"}}
    plan = sf.Plan.from_dict({"attributes": spec})
    given = held_in(kind, {"town": np.full(3, None), "age": np.full(3, np.nan)})
    reports = Reports(given, plan)
    for each in (reports, reports.sampled()):
        assert each.column("town").labels == ("A", "B") and each.column("town").histogram.tolist() == [0, 0]
        assert each.column("age").labels is None and each.column("age").histogram.tolist() == [0]
    assert Reports(given).column("town").labels is None and Reports(given).column("town").histogram.tolist() == [0]
