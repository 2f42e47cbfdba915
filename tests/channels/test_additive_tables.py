import numpy as np
import pytest

import sfumato as sf


@pytest.mark.parametrize("privacy", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("top", [75_000, 500_000, 1_350_000])
def test_no_entry_of_a_table_on_intervals_is_negative(privacy, top):
    """Sums of the noise's law can pass 1 by their last bit, and a difference of them would then be below 0."""
    channel = sf.Uniform(sf.Interval(0, top), privacy=privacy)
    values = np.asarray(channel.outputs.values)
    for cells in (37, 97):
        table = channel.matrix(np.linspace(0, top, cells + 1), np.linspace(values[0], values[-1], 2 * cells))
        assert table.min() >= 0
        assert table.sum(axis=0) == pytest.approx(1)
