"""EGS03's measurements on baskets: designs and seeds (Sections 5 and 6), and baskets mined end to end."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import binom

import sfumato as sf
from reproductions import Rows, Scale, at
from reproductions.datasets import load
from reproductions.quest import Quest
from sfumato.channels.baskets import (
    Baskets,
    Goal,
    SizeLaw,
    bch_bits,
    bit_flips,
    corners,
    cut_and_paste,
    design_law,
    kept_by_noise,
    polynomial_bits,
    seed_generator,
    unpack_bits,
)
from sfumato.tables import as_records

GAMMA, SIZE, REPORTS = 19.0, 5, 5e6
PRIORS, QUICK_SIZES, MILLIONS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2), (3, 5, 6, 8, 10), (1, 2, 3, 5, 7, 10)
BASKET_SIZE = "items in a basket"


# --- designs ----------------------------------------------------------------------------------------------------------


def supports_row(
    axis: str, value: float, gamma: float, size: int, reports: float, quick: bool = False
) -> dict[str, Any]:
    """Lowest discoverable supports in percent: EGS03's two-level form, and the best design for the same γ."""
    row: dict[str, Any] = {axis: value}
    two_level = design_law(size, Goal(gamma, 3, reports, "threshold"), form="two-level", resolution=2000)
    best = design_law(size, Goal(gamma, 3, reports), resolution=256 if quick else 1024)
    for name, law in (("two-level", two_level), ("best", best)):
        for k in range(1, min(size, 3) + 1):
            row[f"{name} {k}"] = 100 * law.lowest_discoverable_support(k, reports)
        row[f"{name} rho"] = law.rho
    return row


def by_breach_level(quick: bool = False) -> Rows:
    """Figure 1: against the prior ρ₁ that must not grow to ρ₂ = 50 %."""
    return [supports_row("ρ₁, %", 100 * rho1, (1 - rho1) / rho1, SIZE, REPORTS, quick) for rho1 in PRIORS]


def by_size(quick: bool = False) -> Rows:
    """Figure 2: against the number of items in a basket."""
    sizes = QUICK_SIZES if quick else range(3, 16)
    return [supports_row(BASKET_SIZE, size, GAMMA, size, REPORTS, quick) for size in sizes]


def by_reports(quick: bool = False) -> Rows:
    """Figure 3: against the number of reports."""
    return [supports_row("reports, millions", n, GAMMA, SIZE, 1e6 * n, quick) for n in MILLIONS]


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


def singular_law() -> SizeLaw:
    """Two-level from j* = 2 on, at ρ = (j* − 1)/(m − 1): what its reports say of pairs cancels out."""
    weights = kept_by_noise(SIZE, 0.25) * np.where(np.arange(SIZE + 1) >= 2, GAMMA, 1.0)
    return SizeLaw(SIZE, 0.25, tuple((weights / weights.sum()).tolist()))


def best_is_two_level(size: int, prevalence: float) -> bool:
    """Whether the search over all laws ends at a threshold of kept counts."""
    lift = design_law(size, Goal(GAMMA, 3, REPORTS, prevalence=prevalence), resolution=128).lift
    boosted = lift > lift.min() * (1 + 1e-9)
    return bool((np.diff(boosted.astype(int)) >= 0).all())


def _laws(boosts: Any, size: int, rho: float) -> Any:
    weights = kept_by_noise(size, rho) * np.where(boosts, GAMMA, 1.0)
    return weights / weights.sum(axis=1, keepdims=True)


# --- seeds ------------------------------------------------------------------------------------------------------------


def seed_amplification() -> list[tuple[float, float]]:
    """(γ over all seeds and pairs of baskets, γ of the law), by complete enumeration of small cases.

    P[ξ | t] = Σ_j p[j] / (C(m,j) · number of seeds that show what ξ shows of t), j the items of t that ξ shows.
    """
    found = []
    for items, numerator, depth, size in ((7, 1, 1, 3), (5, 3, 2, 2), (6, 1, 1, 2)):
        generator = seed_generator(items, numerator, depth, size + 1, "bch")
        (two_level,) = _laws(corners(size, "two-level")[-1:], size, generator.rho)
        law = SizeLaw(size, generator.rho, tuple(two_level.tolist()))
        shown = unpack_bits(generator.expand(np.arange(1 << generator.bits, dtype=np.uint64)[:, None]), items)
        chances = []
        for basket in combinations(range(items), size):
            pattern = shown[:, basket] @ (1 << np.arange(size))
            kept, alike = shown[:, basket].sum(axis=1), np.bincount(pattern, minlength=1 << size)[pattern]
            chances.append(np.array(law.kept)[kept] / binom(size, kept) / alike)
        per_seed = np.array(chances)
        found.append((float((per_seed.max(axis=0) / per_seed.min(axis=0)).max()), law.gamma))
    return found


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


# --- mining -----------------------------------------------------------------------------------------------------------


def quest_rows(scale: Scale) -> Rows:
    """Quest-like baskets of 5 to 10 out of 1,000 items: easy ones with few habits, harder ones with more of them."""
    people, runs, support = at(scale, (300_000, 1, 0.07), (1_000_000, 1, 0.04), (1_000_000, 3, 0.04))
    channel = sf.SelectASize.design(sf.Items(1000), sizes=range(5, 11), gamma=GAMMA, n=people, prevalence=0.1)
    rows: Rows = []
    for patterns in at(scale, (10,), (10, 15, 20), (10, 15, 20)):
        for run in range(runs):
            baskets = Quest(patterns=patterns).baskets(people, rng=100 + run)
            reports = channel.randomize(baskets, rng=run, compress=scale == "quick")
            row = {"data": f"Quest-like, {patterns} habits", "run": run + 1, "people": people}
            rows.append(row | compare(baskets, reports, channel, support))
    return rows


