"""Values in, reports out: exact laws, wrong values, missing values, and the fused path."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import laplace, norm, uniform

import sfumato as sf
from sfumato.channels.program import interpreter
from tests.statistics import assert_fits, assert_mean

AGE = sf.Interval(20, 80)


@pytest.mark.parametrize("value", [19.99, 80.01, -1e300])
def test_a_value_outside_is_refused_by_name_or_clamped(value: float) -> None:
    with pytest.raises(ValueError, match=r"outside numbers from 20 to 80.*outside='clamp'"):
        sf.Gaussian(AGE, scale=5).randomize([30, value])
    with pytest.raises(ValueError, match="outside"):
        sf.Gaussian(AGE, scale=5).randomize(np.array([30.0] * 100_000 + [value]))
    kept = sf.Discretize(AGE, width=10, outside="clamp").randomize([30, value])
    assert kept[1] in (25, 75)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="infinite"):
        sf.SquareWave(AGE, gamma=9).randomize([value])


def test_missing_passes_or_is_refused_as_declared() -> None:
    assert np.isnan(sf.Gaussian(AGE, scale=5).randomize([np.nan, 30])).tolist() == [True, False]
    assert np.isnan(sf.Gaussian(AGE, scale=5).randomize(np.full(100_000, np.nan))).all()
    assert sf.RandomizedResponse(sf.Categories(["a", "b"]), keep=1.0).randomize(["a", None]).tolist() == ["a", None]
    for channel in (sf.Gaussian(AGE, scale=5, missing="refuse"), sf.Discretize(AGE, width=5, missing="refuse")):
        with pytest.raises(ValueError, match=r"missing.*fill it"):
            channel.randomize([np.nan])


def test_an_unknown_category_is_named() -> None:
    with pytest.raises(ValueError, match=r"unknown category in row 1; the declared categories are 'a', 'b'"):
        sf.RandomizedResponse(sf.Categories(["a", "b"]), keep=0.5).randomize(["c"])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sf.Gaussian(AGE), "either scale=, privacy= or snr="),
        (lambda: sf.Gaussian(AGE, snr=0), "snr=0 is not above 0"),
        (lambda: sf.Gaussian(AGE, snr=1e-9), "snr=1e-09 is noise"),
        (lambda: sf.Gaussian(AGE, snr=1, data_deviation=-3), "data_deviation=-3 is not above 0"),
        (lambda: sf.Gaussian(AGE, scale=1, data_deviation=3), "read with snr= only"),
        (lambda: sf.Gaussian(AGE, scale=1, privacy=1), "either scale=, privacy= or snr="),
        (lambda: sf.Gaussian(AGE, scale=0), "not above 0"),
        (lambda: sf.Uniform(AGE, halfwidth=-1), "not above 0"),
        (lambda: sf.Laplace(AGE, scale=float("nan")), "not above 0"),
        (lambda: sf.Gaussian(AGE, privacy=1e6), "no crowd can be read"),
        (lambda: sf.Gaussian(AGE, privacy=1, confidence=95), "between 0 and 1"),
        (lambda: sf.Gaussian(AGE, scale=1, step=100), "wider than the domain"),
        (lambda: sf.Gaussian(sf.Interval(0, 9, integer=True), scale=1, step=0.3), "whole number or a whole fraction"),
        (lambda: sf.SquareWave(AGE, gamma=1), "above 1"),
        (lambda: sf.SquareWave(AGE, gamma=float("inf")), "above 1"),
        (lambda: sf.RandomizedResponse(sf.Categories("ab"[:1].split()), keep=0.5), "two categories"),
        (lambda: sf.RandomizedResponse(sf.Categories([1, 2]), keep=1.5), "between 0 and 1"),
        (lambda: sf.RandomizedResponse(sf.Categories([1, 2])), "either keep=, gamma= or epsilon="),
        (lambda: sf.Discretize(AGE), "exactly one of"),
        (lambda: sf.Discretize(AGE, edges=[20, 50]), "do not cover"),
        (lambda: sf.Discretize(AGE, edges=[20, 60, 50, 80]), "increasing"),
        (lambda: sf.Tabulated(sf.Categories([1, 2]), [[1, 0.5], [0, 0.4]]), "column 1 of table sums to 0.9"),
        (lambda: sf.Gaussian(AGE, scale=1) >> sf.Discretize(AGE, width=5), r"Gaussian >> Discretize.*widen"),
        (lambda: sf.Gaussian(AGE, scale=1) >> sf.RandomizedResponse(sf.Categories([1, 2]), keep=1), "do not fit"),
        (lambda: sf.Gaussian(AGE, scale=1, missing="drop"), "'pass' or 'refuse'"),
    ],
)
def test_wrong_parameters_get_one_line_that_helps(make: object, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        make()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [sf.Gaussian, sf.SquareWave, sf.Discretize])
def test_a_numeric_channel_refuses_categories(kind: type) -> None:
    with pytest.raises(TypeError, match="Interval"):
        kind(sf.Categories([1, 2]), 9)


def test_the_fused_path_has_the_stated_law_and_the_grids_numbers() -> None:
    channel = sf.Gaussian(AGE, privacy=0.5)
    reports = channel.randomize(np.full(200_000, 41.0))
    codes = channel.encode_reports(reports)
    np.testing.assert_array_equal(reports, channel.outputs.values[codes])
    assert_fits(np.bincount(codes, minlength=channel.outputs.size), channel.law()[:, channel.encode(41.0)])


@pytest.mark.parametrize(
    "channel",
    [
        sf.Gaussian(AGE, privacy=1.0),
        sf.Gaussian(sf.Interval(20, 80, integer=True), privacy=1.0),
        sf.SquareWave(AGE, gamma=19),
        sf.TwoPhase(sf.Gaussian(AGE, privacy=1.0), {"normal": 200}).level("normal"),
        sf.Gaussian(AGE, scale=5) >> sf.Discretize(sf.Interval(-100, 200), width=10),
    ],
    ids=lambda channel: channel.kind,
)
def test_without_numba_the_reports_are_the_same(channel: sf.Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values with three decimals lie half-way between codes, where another order of operations rounds differently."""
    decimals = 0 if channel.domain.integer else 3  # type: ignore[union-attr]
    values = np.random.default_rng(5).uniform(20, 80, 50_000).round(decimals)
    values[::1000] = np.nan
    fast = channel.randomize(values, rng=4)
    monkeypatch.setattr(interpreter, "compiled", lambda: None)
    np.testing.assert_array_equal(channel.randomize(values, rng=4), fast)
    singly = [channel.randomize(float(value), rng=4) for value in values[:20]]
    np.testing.assert_array_equal(singly, [channel.randomize(values[i : i + 1], rng=4)[0] for i in range(20)])


