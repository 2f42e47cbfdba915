"""Columns of every type come back as the type that came, in every kind of table."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.microdata import Donors, Gadp, Treatment
from sfumato.microdata.table.fields import read_microdata
from sfumato.microdata.table.forms import read_form
from tests.microdata.conftest import AS_IT_WAS, NO_NOISE

N = 60
RNG = np.random.default_rng(0)
DAYS = [dt.date(2020, 1, 1) + dt.timedelta(int(day)) for day in RNG.integers(0, 900, N)]
MOMENTS = [dt.datetime(2020, 1, 1) + dt.timedelta(minutes=int(one)) for one in RNG.integers(0, 900_000, N)]
TIMES = [dt.time(*divmod(minute, 60)) for (minute,) in RNG.integers(0, 24 * 60, (N, 1)).tolist()]
SIZES = RNG.choice(["S", "M", "L"], N).tolist()
CODES = RNG.choice(["08520", "00100", "10115"], N).tolist()
PRICES = [Decimal(int(cents)) / 100 for cents in RNG.integers(100, 9_900, N)]
CLASSES = RNG.choice(["a", "b"], N).tolist()
GAPS = RNG.random(N) < 0.1


def with_gaps(values):
    return [None if gap else value for value, gap in zip(values, GAPS, strict=True)]


def columns():
    return {
        "day": DAYS,
        "moment": with_gaps(MOMENTS),
        "time": TIMES,
        "code": CODES,
        "yes": with_gaps((RNG.random(N) < 0.5).tolist()),
        "count": with_gaps(RNG.integers(0, 9, N).tolist()),
        "class": CLASSES,
    }


def arrow():
    order = ["S", "M", "L"]
    sizes = pa.DictionaryArray.from_arrays([order.index(size) for size in SIZES], order, ordered=True)
    return pa.table({**columns(), "size": sizes, "price": pa.array(PRICES, pa.decimal128(7, 2))})


def polars():
    frame = pl.DataFrame({**columns(), "price": PRICES, "size": SIZES})
    zone = pl.col("moment").dt.replace_time_zone("Europe/Riga")
    return frame.with_columns(pl.col("size").cast(pl.Enum(["S", "M", "L"])), zone)


def pandas():
    frame = pd.DataFrame(columns())
    frame["day"] = pd.to_datetime(frame["day"])
    frame["moment"] = pd.to_datetime(frame["moment"]).dt.tz_localize("Europe/Riga")
    frame["size"] = pd.Categorical(SIZES, ["S", "M", "L"], ordered=True)
    frame["price"] = PRICES
    return frame.astype({"yes": "boolean", "count": "Int16", "code": "string"})


@pytest.mark.parametrize("make", [arrow, polars, pandas])
@pytest.mark.parametrize("method", [Donors(attempts=0), Gadp()], ids=lambda one: one.name)
def test_every_type_comes_back_as_it_came(make, method):
    table = make()
    released = sf.release(table, "class", method, rng=0).table
    if isinstance(table, pd.DataFrame):
        assert released.dtypes.equals(table.dtypes)
        assert released["day"].dt.normalize().equals(released["day"])
        assert all(isinstance(price, Decimal) and -price.as_tuple().exponent == 2 for price in released["price"])
        assert list(released["size"].cat.categories) == ["S", "M", "L"]
    else:
        assert released.schema == table.schema
    codes = released["code"].to_list() if hasattr(released["code"], "to_list") else released["code"].to_pylist()
    assert set(codes) <= set(CODES)


@pytest.mark.parametrize("make", [arrow, polars, pandas])
def test_without_noise_every_value_comes_back(make):
    table = make()
    released = sf.release(table, "class", NO_NOISE, rng=0, **AS_IT_WAS).table
    assert released.equals(table)


def test_a_mapping_of_arrays_keeps_their_types():
    table = {
        "byte": RNG.integers(0, 9, N).astype(np.int8),
        "whole": RNG.integers(0, 9, N).astype(float),
        "yes": RNG.random(N) < 0.5,
        "text": np.array(CODES),
        "day": np.array(DAYS, "datetime64[D]"),
        "wait": np.array(RNG.integers(0, 99, N), "timedelta64[m]"),
        "class": np.array(CLASSES),
    }
    released = sf.release(table, "class", Donors(attempts=0), rng=0).table
    assert {name: values.dtype for name, values in released.items()} == {
        name: values.dtype for name, values in table.items()
    }


def test_ordered_categories_keep_their_order_and_others_stand_by_class():
    size = read_microdata(pandas(), "class").fields
    labels = {field.name: field.labels for field in size}
    assert labels["size"] == ("S", "M", "L")
    assert set(labels["code"]) == set(CODES)


def test_dates_move_by_whole_days_and_stay_between_the_first_and_the_last():
    released = sf.release(arrow(), "class", treatment=Treatment(outliers="keep"), rng=0).table
    days = released["day"].to_pylist()
    assert min(DAYS) <= min(days) <= max(days) <= max(DAYS)
    assert days != DAYS
    assert all(moment is None or moment.second == 0 for moment in released["moment"].to_pylist())


@given(
    st.lists(st.one_of(st.none(), st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))), min_size=1),
    st.sampled_from(["datetime64[D]", "datetime64[h]", "datetime64[s]", "datetime64[ms]", "datetime64[us]"]),
)
def test_moments_of_every_unit_go_to_numbers_and_back(moments, dtype):
    array = np.array(moments, dtype="datetime64[us]").astype(dtype)
    form = read_form(array, "x")
    back = form.back(form.values)
    assert back.dtype == array.dtype
    assert np.array_equal(back, array, equal_nan=True)