def real_rows(name: str, quick: bool) -> Rows:
    """Real baskets of five: of the people there are, who are too few for γ = 19, and of a million drawn from them."""
    baskets, items = REAL[name](1)
    channel = sf.SelectASize.design(items, sizes=[5], gamma=GAMMA, n=1e6, prevalence=0.15)
    rows: Rows = []
    for people, support in ((len(baskets), 0.2), (300_000 if quick else 1_000_000, 0.04 if quick else 0.03)):
        drawn = baskets if people == len(baskets) else _resampled(baskets, people, seed=2)
        reports = channel.randomize(drawn, rng=3)
        told = name if drawn is baskets else f"{name}, resampled"
        rows.append({"data": told, "run": 1, "people": people, **compare(drawn, reports, channel, support)})
    return rows


ADULT = ("education", "marital_status", "relationship", "race", "sex")


def adult_baskets(seed: int = 0) -> tuple[Baskets, sf.Items]:
    """What a census asked 32,561 people, as sets: an item for each of five answers, such as sex=Female."""
    data = load("adult")
    columns = [[f"{name}={value}" for value in data.columns[name].tolist()] for name in ADULT]
    items = sf.Items(sorted(set().union(*columns)))
    return Baskets.read([list(row) for row in zip(*columns, strict=True)], items), items


def supermarket_baskets(seed: int) -> tuple[Baskets, sf.Items]:
    """Five random ones of the 40 commonest products, from every customer who bought at least five of them."""
    data = load("supermarket")
    names = [name for name in data.attributes if not name.startswith("department")]
    bought = np.column_stack([data.columns[name] == "t" for name in names])
    common = np.argsort(-bought.sum(axis=0), kind="stable")[:40]
    names, bought = [names[i] for i in common], bought[:, common]
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(row), 5, replace=False).tolist() for row in bought if row.sum() >= 5]
    items = sf.Items(names)
    return Baskets.read([[names[i] for i in row] for row in chosen], items), items


REAL = {"supermarket": supermarket_baskets, "adult": adult_baskets}


def _resampled(baskets: Baskets, people: int, seed: int) -> Baskets:
    rows = np.random.default_rng(seed).integers(0, len(baskets), size=people)
    return Baskets(baskets.items, 5 * np.arange(people + 1), baskets.members(rows, 5).ravel())


def operators() -> dict[str, SizeLaw]:
    """Three operators on baskets of five at γ = 19, each at its best for itemsets of up to three; and as they were
    proposed: bits kept with 90 %, which Rizvi and Haritsa recommend."""
    steps = (np.arange(1, 512) / 512).tolist()
    pasted = [cut_and_paste(SIZE, cutoff, rho) for cutoff in range(1, SIZE + 3) for rho in steps]
    flipped = [bit_flips(SIZE, keep) for keep in steps[256:]]
    return {
        "select-a-size": design_law(SIZE, Goal(GAMMA, 3, REPORTS)),
        "cut-and-paste": min((law for law in pasted if law.gamma <= GAMMA), key=_worst_support),
        "MASK": min((law for law in flipped if law.gamma <= GAMMA), key=_worst_support),
        "MASK, 90 % kept": bit_flips(SIZE, 461 / 512),
    }


def _worst_support(law: SizeLaw) -> float:
    if min(abs(law.signal(k)) for k in (1, 2, 3)) < 1e-9:
        return float("inf")
    return max(law.lowest_discoverable_support(k, REPORTS) for k in (1, 2, 3))


def operator_rows(people: int, min_support: float) -> Rows:
    """Each operator's γ and what can be found through it, computed and mined from the same baskets."""
    items = 100
    baskets = Quest(items=items, smallest=SIZE, largest=SIZE, patterns=10).baskets(people, rng=7)
    rows: Rows = []
    for name, law in operators().items():
        channel = sf.SelectASize(sf.Items(items), [law])
        row = {"operator": name, "rho": law.rho, "gamma": law.gamma}
        row |= {f"discoverable {k}, %": 100 * law.lowest_discoverable_support(k, REPORTS) for k in (1, 2, 3)}
        mined = compare(baskets, channel.randomize(baskets, rng=8), channel, min_support)
        rows.append(row | {"people": people} | {f"F1 of {k}": mined[f"F1 of {k}"] for k in (1, 2, 3)})
    return rows


def compare(baskets: Baskets, reports: Any, channel: sf.SelectASize, min_support: float) -> dict[str, Any]:
    """F1 of the frequent itemsets found in the reports, by itemset size, and the z-scores of their supports."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mined = sf.frequent_itemsets(reports, channel, min_support, certain=False)  # the paper's rule
        found = {row["itemsets"]: row for row in as_records(mined)}
    truth = {row["itemsets"]: row["support"] for row in as_records(sf.frequent_itemsets(baskets, None, min_support))}
    row: dict[str, Any] = {"minimum support": min_support}
    discoverable = channel.lowest_discoverable_support(len(reports), prevalence=0.1)
    for k in (1, 2, 3):
        ours, theirs = ({itemset for itemset in side if len(itemset) == k} for side in (found, truth))
        row[f"frequent {k}"] = len(theirs)
        row[f"F1 of {k}"] = 2 * len(ours & theirs) / (len(ours) + len(theirs)) if ours or theirs else None
        row[f"discoverable {k}"] = discoverable[k]
    errors = [(found[s]["support"] - truth[s]) / found[s]["stderr"] for s in found if s in truth]
    row["spread of z"] = float(np.sqrt(np.mean(np.square(errors)))) if errors else None
    return row
