"""Low-order digits: noise added to a float leaves digits of the true value behind (Mironov's attack).

A channel sends only whole multiples of its step. A report between two of them, at a fraction f of a step, betrays the
fraction of the true value: the adversary simply reads it off.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sfumato.domain import Floats, as_numbers

SAME = 1e-6


def fractions(values: ArrayLike, origin: float, step: float) -> Floats:
    """Where in its step a number lies, from −½ to ½; 0 for numbers on the grid."""
    place = (as_numbers(values) - origin) / step
    return np.asarray(place - np.rint(place))


def share_read_off(true: ArrayLike, reports: ArrayLike, origin: float, step: float) -> float:
    """The share of people whose fraction of a step is the report's own: digits that arrived unblurred.

    Without leakage all reports lie on the grid, and the share is that of true values that do.
    """
    known, seen = fractions(true, origin, step), fractions(reports, origin, step)
    leaked = np.abs(known - seen) < SAME
    return float((leaked & (np.abs(known) > SAME)).mean())
