"""The additive model over cells: its fields are its derivatives, and a cell's mean is that of the points in it."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.learners.additive.model import AdditiveFamily
from sfumato.learners.additive.terms import CellPoints, Factor, Term

X = CellPoints(0, None, np.linspace(0.5, 9.5, 10), np.ones(10), 0.0, 10.0)
Z = CellPoints(1, None, np.linspace(-0.9, 0.9, 10), np.full(10, 0.2), -1.0, 2.0)
CITY = CellPoints(2, ("a", "b", "c"), np.zeros(3), np.zeros(3), 0.0, 1.0)
HINGE = Factor(0, 4.3, 10.0, hinge=True)
DOWN = Factor(1, 0.25, 2.0, sign=-1, hinge=True)
TERMS = [Term((Factor(1, -1.0, 2.0),)), Term((HINGE, DOWN)), Term((Factor(2, 0.0, labels=CITY.labels, label=1),))]


@pytest.mark.parametrize("classes", [2, 3])
def test_fields_are_the_derivatives_of_the_joint_distribution(classes):
    rng = np.random.default_rng(0)
    density = rng.dirichlet(np.ones(300)).reshape(10, 10, 3)
    model = AdditiveFamily([X, Z, CITY], density, TERMS, classes)
    theta = model.theta(rng.normal(0, 3, (classes - 1, 4)))
    for k, field in enumerate(model.fields(theta)):
        step = np.zeros_like(theta)
        step[k] = 1e-6
        slope = (model.joint(theta + step) - model.joint(theta - step)) / 2e-6
        knot = k >= 4 * (classes - 1)  # what knots change of the variance within cells is left out
        np.testing.assert_allclose(field, slope, atol=0.02 * np.abs(slope).max() if knot else 1e-8)


def test_the_joint_distribution_sums_to_the_density():
    density = np.full((10, 10, 3), 1 / 300)
    model = AdditiveFamily([X, Z, CITY], density, TERMS, 3)
    joint = model.joint(model.theta(np.ones((2, 4)))).reshape(3, -1)
    np.testing.assert_allclose(joint.sum(axis=0), density.ravel())


def test_a_factor_over_a_cell_is_the_mean_of_its_values():
    for factor in (HINGE, Factor(0, 4.3, 10.0, sign=-1, hinge=True), Factor(0, 0.0, 10.0)):
        fine = np.linspace(0, 10, 100_001)
        values = factor.values([fine])
        means = [values[(fine >= low) & (fine <= low + 1)].mean() for low in range(10)]
        np.testing.assert_allclose(factor.on(X).mean, means, atol=1e-5)


@pytest.mark.parametrize("scale", [3.0, 30.0, 300.0])
def test_one_softened_point_a_cell_does_what_many_points_do(scale):
    model = AdditiveFamily([X], np.full(10, 0.1), [Term((Factor(0, 0.0, 10.0),))], 2)
    theta = model.theta(np.array([[-scale * 0.47, scale]]))
    fine = (np.arange(10_000) + 0.5) / 1000
    p = 1 / (1 + np.exp(-scale * (fine / 10 - 0.47)))
    np.testing.assert_allclose(model.joint(theta)[10:] / 0.1, p.reshape(10, -1).mean(axis=1), atol=0.05)


def test_a_term_and_its_plain_data_are_the_same():
    for term in TERMS:
        assert Term.from_dict(term.to_dict(), 3) == term
    with pytest.raises(ValueError, match="the unit of a factor is not above zero"):
        Factor.from_dict({**HINGE.to_dict(), "unit": 0.0}, 3)
    with pytest.raises(ValueError, match="a term has no factors"):
        Term.from_dict({"factors": []}, 3)
