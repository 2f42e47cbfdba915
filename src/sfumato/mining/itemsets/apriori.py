"""Frequent itemsets: Apriori on supports that are recovered from randomized baskets, or exact on clean ones.

A candidate survives to make longer ones if support ≥ min_support − stderr; it is output if support ≥ min_support.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtr

from sfumato.channels import Mechanism
from sfumato.channels.baskets import BasketReports, Baskets, SelectASize
from sfumato.channels.choice import Choice
from sfumato.domain import Codes, Items
from sfumato.mining.itemsets.supports import ColumnBitmaps, Group, Level, SupportCounter
from sfumato.tables import Records, as_table


class SupportWarning(UserWarning):
    """A minimum support that the reports cannot tell from noise."""


def frequent_itemsets(
    reports: Any, channel: SelectASize | Choice | None, min_support: float, max_len: int | None = 3
) -> Any:
    """Itemsets of 1..max_len items whose support reaches `min_support`, with standard errors.

    `reports` are what `channel.randomize` gave, bitmaps or seeds; with channel=None they are clean baskets (lists,
    Arrow lists, sparse or one-hot tables) and the supports are exact. Where people chose among several designs,
    `channel` is the choice and `reports` maps each level to its reports. The table (pandas, or records without it) has

        support    estimated share of people whose basket holds the itemset
        stderr     its standard error; zero for clean baskets
        itemsets   frozensets of items
        certainty  the chance that the true support reaches min_support: near 1 is certain, near 1/2 is within the noise

    >>> import sfumato as sf
    >>> frequent = sf.frequent_itemsets([["tea", "milk"], ["tea"], ["tea", "milk"]], None, min_support=0.5)
    >>> [sorted(itemset) for itemset in frequent["itemsets"]]
    [['milk'], ['tea'], ['milk', 'tea']]
    """
    check_support(min_support)
    if max_len is not None and max_len < 1:
        raise ValueError(f"max_len = {max_len} is no itemset size; give 1 or more, or None for no limit")
    if channel is None:
        baskets = Baskets.read(reports)
        longest = int(baskets.sizes.max(initial=0))
        longest, items = longest if max_len is None else min(max_len, longest), baskets.items
        groups = [Group(ColumnBitmaps.of_baskets(baskets), None)]
    else:
        parts = _by_level(reports, channel)
        longest = min(min(max_len or each.up_to, max(each.sizes)) for _, each in parts)
        items = parts[0][1].items
        for part, each in parts:
            check_reports(part, each, longest)
        if not channel.has_levels:
            warn_if_hidden(*parts[0], min_support, longest)
        groups = [Group(ColumnBitmaps.of_reports(part, each), each.laws) for part, each in parts]
    levels = apriori(SupportCounter(groups), items.size, min_support, longest)
    return itemset_table(levels, items, min_support)


def check_support(min_support: float) -> None:
    if not 0.0 < min_support <= 1.0:
        raise ValueError(f"min_support = {min_support!r} is no share of the people; give a number above 0 and up to 1")


def _by_level(reports: Any, channel: Mechanism) -> list[tuple[Any, SelectASize]]:
    """The reports of each level that has any, and their channel."""
    if not channel.has_levels:
        if not isinstance(channel, SelectASize):
            raise TypeError(f"channel={channel!r} does not report sets of items; itemsets need SelectASize")
        return [(reports, channel)]
    if not isinstance(reports, Mapping):
        raise TypeError("people chose among levels; give a mapping from each level to its reports")
    parts = []
    for name, part in reports.items():
        each = channel.level(name)
        if not isinstance(each, SelectASize):
            raise TypeError(f"level {name!r} is a {each.kind} channel; itemsets need SelectASize at every level")
        parts.append((part, each))
    if not parts:
        raise ValueError("there are no reports; give at least one level with reports")
    return parts


def check_reports(reports: Any, channel: SelectASize, longest: int) -> None:
    """Reports that this channel can have made, and that show itemsets of so many items."""
    if not isinstance(reports, BasketReports):
        raise TypeError(
            f"reports of type {type(reports).__name__} carry no true sizes; give what channel.randomize returned, or "
            "BasketReports.of_lists(items, lists, sizes); for clean baskets set channel=None"
        )
    if not len(reports):
        raise ValueError("there are no reports; give at least one")
    if reports.items.size != channel.items.size:
        raise ValueError(
            f"reports over {reports.items.size} items for a channel of {channel.items.size}; use its own channel"
        )
    strange = set(np.unique(reports.sizes).tolist()) - set(channel.sizes)
    if strange:
        raise ValueError(
            f"reports of size {min(strange)} have no design in this channel; use the channel that made them"
        )
    if reports.compressed and longest > channel.up_to:
        raise ValueError(
            f"seeds are made for itemsets up to {channel.up_to}; lower max_len to {channel.up_to} or design with "
            f"up_to={longest}"
        )


def warn_if_hidden(reports: BasketReports, channel: SelectASize, min_support: float, longest: int) -> None:
    """A warning when min_support is below what these reports can show, with the number that would do."""
    sizes, people = np.unique(reports.sizes, return_counts=True)
    shares = dict(zip(sizes.tolist(), people.tolist(), strict=True))
    for k in range(longest, 0, -1):
        if not any(size >= k for size in shares):
            continue
        needed = channel.reports_needed(min_support, k, shares)
        if needed > len(reports):
            warnings.warn(
                f"min_support = {min_support:g} is below what {len(reports):,} reports can show for itemsets of {k}: "
                f"about {needed:,} reports are needed; raise min_support, lower max_len or collect more",
                SupportWarning,
                stacklevel=3,
            )
            return


def apriori(counter: SupportCounter, items: int, min_support: float, longest: int) -> Iterator[Level]:
    """Levels of surviving candidates, shortest first."""
    candidates = np.arange(items)[:, None]
    for _ in range(longest):
        level = counter.count(candidates)
        level = level.kept(level.support >= min_support - level.stderr)
        yield level
        candidates = join(level.itemsets)
        if not len(candidates):
            return


def join(survivors: Codes) -> Codes:
    """Candidates one item longer whose subsets all survived, in lexicographic order."""
    if survivors.shape[1] == 1:
        low, high = np.triu_indices(len(survivors), 1)
        return np.column_stack([survivors[low, 0], survivors[high, 0]])
    known = set(map(tuple, survivors.tolist()))
    by_prefix: dict[tuple[int, ...], list[int]] = {}
    for row in sorted(known):
        by_prefix.setdefault(row[:-1], []).append(row[-1])
    joined = [
        (*prefix, a, b)
        for prefix, ends in by_prefix.items()
        for a, b in combinations(ends, 2)
        if all((*prefix[:i], *prefix[i + 1 :], a, b) in known for i in range(len(prefix)))
    ]
    return np.array(joined, dtype=np.int64).reshape(len(joined), survivors.shape[1] + 1)


def itemset_table(levels: Iterable[Level], items: Items, min_support: float) -> Any:
    """The itemsets that reach `min_support`, one a row."""
    rows: Records = []
    for level in levels:
        found = level.kept(level.support >= min_support)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (found.support - min_support) / found.stderr
        certainty = np.where(found.stderr > 0.0, ndtr(z), 1.0)
        columns = (found.itemsets.tolist(), found.support.tolist(), found.stderr.tolist(), certainty.tolist())
        for codes, support, stderr, sure in zip(*columns, strict=True):
            itemset = frozenset(items.labels[code] for code in codes)
            rows.append({"support": support, "stderr": stderr, "itemsets": itemset, "certainty": sure})
    return as_table(rows, ["support", "stderr", "itemsets", "certainty"])
