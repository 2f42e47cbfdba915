"""Outliers, gaps and order: nothing exact at the ends, no pattern of gaps and no place that tells who it is."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.microdata import Donors, Gadp, Swap, Treatment
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.treatment import tail_size
from sfumato.microdata.table.fields import read_microdata
from tests.microdata.conftest import mixed_table


def with_an_outlier(n=300):
    table = mixed_table(n)
    table["income"][17] = 98_765.43
    table["city"] = np.where(np.arange(n) == 5, "Xanten", table["city"].astype(object))
    return table


@pytest.mark.parametrize("method", [Donors(attempts=0), Gadp(), Swap()], ids=lambda one: one.name)
def test_an_outlier_is_in_no_release_and_pulls_no_value_towards_it(method):
    table = with_an_outlier()
    for seed in range(10):
        done = sf.release(table, "class", method, rng=seed)
        assert done.table["income"].max() < np.sort(table["income"])[-2] + 1e-9
        assert "Xanten" not in done.table["city"]
    assert "city: 1 rare label became the nearest common one" in done.notes


def test_on_request_outliers_stay():
    done = sf.release(with_an_outlier(), "class", Donors(attempts=0), treatment=Treatment(outliers="keep"), rng=0)
    assert done.released.fields[1].high == 98_765.43


@settings(max_examples=50, deadline=None)
@given(st.integers(6, 300), st.sampled_from([0, 1, 3]), st.integers(0, 2**32 - 1))
def test_extreme_values_are_shared_and_the_others_stay(n, digits, seed):
    values = np.round(np.random.default_rng(seed).standard_t(2, n), digits)
    data, none = read_microdata({"x": values, "class": np.arange(n) % 2}, "class"), np.zeros(1, bool)
    after, size = Treatment().before(data, none, none, Draws(seed)).X[:, 0], tail_size(n)
    assert min((after == after.max()).sum(), (after == after.min()).sum()) >= size
    assert (after != values).sum() <= 2 * size
    assert values.min() <= after.min() <= after.max() <= values.max()


def test_a_declared_domain_stays_and_kept_columns_are_left_alone():
    table = with_an_outlier()
    domain = sf.Interval(0, 1e6)
    done = sf.release(table, "class", Donors(attempts=0), domains={"income": domain}, keep=["age"], rng=0)
    assert done.released.fields[1].high == 1e6
    assert np.array_equal(np.sort(done.table["age"]), np.sort(table["age"]))


def test_gaps_move_inside_leaves_with_their_patterns_and_no_value_is_lost():
    table = mixed_table(400)
    rng = np.random.default_rng(1)
    for name in ("income", "score"):
        table[name] = np.where(rng.random(400) < 0.3, np.nan, table[name])
    treated = (Treatment(gaps=gaps, outliers="keep") for gaps in ("keep", "deal"))
    kept, dealt = (sf.release(table, "class", treatment=treatment, rng=3) for treatment in treated)
    before, after = np.isnan(kept.released.X), np.isnan(dealt.released.X)
    assert not np.array_equal(before, after)
    leaf = kept.leaves.leaf
    for one in np.unique(leaf):
        own = leaf == one
        assert sorted(map(tuple, before[own].tolist())) == sorted(map(tuple, after[own].tolist()))
        for X, Y in zip(kept.released.X[own].T, dealt.released.X[own].T, strict=True):
            assert np.array_equal(np.sort(X), np.sort(Y), equal_nan=True)
    assert np.array_equal(dealt.leaves.nodes.descend(dealt.released.X), leaf)


def test_rows_are_shuffled_and_only_the_release_itself_knows_how():
    table = mixed_table(300)
    done = sf.release(table, "class", Donors(attempts=0))
    assert np.array_equal(done.table["income"], done.released.X[done.rows, 1])
    assert (done.rows == np.arange(300)).mean() < 0.1
    assert sorted(done.rows) == list(range(300))
    kept = sf.release(table, "class", Donors(attempts=0), treatment=Treatment(order="keep"))
    assert np.array_equal(kept.table["income"], kept.released.X[:, 1])


def test_no_index_and_no_metadata_leave_with_the_table():
    frame = pd.DataFrame(mixed_table(), index=[f"person {i}" for i in range(300)])
    frame.attrs["source"] = "ward 7"
    released = sf.release(frame, "class", Donors(attempts=0)).table
    assert released.index.equals(pd.RangeIndex(300))
    assert released.attrs == {}
    arrow = pa.table(mixed_table())
    fields = [each.with_metadata({"who": "ward 7"}) for each in arrow.schema]
    released = sf.release(arrow.cast(pa.schema(fields, metadata={"by": "me"})), "class", Donors(attempts=0)).table
    assert released.schema.metadata is None
    assert all(each.metadata is None for each in released.schema)


def test_a_category_that_nobody_has_any_more_is_not_named():
    table = with_an_outlier()
    frame = pd.DataFrame(table).astype({"city": "category"})
    assert "Xanten" not in sf.release(frame, "class", Donors(attempts=0), rng=0).table["city"].cat.categories


def test_too_small_a_table_hides_nobody():
    assert [tail_size(n) for n in (5, 6, 99, 100)] == [1, 3, 3, 5]
