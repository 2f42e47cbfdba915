"""The checks of select-a-size, whose table is too large to write down: what can be counted item by item.

For baskets of m items with law p[j], ρ:

    P[|t ∩ t'| = j] = p[j],   P[i ∈ t' | i ∈ t] = E[j]/m,   P[i ∈ t' | i ∉ t] = ρ   for every item i,

each compared by exact binomial tests. Others are independent of each other: in a bitmap all of them, in a seed any few,
and only so many are then counted together. γ ≥ P[i ∈ t' | i ∈ t]/P[i ∈ t' | i ∉ t], and the same for absence, is
bounded from below by Clopper–Pearson bounds over all items.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb, gammaln, xlog1py, xlogy

from sfumato.channels import SelectASize
from sfumato.channels.baskets import BasketReports, unpack_bits
from sfumato.domain import Codes, Floats
from sfumato.privacy.audit.check import (
    Check,
    Randomize,
    amplification,
    exact_tests,
    lower_bound,
    p_value,
    smallest_excess,
    upper_bound,
)
from sfumato.privacy.audit.fresh import check_fresh
from sfumato.privacy.audit.probe import Effort, Probe
from sfumato.privacy.audit.program import Part
from sfumato.privacy.audit.scan import Implementation, check_batches, check_key, check_small_calls, keyed_by
from sfumato.prose import percent

Bits = NDArray[np.bool_]
Shown = tuple[Codes, Codes]
MOST_CELLS = 40_000_000
MOST_BASKETS = 400_000
MOST_AT_ONCE = 50_000
CHECKS = 6


class BasketProbe(Probe):
    """Baskets of one size: the place of how many own items came through, and of how many others joined them.

    ``seeds``: reports may be seeds, and only ``reach`` random others are counted.
    """

    def __init__(self, channel: SelectASize, size: int, name: str, *, seeds: bool = False) -> None:
        self.channel, self.size, self.columns = channel, size, (name,)
        law, self.others = channel.laws[size], channel.items.size - size
        self.reach = min(self.others, channel.up_to) if seeds else self.others
        self.laws = [np.asarray(law.kept), binomial(self.reach, law.rho)]

    def people(self, rng: np.random.Generator, count: int) -> Codes:
        scores = rng.random((count, self.channel.items.size), dtype=np.float32)
        return np.sort(np.argpartition(scores, self.size - 1, axis=1)[:, : self.size], axis=1)

    def corners(self) -> Codes:
        return np.array([np.arange(self.size), np.arange(self.channel.items.size - self.size, self.channel.items.size)])

    def baskets(self, true: Codes) -> list[list[Any]]:
        labels = self.channel.items.labels
        return [[labels[code] for code in row] for row in true.tolist()]

    def values(self, true: Codes) -> dict[str, Any]:
        return {self.columns[0]: self.baskets(true)}

    def places(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        held, shown = held_items(true, self.channel.items.size), reports[self.columns[0]]
        bits = shown_items(self.channel, shown, self.size, len(true))
        found = np.column_stack([(held & bits).sum(axis=1), (self._reached(held, rng) & bits).sum(axis=1)])
        places = [np.cumsum(law)[k] - rng.random(k.size) * law[k] for law, k in zip(self.laws, found.T, strict=True)]
        return np.column_stack(places)

    def _reached(self, held: Bits, rng: np.random.Generator) -> Bits:
        """The others that are counted."""
        if self.reach == self.others:
            return ~held
        scores = np.where(held, 1.0, rng.random(held.shape, dtype=np.float32))
        return held_items(np.argpartition(scores, self.reach, axis=1)[:, : self.reach], held.shape[1])


def check_baskets(
    channel: SelectASize, randomize: Randomize, effort: Effort, attribute: str, false_alarm: float
) -> list[Check]:
    """The law and γ for every designed size; fresh noise, small calls, independence and the key for one that
    is not 0."""
    checks, alpha, rng = list[Check](), false_alarm / CHECKS, np.random.default_rng()
    people = min(max(effort.samples // 4 // len(channel.sizes), 2000), MOST_CELLS // channel.items.size, MOST_BASKETS)
    level = alpha / len(channel.sizes)
    for size in channel.sizes:
        name = attribute if len(channel.sizes) == 1 else f"{attribute} (baskets of {size})"
        held, bits = _drawn(BasketProbe(channel, size, attribute), randomize, people, effort, rng)
        checks += [_check_law(channel, size, held, bits, name, level), _check_gamma(channel, held, bits, name, level)]
    size = channel.sizes[0] or channel.sizes[-1]
    asked = _asked(BasketProbe(channel, size, attribute, seeds=isinstance(randomize, Part)), randomize)
    keyed = _asked(BasketProbe(channel, size, attribute, seeds=True), randomize)
    checks.append(_check_fresh(asked.probe, randomize, attribute, alpha, effort))
    checks += check_key(keyed, "key", attribute, alpha, effort)
    checks.append(check_small_calls(asked, "small calls", attribute, alpha, effort))
    if all(check.passed for check in checks):
        checks.append(check_batches(asked, "independence", attribute, alpha, effort, MOST_AT_ONCE))
    return checks


def binomial(n: int, chance: float) -> Floats:
    """The probabilities of 0 … n hits in n trials."""
    k = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(ways + xlogy(k, chance) + xlog1py(n - k, -chance)))


def _asked(probe: BasketProbe, randomize: Randomize) -> Implementation:
    (name,), channel, size = probe.columns, probe.channel, probe.size

    def many(table: Any, **keys: Any) -> dict[str, Any]:
        return {name: randomize(table[name], **keys)}

    def one(record: Any, **key: Any) -> dict[str, Any]:
        return {name: shown_items(channel, randomize([record[name]], **key), size, 1)[0]}

    return Implementation(probe, many, one, keyed_by(randomize, many, one, "key", "question"))


def _drawn(
    probe: BasketProbe, randomize: Randomize, people: int, effort: Effort, rng: np.random.Generator
) -> tuple[Bits, Bits]:
    """Items that people have, and items that their reports show."""
    held, bits = [], []
    for count in effort.sizes(people, 0.3 / len(probe.channel.sizes), MOST_AT_ONCE):
        true = probe.people(rng, count)
        held.append(held_items(true, probe.channel.items.size))
        bits.append(shown_items(probe.channel, randomize(probe.baskets(true)), probe.size, count))
    return np.concatenate(held), np.concatenate(bits)


def held_items(members: Codes, items: int) -> Bits:
    held = np.zeros((len(members), items), dtype=bool)
    np.put_along_axis(held, members, True, axis=1)
    return held


def _check_fresh(probe: Probe, randomize: Randomize, attribute: str, alpha: float, effort: Effort) -> Check:
    """Reports of one basket as whole numbers. Two of them are equal with chance

        Σ_j p[j]²/C(m,j) · (ρ² + (1−ρ)²)^r   at most,  r the others that are counted,

    and two different ones have the same number with chance 2^−40.
    """
    assert isinstance(probe, BasketProbe)
    channel, law, items = probe.channel, probe.channel.laws[probe.size], probe.channel.items.size
    same = (np.asarray(law.kept) ** 2 / comb(law.size, np.arange(law.size + 1))).sum()
    agreement = float(same * (law.rho**2 + (1 - law.rho) ** 2) ** probe.reach) + 2.0**-30
    (basket,) = probe.baskets(np.arange(law.size)[None])
    weights = np.random.default_rng(items).integers(1, 1 << 40, items)

    def values(count: int) -> list[list[Any]]:
        return [basket] * count

    def read(reports: Any) -> Codes:
        return np.asarray(shown_items(channel, reports, law.size, len(reports)) @ weights)

    return check_fresh(randomize, values, read, agreement, attribute, alpha, effort)


def shown_items(channel: SelectASize, reports: Any, size: int, people: int) -> Bits:
    """Reports as a table of items; lists of items, such a table and its rows are taken too."""
    if isinstance(reports, np.ndarray) and reports.ndim == 2:
        return reports
    if isinstance(reports, list) and len(reports) == people and isinstance(reports[0], np.ndarray):
        return np.array(reports, dtype=bool)
    if not isinstance(reports, BasketReports):
        reports = BasketReports.of_lists(channel.items, reports, [size] * people)
    return unpack_bits(channel.expand(reports).words, channel.items.size).astype(bool)


def _presence(held: Bits, shown: Bits) -> tuple[Shown, Shown]:
    """For every item: how often it is shown and how many people there are, among those with it and those without."""
    having = held.sum(axis=0)
    both = (held & shown).sum(axis=0)
    return (both, having), (shown.sum(axis=0) - both, len(held) - having)


def _check_law(channel: SelectASize, size: int, held: Bits, shown: Bits, attribute: str, alpha: float) -> Check:
    law = channel.laws[size]
    came = np.bincount((held & shown).sum(axis=1), minlength=size + 1)
    kept = float(np.arange(size + 1) @ np.asarray(law.kept)) / max(size, 1)
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
    bias = smallest_excess(len(held), 0.5, alpha / values.size / 2)
    return exact_tests("law", attribute, values, told, alpha, sound, {"smallest_bias": bias, "reports": len(held)})


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
