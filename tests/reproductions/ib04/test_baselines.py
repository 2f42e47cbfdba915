"""Whole-table methods: inside domain and type, and classes as they are."""

import numpy as np
import pytest

import sfumato as sf
from reproductions.ib04.baselines import BASELINES, OURS, Random, Sadp
from tests.microdata.conftest import AS_IT_WAS, mixed_table

named = pytest.mark.parametrize("method", BASELINES, ids=lambda one: one.name)


@named
def test_released_values_stay_in_domain_and_type_and_classes_stay(method):
    table = mixed_table(200)
    table["score"][:9] = np.nan
    table["one"] = np.full(200, 4)
    done = sf.release(table, "class", method, rng=1, **AS_IT_WAS)
    for place, field in enumerate(done.original.fields):
        after = done.released.X[:, place]
        assert np.array_equal(np.isnan(after), np.isnan(done.original.X[:, place]))
        known = after[~np.isnan(after)]
        assert (known >= field.low).all() and (known <= field.high).all()
        if field.kind != "float":
            assert np.array_equal(known, np.rint(known))
    assert np.array_equal(done.table["class"], table["class"])
    assert (done.table["one"] == 4).all()


@named
def test_columns_that_are_kept_stay_and_others_move(method):
    done = sf.release(mixed_table(200), "class", method, keep=["age"], rng=1, **AS_IT_WAS)
    moved = (done.original.X != done.released.X).any(axis=0)
    assert not moved[0] and moved[1]


def test_random_noise_uses_the_whole_domain_and_forgets_the_leaves():
    table = mixed_table(1000)
    done = sf.release(table, "class", Random(), **AS_IT_WAS, rng=0)
    (age,) = [one for one in done.report.noise if one.attribute == "age"]
    assert 0.2 < age.deviation < 0.276


def test_simple_noise_is_caught_with_biases_of_type_a():
    biases = sf.release(mixed_table(), "class", Sadp(1.0), rng=0).report.biases
    assert not next(bias for bias in biases if bias.type == "A" and bias.what == "score").within


def test_every_method_is_tried_with_several_amounts_of_its_own():
    for method in (*OURS, *BASELINES):
        variants = method.varied()
        assert len(variants) == len({str(one) for one in variants}) > 2
        assert {one.name for one in variants} == {method.name}
