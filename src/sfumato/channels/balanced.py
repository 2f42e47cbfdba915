"""Laws with two values only: each report names a set of true codes, and codes inside the set make it likelier.

    P[y, x] = inside if x is in the set of report y, else outside.

The set of a random report holds the true code with chance ``kept``, and any other code with chance ``stray``, the same
for all of them. So the shares p of the true codes follow from how many of the reported sets hold each code, without a
table (docs/mathematics.md, "Many categories"):

    E(share of reported sets that hold x) = stray + (kept − stray)·p_x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sfumato.domain import Floats


@dataclass(frozen=True, eq=False)
class Balanced:
    """A table of chances P[report, true code] that holds two different chances, so that shares follow without it.

    Every report names a set of true codes; codes inside the set make it likelier than codes outside.

    ``inside``, ``outside``: P[report, true code] for a code in the report's set, and for a code outside it.
    ``kept``, ``stray``: the chance that a report's set holds the true code, and that it holds a given other code.
    ``counts_by_code``: takes the number of times that each report was seen (one number a report) and returns for every
    true code how many of the seen sets hold it.
    ``weights_by_report``: takes a weight for each true code and returns for every report the sum over its set.
    """

    inside: float
    outside: float
    kept: float
    stray: float
    counts_by_code: Callable[[Floats], Floats]
    weights_by_report: Callable[[Floats], Floats]

    def reports(self, shares: Floats) -> Floats:
        """Return the chance of every report, an array, among people whose true codes have these shares: P·shares."""
        chances: Floats = self.outside * shares.sum() + (self.inside - self.outside) * self.weights_by_report(shares)
        return chances

    @property
    def precision(self) -> float:
        """How precisely one report tells a rare code's share: the inverse variance (kept − stray)²/(stray·(1 − stray)).

        n reports together are n times as precise.
        """
        return (self.kept - self.stray) ** 2 / (self.stray * (1 - self.stray)) if 0 < self.stray < 1 else float("inf")
