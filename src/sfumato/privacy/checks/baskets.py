"""The audit of select-a-size, whose table is too large to write down: what can be counted item by item.

For baskets of m items with law p[j], ρ:

    P[|t ∩ t'| = j] = p[j],   P[i ∈ t' | i ∈ t] = E[j]/m,   P[i ∈ t' | i ∉ t] = ρ   for every item i,

each compared by exact binomial tests. γ ≥ P[i ∈ t' | i ∈ t]/P[i ∈ t' | i ∉ t], and the same for absence, is bounded
from below by Clopper–Pearson bounds over all items.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.baskets import BasketReports, unpack_bits
from sfumato.domain import Codes, Floats
from sfumato.privacy.bounds import lower_bound, p_value, upper_bound
from sfumato.privacy.checks.check import Check, outcome
from sfumato.privacy.implementation import Randomize

if TYPE_CHECKING:
    from sfumato.channels.baskets import SelectASize

Bits = NDArray[np.bool_]
MOST_CELLS = 40_000_000


def check_baskets(channel: SelectASize, randomize: Randomize, total: int, attribute: str, alpha: float) -> list[Check]:
    """The law and γ, for every designed size."""
    if isinstance(randomize, Mapping):
        raise ValueError("samples of baskets cannot be audited; pass implementation= as a function of baskets")
    checks = []
    people = min(max(total // len(channel.sizes), 2000), MOST_CELLS // channel.items.size)
    for size in channel.sizes:
        members = _random_baskets(channel.items.size, size, people)
        held = np.zeros((people, channel.items.size), dtype=bool)
        np.put_along_axis(held, members, True, axis=1)
        labels = channel.items.labels
        reports = randomize([[labels[code] for code in row] for row in members.tolist()])
        shown = bits_of(channel, reports, people)
        name = attribute if len(channel.sizes) == 1 else f"{attribute} (baskets of {size})"
        level = alpha / (2 * len(channel.sizes))
        checks += [_check_law(channel, size, held, shown, name, level), _check_gamma(channel, held, shown, name, level)]
    return checks


def bits_of(channel: SelectASize, reports: Any, people: int) -> Bits:
    """Reports as a table of items; plain lists of items are taken too."""
    if not isinstance(reports, BasketReports):
        reports = BasketReports.of_lists(channel.items, reports, [channel.sizes[0]] * people)
    return unpack_bits(channel.expand(reports).words, channel.items.size).astype(bool)


def agreement_of(channel: SelectASize) -> float:
    """The chance that two reports of one basket are equal: Σ_j p[j]²/C(m,j) · (ρ² + (1−ρ)²)^(n−m)."""
    from scipy.special import comb

    law = channel.laws[channel.sizes[0]]
    kept = np.asarray(law.kept)
    same = (kept**2 / comb(law.size, np.arange(law.size + 1))).sum()
    return float(same * (law.rho**2 + (1 - law.rho) ** 2) ** (channel.items.size - law.size))


def _random_baskets(items: int, size: int, people: int) -> Codes:
    rng = np.random.default_rng(people)
    return np.sort(np.argpartition(rng.random((people, items), dtype=np.float32), size - 1, axis=1)[:, :size], axis=1)


def _check_law(channel: SelectASize, size: int, held: Bits, shown: Bits, attribute: str, alpha: float) -> Check:
    law = channel.laws[size]
    people = np.bincount((held & shown).sum(axis=1), minlength=size + 1)
    overlap = p_value(people, len(held), np.asarray(law.kept))
    with_item, without = _presence(held, shown)
    kept = float(np.arange(size + 1) @ np.asarray(law.kept)) / size
    own = p_value(with_item[0], with_item[1], kept)
    added = p_value(without[0], without[1], law.rho)
    values = np.concatenate([overlap, own, added])
    level, place = alpha / values.size, int(np.argmin(values))
    broken = bool(values[place] < level)
    names = [
        *(f"exactly {j} items of a basket came through {people[j]:,} times" for j in range(size + 1)),
        *_item_sentences(channel, with_item, "people who have it", kept),
        *_item_sentences(channel, without, "people who do not have it", law.rho),
    ]
    text = names[place] if broken else f"{values.size} exact tests on {len(held):,} baskets agree with the stated law."
    numbers = {"tests": values.size, "smallest_p": float(values[place]), "level": level}
    return Check("law", attribute, outcome(not broken), text, alpha, numbers)


def _presence(held: Bits, shown: Bits) -> tuple[tuple[Codes, Codes], tuple[Codes, Codes]]:
    """For every item: how often it is shown and how many people there are, among those with it and those without."""
    having = held.sum(axis=0)
    both = (held & shown).sum(axis=0)
    return (both, having), (shown.sum(axis=0) - both, len(held) - having)


def _item_sentences(channel: SelectASize, counts: tuple[Codes, Codes], who: str, stated: float) -> list[str]:
    return [
        f"item {label!r} is shown by {k:,} of {n:,} {who} where the law states {stated:.3%}."
        for label, k, n in zip(channel.items.labels, *counts, strict=True)
    ]


def _check_gamma(channel: SelectASize, held: Bits, shown: Bits, attribute: str, alpha: float) -> Check:
    with_item, without = _presence(held, shown)
    level = alpha / (4 * channel.items.size)
    present = _ratio(with_item, without, level)
    absent = _ratio(
        (with_item[1] - with_item[0], with_item[1]), (without[1] - without[0], without[1]), level, inverse=True
    )
    ratios = np.maximum(present, absent)
    place = int(np.argmax(ratios))
    bound, stated = max(float(ratios[place]), 1.0), channel.gamma
    label = channel.items.labels[place]
    text = f"the reports prove γ ≥ {bound:.4g} (by item {label!r}, confidence 1 − {alpha:.1g}); stated is {stated:.4g}."
    numbers = {"least_gamma": bound, "stated_gamma": stated}
    return Check("amplification", attribute, outcome(bound <= stated * (1 + 1e-9)), text, alpha, numbers)


def _ratio(one: tuple[Codes, Codes], other: tuple[Codes, Codes], level: float, inverse: bool = False) -> Floats:
    """Lower bound of P[event | one]/P[event | other]; inverse: of the other ratio."""
    above, below = (other, one) if inverse else (one, other)
    return lower_bound(above[0], above[1], level) / upper_bound(below[0], below[1], level)
