"""A rule as a labelled product of parts: cells are split in proportion, and its fields are the slopes of its joint."""

import numpy as np

from sfumato.learners.tree.rule.boxes import BoxFamily, Cuts, Groups, Rule, joint_of
from tests.learners.test_stiff_density import density_of_two

EDGES = np.linspace(0, 1, 9)


def rule_of(density):
    parts = (Cuts(EDGES, np.array([0.3, 0.8])), Groups(np.array([0, 0, 1, 1, 1]), ordered=True))
    types = np.array([[0, 1], [1, 0], [0, 0]])
    rng = np.random.default_rng(0)
    return Rule(parts, types, rng.normal(0, 1, (2, 3)), rng.normal(0, 0.3, 3), rng.normal(0, 0.2, density.size))


def test_a_cut_splits_its_cell_in_proportion():
    parts = Cuts(EDGES, np.array([0.3, 0.8]))
    np.testing.assert_allclose(parts.membership[0], [1, 1, 0.4, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(parts.membership.sum(axis=0), 1)


def test_fields_are_the_slopes_of_the_joint():
    density = density_of_two()
    rule = rule_of(density)
    model = BoxFamily(rule, density)
    fields, theta = model.fields(rule.theta), rule.theta
    steps = 1e-6 * np.eye(theta.size)
    joint_at = lambda at: joint_of(rule.at(at), density).ravel() / scale_at(at)  # noqa: E731
    scale_at = lambda at: np.exp(density.log(rule.at(theta).density).max() - density.log(rule.at(at).density).max())  # noqa: E731
    numeric = [(joint_at(theta + step) - joint_at(theta - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(fields, numeric, rtol=1e-5, atol=1e-8)


def test_cells_get_parts_of_their_own_and_known_cuts_are_used_again():
    parts = Cuts(EDGES, np.array([0.26]))
    inside = np.array([0, 0, 1, 1, 0, 0, 0, 0], bool)
    refined, old, chosen = parts.refined(inside)
    np.testing.assert_allclose(refined.places, [0.26, 0.5])
    assert (old.tolist(), chosen.tolist()) == ([0, 1, 1], [False, True, False])
    labels, old, chosen = Groups(np.zeros(4, int), ordered=False).refined(np.array([1, 0, 0, 1], bool))
    assert (labels.of_cell.tolist(), old.tolist(), chosen.tolist()) == ([1, 0, 0, 1], [0, 0], [False, True])


def test_parts_that_are_the_same_are_joined_and_unused_types_forgotten():
    density = density_of_two()
    rule = rule_of(density)
    plain = Rule(rule.parts, np.ones((3, 2), int), rule.logits, rule.weights, rule.density).compact()
    assert plain.types.shape == (1, 1) and plain.logits.shape == (1, 3)
    np.testing.assert_array_equal(plain.logits[0], rule.logits[1])
