"""EGS03 sections 4.3 and 6: lowest discoverable supports, and the length of compressed reports."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from sfumato.channels.baskets import (
    Goal,
    bch_bits,
    corners,
    design_law,
    kept_by_noise,
    polynomial_bits,
    seed_generator,
    unpack_bits,
)

Rows = list[dict[str, Any]]

GAMMA, SIZE, REPORTS = 19.0, 5, 5e6


def supports_row(
    axis: str, value: float, gamma: float, size: int, reports: float, quick: bool = False
) -> dict[str, Any]:
    """Lowest discoverable supports in percent: EGS03's two-level form, and the best design for the same gamma."""
    row: dict[str, Any] = {axis: value}
    two_level = design_law(size, Goal(gamma, 3, reports, "threshold"), form="two-level", resolution=2000)
    best = design_law(size, Goal(gamma, 3, reports), resolution=256 if quick else 1024)
    for name, law in (("two-level", two_level), ("best", best)):
        for k in range(1, min(size, 3) + 1):
            row[f"{name} {k}"] = 100 * law.lowest_discoverable_support(k, reports)
        row[f"{name} rho"] = law.rho
    return row


def by_breach_level(quick: bool = False) -> Rows:
    """Figure 1: against the prior rho1 that must not grow to rho2 = 50 %."""
    levels = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
    return [supports_row("rho1, %", 100 * rho1, (1 - rho1) / rho1, SIZE, REPORTS, quick) for rho1 in levels]


def by_size(quick: bool = False) -> Rows:
    """Figure 2: against the number of items in a basket."""
    sizes = (3, 5, 6, 8, 10) if quick else range(3, 16)
    return [supports_row("items in a basket", size, GAMMA, size, REPORTS, quick) for size in sizes]


def by_reports(quick: bool = False) -> Rows:
    """Figure 3: against the number of reports."""
    return [supports_row("reports, millions", n, GAMMA, SIZE, 1e6 * n, quick) for n in (1, 2, 3, 5, 7, 10)]


def compression_table() -> Rows:
    """Bits of a report: a plain bitmap and both kinds of seeds, for baskets of 5 and itemsets up to 3."""
    rows: Rows = []
    for items in (1_000, 10_000, 100_000):
        for depth, rho in ((1, "1/2"), (2, "quarters"), (3, "eighths"), (10, "1024ths")):
            lengths = {"BCH": bch_bits(items, depth, 8), "polynomial": polynomial_bits(items, depth, 8)}
            shortest = min(lengths, key=lambda name: lengths[name])
            row = {"items": items, "rho": rho, "plain": items, **lengths, "shorter": shortest}
            rows.append({**row, "times smaller": items / lengths[shortest]})
    return rows


def seeds_are_independent() -> bool:
    """Statement 3 by complete enumeration: all subsets of K items over all seeds of small generators."""
    for generator in (
        seed_generator(7, 1, 1, 4, "bch"),
        seed_generator(5, 3, 2, 3, "bch"),
        seed_generator(6, 5, 3, 2, "polynomial"),
    ):
        shown = unpack_bits(generator.expand(np.arange(1 << generator.bits, dtype=np.uint64)[:, None]), generator.items)
        for subset in combinations(range(generator.items), generator.independence):
            patterns = shown[:, subset] @ (1 << np.arange(generator.independence))
            ones = np.bitwise_count(np.arange(1 << generator.independence))
            expected = generator.rho**ones * (1 - generator.rho) ** (generator.independence - ones)
            if not np.array_equal(np.bincount(patterns, minlength=ones.size) / len(shown), expected):
                return False
    return True


def two_level_maximises_increasing_functions(trials: int = 200, seed: int = 1) -> bool:
    """Statement 2: among all corners some two-level law has the largest mean of every non-decreasing f(j)."""
    rng = np.random.default_rng(seed)
    for size in (3, 5, 8):
        for rho in (0.1, 0.3, 0.5, 0.8):
            every = _laws(corners(size), size, rho)
            stepped = _laws(corners(size, "two-level"), size, rho)
            f = np.cumsum(rng.random((trials, size + 1)) ** 3, axis=1)
            if ((every @ f.T).max(axis=0) > (stepped @ f.T).max(axis=0) * (1 + 1e-12)).any():
                return False
    return True


def best_is_two_level(size: int, prevalence: float) -> bool:
    """Whether the search over all laws ends at a threshold of kept counts."""
    lift = design_law(size, Goal(GAMMA, 3, REPORTS, prevalence=prevalence), resolution=128).lift
    boosted = lift > lift.min() * (1 + 1e-9)
    return bool((np.diff(boosted.astype(int)) >= 0).all())


def _laws(boosts: Any, size: int, rho: float) -> Any:
    weights = kept_by_noise(size, rho) * np.where(boosts, GAMMA, 1.0)
    return weights / weights.sum(axis=1, keepdims=True)
