"""Supports from people who chose among several designs: one estimate a level, weighted by what the level tells.

    support = Σ_g w_g · support_g / Σ_g w_g,     1/w_g = Σ_m (N_gm/N_g)² · noise power_gm / N_gm

w_g is the inverse variance for an itemset that nobody has: it depends on the designs and on how many people chose them,
never on their reports, so the average stays unbiased. Levels must not depend on the baskets beyond their sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.channels.baskets import SelectASize
from sfumato.channels.choice import Choice
from sfumato.domain import Codes, Floats
from sfumato.mining.bitmaps import ColumnBitmaps
from sfumato.mining.supports import Level, SupportCounter


class LevelsCounter:
    """Counts itemsets level by level in every group of people, and averages the groups."""

    def __init__(self, counters: Sequence[SupportCounter]) -> None:
        self.counters = list(counters)
        self.bitmaps = self.counters[0].bitmaps

    def count(self, itemsets: Codes) -> Level:
        found = [counter.count(itemsets) for counter in self.counters]
        weight = np.array([precision(counter, itemsets.shape[1]) for counter in self.counters])
        weight = weight / weight.sum()
        support = np.asarray(sum(w * one.support for w, one in zip(weight, found, strict=True)))
        variance = np.asarray(sum(w**2 * one.stderr**2 for w, one in zip(weight, found, strict=True)))
        counts = np.hstack([one.counts for one in found])
        return Level(itemsets, counts, support, np.sqrt(variance))


def precision(counter: SupportCounter, k: int) -> float:
    """w_g of itemsets of k items."""
    assert counter.laws is not None
    people: Floats = counter.bitmaps.people.astype(float)
    laws = [counter.laws[size] for size in counter.bitmaps.groups]
    total = people.sum()
    terms = [n * law.noise_power(k) for n, law in zip(people, laws, strict=True) if law.size >= k]
    return float(total**2 / sum(terms)) if terms else 0.0


def counter_of_levels(reports: Any, choice: Choice, check: Any) -> tuple[LevelsCounter, list[SelectASize]]:
    """The counter of reports given by level, and the channels of the levels that have any."""
    if not isinstance(reports, Mapping):
        raise TypeError("people chose among levels: give a mapping from each level to its reports")
    counters, channels = [], []
    for name, part in reports.items():
        channel = choice.level(name)
        if not isinstance(channel, SelectASize):
            raise TypeError(f"level {name!r} is a {channel.kind} channel; itemsets need SelectASize at every level")
        check(part, channel)
        counters.append(SupportCounter(ColumnBitmaps.of_reports(part, channel), channel.laws))
        channels.append(channel)
    if not counters:
        raise ValueError("there are no reports: give at least one level with reports")
    return LevelsCounter(counters), channels
