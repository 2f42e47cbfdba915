"""The stiff density: cosines over places, stiffer the finer they are."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Reports
from sfumato.evidence import Axis
from sfumato.learners.stiff_density import StiffDensity, cosines


def cut(channel, values, size=8):
    reports = Reports({"x": np.asarray(values)}, [channel])
    return Axis(reports.column("x")).at(size)


def density_of_two(pairs=None):
    numbers = cut(sf.Gaussian(sf.Interval(0, 10), scale=2), [1.0, 2.0])
    whole = cut(sf.Gaussian(sf.Interval(0, 4, integer=True), scale=2), [1, 2])
    return StiffDensity([numbers, whole], terms=[2, 9], pairs=pairs)


def test_cosines_are_orthonormal_averages():
    edges = np.linspace(0, 1, 2_001)
    found = cosines(edges, 4)
    np.testing.assert_allclose(found @ found.T / 2_000, np.eye(4), atol=1e-5)
    np.testing.assert_allclose(cosines(edges[::100], 3), found[:3].reshape(3, 20, 100).mean(axis=2))


def test_without_coefficients_it_is_uniform_whatever_the_cells():
    numbers = cut(sf.Gaussian(sf.Interval(0, 10), scale=2), [1.0, 2.0])
    labels = cut(sf.RandomizedResponse(sf.Categories(["a", "b", "c"]), keep=0.6), ["a", "b"])
    density = StiffDensity([numbers, labels])
    assert density.shape == (8, 3)
    assert (density.terms, density.size) == ([6, 2], 8)
    assert np.ptp(density.log(np.zeros(8))) < 1e-9
    np.testing.assert_array_equal(density.ridge, [1, 4, 9, 16, 25, 36, 0.1, 0.1])


@pytest.mark.parametrize("pairs", [None, {(0, 1): 3}])
def test_its_basis_is_the_slope_of_its_logarithm(pairs):
    density = density_of_two(pairs)
    assert density.terms == [2, 4]
    steps = np.eye(density.size)
    slopes = [density.log(step) - density.log(0 * step) for step in steps]
    np.testing.assert_allclose(density.basis(), slopes, atol=1e-12)


def test_clear_columns_start_from_the_shares_of_their_cells():
    clear = cut(None, [1.0, 1.0, 1.0, 2.0, 3.0], 3)
    g = np.exp(StiffDensity([clear], shares=[np.array([0.6, 0.2, 0.2])]).log(np.zeros(2)))
    np.testing.assert_allclose(g / g.sum(), [0.6, 0.2, 0.2], atol=1e-5)
