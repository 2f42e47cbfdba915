"""Search for the select-a-size law that lets the rarest itemsets be found under a bound on amplification.

For every insertion chance ρ the laws with γ-bounded lift p[j]/p0[j] form a polytope whose corners lift some kept
counts by γ and leave the rest: p[j] proportional to p0[j] γ^(j is boosted). The search walks over ρ and
corners, then softens the best corner (a lift between 1 and γ), and keeps the smallest value of

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

FORMS = ("best", "two-level", "single-boost")
CRITERIA = ("support", "threshold")
ROUNDING = 1.0 - 1e-13
"""Keeps the γ of the finished law at or below the one asked for, whatever floats do."""
SOFTENING_ROUNDS = 5
LEVELS = np.concatenate([np.linspace(0.0, 0.05, 26), np.linspace(0.1, 0.9, 17), np.linspace(0.95, 1.0, 26)])
EVERY_SUBSET_UP_TO = 8
"""Up to this basket size all 2^(m+1) corners are tried; beyond it those whose boosted counts are consecutive."""


@dataclass(frozen=True)
class Goal:
    """What a design is for: itemsets of 1..up_to items in `reports` reports under amplification γ.

    The criterion "support" is the lowest discoverable support s = 4 σ(s); "threshold" is 4 σ(0), what an
    itemset that nobody has almost never exceeds. `prevalence`: how often people without it have an item of it.
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
    """What is needed to score kept-count laws at one ρ: rows are k = 1..up_to."""

    by_noise: Floats
    signal: Floats
    power: Floats
    absent: Floats

    @classmethod
    def at(cls, size: int, rho: float, goal: Goal) -> Readability:
        ks = range(1, min(goal.up_to, size) + 1)
        return cls(
            kept_by_noise(size, rho),
            np.array([signal_per_kept(size, k, rho) for k in ks]),
            np.array([power_per_kept(size, k, rho) for k in ks]),
            np.array([absent_power_per_kept(size, k, rho, goal.prevalence) for k in ks]),
        )

    def laws(self, lifts: Floats) -> Floats:
        weights = lifts * self.by_noise
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    def worst(self, lifts: Floats, goal: Goal) -> Floats:
        """What the goal minimises, for each row of lifts; infinite where true items show less often."""
        kept = self.laws(lifts)
        signal = kept @ self.signal.T
        seen = np.abs(signal).min(axis=-1) > VANISHING
        square = np.maximum(signal**2, VANISHING**2)
        if goal.criterion == "threshold":
            supports = SIGNIFICANCE * np.sqrt((kept @ self.absent.T) / square / goal.reports)
        else:
            absent, own = (kept @ self.absent.T) / square, (kept @ self.power.T) / square
            supports = support_where_significant(absent, own, goal.reports)
        return np.where(seen & (signal[..., 0] > 0.0), supports.max(axis=-1), np.inf)


def corners(size: int, form: str = "best") -> Bools:
    """Which kept counts are boosted, one row a corner of the polytope."""
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
    """The best law for baskets of `size`; ρ is a multiple of 1/resolution."""
    if form not in FORMS:
        raise ValueError(f"form {form!r} is unknown; use one of {', '.join(FORMS)}")
    if size == 0:  # nothing to keep, and nothing to read at any ρ: one fair bit an item
        return SizeLaw(0, 0.5, (1.0,))
    found = _best_corner(size, goal, corners(size, form), np.arange(1, resolution) / resolution)
    if form == "best":
        nearby = found.rho + np.arange(-3, 4) / resolution
        softened = [_soften(found.lift, rho, size, goal) for rho in nearby.tolist() if 0.0 < rho < 1.0]
        found = min(softened, key=lambda corner: corner.worst)
    kept = Readability.at(size, found.rho, goal).laws(found.lift)
    return SizeLaw(size, found.rho, tuple(float(x) for x in kept))


@dataclass(frozen=True)
class _Corner:
    worst: float
    rho: float
    lift: Floats


def _best_corner(size: int, goal: Goal, boosts: Bools, rhos: Floats) -> _Corner:
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
    """Move one lift at a time inside [1, γ] while the worst support falls."""
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
