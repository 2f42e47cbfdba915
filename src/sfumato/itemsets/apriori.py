"""`frequent_itemsets`: Apriori on supports that are estimated from randomized baskets, or exact on clean ones.

A candidate is used to make longer ones if support ≥ min_support − stderr; it is returned if support ≥ min_support.

Where min_support is below the lowest discoverable support of itemsets of k items, s = 4 σ(s), that would return noise:
of many thousand candidates that nobody has, many have an estimate above it. Then only certain itemsets are returned: of
the m candidates of k items those with the smallest p-values, so many that at most 1 in 100 is false (Benjamini and
Hochberg),

    p = Φ((min_support − support)/max(stderr, σ(0))),      p ≤ .01 · rank/m

and a candidate is used to make longer ones only if its support is at least what longer itemsets need to be discovered.
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
"""Bits of bitmaps that are unpacked at once when candidates are joined: 64 MB. It changes no result."""

FALSE_SHARE = 0.01
"""The largest expected share of false itemsets among those called certain (the rate of Benjamini and Hochberg). A
convention; larger returns more itemsets, and more false ones. tests/itemsets/test_apriori.py checks that it holds."""


class SupportWarning(UserWarning):
    """The warning that a minimum support is so small that the reports cannot tell it from noise."""


def frequent_itemsets(
    reports: Any, channel: SelectASize | Choice | None = None, min_support: float | None = None,
    max_len: int | None = 3, *, certain: bool = True,
) -> Any:
    """Find the itemsets that at least a share ``min_support`` of the people have; return a table with standard errors.

    ``reports``: what ``channel.randomize`` returned, bitmaps or seeds; with ``channel=None`` clean baskets (lists,
    Arrow lists, sparse or one-hot tables), whose supports are exact. Where people chose among several designs, a
    mapping from each level to its reports. `sf.Reports(table, plan)` are counted where they are, in one pass for each
    number of items. ``channel``: the select-a-size design that made the reports, or the choice of designs (`sf.Reports`
    of a plan know theirs). ``min_support``: the smallest share, above 0 and up to 1. ``max_len``: the most items of an
    itemset (None: no limit). ``certain``: where ``min_support`` is below what the reports can show, return only
    itemsets that are certain, with a warning that is also the table's ``attrs["note"]``; with False all whose estimate
    is above it.

    The table (pandas, or records where pandas is missing) has the columns

        support    estimated share of people whose basket has all items of the itemset
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
    note = warn_of_hidden(counter, min_support, longest, certain)
    if note:
        warnings.warn(note, SupportWarning, stacklevel=2)
    table = itemset_table(apriori(counter, holder.items.size, min_support, longest, certain), holder.items, min_support)
    if note and hasattr(table, "attrs"):
        table.attrs["note"] = note
    return table


def holder_of(reports: Any, channel: Mechanism | None) -> Holder:
    """Return the object that counts people by itemset in these baskets: in memory, or where a table's rows are.

    ``reports``: blurred baskets, or clean ones where ``channel`` is None; or `sf.Reports` of a table.
    """
    if isinstance(reports, Reports):
        return SourceHolder.of(reports, channel)
    if channel is None:
        return MemoryHolder.of_baskets(Baskets.read(reports))
    return MemoryHolder.of_reports(_by_level(reports, channel))


def check_support(min_support: float | None) -> float:
    """Return a minimum support (share of people) unchanged if it is above 0 and at most 1; otherwise raise ValueError.
    """
    if min_support is None or not 0.0 < min_support <= 1.0:
        raise ValueError(f"min_support = {min_support!r} is no share of the people; give a number above 0 and up to 1")
    return min_support


def _by_level(reports: Any, channel: Mechanism) -> list[tuple[BasketReports, SelectASize]]:
    """Return (reports, the design that made them) for each level, as a list; a single pair where there are no levels.

    A level is how strongly people chose to blur. ``reports``: a mapping from level to reports, or the reports;
    TypeError for other data. ``channel``: the design, or the choice of designs.
    """
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
    """Raise ValueError if a group of people has no reports, or reports that cannot show itemsets of ``longest`` items.

    A group is the people who reported through one design; seeds are designed for itemsets up to some length.
    """
    if group.channel is None:
        return
    if not group.total:
        raise ValueError("a level has no reports; leave it out")
    if group.compressed and longest > group.channel.up_to:
        raise ValueError(
            f"seeds are made for itemsets up to {group.channel.up_to}; lower max_len to {group.channel.up_to} or "
            f"design with up_to={longest}"
        )


