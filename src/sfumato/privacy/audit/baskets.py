"""The checks of select-a-size, whose table is too large to write down: what can be counted item by item.

For baskets of m items with law p[j], ρ:

    P[|t ∩ t'| = j] = p[j],   P[i ∈ t' | i ∈ t] = E[j]/m,   P[i ∈ t' | i ∉ t] = ρ   for every item i,

each compared by exact binomial tests. γ ≥ P[i ∈ t' | i ∈ t]/P[i ∈ t' | i ∉ t], and the same for absence, is bounded
from below by Clopper–Pearson bounds over all items.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from sfumato.channels import SelectASize
from sfumato.channels.baskets import BasketReports, unpack_bits
from sfumato.domain import Codes
from sfumato.privacy.audit.check import Check, Randomize, amplification, exact_tests, lower_bound, p_value, upper_bound
from sfumato.prose import percent

Bits = NDArray[np.bool_]
Shown = tuple[Codes, Codes]
MOST_CELLS = 40_000_000


def check_baskets(channel: SelectASize, randomize: Randomize, total: int, attribute: str, alpha: float) -> list[Check]:
    """The law and γ, for every designed size."""
    checks = []
    people = min(max(total // len(channel.sizes), 2000), MOST_CELLS // channel.items.size)
    level = alpha / (2 * len(channel.sizes))
    for size in channel.sizes:
        members = _random_baskets(channel.items.size, size, people)
        held = np.zeros((people, channel.items.size), dtype=bool)
        np.put_along_axis(held, members, True, axis=1)
        labels = channel.items.labels
        reports = randomize([[labels[code] for code in row] for row in members.tolist()])
        shown = _bits(channel, reports, people)
        name = attribute if len(channel.sizes) == 1 else f"{attribute} (baskets of {size})"
        checks += [_check_law(channel, size, held, shown, name, level), _check_gamma(channel, held, shown, name, level)]
    return checks


def basket_streams(channel: SelectASize, randomize: Randomize) -> tuple[Callable[[int], Codes], float]:
    """Reports of one basket as whole numbers, and the chance that two of them are equal:

        Σ_j p[j]²/C(m,j) · (ρ² + (1−ρ)²)^(n−m).
    """
    law, size = channel.laws[channel.sizes[0]], channel.items.size
    same = (np.asarray(law.kept) ** 2 / comb(law.size, np.arange(law.size + 1))).sum()
    agreement = float(same * (law.rho**2 + (1 - law.rho) ** 2) ** (size - law.size))
    basket = [channel.items.labels[code] for code in range(law.size)]
    weights = np.random.default_rng(size).integers(1, 1 << 40, size)

    def draw(count: int) -> Codes:
        """One whole number a report; two different reports have the same number with chance 2^−40."""
        return np.asarray(_bits(channel, randomize([basket] * count), count) @ weights)

    return draw, agreement + 2.0**-30


def _bits(channel: SelectASize, reports: Any, people: int) -> Bits:
    """Reports as a table of items; plain lists of items are taken too."""
    if not isinstance(reports, BasketReports):
        reports = BasketReports.of_lists(channel.items, reports, [channel.sizes[0]] * people)
    return unpack_bits(channel.expand(reports).words, channel.items.size).astype(bool)


def _random_baskets(items: int, size: int, people: int) -> Codes:
    rng = np.random.default_rng(people)
    return np.sort(np.argpartition(rng.random((people, items), dtype=np.float32), size - 1, axis=1)[:, :size], axis=1)


def _presence(held: Bits, shown: Bits) -> tuple[Shown, Shown]:
    """For every item: how often it is shown and how many people there are, among those with it and those without."""
    having = held.sum(axis=0)
    both = (held & shown).sum(axis=0)
    return (both, having), (shown.sum(axis=0) - both, len(held) - having)


def _check_law(channel: SelectASize, size: int, held: Bits, shown: Bits, attribute: str, alpha: float) -> Check:
    law = channel.laws[size]
    came = np.bincount((held & shown).sum(axis=1), minlength=size + 1)
    kept = float(np.arange(size + 1) @ np.asarray(law.kept)) / size
    having, others = _presence(held, shown)
    values = np.concatenate(
        [p_value(came, len(held), np.asarray(law.kept)), p_value(*having, kept), p_value(*others, law.rho)]
    )
    told = [
        *(f"exactly {j} items of a basket came through {times:,} times." for j, times in enumerate(came)),
        *_item_sentences(channel, having, "people who have it", kept),
        *_item_sentences(channel, others, "people who do not have it", law.rho),
    ]
    sound = f"{values.size} exact tests on {len(held):,} baskets agree with the stated law."
    return exact_tests("law", attribute, values, told, alpha, sound)


def _item_sentences(channel: SelectASize, counts: Shown, who: str, stated: float) -> list[str]:
    return [
        f"item {label!r} is shown by {k:,} of {n:,} {who} where the law states {percent(stated, 3)}."
        for label, k, n in zip(channel.items.labels, *counts, strict=True)
    ]


def _check_gamma(channel: SelectASize, held: Bits, shown: Bits, attribute: str, alpha: float) -> Check:
    """γ ≥ L/U for the item shown by those who have it, or hidden by those who do not."""
    (shown_by, having), (added_by, others) = _presence(held, shown)
    level = alpha / (4 * channel.items.size)
    present = lower_bound(shown_by, having, level) / upper_bound(added_by, others, level)
    absent = lower_bound(others - added_by, others, level) / upper_bound(having - shown_by, having, level)
    ratios = np.maximum(present, absent)
    place = int(np.argmax(ratios))
    by_item = f"by item {channel.items.labels[place]!r}"
    return amplification(max(float(ratios[place]), 1.0), channel.gamma, by_item, attribute, alpha)
