"""Search for the select-a-size law that lets the rarest itemsets be found under a bound γ.

For every insertion chance ρ the laws with γ-bounded lift p[j]/p0[j] form a polytope. At its corners some kept counts j
are *boosted*, lifted by γ, and the others not: p[j] proportional to p0[j] γ^(1 if j is boosted, else 0). The search
tries every ρ and corner, then moves the lifts of the best corner between 1 and γ, and keeps the smallest value of

    worst(p, ρ) = max over k = 1..up_to of the lowest discoverable support of k-itemsets.

Mirror images (ρ → 1-ρ, j → m-j) read equally well; the one that shows true items more often is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.baskets.law import (
    SIGNIFICANCE,
    VANISHING,
    SizeLaw,
    absent_power_per_kept,
    kept_by_noise,
    power_per_kept,
    signal_per_kept,
    support_where_significant,
)
from sfumato.domain import Floats

Bools = NDArray[np.bool_]

FORMS = ("best", "two-level", "single-boost")  # of laws: any, boosted from a kept count on, one boosted kept count
CRITERIA = ("support", "threshold")  # what a design makes small; see ``Goal``
ROUNDING = 1.0 - 1e-13
"""By what γ is multiplied before it is used as a lift, so that the finished law's γ, after hundreds of float operations
of 2e-16 each, is at most the one given."""
SOFTENING_ROUNDS = 5
"""Rounds over all kept counts in which lifts are moved, at most. By judgement: a round that gains less than a millionth
ends the search before; fifty found nothing better for baskets of 3, 5 and 8 items at γ = 19."""
LEVELS = np.concatenate([np.linspace(0.0, 0.05, 26), np.linspace(0.1, 0.9, 17), np.linspace(0.95, 1.0, 26)])
"""The lifts that are tried for a kept count, as logarithms in units of ln γ. By judgement: finer near the ends, 1 and
γ, where the best corner begins; 401 even ones find no support a thousandth lower (3, 5 and 8 items, γ = 19)."""
EVERY_SUBSET_UP_TO = 8
"""Basket size up to which all 2^(m+1) corners are tried; beyond it only those whose boosted counts are consecutive. By
judgement: 512 corners at every ρ take a tenth of a second, and each item more doubles that."""


@dataclass(frozen=True)
class Goal:
    """The goal of a design: read itemsets of 1..up_to items from `reports` reports under a bound γ.

    The criterion "support" minimises the lowest discoverable support, the s with s = 4 σ(s); "threshold" minimises
    4 σ(0), which the estimate for an itemset that nobody has almost never exceeds. `prevalence`: how often people
    without an itemset have one of its items.
    """

    gamma: float
    up_to: int
    reports: float
    criterion: str = "support"
    prevalence: float = 0.0

    def __post_init__(self) -> None:
        if not 1.0 < self.gamma < np.inf:
            raise ValueError(
                f"γ = {self.gamma!r} leaves nothing to learn or to hide; give a number above 1, e.g. 19"
            )
        if self.up_to < 1:
            raise ValueError(f"up_to = {self.up_to} is no itemset size; give 1 or more")
        if not self.reports > 0:
            raise ValueError(f"n = {self.reports!r} is no number of reports; give a positive number")
        if not 0.0 <= self.prevalence < 1.0:
            raise ValueError(
                f"prevalence = {self.prevalence!r} is no share of the people; give a number from 0 to below 1"
            )
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion {self.criterion!r} is unknown; use one of {', '.join(CRITERIA)}")


@dataclass(frozen=True)
class Readability:
    """The tables by which candidate designs are scored at one insertion chance ρ.

    A design is the law p[j] of how many of a basket's m items are kept; columns are j = 0..m. Rows of all tables but
    the first are itemset sizes k = 1..up_to; ``law.py`` has the formulas.
    """

    by_noise: Floats  # p0[j]
    signal: Floats  # L[j], which makes λ_k
    power: Floats  # M[j] of a person with the itemset
    absent: Floats  # the same of a person without it

    @classmethod
    def at(cls, size: int, rho: float, goal: Goal) -> Readability:
        """Compute the tables for baskets of `size` items at an insertion chance ρ."""
        ks = range(1, min(goal.up_to, size) + 1)
        return cls(
            kept_by_noise(size, rho),
            np.array([signal_per_kept(size, k, rho) for k in ks]),
            np.array([power_per_kept(size, k, rho) for k in ks]),
            np.array([absent_power_per_kept(size, k, rho, goal.prevalence) for k in ks]),
        )

    def laws(self, lifts: Floats) -> Floats:
        """Return for each row of lifts the chances p[j] that j of a basket's items are kept, as rows that sum to 1.

        ``lifts``: how much likelier each kept count is to be than under pure noise, up to a factor a row.
        """
        weights = lifts * self.by_noise
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    def worst(self, lifts: Floats, goal: Goal) -> Floats:
        """Return for each row of lifts the number that the goal minimises, the largest over the itemset sizes.

        Infinite where an itemset size cannot be read, or where a basket's items show less often than others.
        """
        kept = self.laws(lifts)
        signal = kept @ self.signal.T
        readable = np.abs(signal).min(axis=-1) > VANISHING
        square = np.maximum(signal**2, VANISHING**2)
        if goal.criterion == "threshold":
            supports = SIGNIFICANCE * np.sqrt((kept @ self.absent.T) / square / goal.reports)
        else:
            absent, own = (kept @ self.absent.T) / square, (kept @ self.power.T) / square
            supports = support_where_significant(absent, own, goal.reports)
        return np.where(readable & (signal[..., 0] > 0.0), supports.max(axis=-1), np.inf)


def corners(size: int, form: str = "best") -> Bools:
    """Return the candidates of the search for a design, truth values [candidate, kept count j]: whether j is boosted.

    A boosted count is made γ times likelier than under noise; these are corners of the polytope of laws. ``form``:
    "best", "two-level" or "single-boost" (``FORMS``).
    """
    counts = np.arange(size + 1)
    if form == "two-level":
        return np.array([counts >= threshold for threshold in range(1, size + 1)])
    if form == "single-boost":
        return np.array([counts == boosted for boosted in range(size + 1)])
    if size <= EVERY_SUBSET_UP_TO:
        return ((np.arange(1, 2 ** (size + 1) - 1)[:, None] >> counts) & 1).astype(bool)
    runs = [(low, high) for low in range(size + 1) for high in range(low, size + 1) if (low, high) != (0, size)]
    return np.array([(counts >= low) & (counts <= high) for low, high in runs])


@lru_cache(maxsize=256)  # the search takes a while, and plans are designed again and again
def design_law(size: int, goal: Goal, *, form: str = "best", resolution: int = 1024) -> SizeLaw:
    """Find the law by which baskets of `size` items are best blurred for a goal: insertion chance ρ and kept counts.

    ``form``: of the law, "best", or the simpler "two-level" and "single-boost". ρ is a multiple of 1/resolution.
    """
    if form not in FORMS:
        raise ValueError(f"form {form!r} is unknown; use one of {', '.join(FORMS)}")
    if size == 0:  # nothing to keep, and nothing to read at any ρ: one fair bit an item
        return SizeLaw(0, 0.5, (1.0,))
    best = _best_corner(size, goal, corners(size, form), np.arange(1, resolution) / resolution)
    if form == "best":
        nearby = best.rho + np.arange(-3, 4) / resolution
        softened = [_soften(best.lift, rho, size, goal) for rho in nearby.tolist() if 0.0 < rho < 1.0]
        best = min(softened, key=lambda corner: corner.worst)
    kept = Readability.at(size, best.rho, goal).laws(best.lift)
    return SizeLaw(size, best.rho, tuple(float(x) for x in kept))


@dataclass(frozen=True)
class _Corner:
    """A candidate design: its insertion chance, its lifts by kept count, and the number that the goal minimises."""

    worst: float
    rho: float
    lift: Floats


def _best_corner(size: int, goal: Goal, boosts: Bools, rhos: Floats) -> _Corner:
    """Return the best of all candidate laws: every row of ``boosts`` at every insertion chance in ``rhos``.

    ``boosts``: truth values [candidate, kept count], which counts are made γ times likelier.
    """
    lifts = np.where(boosts, goal.gamma * ROUNDING, 1.0)
    best = _Corner(np.inf, 0.5, lifts[0])
    for rho in rhos.tolist():
        worst = Readability.at(size, rho, goal).worst(lifts, goal)
        row = int(worst.argmin())
        if worst[row] < best.worst:
            best = _Corner(float(worst[row]), rho, lifts[row])
    if not np.isfinite(best.worst):
        raise ValueError(
            f"no law for baskets of {size} at γ = {goal.gamma:g} reads all itemsets up to {goal.up_to}; lower up_to"
        )
    return best


def _soften(start: Floats, rho: float, size: int, goal: Goal) -> _Corner:
    """Improve a candidate law: move one lift at a time inside [1, γ] while the number that the goal minimises falls.

    ``start``: its lifts, by how much each kept count is likelier than under noise. ``rho``: its insertion chance.
    """
    readable = Readability.at(size, rho, goal)
    lift, worst = start.copy(), float(readable.worst(start[None, :], goal)[0])
    for _ in range(SOFTENING_ROUNDS):
        before = worst
        for j in range(size + 1):
            trials = np.repeat(lift[None, :], LEVELS.size, axis=0)
            trials[:, j] = np.exp(LEVELS * np.log(goal.gamma * ROUNDING))
            scores = readable.worst(trials, goal)
            if scores.min() < worst:
                lift, worst = trials[int(scores.argmin())], float(scores.min())
        if worst > before * (1.0 - 1e-6):
            break
    return _Corner(worst, rho, lift)
