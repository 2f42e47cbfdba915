"""The smallest tree over labelled boxes."""

import numpy as np

from sfumato.learners.tree.rule import partition
from sfumato.learners.tree.rule.partition import smallest_tree

FUNCTION_2 = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 0, 0]])


def test_function_2_of_agi92_needs_nine_leaves():
    tree = smallest_tree(FUNCTION_2)
    assert tree.inner == 8 and len(tree.leaves()) == 9
    assert all(np.unique(FUNCTION_2[tuple(slice(*ends) for ends in leaf.box)]).size == 1 for leaf in tree.leaves())


def test_one_type_is_one_leaf():
    assert smallest_tree(np.zeros((3, 2), int)).inner == 0
    assert smallest_tree(np.zeros((), int)).inner == 0


def test_over_many_boxes_it_still_tells_all_types_apart(monkeypatch):
    monkeypatch.setattr(partition, "MOST_BOXES", 1)
    tree = smallest_tree(FUNCTION_2)
    assert sum(np.prod([b - a for a, b in leaf.box]) for leaf in tree.leaves()) == FUNCTION_2.size
    assert 8 <= tree.inner <= 12
