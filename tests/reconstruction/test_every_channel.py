"""Every kind of channel that obeys the channel laws can be reconstructed through, present and future."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Counts
from tests.laws.test_laws import EXAMPLES

CHANNELS = {
    f"{kind}-{i}-{level}": channel
    for kind, found in EXAMPLES.items()
    for i, mechanism in enumerate(found)
    for level, channel in mechanism.levels.items()
    if not isinstance(channel.domain, sf.Items)
}


@pytest.mark.parametrize("method", ["smooth", "em", "as00"])
@pytest.mark.parametrize("name", CHANNELS)
def test_an_estimate_is_a_distribution_with_finite_errors(name, method):
    channel = CHANNELS[name]
    rng = np.random.default_rng(0)
    values = channel.inputs.decode(rng.integers(0, channel.inputs.size, 2000))
    counts = Counts.of(channel.randomize(values, rng=rng), channel)
    assert counts.total == 2000
    estimate = sf.reconstruct(counts, intervals=5 if isinstance(channel.domain, sf.Interval) else None, method=method)
    assert estimate.probabilities.sum() == pytest.approx(1, abs=1e-6)
    assert (estimate.probabilities >= -1e-9).all()
    assert np.isfinite(estimate.stderr).all()
    assert estimate.probabilities.size == (5 if isinstance(channel.domain, sf.Interval) else channel.domain.size)
