"""`Treatment`: what a release does beside the method, to outliers before it, to gaps and the order of rows after it.

    outliers  "replace": at either end of a number the values of the k most extreme people become their mean (their
              median, where one of them alone pulls the mean past the second); a label of fewer than k people becomes
              the nearest label, in the order of class shares, that has k. k is 5, and 3 below 100 records.
    gaps      "deal": missing values are dealt anew among the records of a leaf, column by column with one permutation;
              a value that one record loses goes to another that gains one, so a leaf keeps its values and its patterns.
    order     "shuffle": the rows of the table stand in random order, and no index goes with them.

"keep" leaves each as it was; the report then states the risk of that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.table.fields import Field, Mask, Microdata
from sfumato.prose import counted

TAIL = 5
"""The people who share an extreme value or a label at least. Statistical offices use 3 to 10 for cells of tables;
larger hides more and moves the ends further."""

SMALL_TAIL = 3
"""The same in small tables, where 5 would be a large part of the people."""

SMALL_TABLE = 100
"""Records below which a table is small, by judgement."""

CHOICES = {"outliers": ("replace", "keep"), "gaps": ("deal", "keep"), "order": ("shuffle", "keep")}


@dataclass(frozen=True)
class Treatment:
    """What a release does about extreme values, missing values and the order of rows, beside the method.

    outliers   "replace" extreme values and rare labels by those of a few people together, or "keep" them
    gaps       "deal" the patterns of missing values anew inside leaves, or "keep" them where they are
    order      "shuffle" the rows, or "keep" their order

    >>> import sfumato as sf
    >>> ages = [20 + row % 30 for row in range(60)]
    >>> table = {"age": ages, "class": ["young" if age < 35 else "old" for age in ages]}
    >>> plain = Treatment(outliers="keep", order="keep")
    >>> len(sf.release(table, "class", sf.microdata.Swap(), treatment=plain, rng=1).table["age"])
    60
    """

    outliers: str = "replace"
    gaps: str = "deal"
    order: str = "shuffle"

    def __post_init__(self) -> None:
        for key, allowed in CHOICES.items():
            if getattr(self, key) not in allowed:
                raise ValueError(f"{key}={getattr(self, key)!r} is unknown; choose {' or '.join(allowed)}")

    def before(self, data: Microdata, kept: Mask, declared: Mask, draws: Draws) -> Microdata:
        """Return the records that the method gets, without extreme values.

        ``kept``: fields that stay as they are. ``declared``: fields whose domain the owner stated, so that it stays.
        """
        return data if self.outliers == "keep" else replace_outliers(data, kept, declared, draws)

    def after(self, data: Microdata, group: Codes, kept: Mask, draws: Draws) -> Microdata:
        """Return the records that the method made, with missing values spread anew among the records of each leaf.

        ``group``: the leaf of each record. ``kept``: fields that stay as they are.
        """
        return data if self.gaps == "keep" else deal_gaps(data, group, kept, draws)

    def notes(self, original: Microdata, released: Microdata, kept: Mask) -> list[str]:
        """Return sentences for the owner on what was done."""
        gaps = np.isnan(original.X).sum(axis=0)
        dealt = "are dealt anew inside leaves" if self.gaps == "deal" else "stay where they were"
        notes = [
            f"{original.names[index]}: {gaps[index]} missing values {'stay where they were' if kept[index] else dealt}"
            for index in np.flatnonzero(gaps)
        ]
        tight = [new.name for new, old in zip(released.fields, original.fields, strict=True) if new != old]
        if tight:
            notes.append(f"extreme values of {', '.join(tight)} were replaced by those of a few people together")
        labels = np.flatnonzero(~original.numeric & ~kept) if self.outliers == "replace" else ()
        for index in labels:
            rare = _rare_labels(original.X[:, index][~np.isnan(original.X[:, index])])[0].size
            if rare:
                notes.append(f"{original.names[index]}: {counted(rare, 'rare label')} became the nearest common one")
        return notes

    def rows(self, n: int, draws: Draws) -> Codes:
        """Return which record stands in each row of the released table of ``n`` rows, as an array of indices."""
        return np.arange(n) if self.order == "keep" else np.argsort(draws.uniform(n), kind="stable")


def tail_size(n: int) -> int:
    """Return how many of n people share an extreme value at least; 1 where n is too small to hide anybody."""
    return TAIL if n >= SMALL_TABLE else SMALL_TAIL if n >= 2 * SMALL_TAIL else 1


def replace_outliers(data: Microdata, kept: Mask, declared: Mask, draws: Draws) -> Microdata:
    """Return records with extreme numbers and rare labels replaced by those of a few people together, to hide them.

    In all fields but ``kept`` ones. The range of a field then shrinks, unless the owner has stated it (``declared``).
    """
    X, fields = data.X.copy(), list(data.fields)
    for index in np.flatnonzero(~kept).tolist():
        field, present = fields[index], ~np.isnan(X[:, index])
        size = tail_size(int(present.sum()))
        if size == 1 or field.low == field.high:
            continue
        if field.kind == "category":
            X[present, index] = _without_rare_labels(X[present, index])
            continue
        X[present, index] = _without_tails(X[present, index], size, field, draws)
        if not declared[index]:
            fields[index] = replace(field, low=float(X[present, index].min()), high=float(X[present, index].max()))
    return replace(data, X=X, fields=tuple(fields))


def _without_tails(values: Floats, size: int, field: Field, draws: Draws) -> Floats:
    """Return a field's numbers with the ``size`` largest replaced by one value, the ``size`` smallest by another."""
    values = values.copy()
    for side in (1, -1):
        people = _lowest(side * values, size, draws)
        tail = values[people]
        middle = tail.mean()
        if abs(middle - tail[-1]) > abs(tail[1] - tail[-1]):
            middle = np.sort(tail)[size // 2]
        values[people] = field.snap(np.array([middle]), tail.min(), tail.max())[0]
    return values


def _lowest(values: Floats, size: int, draws: Draws) -> Codes:
    """Return the indices of the ``size`` lowest values, the lowest first; among equal ones at random."""
    last = np.partition(values, size - 1)[size - 1]
    below, tied = np.flatnonzero(values < last), np.flatnonzero(values == last)
    some = tied[np.argsort(draws.uniform(tied.size))[: size - below.size]]
    return np.concatenate([below[np.argsort(values[below], kind="stable")], some])


def _without_rare_labels(codes: Floats) -> Floats:
    """Return a column of codes in which each rare label is replaced by the nearest common one (by code)."""
    rare, common = _rare_labels(codes)
    if not rare.size:
        return codes
    new = np.arange(codes.max() + 1)
    new[rare] = common[np.abs(rare[:, None] - common).argmin(axis=1)]
    return np.asarray(new[codes.astype(np.int64)])


def _rare_labels(codes: Floats) -> tuple[Codes, Codes]:
    """Return (the codes of labels that too few people have, the codes of common ones); if all are rare, none is."""
    count, size = np.bincount(codes.astype(np.int64)), tail_size(codes.size)
    common = np.flatnonzero(count >= size)
    return np.flatnonzero((count > 0) & (count < size) & bool(common.size)), common


def deal_gaps(data: Microdata, group: Codes, kept: Mask, draws: Draws) -> Microdata:
    """Return records with their missing values spread anew among the records of each leaf, so that gaps tell nobody.

    ``group``: the leaf of each record. ``kept``: fields that stay as they are. A record takes over the whole pattern of
    gaps of another; values that it loses go to records that gain one.
    """
    missing = np.isnan(data.X)
    indices = np.flatnonzero(missing.any(axis=0) & ~kept)
    if not indices.size:
        return data
    X, source = data.X.copy(), _stirred(group, draws)
    for index in indices:
        before = missing[:, index]
        after = before[source]
        giving, taking = (np.flatnonzero(rows) for rows in (after & ~before, before & ~after))
        giving, taking = (rows[np.lexsort((draws.uniform(rows.size), group[rows]))] for rows in (giving, taking))
        X[taking, index] = X[giving, index]
        X[giving, index] = np.nan
    return data.with_values(X, data.y)


def _stirred(group: Codes, draws: Draws) -> Codes:
    """Return for each record the index of another of its group, at random: a permutation inside each group."""
    source = np.empty(group.size, dtype=np.int64)
    source[np.argsort(group, kind="stable")] = np.lexsort((draws.uniform(group.size), group))
    return source
