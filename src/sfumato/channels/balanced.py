"""Laws of two values: every report stands for a set of true codes and is likelier for those inside than for the others.

    P[y, x] = inside if x is in the set of y, else outside.

Over all reports the set holds the true code with chance ``kept`` and any other code with one chance, ``stray``. So the
shares p of the true codes follow from how many sets hold each of them, without any table (docs/mathematics.md):

    E(share of sets that hold x) = stray + (kept − stray)·p_x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sfumato.domain import Floats


@dataclass(frozen=True, eq=False)
class Balanced:
    """What reconstruction asks of such a law.

    ``held_by``: from how often each report was seen to how many of them hold each true code. ``held_in``: from a weight
    of each true code to the weight that each report's set holds.
    """

    inside: float
    outside: float
    kept: float
    stray: float
    held_by: Callable[[Floats], Floats]
    held_in: Callable[[Floats], Floats]

    def reports(self, shares: Floats) -> Floats:
        """The law of reports where true codes have these shares."""
        found: Floats = self.outside * shares.sum() + (self.inside - self.outside) * self.held_in(shares)
        return found

    @property
    def precision(self) -> float:
        """How much one report tells of a rare code: 1/variance of its share's unbiased estimate."""
        return (self.kept - self.stray) ** 2 / (self.stray * (1 - self.stray)) if 0 < self.stray < 1 else float("inf")
