"""The checks of select-a-size item by item, because its table of whole baskets is too large to write down.

For baskets of m items with law p[j], ρ:

    P[|t ∩ t'| = j] = p[j],   P[i ∈ t' | i ∈ t] = E[j]/m,   P[i ∈ t' | i ∉ t] = ρ   for every item i,

each compared by exact binomial tests. Items that a person does not have (the *others*) are added independently of each
other: in a bitmap all of them, in a seed any few, and only so many are then counted together. γ is at least

    P[i ∈ t' | i ∈ t]/P[i ∈ t' | i ∉ t]   and the same for absence,

which Clopper–Pearson bounds over all items bound from below.
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
from sfumato.privacy.audit.program import ProgramAttribute
from sfumato.privacy.audit.scan import Implementation, check_batches, check_key, check_small_calls, keyed_by
from sfumato.prose import percent

Bits = NDArray[np.bool_]
Counted = tuple[Codes, Codes]  # for every item: how often it is shown, of how many people
MOST_CELLS = 40_000_000
"""The most entries of a table people × items that is counted: 40 MB of bits as bytes. By judgement; fewer people of
channels with many items find larger faults only."""
MOST_BASKETS = 400_000
"""The most people whose baskets are drawn. By judgement: a seed takes longer to draw and to expand than a number, and
more people would take more than the audit's half a minute."""
MOST_AT_ONCE = 50_000
"""The most people in one call: of a thousand items their table takes 50 MB."""
CHECKS = 6
"""The checks that share the false alarm: law, amplification, fresh noise, key, small calls, independence."""