def warn_of_hidden(counter: SupportCounter, min_support: float, longest: int, certain: bool) -> str | None:
    """Return a warning if min_support is below what these reports can tell from noise; None if it is not.

    The warning says how many reports would do. ``longest``: the most items of an itemset; ``certain``: whether only
    certain itemsets are then returned, which the warning adds.
    """
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
    """Yield the frequent itemsets with their estimated supports (shares of people), those of one item first.

    Longer candidates are made only of itemsets that were frequent. ``counter``: what estimates supports; ``items``: how
    many items there are. ``longest``: the most items of an itemset. ``certain``: True: where ``min_support`` is too
    small to tell from noise, yield only itemsets that stand out from it.
    """
    variances = [counter.variance(k) for k in range(1, longest + 1)]
    lowest = [float(significant_support(*variance)) if certain and variance[0] else 0.0 for variance in variances]
    candidates = np.arange(items)[:, None]
    for k in range(1, longest + 1):
        level = counter.count(candidates)
        output = level.support >= min_support
        if min_support < lowest[k - 1]:
            output &= certain_itemsets(level, min_support, math.sqrt(variances[k - 1][0]))
        yield level.kept(output)
        if k == longest:
            return
        needed = max(min_support, min(lowest[k:]))
        candidates = join(level.itemsets[level.support >= needed - level.stderr])
        if not len(candidates):
            return


def certain_itemsets(level: Level, min_support: float, noise: float) -> NDArray[np.bool_]:
    """Return a mask of the candidates whose support most surely reaches min_support: on average at most 1 % do not.

    That share, FALSE_SHARE, is held by the method of Benjamini and Hochberg. ``level``: the candidates with their
    estimated supports; ``noise``: the standard error of an itemset that nobody has.
    """
    chance = ndtr((min_support - level.support) / np.maximum(level.stderr, noise))
    ranked = np.sort(chance)
    passed = np.flatnonzero(ranked <= FALSE_SHARE * np.arange(1, ranked.size + 1) / ranked.size)
    return np.asarray(chance <= (ranked[passed[-1]] if passed.size else -1.0))


def join(survivors: Codes) -> Codes:
    """Return all itemsets of k + 1 items whose subsets of k items are all among ``survivors``; item codes, one a row.

    ``survivors``: the itemsets of k items that were frequent, sorted, one a row. This makes the next candidates of
    Apriori.
    """
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
    ends = np.vstack([ends, np.zeros_like(ends[:1])])  # the last items of each run; none for a beginning without a run
    longer = np.repeat(ends[:-1], np.diff(runs), axis=0)
    for index in range(k - 1):
        others: Any = np.delete(codes, index, axis=1).tolist()
        longer &= ends[[run_of.get(tuple(other), -1) for other in others]]
    step = max(1, BITS_AT_ONCE // items.size)
    bits = (unpack_bits(longer[at : at + step], items.size) for at in range(0, len(longer), step))
    positions = np.concatenate([np.flatnonzero(part) + at * step * items.size for at, part in enumerate(bits)])
    rows, last = np.divmod(positions, items.size)
    return np.column_stack([survivors[rows], items[last]])


def itemset_table(levels: Iterable[Level], items: Items, min_support: float) -> Any:
    """Return the table of the itemsets whose support reaches ``min_support``, one a row.

    Its columns are those of `frequent_itemsets`.

    ``levels``: itemsets with their supports, by number of items; ``items``: for the names of the items.
    """
    columns: dict[str, list[Any]] = {"support": [], "stderr": [], "itemsets": [], "certainty": []}
    labels: Any = np.fromiter(items.labels, dtype=object, count=items.size)
    for level in levels:
        kept = level.kept(level.support >= min_support)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (kept.support - min_support) / kept.stderr
        certainty = np.where(kept.stderr > 0.0, ndtr(z), 1.0)
        columns["support"] += kept.support.tolist()
        columns["stderr"] += kept.stderr.tolist()
        columns["itemsets"] += [frozenset(itemset) for itemset in labels[kept.itemsets]]
        columns["certainty"] += certainty.tolist()
    return columns_as_table(columns)
