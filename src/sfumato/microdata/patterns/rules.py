"""Rules between two columns: which of their values may stand in one record. Found or stated, and kept in a release.

Found among columns of few values (n records, c cells in all pairs of such columns):

    a gives b          b is the same in all records with the same a: b is never drawn but derived from a
    never together     no record has the two values, one of them a category, though n·P(a)·P(b) ≥ ln c + 3 records are
                       expected by chance; up to one in 200 of these may: an error in the table, which is not repeated

Stated by the owner, one line each:

    education -> education_num                   b is derived from a
    education ~ education_num                    only pairs that the table has
    start <= end                                 numbers in this order
    not relationship=Husband, sex=Female         two values that never stand together

A released record that breaks a rule takes both columns, and in the end all columns bound by rules, from a true record
of its leaf and class that breaks none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.patterns.pattern import Leaves
from sfumato.microdata.table.fields import Field, Mask, Microdata

MOST_VALUES = 200
"""The most values of a column among which rules are searched. Chosen by judgement: tables of pairs stay small."""

FEWEST_RECORDS_A_VALUE = 5
"""The fewest records per value of such a column, on average. Chosen by judgement: with fewer, a value that gives
another is likely to do so by chance."""

SLIPS = 1 / 200
"""The share of the records expected by chance up to which a pair counts as an error in the table. Chosen by judgement:
larger forbids rare but real pairs, smaller repeats errors of entry."""

ROUNDS = 6
"""How often broken records get values from donors; the last two times all columns bound by rules come from one donor,
so that only columns which stay as they are can still break a rule. Chosen by judgement."""


@dataclass(frozen=True)
class Pairs:
    """The rule that only some pairs of values of two columns may stand together in a record.

    ``columns``: the fields' indices. ``values``: the sorted values of each. ``allowed[i, j]``: whether the i-th value
    of the first and the j-th of the second may. ``text``: the rule in words.
    """

    text: str
    columns: tuple[int, int]
    values: tuple[Floats, Floats]
    allowed: Mask

    def broken(self, X: Floats) -> Mask:
        """Return which records have a pair that is not allowed; missing values break no rule."""
        codes = [_codes(X[:, index], values) for index, values in zip(self.columns, self.values, strict=True)]
        complete = np.asarray(~np.isnan(X[:, list(self.columns)]).any(axis=1))
        return complete & ~self.allowed[codes[0], codes[1]]


@dataclass(frozen=True)
class Order:
    """The rule that in every record the number of a first column is at most that of a second; ``columns``: indices."""

    text: str
    columns: tuple[int, int]

    def broken(self, X: Floats) -> Mask:
        """Return which records break the rule, as truth values: their numbers are in the wrong order."""
        return np.asarray(X[:, self.columns[0]] > X[:, self.columns[1]])


@dataclass(frozen=True)
class Given:
    """The rule that the value of a first column determines that of a second, which a release derives from it.

    ``columns``: the indices of both. ``values``: those of the first, sorted. ``read[i]``: the second's value for each.
    """

    text: str
    columns: tuple[int, int]
    values: Floats
    read: Floats

    def broken(self, X: Floats) -> Mask:
        """Return which records break the rule, as truth values; missing values break none."""
        first, second = X[:, self.columns[0]], X[:, self.columns[1]]
        return np.asarray(~np.isnan(first) & ~np.isnan(second) & (second != self._read(first)))

    def derive(self, X: Floats) -> None:
        """Set the second column of records to what the first determines, in place; missing values stay missing."""
        first, second = X[:, self.columns[0]], X[:, self.columns[1]]
        present = ~np.isnan(first) & ~np.isnan(second)
        X[present, self.columns[1]] = self._read(first)[present]

    def _read(self, first: Floats) -> Floats:
        """Return the values of the second column that these values of the first column determine."""
        return self.read[_codes(first, self.values)]


Rule = Pairs | Order | Given


def _codes(column: Floats, values: Floats) -> Codes:
    """Return for each number of a column the index of the nearest of the sorted ``values``; 0 for NaN."""
    middle = (values[1:] + values[:-1]) / 2
    return np.searchsorted(middle, np.nan_to_num(column, nan=values[0]))


# --- rules that records obey ------------------------------------------------------------------------------------------


def find_rules(data: Microdata, fixed: Mask, stated: Iterable[str] = (), *, search: bool = True) -> list[Rule]:
    """Return the rules between columns: the owner's, and those that the true records obey.

    ``stated``: the owner's rules, one text each. ``search``: whether to look for others. ``fixed``: fields that stay as
    they are, and so are not derived from another.
    """
    rules = [read_rule(text, data) for text in stated]
    taken = set(read_off(rules))
    searched = range(len(data.fields)) if search else ()
    few = {index: levels for index in searched if (levels := _few(data.X[:, index])).size}
    surprising = np.log(max(sum(few[a].size * few[b].size for a, b in combinations(few, 2)), 1)) + 3
    for a, b in combinations(few, 2):
        counts = _counts(data.X, (a, b), (few[a], few[b]))
        directions = [(a, b)] * bool(_one_a_row(counts)) + [(b, a)] * bool(_one_a_row(counts.T))
        directions.sort(key=lambda direction: data.fields[direction[0]].kind == "category")
        free = [direction for direction in directions if not (fixed[direction[1]] or taken & set(direction))]
        if free:
            rules.append(_given(data, *free[0]))
            taken.add(free[0][1])
            continue
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1)
        never = (counts == 0) & bool(directions) | (counts <= SLIPS * expected) & (expected >= surprising)
        if never.any() and (directions or not data.numeric[[a, b]].all()):
            rules.append(Pairs(_never(data.fields, (a, b), (few[a], few[b]), never), (a, b), (few[a], few[b]), ~never))
    return rules


def _few(column: Floats) -> Floats:
    """Return the different values of a column that has few of them; an empty array for any other column."""
    present = column[~np.isnan(column)]
    levels = np.unique(present)
    usable = 2 <= levels.size <= min(MOST_VALUES, present.size / FEWEST_RECORDS_A_VALUE)
    return levels if usable else levels[:0]


def _counts(X: Floats, indices: tuple[int, int], values: tuple[Floats, Floats]) -> Codes:
    """Count the records with each pair of values of two fields: [first, second]."""
    present = ~np.isnan(X[:, list(indices)]).any(axis=1)
    first, second = (_codes(X[present, index], levels) for index, levels in zip(indices, values, strict=True))
    shape = values[0].size, values[1].size
    return np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1]).reshape(shape)


def _one_a_row(counts: Codes) -> bool:
    """Return whether one column determines another that varies, from how many records have each pair of values.

    ``counts[first, second]``: at most one entry of each row is above zero if the first determines the second.
    """
    return bool(((counts > 0).sum(axis=1) <= 1).all() and ((counts > 0).sum(axis=0) > 0).sum() > 1)


def _given(data: Microdata, a: int, b: int) -> Given:
    """Return the rule that the value of column a determines that of column b, as the true records show it.

    ``a`` and ``b``: the columns' indices. In a release b is then derived from a and not drawn.
    """
    present = np.flatnonzero(~np.isnan(data.X[:, [a, b]]).any(axis=1))
    values, first = np.unique(data.X[present, a], return_index=True)
    return Given(f"{data.names[a]} -> {data.names[b]}", (a, b), values, data.X[present[first], b])


def _never(fields: tuple[Field, ...], indices: tuple[int, int], values: tuple[Floats, Floats], never: Mask) -> str:
    """Return the text of a rule on pairs that never occur: one of these pairs, and how many more there are.

    ``indices``: the two columns. ``values``: the values of each. ``never[i, j]``: whether that pair never occurs.
    """
    which = np.argwhere(never)
    shown = ", ".join(
        f"{fields[index].name}={fields[index].shown(levels[code])}"
        for index, levels, code in zip(indices, values, which[0], strict=True)
    )
    return f"not {shown}" + (f" and {len(which) - 1} pairs more" if len(which) > 1 else "")


def read_off(rules: Iterable[Rule]) -> dict[int, int]:
    """Return the columns whose values another column determines by one of these rules, with the index of that one."""
    return {rule.columns[1]: rule.columns[0] for rule in rules if isinstance(rule, Given)}


# --- rules that the owner states --------------------------------------------------------------------------------------


def read_rule(text: str, data: Microdata) -> Rule:
    """Read a rule that the owner states; one that is not understood or that the table breaks raises ValueError."""
    if text.startswith("not "):
        return _forbidden(text, data)
    for sign in ("->", "<=", "~"):
        parts = [part.strip() for part in text.split(sign)]
        if len(parts) == 2:
            a, b = (data.index(part) for part in parts)
            break
    else:
        raise ValueError(f"rule {text!r} is not understood; write 'a -> b', 'a ~ b', 'a <= b' or 'not a=x, b=y'")
    if sign == "<=":
        if not data.numeric[[a, b]].all():
            raise ValueError(f"rule {text!r} compares categories; use it for numbers, or write 'a ~ b'")
        return Order(text, (a, b))
    values = tuple(np.unique(column[~np.isnan(column)]) for column in (data.X[:, a], data.X[:, b]))
    counts = _counts(data.X, (a, b), (values[0], values[1]))
    if sign == "~":
        return Pairs(text, (a, b), (values[0], values[1]), counts > 0)
    wrong = (counts > 0).sum(axis=1) > 1
    if wrong.any():
        which = data.fields[a].shown(values[0][np.argmax(wrong)])
        raise ValueError(f"rule {text!r} fails in the table for {parts[0]}={which}; write {parts[0]} ~ {parts[1]}")
    return _given(data, a, b)


def _forbidden(text: str, data: Microdata) -> Pairs:
    """Read a rule "not a=x, b=y": the value x of column a and y of column b never stand in one record."""
    parts = [part.partition("=") for part in text.removeprefix("not ").split(",")]
    if len(parts) != 2:
        raise ValueError(f"rule {text!r} names {len(parts)} values; write 'not a=x, b=y'")
    a, b = (data.index(name.strip()) for name, _, _ in parts)
    values = tuple(np.unique(column[~np.isnan(column)]) for column in (data.X[:, a], data.X[:, b]))
    chosen = [
        np.array([str(data.fields[index].shown(value)) == label.strip() for value in levels])
        for index, levels, (_, _, label) in zip((a, b), values, parts, strict=True)
    ]
    for (name, _, label), matching in zip(parts, chosen, strict=True):
        if not matching.any():
            raise ValueError(f"rule {text!r}: no record has {name.strip()}={label.strip()}; check its spelling")
    return Pairs(text, (a, b), (values[0], values[1]), ~np.outer(*chosen))


# --- keeping rules ----------------------------------------------------------------------------------------------------


def repair(X: Floats, y: Codes, data: Microdata, leaves: Leaves, rules: list[Rule], fixed: Mask, draws: Draws) -> None:
    """Change released records, in place, until they obey the rules; missing values stay where they are.

    ``X`` and ``y``: the released records. ``data``: the true ones, which give their values. ``fixed``: fields that must
    not change.
    """
    for rule in rules:
        if isinstance(rule, Given) and not fixed[rule.columns[1]]:
            rule.derive(X)
    bound = sorted({index for rule in rules for index in rule.columns})
    clean = ~np.any([rule.broken(data.X) for rule in rules], axis=0) if rules else np.ones(len(y), bool)
    for round_ in range(ROUNDS):
        broken = [(rule, np.flatnonzero(rule.broken(X) | _outside(X, leaves, rule.columns))) for rule in rules]
        broken = [(rule, rows) for rule, rows in broken if rows.size]
        if not broken:
            return
        for rule, rows in broken:
            indices = list(rule.columns) if round_ < ROUNDS - 2 else bound
            indices = [index for index in indices if not fixed[index]]
            donors = donors_in_leaf(rows, y, data.y, leaves, clean, draws)
            for index in indices:
                own, given = X[rows, index], data.X[donors, index]
                X[rows, index] = np.where(np.isnan(own) | np.isnan(given), own, given)


def donors_in_leaf(rows: Codes, y: Codes, true: Codes, leaves: Leaves, able: Mask, draws: Draws) -> Codes:
    """Draw for each released record a true one that gives it values (its donor); return the donors' indices.

    It is one of the same leaf and class, or else of the leaf.
    ``rows``: the released records; ``y`` their classes, ``true`` those of the true records. ``able``: which true
    records may give. Where no record of the leaf may, a record gets its own.
    """
    donors, leaf, classes = rows.copy(), leaves.leaf, int(max(y.max(), true.max())) + 1
    for group, wanted in ((leaf, leaf), (leaf * classes + true, leaf * classes + y)):
        pool = np.flatnonzero(able)
        pool = pool[np.argsort(group[pool], kind="stable")]
        first, last = (np.searchsorted(group[pool], wanted[rows], side) for side in ("left", "right"))
        pick = first + np.floor(draws.uniform(rows.size) * (last - first)).astype(np.int64)
        donors = np.where(last > first, pool[np.minimum(pick, pool.size - 1)] if pool.size else donors, donors)
    return donors


def _outside(X: Floats, leaves: Leaves, indices: tuple[int, int]) -> Mask:
    """Return which records have a value of these columns outside the interval of their leaf, as truth values."""
    outside = np.zeros(len(X), bool)
    for index in indices:
        lower, upper = leaves.bounds(index)
        outside |= (X[:, index] < lower) | (X[:, index] > upper)
    return outside
