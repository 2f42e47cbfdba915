"""Labels of every kind, and of several kinds in one list, mean the same in every kind of table and to every learner."""

import json
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.learners import LEARNERS
from sfumato.learners.estimator import learner_named
from sfumato.tables import read_columns, read_table, write_table

LABELS = {
    "whole numbers": [3, 1, 7],
    "texts": ["b", "a", "c"],
    "numbers": [0.5, 2.0, -1.0],
    "truth values": [True, False],
    "numbers and texts": [1, "one", 2.5],
    "truth values and texts": [True, "yes", "no"],
}
KINDS = ["numpy", "pandas", "polars", "pyarrow", "duckdb", "parquet", "csv"]
PEOPLE = 60


def objects(values: list[Any]) -> np.ndarray:
    return np.array([*values, None], dtype=object)[:-1]


def people_with(labels: list[Any], gaps: bool = False) -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)
    columns = {
        name: [labels[place] for place in rng.integers(0, len(labels), PEOPLE)] for name in ("colour", "shade", "kind")
    }
    if gaps:
        columns["colour"] = [None if row % 7 == 0 else label for row, label in enumerate(columns["colour"])]
    return {**columns, "age": rng.uniform(0, 10, PEOPLE).tolist()}


def plan_of(labels: list[Any]) -> sf.Plan:
    response = {"categories": labels, "channel": "randomized-response", "gamma": 19}
    return sf.Plan.from_dict({"attributes": {
        "colour": response,
        "shade": {"categories": labels, "role": "clear"},
        "kind": {"categories": labels, "role": "class"},
        "age": {"low": 0, "high": 10, "channel": "gaussian", "scale": 1},
    }})  # fmt: skip


def as_texts(column: list[Any]) -> list[Any]:
    return [None if label is None else str(label) for label in column]


def is_mixed(column: list[Any]) -> bool:
    return len({isinstance(label, str) for label in column if label is not None}) > 1


def table_of(kind: str, people: dict[str, list[Any]], folder: Any) -> Any:
    """The people as a table of a kind; mixed labels are texts where a column has one type."""
    if kind == "numpy":
        return {name: objects(column) for name, column in people.items()}
    if kind == "pandas":
        return pd.DataFrame(people)
    table = pa.table({name: as_texts(column) if is_mixed(column) else column for name, column in people.items()})
    if kind in ("parquet", "csv"):
        write_table(table, folder / f"people.{kind}")
        return folder / f"people.{kind}"
    return {"polars": pl.from_arrow, "duckdb": duckdb.from_arrow}.get(kind, lambda same: same)(table)


def randomized(plan: sf.Plan, table: Any, kind: str, folder: Any) -> Any:
    if kind in ("parquet", "csv"):
        plan.randomize(table, rng=1, to=folder / f"reports.{kind}")
        return folder / f"reports.{kind}"
    return plan.randomize(table, rng=1)


@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_are_blurred_counted_and_reconstructed_alike_in_every_table(labels, kind, gaps, tmp_path):
    plan, people = plan_of(labels), people_with(labels, gaps)
    reports = randomized(plan, table_of(kind, people, tmp_path), kind, tmp_path)
    plain = plan.randomize({name: objects(column) for name, column in people.items()}, rng=1)
    assert plan.counts(reports)["colour"].histogram.tolist() == plan.counts(plain)["colour"].histogram.tolist()
    by_kind, told = (plan.reconstruct(each, by="kind")["colour"] for each in (reports, plain))
    assert list(map(str, by_kind)) == list(map(str, told))
    for found, wanted in zip(by_kind.values(), told.values(), strict=True):
        assert found.probabilities == pytest.approx(wanted.probabilities)
    everybody = sf.Reports(reports, plan).counts(["colour", "shade"], by_class=True)
    assert everybody.tolist() == sf.Reports(plain, plan).counts(["colour", "shade"], by_class=True).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_of_mixed_labels_takes_a_column_that_holds_only_texts_of_them(kind, tmp_path):
    labels = LABELS["truth values and texts"]
    plan, people = plan_of(labels), people_with(["yes", "no"])
    reports = randomized(plan, table_of(kind, people, tmp_path), kind, tmp_path)
    assert int(plan.counts(reports)["colour"].histogram.sum()) == PEOPLE


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "duckdb", "parquet", "csv"])
def test_labels_that_are_alike_as_texts_are_refused_where_a_column_has_one_type(kind, tmp_path):
    people = people_with(["1"])
    table = table_of(kind, people, tmp_path)
    with pytest.raises(ValueError, match=r"1 and '1' are the same text.*pandas"):
        randomized(plan_of([1, "1", 2]), table, kind, tmp_path)


