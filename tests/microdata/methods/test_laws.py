"""Laws of noise: drawn as stated, kept inside, and what they came to is reported."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.microdata import IB04
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.laws import ENDS, PAPER, Law, realised_noise
from sfumato.microdata.table.fields import Field
from tests.microdata.conftest import AS_IT_WAS, mixed_table
from tests.statistics import assert_fits, assert_mean

SCORE = Field("score", "integer", 1, 10, 1)


def moved(law, values, lower, upper, field=SCORE, amount=1.0, seed=0):
    room = np.full(np.shape(values), float(lower)), np.full(np.shape(values), float(upper))
    return law.moved(np.asarray(values, float), room, amount, field, Draws(seed))


def test_the_papers_law_has_mean_zero_and_27_6_percent():
    grid = (np.arange(100_000) + 0.5) / 100_000
    assert PAPER.quantile(grid).mean() == pytest.approx(0, abs=1e-6)
    assert PAPER.deviation == pytest.approx(0.276, abs=5e-4)


def test_a_table_is_drawn_with_its_probabilities_and_rounded_to_the_step():
    """From 5 in 1..10 a share of ±1/3 is three scores; 0.02 is less than half a score and moves nothing."""
    law = Law.of_table({-1 / 3: 1, 0.02: 2, 1 / 3: 1})
    released = moved(law, np.full(40_000, 5.0), 1, 10)
    assert_fits(np.bincount(released.astype(int), minlength=11)[[2, 5, 8]], [0.25, 0.5, 0.25])
    assert set(np.unique(released)) == {2, 5, 8}


@pytest.mark.parametrize(("ends", "value"), [("reflect", 9), ("wrap", 2), ("clip", 10)])
def test_what_goes_beyond_an_end_comes_back_as_stated(ends, value):
    """9 and three more is 12: folded at 10.5 it is 9, come in again at 1 it is 2, stopped it is 10."""
    assert moved(Law.of_table({1 / 3: 1}, ends), [9.0], 1, 10)[0] == value


def test_redrawn_noise_is_the_law_given_that_the_value_stays_inside():
    released = moved(Law.of_table({-1 / 3: 1, 0: 1, 1 / 3: 2}, "redraw"), np.full(40_000, 9.0), 1, 10)
    assert_fits([np.sum(released == 6), np.sum(released == 9)], [0.5, 0.5])
    with pytest.raises(ValueError, match="again and again"):
        moved(Law.of_table({1: 1}, "redraw"), [9.0], 1, 10)


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(ENDS),
    st.floats(0, 1),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.integers(1, 9),
    st.integers(0, 2**32 - 1),
)
def test_values_stay_inside_and_of_their_type(ends, amount, step, width, seed):
    field = Field("any", "float", 0, width, step)
    values = field.snap(np.random.default_rng(seed).uniform(0, width, 50), 0, width)
    law = Law(stats.norm(scale=0.3).ppf, ends)
    released = moved(law, values, 0, width, field, amount, seed)
    assert (released >= -1e-9).all()
    assert (released <= width + 1e-9).all()
    if step:
        assert np.allclose(released / step, np.rint(released / step), atol=1e-6)


def test_an_own_law_as_a_function_keeps_records_in_their_leaves_and_its_noise_is_reported():
    table, on_c45 = mixed_table(2000), {"leaves": "c45", "labels": "none", "attempts": 0}
    done = sf.release(table, "class", IB04(law=stats.laplace(scale=0.05).ppf, **on_c45), rng=1)
    assert np.array_equal(done.leaves.nodes.descend(done.released.X), done.leaves.leaf)
    score = [one for one in done.report.noise if one.attribute == "score"]
    assert sum(one.values for one in score) == 2000
    (untested,) = [one for one in score if not one.tested]
    assert untested.deviation == pytest.approx(np.sqrt(2) * 0.05, rel=0.15)
    rows = ~done.leaves.tested[done.leaves.leaf, done.original.index("score")]
    assert_mean((done.released.X - done.original.X)[rows, done.original.index("score")], 0)
    assert {"attribute", "tested", "values", "mean", "deviation"} == set(done.report.to_dict()["realised_noise"][0])
    assert "realised_noise" not in done.report.to_dict(public=True)


def test_without_a_change_the_realised_noise_is_nothing(unchanged):
    for one in realised_noise(unchanged.original, unchanged.released, unchanged.leaves):
        assert (one.mean, one.deviation) == (0, 0)


def test_under_the_papers_law_values_reach_the_cut_and_not_only_what_was_observed():
    """No value lies between 3 and 8, so C4.5 cuts at 3; the paper's range of the right leaf still begins at 4."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.integers(1, 4, 200), rng.integers(8, 11, 200)])
    table = {"x": x, "other": rng.integers(1, 11, 400), "class": np.where(x > 5, "b", "a")}
    lowest = {
        one.law: sf.release(table, "class", one, **AS_IT_WAS, rng=0).table["x"][x > 5].min()
        for one in (IB04(leaves="c45", law=law, attempts=0) for law in ("paper", "additive"))
    }
    assert lowest["paper"] < 8
    assert lowest["additive"] == 8


def test_liapt_in_mixed_leaves_leaves_pure_ones_alone():
    method = IB04(leaves="c45", tested=False, untested="mixed", law="paper")
    done = sf.release(mixed_table(), "class", method, **AS_IT_WAS, rng=0)
    leaves, changed = done.leaves, done.released.X != done.original.X
    for leaf in np.unique(leaves.leaf):
        rows = leaves.records(int(leaf))
        if np.unique(done.original.y[rows]).size == 1:
            assert not changed[rows].any()
    assert changed.any()
    assert not changed[leaves.tested[leaves.leaf]].any()


def test_what_is_no_law_is_refused():
    for law, words in (
        ("uniform", "law='uniform' is unknown"),
        ({}, "law as a table"),
        ({0.1: -1}, "law as a table"),
        (lambda u: u[:1], "as many finite shares"),
    ):
        with pytest.raises(ValueError, match=words):
            IB04(law=law)
    with pytest.raises(ValueError, match="ends='bounce' is unknown"):
        Law.of_table({0: 1}, "bounce")
