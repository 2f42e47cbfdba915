"""A release stays inside leaves, domains and types, keeps the patterns, and comes back as the kind of table it was."""

from functools import partial

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato.microdata import IB04, Donors, Gadp, Swap, Treatment
from sfumato.microdata.patterns.comparison import compare_trees
from tests.microdata.conftest import AS_IT_WAS, mixed_table

METHODS = [Donors(), IB04(), Gadp(), Swap()]
named = partial(pytest.mark.parametrize, ids=lambda one: one.name)


@st.composite
def owners_tables(draw):
    """Records with gaps, ties, constant columns, tiny leaves and rare classes."""
    n = draw(st.integers(4, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from([1.0, 1e-3, 1e6]))
    number = rng.normal(size=n) * scale
    number[rng.random(n) < draw(st.sampled_from([0, 0.2]))] = np.nan
    columns = {
        "number": number,
        "decimal": np.round(rng.normal(size=n), draw(st.integers(1, 3))),
        "integer": rng.integers(-3, draw(st.integers(-2, 9)), n),
        "label": rng.choice(["a", "b", "c"], n),
        "constant": np.full(n, 7),
    }
    classes = (np.nan_to_num(number) > 0).astype(int) + (columns["label"] == "a")
    columns["class"] = rng.permutation(classes) if draw(st.booleans()) else classes
    columns["class"][:2] = [0, 1]
    return columns


@settings(max_examples=60, deadline=None)
@given(
    owners_tables(),
    st.sampled_from(["gadp", "donors", "dealt", "rank", "additive", "paper"]),
    st.floats(0, 1),
    st.sampled_from(["rpt", "ppt", "alpt"]),
    st.sampled_from([None, 1, 3]),
    st.integers(0, 2**32 - 1),
)
def test_every_released_value_stays_in_its_leafs_interval_its_domain_and_its_type(
    columns, law, amount, labels, min_leaf, seed
):
    tree = None
    if min_leaf is not None:  # a tree of the owner's own, on the numeric columns only
        names = ["number", "decimal", "integer", "constant"]
        tree = DecisionTreeClassifier(min_samples_leaf=min_leaf, random_state=0)
        tree.fit(pd.DataFrame({name: columns[name] for name in names}), columns["class"])
    inside = {"leaves": tree, "labels": labels}
    method = IB04(law=law, amount=amount, attempts=1, **inside) if law not in ("gadp", "donors") else (
        Gadp(fresh=amount, **inside) if law == "gadp" else Donors(fewest=10 * amount, attempts=1, **inside)
    )  # fmt: skip
    done = sf.release(columns, "class", method, rng=seed, **AS_IT_WAS)
    for place, field in enumerate(done.original.fields):
        before, after = done.original.X[:, place], done.released.X[:, place]
        known = ~np.isnan(before)
        lower, upper = done.leaves.bounds(place)
        assert np.array_equal(known, ~np.isnan(after))
        assert (after[known] >= lower[known]).all()
        assert (after[known] <= upper[known]).all()
        assert (after[known] >= field.low).all()
        assert (after[known] <= field.high).all()
        assert set(columns) == set(done.table)
        if field.kind != "float":
            assert np.array_equal(after[known], np.rint(after[known]))
        elif field.step:
            assert np.allclose(after[known] / field.step, np.rint(after[known] / field.step), atol=1e-6)
    assert np.array_equal(done.leaves.nodes.descend(done.released.X), done.leaves.leaf)
    if tree is not None:  # scikit-learn itself sends every released record to the leaf it was in
        apply = [tree.apply(pd.DataFrame({k: t[k] for k in names})) for t in (columns, done.table)]
        assert np.array_equal(*apply)


@settings(max_examples=30, deadline=None)
@given(owners_tables(), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_swapped_values_stay_in_domain_and_type_and_keep_the_class(columns, window, seed):
    done = sf.release(columns, "class", Swap(window), rng=seed, **AS_IT_WAS)
    for place, field in enumerate(done.original.fields):
        after = done.released.X[:, place][~np.isnan(done.original.X[:, place])]
        assert (after >= field.low).all()
        assert (after <= field.high).all()
        if field.kind != "float":
            assert np.array_equal(after, np.rint(after))
    assert np.array_equal(done.table["class"], columns["class"])


def test_rpt_keeps_the_classes_of_every_leaf_and_rank_noise_its_moments(released):
    done = released
    for leaf in np.unique(done.leaves.leaf):
        rows = done.leaves.records(int(leaf))
        assert np.array_equal(np.sort(done.original.y[rows]), np.sort(done.released.y[rows]))
    before, after = done.original.X, done.released.X
    assert np.allclose(before.mean(axis=0), after.mean(axis=0), atol=0.03 * before.std(axis=0).max())
    assert np.allclose(before.std(axis=0), after.std(axis=0), rtol=0.03)


def test_no_noise_returns_the_values(unchanged, table):
    assert np.array_equal(unchanged.original.X, unchanged.released.X)
    assert np.array_equal(unchanged.table["class"], table["class"])


def test_nearly_all_records_change_and_the_tree_does_not(large_release):
    done = large_release
    unchanged = (done.original.X == done.released.X).all(axis=1).mean()
    assert unchanged < 0.01
    again = done.pattern.grower.grow(done.released.X, done.released.y)
    assert compare_trees(done.tree, again, done.original.X, done.original.names).share_covered > 0.9


def test_the_noise_repeats_with_a_seed_and_never_without(table, released):
    assert np.array_equal(sf.release(table, "class", rng=0).released.X, released.released.X)
    first, second = (sf.release(table, "class", Donors(attempts=0)).released.X for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        lambda t: pd.DataFrame(t, index=np.arange(len(t["age"]))[::-1]),
        pl.DataFrame,
        pa.table,
        lambda t: duckdb.from_arrow(pa.table(t)),
    ],
    ids=["pandas", "pandas with an index", "polars", "pyarrow", "duckdb"],
)
def test_a_table_comes_back_as_the_kind_it_was(table, make):
    given_table = make(table)
    released = sf.release(given_table, "class", Donors(attempts=0), rng=0).table
    assert type(released) is type(given_table)
    assert list(released.columns) == list(given_table.columns) or released.schema == given_table.schema
    if isinstance(given_table, pd.DataFrame):
        assert released.dtypes.equals(given_table.dtypes)
        assert released.index.equals(pd.RangeIndex(300))
    if isinstance(given_table, pl.DataFrame):
        assert released.schema == given_table.schema


def test_narrow_and_categorical_columns_keep_their_type():
    frame = pl.DataFrame(mixed_table()).with_columns(pl.col("age").cast(pl.UInt8), pl.col("city").cast(pl.Categorical))
    assert sf.release(frame, "class", Donors(attempts=0), rng=0).table.schema == frame.schema


@pytest.mark.parametrize(
    ("gaps", "words"), [("deal", "are dealt anew inside leaves"), ("keep", "stay where they were")]
)
def test_missing_values_are_as_many_as_they_were_and_are_noted(table, gaps, words):
    table["income"][:7] = np.nan
    table["city"] = np.where(np.arange(300) < 5, None, table["city"].astype(object))
    done = sf.release(pd.DataFrame(table), "class", treatment=Treatment(gaps=gaps, order="keep"), rng=0)
    assert done.table["income"].isna().to_numpy()[:7].all() == (gaps == "keep")
    assert done.table["income"].isna().sum() == 7
    assert done.table["city"].isna().sum() == 5
    assert f"income: 7 missing values {words}" in done.notes


@named("method", METHODS)
def test_constant_columns_and_single_records_are_no_obstacle(table, method):
    table["one"] = np.full(300, 4)
    done = sf.release(table, "class", method, rng=0)
    assert (done.table["one"] == 4).all()
    assert "one has one value only and stays as it is" in done.notes


def test_a_leaf_with_one_record_keeps_its_interval_and_is_noted(table):
    names = ["age", "income"]
    tree = DecisionTreeClassifier(random_state=0).fit(np.column_stack([table[name] for name in names]), table["class"])
    small = {name: table[name] for name in [*names, "class"]}
    for method in (Donors(leaves=tree), Gadp(leaves=tree)):
        done = sf.release(small, "class", method, rng=0)
        assert any("hold one record" in note for note in done.notes)
    assert any(fit.reason.startswith("too few") for fit in done.leaf_fits)


def test_our_own_tree_can_be_the_pattern(table):
    names = ["age", "income", "score"]
    X = np.column_stack([table[name] for name in names])
    tree = sf.TreeClassifier(reconstruction="none").fit(X, table["class"])
    small = {name: table[name] for name in [*names, "class"]}
    done = sf.release(small, "class", Donors(leaves=tree, attempts=0), rng=0, **AS_IT_WAS)
    assert np.array_equal(tree.apply(X), tree.apply(np.column_stack([done.table[name] for name in names])))


def test_kept_columns_stay_and_amounts_are_per_attribute(table):
    done = sf.release(table, "class", IB04(law="additive", amount={"score": 0.0}), keep=["age"], rng=0, **AS_IT_WAS)
    assert np.array_equal(done.table["age"], table["age"])
    assert np.array_equal(done.table["score"], table["score"])
    assert not np.array_equal(done.table["income"], table["income"])


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({}, {"target": "colour"}, "target 'colour' is not in the table"),
        ({"class": np.full(300, "x")}, {}, "two classes"),
        ({"class": np.where(np.arange(300) < 3, None, "x")}, {}, "missing in 3 records"),
        ({}, {"roles": {"colour": "free"}}, "roles names 'colour'"),
        ({}, {"roles": {"age": "magic"}}, "role 'magic' of 'age' is unknown"),
        ({}, {"roles": {"age": "constant"}}, "column 'age' is not constant"),
        ({}, {"roles": {"class": "identifier"}}, "target 'class' cannot be an identifier"),
        ({"score": np.where(np.arange(300) == 4, np.inf, 1.0)}, {}, "infinite"),
        ({}, {"method": Donors(fewest={"colour": 1})}, "column 'colour' is not an attribute"),
        ({}, {"method": Donors(leaves={"depth": 3})}, "is no tree's options"),
        ({}, {"domains": {"age": sf.Interval(30, 60)}}, "outside numbers from 30 to 60"),
        ({}, {"domains": {"colour": sf.Interval(30, 60)}}, "domains names 'colour'"),
    ],
)
def test_bad_input_is_refused_in_one_line_that_names_it(table, change, options, words):
    with pytest.raises(ValueError, match=words) as refusal:
        sf.release({**table, **change}, **{"target": "class", **options})
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        (Treatment, {"gaps": "magic"}, "gaps='magic' is unknown"),
        (Treatment, {"outliers": "magic"}, "outliers='magic' is unknown"),
        (Treatment, {"order": "magic"}, "order='magic' is unknown"),
        (Donors, {"labels": "magic"}, "labels='magic' is unknown"),
        (Donors, {"fewest": -1}, "fewest=-1 is not a number 0 or more"),
        (Donors, {"fewest": {"age": "many"}}, "fewest='many' is not a number"),
        (Donors, {"attempts": -1}, "attempts=-1 is not a whole number"),
        (Donors, {"leaves": 1}, "leaves=1 is no whole number, 2 or more"),
        (Donors, {"leaves": 2.5}, "leaves=2.5 is no whole number"),
        (Gadp, {"leaves": "id3"}, "leaves='id3' is unknown"),
        (Gadp, {"fresh": {"age": 0.5}}, "one share of fresh variance for all"),
        (Gadp, {"fresh": 1.5}, "not a number between 0 and 1"),
        (IB04, {"tested": "mixed"}, "tested='mixed' is unknown"),
        (IB04, {"untested": "some"}, "untested='some' is unknown"),
        (IB04, {"law": 5}, "law=5 is unknown; choose dealt, rank, additive, paper, or give a table of shares"),
        (IB04, {"law": "magic"}, "law='magic' is unknown; choose dealt, rank, additive, paper"),
        (Swap, {"window": 2}, "window=2 is not a number between 0 and 1"),
    ],
)
def test_options_that_make_no_sense_are_refused_where_they_are_given(method, options, words):
    with pytest.raises(ValueError, match=words) as refusal:
        method(**options)
    assert "\n" not in str(refusal.value)