@pytest.mark.parametrize("kind", ["numpy", "pandas"])
def test_labels_that_are_alike_as_texts_stay_apart_in_tables_of_objects(kind, tmp_path):
    labels = [1, "1", 2]
    plan = plan_of(labels)
    reports = plan.randomize(table_of(kind, people_with(labels), tmp_path), rng=1)
    assert set(map(repr, reports["colour"])) == {"1", "'1'", "2"}
    assert list(plan.reconstruct(reports, by="kind")["colour"]) == [1, 2, "1"]


@pytest.mark.parametrize("kind", KINDS)
def test_truth_values_stay_truth_values_in_every_table(kind, tmp_path):
    people = people_with([True, False], gaps=True)
    reports = randomized(plan_of([True, False]), table_of(kind, people, tmp_path), kind, tmp_path)
    table = read_table(reports) if kind in ("parquet", "csv") else reports
    types = {
        "numpy": lambda: str(table["shade"].dtype if table["shade"].dtype != object else "bool"),
        "pandas": lambda: f"{table['shade'].dtype} {table['colour'].dtype}",
        "polars": lambda: f"{table['shade'].dtype} {table['colour'].dtype}",
        "duckdb": lambda: " ".join(map(str, (table.types[1], table.types[0]))),
    }
    expected = {"numpy": "bool", "pandas": "bool boolean", "polars": "Boolean Boolean", "duckdb": "BOOLEAN BOOLEAN"}
    arrow = lambda: f"{table.column('shade').type} {table.column('colour').type}"  # noqa: E731
    assert types.get(kind, arrow)() == expected.get(kind, "bool bool")
    if kind != "numpy":
        assert read_columns(table)["shade"].dtype == bool


# --- learners ---------------------------------------------------------------------------------------------------------


def records_of(labels: list[Any], where: str, kind: str) -> tuple[Any, Any, dict[str, Any]]:
    """Reports whose attribute (or class) has these labels, the classes, and the channels."""
    people, two = people_with(labels), people_with(["u", "v"])
    people = {**people, "kind" if where == "attribute" else "colour": two["kind"]}
    domain = sf.Categories(labels if where == "attribute" else ["u", "v"])
    channels = {"colour": sf.RandomizedResponse(domain, gamma=19), "age": sf.Gaussian(sf.Interval(0, 10), scale=1)}
    classes = people.pop("kind")
    if where == "attribute":
        people["shade"] = people["colour"]
    else:
        people.pop("shade")
    X = table_of(kind, people, None)
    return X, classes, channels


def kinds(labels: Any) -> list[Any]:
    return [(type(label), label) for label in np.asarray(labels, dtype=object).tolist()]


@pytest.mark.parametrize("where", ["attribute", "class"])
@pytest.mark.parametrize("labels", list(LABELS.values())[3:], ids=list(LABELS)[3:])
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_knows_labels_by_their_kind(name, labels, where):
    learner = learner_named(name)
    X, classes, channels = records_of(labels, where, "pandas")
    model = learner(channels=channels)
    model.fit(X, objects(classes))
    told = model.predict(X)
    assert set(kinds(told)) <= set(kinds(classes))
    assert kinds(model.classes_) == kinds(sorted(set(classes), key=lambda one: (isinstance(one, str), one)))
    again = learner.from_dict(json.loads(json.dumps(model.to_dict())))
    assert kinds(again.predict(X)) == kinds(told) and kinds(again.classes_) == kinds(model.classes_)
    assert 0 <= model.score(X, objects(classes)) <= 1
    assert kinds(model.predict(records_of(labels, where, "polars")[0])) == kinds(told)


@pytest.mark.parametrize("labels", list(LABELS.values())[3:], ids=list(LABELS)[3:])
def test_a_blurred_class_of_any_labels_is_predicted_by_its_kind(labels):
    X, classes, channels = records_of(labels, "class", "pandas")
    channel = sf.RandomizedResponse(sf.Categories(labels), gamma=19)
    model = sf.NaiveBayesClassifier(channels=channels, label_channel=channel).fit(X, channel.randomize(classes, rng=1))
    assert set(kinds(model.predict(X))) <= set(kinds(labels))
    assert kinds(model.classes_) == kinds(labels)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_any_kind_are_regressed_on_alike_in_every_table(labels, kind, tmp_path):
    plan, people = plan_of(labels), people_with(labels)
    reports = randomized(plan, table_of(kind, people, tmp_path), kind, tmp_path)
    plain = plan.randomize({name: objects(column) for name, column in people.items()}, rng=1)
    for outcome, on in (("age", ["shade"]), ("kind", ["shade"])):
        found, told = (sf.regress(one, plan, outcome, on) for one in (reports, plain))
        assert found.names == told.names and found.reference == told.reference
        assert found.coef == pytest.approx(told.coef)