class BasketProbe(Probe):
    """A probe for checks of baskets of one size: it draws random baskets, and reads their reports as two quantiles.

    The first is of how many of the person's own items are shown, the second of how many others are added, each in its
    stated distribution: uniform on 0..1 if the implementation is sound. ``seeds``: reports may be seeds, in which no
    more than ``up_to`` others are independent; only so many random ones are counted then.
    """

    def __init__(self, channel: SelectASize, size: int, name: str, *, seeds: bool = False) -> None:
        self.channel, self.size, self.columns = channel, size, (name,)
        law, self.others = channel.laws[size], channel.items.size - size
        self.reach = min(self.others, channel.up_to) if seeds else self.others
        self.laws = [np.asarray(law.kept), binomial(self.reach, law.rho)]

    def draw_people(self, rng: np.random.Generator, count: int) -> Codes:
        scores = rng.random((count, self.channel.items.size), dtype=np.float32)
        return np.sort(np.argpartition(scores, self.size - 1, axis=1)[:, : self.size], axis=1)

    def corners(self) -> Codes:
        return np.array([np.arange(self.size), np.arange(self.channel.items.size - self.size, self.channel.items.size)])

    def baskets(self, true: Codes) -> list[list[Any]]:
        """Return a list with the items of every person, as labels; ``true``: item codes, a row a person."""
        labels = self.channel.items.labels
        return [[labels[code] for code in row] for row in true.tolist()]

    def values(self, true: Codes) -> dict[str, Any]:
        return {self.columns[0]: self.baskets(true)}

    def quantiles(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        own, shown = held_items(true, self.channel.items.size), reports[self.columns[0]]
        bits = shown_items(self.channel, shown, self.size, len(true))
        counts = (own & bits).sum(axis=1), (self._counted_others(own, rng) & bits).sum(axis=1)
        quantiles = [np.cumsum(law)[k] - rng.random(k.size) * law[k] for law, k in zip(self.laws, counts, strict=True)]
        return np.column_stack(quantiles)

    def _counted_others(self, own: Bits, rng: np.random.Generator) -> Bits:
        """Return a mask people × items of the items whose additions are counted for the quantile of a person's report.

        They are the items that the person does not have: all, or ``reach`` random ones. ``own``: a mask of the items
        they have.
        """
        if self.reach == self.others:
            return ~own
        scores = np.where(own, 1.0, rng.random(own.shape, dtype=np.float32))
        return held_items(np.argpartition(scores, self.reach, axis=1)[:, : self.reach], own.shape[1])


def check_baskets(
    channel: SelectASize, randomize: Randomize, effort: Effort, attribute: str, false_alarm: float
) -> list[Check]:
    """Check a select-a-size implementation (it blurs baskets) in every way; return the list of checks.

    A sound one fails any check with chance ``false_alarm`` at most. The chances of reports and γ (largest factor on the
    odds) are checked for every basket size that the channel allows; fresh noise, keys, small calls and independence for
    the first size that is not 0. ``randomize``: baskets to reports; ``effort``: how many reports are drawn and for how
    long.
    """
    checks, alpha, rng = list[Check](), false_alarm / CHECKS, np.random.default_rng()
    people = min(max(effort.samples // 4 // len(channel.sizes), 2000), MOST_CELLS // channel.items.size, MOST_BASKETS)
    level = alpha / len(channel.sizes)
    for size in channel.sizes:
        name = attribute if len(channel.sizes) == 1 else f"{attribute} (baskets of {size})"
        own, bits = _draw_baskets(BasketProbe(channel, size, attribute), randomize, people, effort, rng)
        checks += [_check_law(channel, size, own, bits, name, level), _check_gamma(channel, own, bits, name, level)]
    size = channel.sizes[0] or channel.sizes[-1]
    probe = BasketProbe(channel, size, attribute, seeds=isinstance(randomize, ProgramAttribute))
    implementation = _implementation_of(probe, randomize)
    keyed = _implementation_of(BasketProbe(channel, size, attribute, seeds=True), randomize)
    checks.append(_check_fresh(probe, randomize, attribute, alpha, effort))
    checks += check_key(keyed, "key", attribute, alpha, effort)
    checks.append(check_small_calls(implementation, "small calls", attribute, alpha, effort))
    if all(check.passed for check in checks):
        checks.append(check_batches(implementation, "independence", attribute, alpha, effort, MOST_AT_ONCE))
    return checks


def binomial(n: int, chance: float) -> Floats:
    """Return the probabilities of 0, 1, …, n hits in n trials of a chance, as an array."""
    k = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(ways + xlogy(k, chance) + xlog1py(n - k, -chance)))


def _implementation_of(probe: BasketProbe, randomize: Randomize) -> Implementation:
    """Wrap a function from baskets to reports as an `Implementation` that takes tables, single records and keys."""
    (name,), channel, size = probe.columns, probe.channel, probe.size

    def randomize_table(table: Any, **keys: Any) -> dict[str, Any]:
        return {name: randomize(table[name], **keys)}

    def randomize_record(record: Any, **key: Any) -> dict[str, Any]:
        return {name: shown_items(channel, randomize([record[name]], **key), size, 1)[0]}

    keyed = keyed_by(randomize, randomize_table, randomize_record, "key", "question")
    return Implementation(probe, randomize_table, randomize_record, keyed)


def _draw_baskets(
    probe: BasketProbe, randomize: Randomize, people: int, effort: Effort, rng: np.random.Generator
) -> tuple[Bits, Bits]:
    """Draw random people's baskets and their reports; return two masks people × items: items they have, items shown."""
    own, bits = [], []
    for count in effort.block_sizes(people, 0.3 / len(probe.channel.sizes), MOST_AT_ONCE):
        true = probe.draw_people(rng, count)
        own.append(held_items(true, probe.channel.items.size))
        bits.append(shown_items(probe.channel, randomize(probe.baskets(true)), probe.size, count))
    return np.concatenate(own), np.concatenate(bits)


def held_items(members: Codes, items: int) -> Bits:
    """Return a mask people × items with True where a person's row of item codes (``members``) names the item."""
    table = np.zeros((len(members), items), dtype=bool)
    np.put_along_axis(table, members, True, axis=1)
    return table


def _check_fresh(probe: Probe, randomize: Randomize, attribute: str, alpha: float, effort: Effort) -> Check:
    """Check that noise is never used twice, on reports of one basket that are read as whole numbers.

    Two reports are equal with chance

        Σ_j p[j]²/C(m,j) · (ρ² + (1−ρ)²)^r   at most,  r the others that are counted,

    and two different ones have the same number with chance 2^−40 (2^−30 is allowed for it).
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
    """Return reports of baskets as a mask people × items of the items that they show.

    ``size``: the baskets' common size; ``people``: how many. ``reports``: `BasketReports`, lists of items, such a mask,
    or a list of its rows.
    """
    if isinstance(reports, np.ndarray) and reports.ndim == 2:
        return reports
    if isinstance(reports, list) and len(reports) == people and isinstance(reports[0], np.ndarray):
        return np.array(reports, dtype=bool)
    if not isinstance(reports, BasketReports):
        reports = BasketReports.of_lists(channel.items, reports, [size] * people)
    return unpack_bits(channel.expand(reports).words, channel.items.size).astype(bool)


def _count_presence(own: Bits, shown: Bits) -> tuple[Counted, Counted]:
    """Count for every item how often reports show it, of the people who have it and of those who do not.

    ``own`` and ``shown``: masks people × items. Returns (shown, people) of both groups, with an array over items for
    each.
    """
    having = own.sum(axis=0)
    both = (own & shown).sum(axis=0)
    return (both, having), (shown.sum(axis=0) - both, len(own) - having)


def _check_law(channel: SelectASize, size: int, own: Bits, shown: Bits, attribute: str, alpha: float) -> Check:
    """Check how many own items come through, and how often each item is shown, against the stated chances of one size.

    ``own`` and ``shown``: masks people × items of the baskets and of their reports.
    """
    law = channel.laws[size]
    came = np.bincount((own & shown).sum(axis=1), minlength=size + 1)
    kept = float(np.arange(size + 1) @ np.asarray(law.kept)) / max(size, 1)
    having, others = _count_presence(own, shown)
    values = np.concatenate(
        [p_value(came, len(own), np.asarray(law.kept)), p_value(*having, kept), p_value(*others, law.rho)]
    )
    failures = [
        *(f"exactly {j} items of a basket came through {times:,} times." for j, times in enumerate(came)),
        *_item_sentences(channel, having, "people who have it", kept),
        *_item_sentences(channel, others, "people who do not have it", law.rho),
    ]
    success = f"{values.size} exact tests on {len(own):,} baskets agree with the stated law."
    numbers = {"smallest_bias": smallest_excess(len(own), 0.5, alpha / values.size / 2), "reports": len(own)}
    return exact_tests("law", attribute, values, failures, alpha, success, numbers)


def _item_sentences(channel: SelectASize, counts: Counted, who: str, stated: float) -> list[str]:
    """Write a sentence for each item: how often these people's reports show it, and the stated chance.

    ``counts``: (shown, people) by item; ``who``: the people in words; ``stated``: the chance.
    """
    return [
        f"item {label!r} is shown by {k:,} of {n:,} {who} where the law states {percent(stated, 3)}."
        for label, k, n in zip(channel.items.labels, *counts, strict=True)
    ]


def _check_gamma(channel: SelectASize, own: Bits, shown: Bits, attribute: str, alpha: float) -> Check:
    """Check that the γ (largest factor on the odds) that reports prove is not above the stated one.

    They prove L/U, of bounds on the chances that an item is shown by people who have it and by people who do not, or
    hidden.
    """
    (shown_by, having), (added_by, others) = _count_presence(own, shown)
    level = alpha / (4 * channel.items.size)
    present = lower_bound(shown_by, having, level) / upper_bound(added_by, others, level)
    absent = lower_bound(others - added_by, others, level) / upper_bound(having - shown_by, having, level)
    ratios = np.maximum(present, absent)
    item = int(np.argmax(ratios))
    by_item = f"by item {channel.items.labels[item]!r}"
    return amplification(max(float(ratios[item]), 1.0), channel.gamma, by_item, attribute, alpha)