def test_the_method_for_rules_alone_is_noise_in_leaves_and_a_number_of_leaves_is_a_tree_of_as_many(table):
    assert sf.release(table, "class", preserve="rules", rng=0).method == IB04()
    assert sf.release(table, "class", Donors(leaves=3), rng=0).tree.is_leaf.sum() == 3


def test_what_is_no_table_or_no_tree_is_refused(table):
    with pytest.raises(TypeError, match=r"method='gadp' is no method; give one with its options"):
        sf.release(table, "class", "gadp")
    with pytest.raises(TypeError, match="is not a table"):
        sf.release(42, "class")
    with pytest.raises(TypeError, match="not a fitted tree"):
        sf.release(table, "class", Donors(leaves=DecisionTreeClassifier()))
    with pytest.raises(ValueError, match="fitted on 2 columns"):
        sf.release(table, "class", Donors(leaves=DecisionTreeClassifier().fit([[0, 1], [1, 0]], [0, 1])))
    with pytest.raises(TypeError, match="column 'score' holds lists; make it numbers or categories first"):
        sf.release(pl.DataFrame({**table, "score": [[1]] * 300}), "class")
    with pytest.raises(ValueError, match="the table is empty"):
        sf.release({"a": [], "class": []}, "class")


# --- targets ----------------------------------------------------------------------------------------------------------


