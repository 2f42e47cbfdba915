"""How a limit on everything is shared out."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.privacy import BeliefTarget
from sfumato.privacy.proposals import gamma_limits


def test_a_limit_on_everything_is_shared_out_and_what_is_not_needed_goes_to_others() -> None:
    limits = gamma_limits({"a": 1.5, "b": 100.0, "c": np.inf}, [BeliefTarget(0.05, 0.5)])
    assert limits["b"] == limits["c"] == pytest.approx(np.sqrt(19 / 1.5), rel=1e-5)
    assert limits["a"] >= 1.5
    twice = gamma_limits({"a": np.inf}, [BeliefTarget(0.05, 0.5)], times=2)
    assert twice["a"] == pytest.approx(np.sqrt(19), rel=1e-5)
