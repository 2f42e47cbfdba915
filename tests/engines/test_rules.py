"""Where engines differ from each other, and reports must not: what is missing, types of numbers, ties, nothing."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from tests.engines import makers
from tests.engines.makers import same

AGE = sf.Gaussian(sf.Interval(20, 80), privacy=1.0)
WHOLE = sf.Uniform(sf.Interval(0, 10, integer=True), privacy=1.0)
SIZE = sf.RandomizedResponse(sf.Categories(["S", "M", "L"]), keep=0.7)
N = 300


@pytest.fixture
def held(make_table):
    """Counts of a column, by whoever holds it."""

    def counted(name, column, channel, **options):
        table = pa.table({name: column, **options.pop("beside", {})})
        reports = make_table(table, {name.removesuffix(".code"): channel}, **options)
        return reports.counts(name.removesuffix(".code"), missing=True)

    return counted


@pytest.fixture(params=["parquet", "duckdb", "polars", "spark"])
def make_table(request, tmp_path, monkeypatch):
    if request.param == "spark":
        request.getfixturevalue("spark")
    makers.small_batches(monkeypatch)
    return lambda table, *args, **options: sf.Reports(
        (made := makers.MAKERS[request.param](table, tmp_path / "table"))[0], *args, **made[1], **options
    )


def ages() -> np.ndarray:
    return AGE.randomize(np.linspace(20, 80, N), rng=np.random.default_rng(3))


def test_nan_and_null_are_both_missing(held):
    values = [None if i % 7 == 0 else float("nan") if i % 7 == 1 else float(age) for i, age in enumerate(ages())]
    known = np.array([np.nan if value is None else value for value in values])
    expected = sf.Reports({"age": known}, {"age": AGE}).counts("age", missing=True)
    assert expected[-1] == sum(1 for i in range(N) if i % 7 < 2)
    assert same(held("age", pa.array(values), AGE), expected)


def test_values_between_two_codes_go_to_the_even_one(held):
    grid = AGE.outputs
    codes = np.arange(200, 200 + N) % grid.size
    between = (np.asarray(grid.values)[codes] + np.asarray(grid.values)[codes + 1]) / 2
    expected = sf.Reports({"age": between}, {"age": AGE}).counts("age", missing=True)
    assert same(held("age", pa.array(between), AGE), expected)


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int64", "float64"])
def test_codes_of_every_width(held, kind):
    codes = np.arange(N) % WHOLE.outputs.size
    expected = np.append(np.bincount(codes, minlength=WHOLE.outputs.size), 0).astype(float)
    assert same(held("pay.code", pa.array(codes.astype(kind)), WHOLE), expected)


def test_minus_one_is_missing_and_no_other_code_below_zero_is(held):
    codes = np.where(np.arange(N) % 3 == 0, -1, 4).astype(np.int16)
    assert held("pay.code", pa.array(codes), WHOLE)[-1] == N / 3
    with pytest.raises(ValueError, match=r"row 300, column 'pay.code': -2 is no report code"):
        held("pay.code", pa.array(np.append(codes[:-1], -2).astype(np.int16)), WHOLE)


def test_decimal_weights_are_summed_exactly(held):
    weights = [Decimal(i % 9) / 8 for i in range(N)]
    beside = {"people": pa.array(weights, pa.decimal128(10, 3))}
    sizes = pa.array([["S", "M", "L"][i % 3] for i in range(N)])
    found = held("size", sizes, SIZE, beside=beside, weights="people")
    assert found.tolist() == [float(sum(weights[k::3])) for k in range(3)] + [0.0]


def test_weights_that_are_all_zero_divide_nothing(held):
    beside = {"people": pa.array(np.zeros(N))}
    assert not held("size", pa.array(["S"] * N), SIZE, beside=beside, weights="people").any()


def test_no_reports_at_all(make_table):
    with pytest.raises(ValueError, match="there are no reports"):
        len(make_table(pa.table({"age": pa.array([], pa.float64())}), {"age": AGE}))


def test_a_row_without_a_number_is_refused(held):
    numbers = pa.array([None if i == 5 else i for i in range(N)], pa.int64())
    with pytest.raises(ValueError, match=r"place|number"):
        held("size", pa.array(["S"] * N), SIZE, beside={"number": numbers}, place="number")