def test_large_arrays_without_numba_have_the_stated_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "compiled", lambda: None)
    channel = sf.Uniform(AGE, halfwidth=7)
    reports = channel.randomize(np.full(100_000, 50.0))
    assert_mean(reports, 50.0, np.sqrt(channel.noise_variance))
    assert np.abs(reports - 50).max() <= 7.05


def test_noise_has_the_declared_moments() -> None:
    assert sf.Gaussian(AGE, scale=10).noise_variance == pytest.approx(100, rel=1e-3)
    assert sf.Uniform(AGE, halfwidth=6).noise_variance == pytest.approx(12, rel=1e-3)
    assert sf.Laplace(AGE, scale=5).noise_variance == pytest.approx(50, rel=2e-3)


@pytest.mark.parametrize(
    ("kind", "noise"),
    [(sf.Gaussian, norm(0, 0.2)), (sf.Uniform, uniform(-0.2, 0.4)), (sf.Laplace, laplace(0, 0.2))],
    ids=["gaussian", "uniform", "laplace"],
)
def test_the_cumulative_table_is_the_closed_form(kind: type, noise: Any) -> None:
    channel = kind(sf.Interval(0, 1), 0.2)
    edges, cells = np.linspace(0, 1, 11), np.linspace(-0.4, 1.4, 19)
    table = channel.matrix(true=edges, reported=cells)
    inside = np.linspace(0, 1, 4001)[1::2]
    for p in (0, 4, 9):
        points = edges[p] + 0.1 * inside
        below = np.array([noise.cdf(cell - points).mean() for cell in cells[1:-1]])
        expected = np.diff(np.concatenate([[0], below, [1]]))
        np.testing.assert_allclose(table[:, p], expected, atol=3e-3)


def test_shapes_and_scalars_are_kept() -> None:
    channel = sf.SquareWave(AGE, gamma=9)
    assert channel.randomize(np.full((3, 4), 50.0)).shape == (3, 4)
    assert isinstance(channel.randomize(41), float)
    assert isinstance(sf.Gaussian(sf.Interval(0, 9, integer=True), scale=1).randomize(4), int)
    assert channel.randomize([]).shape == (0,)


def test_the_square_wave_width_maximises_information() -> None:
    def information(halfwidth: float | None) -> float:
        return sf.SquareWave(sf.Interval(0, 1), 9, halfwidth=halfwidth, step=0.002).guarantee().mutual_information

    best = sf.SquareWave(sf.Interval(0, 1), 9).halfwidth
    assert information(best) > max(information(best * 0.93), information(best * 1.07))


@pytest.mark.parametrize("privacy", [0.001, 0.01, 0.1, 1, 10, 100])
@pytest.mark.parametrize(
    "domain", [AGE, sf.Interval(0, 1_000_000, integer=True), sf.Interval(1e9, 1e9 + 1e-3)], ids=str
)
def test_every_sensible_channel_has_a_law_of_sensible_size(domain: sf.Interval, privacy: float) -> None:
    channel = sf.Gaussian(domain, privacy=privacy)
    assert 1000 <= channel.inputs.size <= 10_001
    assert channel.outputs.size <= 2_000_000
    table = channel.matrix(
        true=np.linspace(domain.low, domain.high, 11), reported=channel.outputs.values[[0, 300, 600, -1]]
    )
    np.testing.assert_allclose(table.sum(axis=0), 1)
    if privacy in (0.001, 100):
        assert "no bound" in str(channel.guarantee())


