"""What a release does beside the method: outliers before it, gaps and the order of the rows after it.

    outliers  "replace": at either end of a number the values of the k most extreme people become their mean (their
              median, where one of them alone pulls the mean past the second); a label of fewer than k people becomes
              the nearest label, in the order of class shares, that has k. k is 5, and 3 below 100 records.
    gaps      "deal": the patterns of missing values are dealt anew among the records of a leaf; what a record loses
              goes to one that gains, so a leaf keeps its values and its patterns.
    order     "shuffle": the rows of the table stand in random order, and no index goes with them.

"keep" leaves each as it was; the report then states what that costs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.table.fields import Field, Mask, Microdata
from sfumato.prose import counted

TAIL, SMALL_TAIL, SMALL_TABLE = 5, 3, 100
CHOICES = {"outliers": ("replace", "keep"), "gaps": ("deal", "keep"), "order": ("shuffle", "keep")}


@dataclass(frozen=True)
class Treatment:
    """What is done about extreme values, gaps and the order of rows, beside the method.

    outliers   "replace" extreme values and rare labels by those of a few people together, or "keep" them
    gaps       "deal" the patterns of missing values anew inside leaves, or "keep" them where they are
    order      "shuffle" the rows, or "keep" their order
    """

    outliers: str = "replace"
    gaps: str = "deal"
    order: str = "shuffle"

    def __post_init__(self) -> None:
        for key, allowed in CHOICES.items():
            if getattr(self, key) not in allowed:
                raise ValueError(f"{key}={getattr(self, key)!r} is unknown; choose {' or '.join(allowed)}")

    def before(self, data: Microdata, kept: Mask, declared: Mask, draws: Draws) -> Microdata:
        """The records that the method sees; ``declared``: fields whose domain the owner stated, which stays."""
        return data if self.outliers == "keep" else replace_outliers(data, kept, declared, draws)

    def after(self, data: Microdata, group: Codes, kept: Mask, draws: Draws) -> Microdata:
        """What the method made, with its gaps; ``group`` is the leaf of each record."""
        return data if self.gaps == "keep" else deal_gaps(data, group, kept, draws)

    def notes(self, original: Microdata, released: Microdata, kept: Mask) -> list[str]:
        """What was done, in plain words."""
        gaps = np.isnan(original.X).sum(axis=0)
        dealt = "are dealt anew inside leaves" if self.gaps == "deal" else "stay where they were"
        found = [
            f"{original.names[place]}: {gaps[place]} missing values {'stay where they were' if kept[place] else dealt}"
            for place in np.flatnonzero(gaps)
        ]
        tight = [new.name for new, old in zip(released.fields, original.fields, strict=True) if new != old]
        if tight:
            found.append(f"extreme values of {', '.join(tight)} were replaced by those of a few people together")
        labels = np.flatnonzero(~original.numeric & ~kept) if self.outliers == "replace" else ()
        for place in labels:
            rare = _rare_labels(original.X[:, place][~np.isnan(original.X[:, place])])[0].size
            if rare:
                found.append(f"{original.names[place]}: {counted(rare, 'rare label')} became the nearest common one")
        return found

    def rows(self, n: int, draws: Draws) -> Codes:
        """Which record each row of the released table is."""
        return np.arange(n) if self.order == "keep" else np.argsort(draws.uniform(n), kind="stable")


def tail_size(n: int) -> int:
    """How many people share an extreme value at least; 1 where the table is too small to hide anybody."""
    return TAIL if n >= SMALL_TABLE else SMALL_TAIL if n >= 2 * SMALL_TAIL else 1


def replace_outliers(data: Microdata, kept: Mask, declared: Mask, draws: Draws) -> Microdata:
    X, fields = data.X.copy(), list(data.fields)
    for place in np.flatnonzero(~kept).tolist():
        field, known = fields[place], ~np.isnan(X[:, place])
        size = tail_size(int(known.sum()))
        if size == 1 or field.low == field.high:
            continue
        if field.kind == "category":
            X[known, place] = _without_rare_labels(X[known, place])
            continue
        X[known, place] = _without_tails(X[known, place], size, field, draws)
        if not declared[place]:
            fields[place] = replace(field, low=float(X[known, place].min()), high=float(X[known, place].max()))
    return replace(data, X=X, fields=tuple(fields))


def _without_tails(values: Floats, size: int, field: Field, draws: Draws) -> Floats:
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
    """The records with the lowest values, the lowest first; which of equal ones is chance."""
    last = np.partition(values, size - 1)[size - 1]
    below, tied = np.flatnonzero(values < last), np.flatnonzero(values == last)
    some = tied[np.argsort(draws.uniform(tied.size))[: size - below.size]]
    return np.concatenate([below[np.argsort(values[below], kind="stable")], some])


def _without_rare_labels(codes: Floats) -> Floats:
    rare, common = _rare_labels(codes)
    if not rare.size:
        return codes
    new = np.arange(codes.max() + 1)
    new[rare] = common[np.abs(rare[:, None] - common).argmin(axis=1)]
    return np.asarray(new[codes.astype(np.int64)])


def _rare_labels(codes: Floats) -> tuple[Codes, Codes]:
    """Labels of too few people, and those that enough have; none is rare where all are."""
    count, size = np.bincount(codes.astype(np.int64)), tail_size(codes.size)
    common = np.flatnonzero(count >= size)
    return np.flatnonzero((count > 0) & (count < size) & bool(common.size)), common


def deal_gaps(data: Microdata, group: Codes, kept: Mask, draws: Draws) -> Microdata:
    missing = np.isnan(data.X)
    places = np.flatnonzero(missing.any(axis=0) & ~kept)
    if not places.size:
        return data
    X, source = data.X.copy(), _stirred(group, draws)
    for place in places:
        before = missing[:, place]
        after = before[source]
        giving, taking = (np.flatnonzero(rows) for rows in (after & ~before, before & ~after))
        giving, taking = (rows[np.lexsort((draws.uniform(rows.size), group[rows]))] for rows in (giving, taking))
        X[taking, place] = X[giving, place]
        X[giving, place] = np.nan
    return data.with_values(X, data.y)


def _stirred(group: Codes, draws: Draws) -> Codes:
    """For each record another of its group, each one once."""
    source = np.empty(group.size, dtype=np.int64)
    source[np.argsort(group, kind="stable")] = np.lexsort((draws.uniform(group.size), group))
    return source
