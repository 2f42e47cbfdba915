import math

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


@pytest.mark.parametrize("kind", [sf.Gaussian, sf.Uniform, sf.Laplace])
@pytest.mark.parametrize("snr", [0.25, 1.0, 4.0])
def test_the_signal_to_noise_ratio_is_that_of_the_noise_as_drawn(kind, snr):
    ages = sf.Interval(17, 90)
    known, flat = kind(ages, snr=snr, data_deviation=13.6), kind(ages, snr=snr)
    assert 13.6**2 / known.noise_variance == pytest.approx(snr, rel=1e-3)
    assert 73**2 / 12 / flat.noise_variance == pytest.approx(snr, rel=1e-3)
    assert known.to_spec() == {"channel": known.kind, "snr": snr, "data_deviation": 13.6}
    spelt = kind(ages, 13.6 / math.sqrt(snr) / known.unit_deviation)
    assert known.identity == spelt.identity


def test_a_plan_states_the_ratio():
    asked = {"low": 17, "high": 90, "channel": "gaussian", "snr": 1.0, "data_deviation": 13.6}
    plan = sf.Plan.from_dict({"attributes": {"age": asked}})
    assert plan.channels["age"].scale == 13.6
    assert sf.Plan.loads(plan.to_json(), "json") == plan
