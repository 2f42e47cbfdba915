"""Value classes: a value is put into its class without being rounded first, and the stated law says the same."""

from __future__ import annotations

import numpy as np

import sfumato as sf


def test_the_law_at_a_values_code_is_that_of_the_value_itself() -> None:
    classes = sf.Discretize(sf.Interval(-6, 7), edges=[-6, 0.00301, 2.0, 7])
    values = np.array([0.0030, 0.0031, 0.00300999, 0.00301, 1.9999999, 2.0])
    drawn = classes.outputs.encode(classes.randomize(values))
    assert drawn.tolist() == [0, 1, 0, 1, 1, 2]
    np.testing.assert_array_equal(classes.law()[drawn, classes.encode(values)], 1)


def test_cells_of_reports_that_hold_no_class_are_empty() -> None:
    classes = sf.Discretize(sf.Interval(0, 3), edges=[-1, 1, 4])
    table = classes.matrix(true=[0, 1, 2, 3], reported=[-1, 0.5, 1.5, 4])
    np.testing.assert_allclose(table, [[1, 0, 0], [0, 0, 0], [0, 1, 1]])
