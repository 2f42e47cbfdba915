"""Every way to apply a table gives what the table itself gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.evidence import large_tables as tables
from sfumato.evidence.large_tables import FewWavesTable, FourierTable, ShiftTable, SparseProductTable, find_shift_table
from sfumato.evidence.laws import observe
from sfumato.evidence.tables import DenseTable, ProductTable, StackedTable
from sfumato.reconstruction.layout import layout_for

UNIT = sf.Interval(0, 1)
LARGE = {
    "gaussian": (sf.Gaussian(UNIT, scale=0.25), FewWavesTable),
    "laplace": (sf.Laplace(UNIT, scale=0.1), FourierTable),
    "narrow gaussian": (sf.Gaussian(UNIT, scale=0.001, step=0.001), FourierTable),
    "uniform": (sf.Uniform(UNIT, halfwidth=0.5), FourierTable),
    "square wave": (sf.SquareWave(UNIT, gamma=19), FourierTable),
}


def agree(table, matrix: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    p, r = (rng.dirichlet(np.ones(size), 3) for size in matrix.shape[::-1])
    for many, one in ((p, p[0]), (r, r[0])):
        apply, wanted = (table.apply, matrix.T) if many is p else (table.adjoint, matrix)
        assert np.abs(apply(many) - many @ wanted).max() < 1e-12
        assert np.abs(apply(one) - one @ wanted).max() < 1e-12
    assert np.abs(table.dense() - matrix).max() < 1e-12


@pytest.mark.parametrize("name", LARGE)
def test_a_large_table_that_only_shifts_is_applied_without_being_built(name):
    channel, kind = LARGE[name]
    layout = layout_for(UNIT, 500, channel.inputs.step)
    seen = observe(channel, layout.cells)
    assert isinstance(seen.table, kind)
    agree(seen.table, channel.matrix(true=layout.cells, reported=seen.reports.edges))


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 12), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_every_shift_table_equals_its_dense_form(columns, more, seed):
    rng = np.random.default_rng(seed)
    rows = columns + more
    ends = rng.random(columns), rng.random(columns)
    kernel = np.where(rng.random(rows + columns - 1) < 0.5, 0.0, rng.random(rows + columns - 1))
    matrix = kernel[np.arange(rows)[:, None] - np.arange(columns) + columns - 1]
    matrix[0], matrix[-1] = ends
    for kind in (FourierTable, FewWavesTable):
        agree(kind(kernel, ends), matrix)


def test_a_table_that_does_not_shift_is_not_taken_for_one():
    matrix = np.random.default_rng(1).random((40, 20))
    assert find_shift_table(matrix.shape, lambda t: matrix[:, t], (matrix[0], matrix[-1])) is None


def test_stacked_levels_equal_the_stacked_matrix():
    rng = np.random.default_rng(2)
    parts, shares = [rng.random((5, 3)), rng.random((7, 3))], np.array([0.3, 0.7])
    table = StackedTable([DenseTable(part) for part in parts], shares)
    agree(table, np.vstack([share * part for share, part in zip(shares, parts, strict=True)]))


def test_a_product_applied_axis_by_axis_equals_the_kronecker_table(monkeypatch):
    rng = np.random.default_rng(3)
    factors = [rng.random((4, 3)), rng.random((2, 5)), rng.random((3, 2))]
    whole = np.kron(np.kron(factors[0], factors[1]), factors[2])
    agree(ProductTable(factors), whole)
    rows = np.array([[0, 0, 1], [0, 1, 0], [0, 1, 2], [2, 0, 0], [3, 1, 1]])
    for many in (0, 1000):
        monkeypatch.setattr(tables, "MANY", many)
        agree(SparseProductTable(factors, rows), whole[np.ravel_multi_index(tuple(rows.T), (4, 2, 3))])


def test_small_tables_stay_dense():
    layout = layout_for(UNIT, 100, 0.001)
    table = observe(sf.Gaussian(UNIT, scale=0.25), layout.cells).table
    assert isinstance(table, DenseTable)
    assert not isinstance(table, ShiftTable)