def test_prose_has_numbers_that_people_read() -> None:
    words = str(sf.SquareWave(sf.Interval(0, 1_350_000), gamma=19).guarantee())
    assert "e+0" not in words and "1,4" in words


def test_wide_integer_domains_are_reported_in_whole_numbers() -> None:
    salary = sf.Gaussian(sf.Interval(20_000, 150_000, integer=True), privacy=1.0)
    reports = salary.randomize(np.full(1000, 61_234), rng=1)
    assert reports.dtype == np.int64 and (reports % salary.step == 0).all() and salary.step == 100


def test_integers_on_a_finer_grid_stay_integers() -> None:
    level = sf.Gaussian(sf.Interval(0, 4, integer=True), scale=0.5, step=0.1)
    table = level.matrix(true=[-0.5, 0.5, 1.5, 4.5])
    np.testing.assert_allclose(table[:, 0], level.law()[:, level.encode(0)])
    np.testing.assert_allclose(table[:, 2], level.law()[:, level.encode([2, 3, 4])].mean(axis=1))


def test_an_error_names_the_row() -> None:
    ages = np.full(20_000, 40.0)
    ages[17_001] = 112
    with pytest.raises(ValueError, match=r"the value in row 17,002 is outside"):
        sf.Gaussian(AGE, privacy=1.0).randomize(ages)
    with pytest.raises(ValueError, match=r"the value in row 2 is not whole"):
        sf.Gaussian(sf.Interval(0, 9, integer=True), scale=1).randomize([1, 1.5])
    with pytest.raises(ValueError, match=r"unknown category in row 3"):
        sf.RandomizedResponse(sf.Categories(["a", "b"]), keep=0.5).randomize(np.array(["a", "b", "c"]))
    with pytest.raises(ValueError, match=r"missing in row 2 "):
        sf.Gaussian(AGE, privacy=1.0, missing="refuse").randomize([30, None])


def test_pandas_categories_go_in_and_come_out() -> None:
    colours = pd.Series(["red", "blue", None, "red"] * 100, dtype="category")
    channel = sf.RandomizedResponse(sf.Categories(["red", "green", "blue"]), keep=0.6)
    reports = channel.randomize(colours, rng=1)
    assert isinstance(reports, pd.Categorical) and list(reports.categories) == ["red", "green", "blue"]
    as_objects = channel.randomize(colours.to_numpy(dtype=object), rng=1)
    assert [None if pd.isna(label) else label for label in reports] == [None if pd.isna(o) else o for o in as_objects]
    with pytest.raises(ValueError, match="unknown category in row 1;"):
        channel.randomize(pd.Series(["pink"], dtype="category"))
    pink = pd.Series(pd.Categorical(["red"], categories=["red", "pink"]))
    assert len(channel.randomize(pink)) == 1


@pytest.mark.parametrize("labels", [[2, 5, 7], [True, False], [0.5, 1.5], ["x", "y", "zz"], ["x", 3]])
def test_labels_of_any_kind_are_kept_without_noise(labels: list) -> None:
    channel = sf.RandomizedResponse(sf.Categories(labels), keep=1.0)
    values = np.resize(np.array(labels, dtype=None if len({*map(type, labels)}) == 1 else object), 10_000)
    np.testing.assert_array_equal(channel.randomize(values), values)
    assert [channel.randomize(label) for label in labels] == labels


@pytest.mark.parametrize("kind", [sf.SquareWave, sf.Piecewise, sf.Laplace])
def test_values_beyond_the_last_whole_step_are_that_step_in_every_way_of_drawing(kind: type[sf.Channel]) -> None:
    """The compiled way put them on a step further, that no table has."""
    channel = kind(sf.Interval(0, 99_999), gamma=3, step=1000)
    many = channel.randomize(np.full(40_000, 99_999.0), np.random.default_rng(1))
    np.testing.assert_array_equal(many, channel.randomize(np.full(40_000, 99_000.0), np.random.default_rng(1)))
    assert channel.encode(many[:0]).size == 0 and many.max() <= channel.outputs.values[-1]
    secure = channel.randomize(np.full(40_000, 99_999.0))
    assert secure.max() <= channel.outputs.values[-1]


def test_copies_of_what_holds_a_channel_share_it() -> None:
    held = [sf.Gaussian(sf.Interval(0, 1), privacy=1.0), sf.RandomizedResponse(sf.Categories(["a", "b"]), gamma=3)]
    assert all(one is other for one, other in zip(held, deepcopy(held), strict=True))
