"""The class steps: RPT keeps counts exactly, PPT on average, ALPT reaches pure leaves too."""

import numpy as np
import pytest
from tests.statistics import assert_fits, assert_probability

from sfumato.microdata.draws import Draws
from sfumato.microdata.labels import blur_labels

LEAF = np.repeat([0, 1], 30_000)
Y = np.concatenate([np.repeat([0, 1], [27_000, 3_000]), np.zeros(30_000, int)])


def test_rpt_gives_every_record_of_a_leaf_the_minority_with_the_same_probability():
    found = blur_labels(Y, LEAF, "rpt", Draws(1))
    assert np.bincount(found[LEAF == 0]).tolist() == [27_000, 3_000]
    assert (found[LEAF == 1] == 0).all()
    assert_fits([found[27_000:30_000].sum(), found[:27_000].sum()], [0.1, 0.9])


def test_ppt_draws_from_the_leafs_shares_and_leaves_pure_leaves_alone():
    found = blur_labels(Y, LEAF, "ppt", Draws(2))
    assert_probability(found[LEAF == 0].sum(), 30_000, 0.1)
    assert (found[LEAF == 1] == 0).all()


def test_alpt_lends_pure_leaves_the_average_minority_share():
    assert_probability(blur_labels(Y, LEAF, "alpt", Draws(3))[LEAF == 1].sum(), 30_000, 0.1)


def test_an_unknown_step_is_refused():
    with pytest.raises(ValueError, match="labels='swap' is not a class step"):
        blur_labels(Y, LEAF, "swap", Draws(0))