def test_a_target_that_is_a_number_moves_inside_the_leaves_of_a_regression_tree():
    table = mixed_table(1500)
    table["income"] = np.round(table["income"] + 20.0 * (table["age"] > 50) + 10 * (table["city"] == "Bari"), 2)
    done = sf.release(table, "income", rng=0)
    assert done.tree.size > 1
    place = done.original.response
    for leaf in np.unique(done.leaves.leaf):
        rows = done.leaves.records(int(leaf))
        means = [data.X[rows, place].mean() for data in (done.original, done.released)]
        assert abs(means[0] - means[1]) < 0.1 * done.original.X[:, place].std()
    assert np.array_equal(done.tree.descend(done.original.X), done.tree.descend(done.released.X))
    assert not np.array_equal(done.table["income"], table["income"])
    assert {one.measure for one in done.report.utility} == {"R²"}
    assert all(one.original < 0.99 for one in done.report.utility)  # no learner has seen the number it predicts


def test_without_a_target_all_columns_are_alike_and_keep_their_associations():
    table = mixed_table(1500)
    done = sf.release(table, rng=0)
    assert list(done.table) == list(table)
    assert done.tree.size == 1
    assert done.preserved.change["largest"] < done.preserved.limits[1]
    assert (done.original.X == done.released.X).all(axis=1).mean() < 0.01
    assert "not measured" in str(done.report)


