"""Selection on reports alone: what tells about the class is found, what does not is left out."""

import numpy as np

import sfumato as sf
from sfumato.counts import Reports
from sfumato.mining.joint.selection import cap_helpers, class_entropy, select_columns
from sfumato.reconstruction import Axis

CHANNEL = sf.Gaussian(sf.Interval(0, 10), scale=2)


def selected(values, y, *, most=5.0):
    rng = np.random.default_rng(7)
    columns = {f"x{j}": CHANNEL.randomize(x, rng) for j, x in enumerate(values)}
    reports = Reports(columns, [CHANNEL] * len(values), target=y)
    return select_columns(reports, [Axis(reports.column(name)) for name in reports.names], most)


def test_only_columns_that_tell_about_the_class_are_modelled():
    rng = np.random.default_rng(1)
    noise, x = rng.uniform(0, 10, 8_000), rng.uniform(0, 10, 8_000)
    assert selected([noise, x], x > 5) == (1,)


def test_a_pair_that_tells_only_together_is_found():
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 10, (3, 20_000))
    assert set(selected(list(x), (x[0] > 5) ^ (x[2] > 5))) == {0, 2}


def test_there_are_no_more_dimensions_than_allowed():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, (3, 8_000))
    assert len(selected(list(x), x.sum(axis=0) > 15, most=1.0)) == 1


def test_a_helper_is_cut_into_few_cells():
    """The third column only repeats the first with more noise of its own."""
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 10, (2, 6_000))
    y = (x[0] > 5) ^ (x[1] > 7)
    third = np.clip(x[0] + rng.normal(0, 2, 6_000), 0, 10)
    columns = {f"x{j}": CHANNEL.randomize(v, rng) for j, v in enumerate((*x, third))}
    reports = Reports(columns, [CHANNEL] * 3, target=y)
    axes = [Axis(reports.column(name)) for name in reports.names]
    kept = cap_helpers(reports, axes)
    assert [axis.at(30).size for axis in kept] == [30, 30, 12]
    assert cap_helpers(reports, axes[:2]) == axes[:2]


def test_entropy_of_the_class_given_cells():
    assert class_entropy(np.array([[0.25, 0.0], [0.25, 0.5]])) == np.float32(0.5 * np.log(2))
