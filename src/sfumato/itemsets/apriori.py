"""Frequent itemsets: Apriori on supports that are recovered from randomized baskets, or exact on clean ones.

A candidate survives to make longer ones if support ≥ min_support − stderr; it is output if support ≥ min_support.

Where min_support is below the lowest discoverable support of itemsets of k, s = 4 σ(s), that would output noise: among
many thousand candidates whom nobody holds, many come out above it. Then only what is certain is output: of the m
candidates of k items those with the smallest p-values, as many as keep false ones below 1 in 100 (Benjamini and
Hochberg),

    p = Φ((min_support − support)/max(stderr, σ(0))),      p ≤ .01 · rank/m

and the support that a candidate needs to survive is at least what longer itemsets need to be discovered.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sfumato.channels import Mechanism
from sfumato.channels.baskets import (
    SIGNIFICANCE,
    BasketReports,
    Baskets,
    SelectASize,
    bitmaps_of,
    significant_support,
    unpack_bits,
)
from sfumato.channels.choice import Choice
from sfumato.counts import Reports
from sfumato.domain import Codes, Items
from sfumato.itemsets.sources import SourceHolder, design_of
from sfumato.itemsets.supports import Group, Holder, Level, MemoryHolder, SupportCounter, runs_of
from sfumato.tables import columns_as_table

BITS_AT_ONCE = 1 << 26
FALSE_SHARE = 0.01
"""Of the itemsets that are called certain."""


class SupportWarning(UserWarning):
    """A minimum support that the reports cannot tell from noise."""


def frequent_itemsets(
    reports: Any, channel: SelectASize | Choice | None = None, min_support: float | None = None,
    max_len: int | None = 3, *, certain: bool = True,
) -> Any:
    """Itemsets of 1..max_len items whose support reaches `min_support`, with standard errors.

    `reports` are what `channel.randomize` gave, bitmaps or seeds; with channel=None they are clean baskets (lists,
    Arrow lists, sparse or one-hot tables) and the supports are exact. Where people chose among several designs,
    `channel` is the choice and `reports` maps each level to its reports. `sf.Reports(table, plan)` are counted where
    they are, in one pass for each number of items, and the channel is the plan's. The table (pandas, or records without
    it) has the columns below. Where `min_support` is below what the reports can show, only itemsets that are certain
    are given, with a warning that is also the table's `attrs["note"]`; certain=False gives all that come out above it.

        support    estimated share of people whose basket holds the itemset
        stderr     its standard error; zero for clean baskets
        itemsets   frozensets of items
        certainty  the chance that the true support reaches min_support: near 1 is certain, near 1/2 is within the noise

    >>> import sfumato as sf
    >>> frequent = sf.frequent_itemsets([["tea", "milk"], ["tea"], ["tea", "milk"]], None, min_support=0.5)
    >>> [sorted(itemset) for itemset in frequent["itemsets"]]
    [['milk'], ['tea'], ['milk', 'tea']]
    """
    min_support = check_support(min_support)
    if max_len is not None and max_len < 1:
        raise ValueError(f"max_len = {max_len} is no itemset size; give 1 or more, or None for no limit")
    holder = holder_of(reports, channel)
    if not any(group.total for group in holder.groups):
        raise ValueError("there are no reports; give at least one")
    longest = min(group.longest(max_len) for group in holder.groups)
    for group in holder.groups:
        check_group(group, longest)
    counter = SupportCounter(holder)
    note = hidden_in_words(counter, min_support, longest, certain)
    if note:
        warnings.warn(note, SupportWarning, stacklevel=2)
    found = itemset_table(apriori(counter, holder.items.size, min_support, longest, certain), holder.items, min_support)
    if note and hasattr(found, "attrs"):
        found.attrs["note"] = note
    return found


def holder_of(reports: Any, channel: Mechanism | None) -> Holder:
    """Whoever counts these baskets: in memory, or where they are."""
    if isinstance(reports, Reports):
        return SourceHolder.of(reports, channel)
    if channel is None:
        return MemoryHolder.of_baskets(Baskets.read(reports))
    return MemoryHolder.of_reports(_by_level(reports, channel))


def check_support(min_support: float | None) -> float:
    """A share of the people."""
    if min_support is None or not 0.0 < min_support <= 1.0:
        raise ValueError(f"min_support = {min_support!r} is no share of the people; give a number above 0 and up to 1")
    return min_support


def _by_level(reports: Any, channel: Mechanism) -> list[tuple[BasketReports, SelectASize]]:
    """The reports of each level that has any, and their channel."""
    if channel.has_levels and not isinstance(reports, Mapping):
        raise TypeError("people chose among levels; give a mapping from each level to its reports")
    given = reports if channel.has_levels else {None: reports}
    parts = [(part, design_of(channel.level(name))) for name, part in given.items()]
    for part, _ in parts:
        if not isinstance(part, BasketReports):
            raise TypeError(
                f"reports of type {type(part).__name__} carry no true sizes; give what channel.randomize returned, or "
                "BasketReports.of_lists(items, lists, sizes); for clean baskets set channel=None"
            )
    return parts


def check_group(group: Group, longest: int) -> None:
    """There are people, and what they sent shows itemsets of so many items."""
    if group.channel is None:
        return
    if not group.total:
        raise ValueError("a level has no reports; leave it out")
    if group.compressed and longest > group.channel.up_to:
        raise ValueError(
            f"seeds are made for itemsets up to {group.channel.up_to}; lower max_len to {group.channel.up_to} or "
            f"design with up_to={longest}"
        )


def hidden_in_words(counter: SupportCounter, min_support: float, longest: int, certain: bool) -> str | None:
    """What to know when min_support is below what these reports can show, with the number of them that would do."""
    people = sum(group.total for group in counter.holder.groups)
    for k in range(longest, 0, -1):
        noise, fall = counter.variance(k)
        needed = math.ceil(people * SIGNIFICANCE**2 * (noise - fall * min_support) / min_support**2)
        if needed > people:
            lowest = float(significant_support(noise, fall))
            shown = f"below {lowest:.2%} only itemsets that are certain are shown; " if certain else ""
            return (
                f"min_support = {min_support:g} is below what {people:,} reports can show for itemsets of {k}: about "
                f"{needed:,} reports are needed; {shown}raise min_support, lower max_len or collect more"
            )
    return None


def apriori(
    counter: SupportCounter, items: int, min_support: float, longest: int, certain: bool = False
) -> Iterator[Level]:
    """What is output, level by level, shortest itemsets first."""
    variances = [counter.variance(k) for k in range(1, longest + 1)]
    lowest = [float(significant_support(*variance)) if certain and variance[0] else 0.0 for variance in variances]
    candidates = np.arange(items)[:, None]
    for k in range(1, longest + 1):
        level = counter.count(candidates)
        output = level.support >= min_support
        if min_support < lowest[k - 1]:
            output &= certain_ones(level, min_support, math.sqrt(variances[k - 1][0]))
        yield level.kept(output)
        if k == longest:
            return
        needed = max(min_support, min(lowest[k:]))
        candidates = join(level.itemsets[level.support >= needed - level.stderr])
        if not len(candidates):
            return


def certain_ones(level: Level, min_support: float, noise: float) -> NDArray[np.bool_]:
    """The candidates that reach min_support for certain: at most FALSE_SHARE of them, on average, do not."""
    chance = ndtr((min_support - level.support) / np.maximum(level.stderr, noise))
    ranked = np.sort(chance)
    passed = np.flatnonzero(ranked <= FALSE_SHARE * np.arange(1, ranked.size + 1) / ranked.size)
    return np.asarray(chance <= (ranked[passed[-1]] if passed.size else -1.0))


def join(survivors: Codes) -> Codes:
    """Candidates one item longer whose subsets all survived, in lexicographic order as the survivors are."""
    k = survivors.shape[1]
    if k == 1:
        low, high = np.triu_indices(len(survivors), 1)
        return np.column_stack([survivors[low, 0], survivors[high, 0]])
    if len(survivors) <= k:
        return np.empty((0, k + 1), dtype=np.int64)
    items, codes = np.unique(survivors, return_inverse=True)
    codes = codes.reshape(survivors.shape)
    runs = runs_of(codes)
    run_of = {beginning: run for run, beginning in enumerate(map(tuple, codes[runs[:-1], :-1].tolist()))}
    ends = bitmaps_of(Baskets(Items(items.size), runs, codes[:, -1]))
    ends = np.vstack([ends, np.zeros_like(ends[:1])])  # of each run, and none for a beginning that has no run
    longer = np.repeat(ends[:-1], np.diff(runs), axis=0)
    for place in range(k - 1):
        others: Any = np.delete(codes, place, axis=1).tolist()
        longer &= ends[[run_of.get(tuple(other), -1) for other in others]]
    step = max(1, BITS_AT_ONCE // items.size)
    bits = (unpack_bits(longer[at : at + step], items.size) for at in range(0, len(longer), step))
    found = np.concatenate([np.flatnonzero(part) + at * step * items.size for at, part in enumerate(bits)])
    rows, last = np.divmod(found, items.size)
    return np.column_stack([survivors[rows], items[last]])


def itemset_table(levels: Iterable[Level], items: Items, min_support: float) -> Any:
    """The itemsets that reach `min_support`, one a row."""
    columns: dict[str, list[Any]] = {"support": [], "stderr": [], "itemsets": [], "certainty": []}
    labels: Any = np.fromiter(items.labels, dtype=object, count=items.size)
    for level in levels:
        found = level.kept(level.support >= min_support)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (found.support - min_support) / found.stderr
        certainty = np.where(found.stderr > 0.0, ndtr(z), 1.0)
        columns["support"] += found.support.tolist()
        columns["stderr"] += found.stderr.tolist()
        columns["itemsets"] += [frozenset(itemset) for itemset in labels[found.itemsets]]
        columns["certainty"] += certainty.tolist()
    return columns_as_table(columns)
