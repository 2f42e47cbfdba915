"""Was this person in the table?"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from sfumato.microdata.intruders.halves import Halves, gain
from sfumato.microdata.intruders.scene import CONFIDENCE, Finding, Scene

THRESHOLDS = (0.05, 0.5)
"""Shares of the people who were not in it that are taken to have been."""


def membership(scene: Scene, halves: Halves) -> Finding:
    """Right answers about people of whom half were in the table; guessing is right half of the time."""
    z = float(ndtri(1 - (1 - CONFIDENCE) / len(THRESHOLDS)))
    inside, outside = halves.crossed(*(distance for _, distance in halves.nearest()))
    gains = [gain(inside <= reach, outside <= reach, z) for reach in np.quantile(outside, THRESHOLDS)]
    found, limit = max(gains, key=lambda each: each[1])
    story = (
        "knows every attribute of a person and says that they were in the table where a released record is near; "
        "measured on releases of two halves of the table, each person in one of them"
    )
    nearer = float((inside < outside).mean())
    example = f"the release with a person has the nearer record in {100 * nearer:.0f} % of cases"
    share, at_most = (1 + found) / 2, min((1 + max(limit, 0)) / 2, 1.0)
    return Finding("membership", story, "guess", share, max(at_most, share), 0.5, halves.size, example)