def test_large_tables_keep_their_rules():
    table = mixed_table(20_000)
    done = sf.release(table, "class", rng=0)
    assert done.preserved.rules.share_covered > 0.9


def test_no_number_of_a_single_person_is_released():
    """But those next to a cut, and they need not be that person's."""
    done = sf.release(mixed_table(2000), "class", rng=0)
    scores, place = done.table["score"], done.original.names.index("score")
    shared = np.isin(scores, done.original.X[:, place])
    cuts = (~done.tree.is_leaf & (done.tree.feature == place)).sum()
    assert shared.sum() <= 2 * cuts


# --- tables in which little is known ----------------------------------------------------------------------------------


def hardly_known(rows: int = 60) -> dict[str, list]:
    """A column without any value, one of two, and two columns that nobody has both of."""
    rng = np.random.default_rng(2)
    half, some = rows // 2, rng.normal(size=rows).tolist()
    return {
        "nothing": [None] * rows,
        "two": [1.0, 2.0] + [None] * (rows - 2),
        "first": some[:half] + [None] * (rows - half),
        "second": [None] * half + some[half:],
        "city": rng.choice(["a", "b", "c"], rows).tolist(),
        "class": rng.choice(["yes", "no"], rows).tolist(),
    }


TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "mapping": dict}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("target", ["class", None])
@named("method", METHODS)
def test_a_table_in_which_little_is_known_is_released_and_reported_without_a_warning(method, target):
    done = sf.release(hardly_known(), target, method, rng=0)
    assert "nan" not in str(done.report) and done.report.to_html() and done.report.to_dict()
    gaps = {name: sum(np.isnan(column)) for name, column in done.table.items() if name in ("two", "first", "second")}
    assert gaps == {"two": 58, "first": 30, "second": 30}


