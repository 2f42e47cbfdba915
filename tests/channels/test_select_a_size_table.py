"""The whole table for a tiny set of items."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.select_a_size_law import two_level
from sfumato.channels.select_a_size_table import BasketSpace, table


def test_columns_are_distributions_and_equal_a_direct_reading_of_the_operator() -> None:
    """One column by the definition: choose j, keep j of m, insert the others independently."""
    law = two_level(2, 0.25, 5.0, 1)
    found = table(law, 4)
    np.testing.assert_allclose(found.sum(axis=0), 1.0)
    p0, p1, p2 = law.kept
    kept = {0b00: p0, 0b01: p1 / 2, 0b10: p1 / 2, 0b11: p2}
    inserted = {0b00: 0.75**2, 0b01: 0.25 * 0.75, 0b10: 0.25 * 0.75, 0b11: 0.25**2}
    direct = [kept[report & 3] * inserted[report >> 2] for report in range(16)]
    np.testing.assert_allclose(found[:, 0], direct)


def test_baskets_have_codes_and_names() -> None:
    space = BasketSpace.of_sizes(sf.Items(["a", "b", "c"]), 2)
    assert space.labels == (frozenset("ab"), frozenset("ac"), frozenset("bc"))
    assert space.encode(list(space.labels)).tolist() == [0, 1, 2]
    assert space.members(np.array([1])).tolist() == [[0, 2]]
    with pytest.raises(ValueError, match="has no design"):
        space.encode([{"a"}])
