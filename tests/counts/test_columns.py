"""Columns: folds are even, independent, and the same in every engine."""

import itertools

import duckdb
import numpy as np
import pytest

from sfumato.counts import Fold, Reports
from sfumato.counts.questions import fold_hash


def test_a_fold_and_the_others_make_all():
    reports = Reports(np.zeros((1000, 1)), seed=3)
    some = Fold(range(2, 5), 10)
    assert np.array_equal(reports.chosen(~some), ~reports.chosen(some))
    assert 200 < reports.chosen(some).sum() < 400


def test_folds_are_what_sql_computes():
    """The hash as its definition says, in DuckDB's signed 64-bit integers."""

    def mix(h: str) -> str:
        for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
            h = f"((xor({h}, ({h}) >> {shift}) * {factor}::BIGINT) % 4294967296)"
        return f"xor({h}, ({h}) >> 15)"

    seed, salt = 11, 2
    start = (seed ^ (salt * 0x9E3779B9)) & 0xFFFFFFFF
    steps = f"select place, {mix(f'{start}::BIGINT')} as h from range(3000) t(place)"
    steps = f"select place, {mix('h')} as h from ({steps})"
    steps = f"select {mix('xor(h, place)')} % 7 from ({steps}) order by place"
    found = np.array(duckdb.sql(steps).fetchall()).ravel()
    assert np.array_equal(found, fold_hash(seed, np.arange(3000), salt) % 7)


def test_the_hash_knows_places_beyond_32_bits():
    far = fold_hash(1, np.array([5, 5 + 2**32, 5 + 2**33]))
    assert len(set(far.tolist())) == 3
    assert far[0] == fold_hash(1, np.array([5]))[0]


@pytest.mark.parametrize("of", [2, 3, 10])
def test_folds_are_even_and_independent_of_place_seed_and_salt(of):
    """χ² of two folds against each other: 1e-5 and (of² − 1) degrees of freedom."""
    from scipy.stats import chi2

    n = 30_000
    reports = [Reports(np.zeros((n, 1)), seed=seed) for seed in (0, 1)]
    every = [reports[0].folds(of), reports[0].folds(of, salt=1), reports[1].folds(of), np.arange(n) % of]
    for one, other in itertools.combinations(every, 2):
        pairs = np.bincount(one * of + other, minlength=of * of)
        assert ((pairs - n / of**2) ** 2 / (n / of**2)).sum() < chi2.ppf(1 - 1e-5, of * of - 1)