@pytest.mark.parametrize("kind", TABLES)
def test_a_column_without_any_value_is_released_without_any(kind):
    table = TABLES[kind](hardly_known())
    done = sf.release(table, "class", rng=0)
    column = done.table["nothing"]
    assert all(pd.isna(value) for value in (column.to_pylist() if kind == "pyarrow" else column))
    assert "nothing is missing in every record and stays so" in done.notes
    if kind != "mapping":
        assert type(done.table) is type(table)


def test_a_table_without_any_value_is_refused():
    with pytest.raises(ValueError, match="no column with values beside the target 'class'"):
        sf.release({"nothing": [None] * 9, "class": list("aabbaabba")}, "class")


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_options_of_a_tree_grow_one_that_explains_a_number():
    table = {name: column for name, column in mixed_table().items() if name != "class"}
    done = sf.release(table, "income", Donors(leaves={"max_leaf_nodes": 4}), rng=0)
    assert done.tree.is_leaf.sum() == 4 and str(done.report)


def test_a_tree_that_explains_classes_is_refused_for_a_number():
    table = mixed_table()
    numbers = np.column_stack([table["age"], table["score"]])
    tree = DecisionTreeClassifier(max_depth=2).fit(pd.DataFrame(numbers, columns=["age", "score"]), table["class"])
    with pytest.raises(ValueError, match="does not explain 'income', a number; give a regressor"):
        sf.release(table, "income", Donors(leaves=tree))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_whole_numbers_beyond_single_precision_are_released_by_the_papers_law():
    rng = np.random.default_rng(1)
    huge = rng.integers(0, 2**53, 200)
    table = {"huge": huge, "class": np.where(huge > 2**52, "a", "b")}
    done = sf.release(table, "class", IB04(law="paper"), rng=0)
    assert ((done.table["huge"] >= huge.min()) & (done.table["huge"] <= huge.max())).all()


@pytest.mark.parametrize("kind", ["pandas", "mapping"])
def test_labels_of_several_kinds_are_released_with_their_kinds(kind):
    labels = [[1, "1", True, "yes"][row % 4 if row % 4 != 2 else 0] for row in range(80)]
    table = TABLES[kind]({"label": labels, "number": list(range(80)), "class": list("ab") * 40})
    done = sf.release(table, "class", rng=0)
    assert {(type(one), one) for one in done.table["label"]} <= {(int, 1), (str, "1"), (str, "yes")}
