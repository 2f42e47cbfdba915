"""What two columns may hold together: found in the true records or stated by the owner, and made to hold in a release.

Found, among columns of few values (n records, c cells in all pairs of such columns):

    a gives b          b is the same in all records with the same a: b is never drawn but read off a
    never together     no record holds the two values, one of them a category, though by chance n·P(a)·P(b) ≥ ln c + 3
                       would; one in 200 of these may: a slip, which the release does not repeat

Stated, one line each:

    education -> education_num                   b is read off a
    education ~ education_num                    only pairs that the table holds
    start <= end                                 numbers in this order
    not relationship=Husband, sex=Female         two values that never go together

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
FEWEST_RECORDS_A_VALUE = 5
SLIPS = 1 / 200
ROUNDS = 6


@dataclass(frozen=True)
class Pairs:
    """Which values of two fields may go together: ``allowed[i, j]`` for the i-th and j-th value, in their order."""

    text: str
    places: tuple[int, int]
    values: tuple[Floats, Floats]
    allowed: Mask

    def broken(self, X: Floats) -> Mask:
        """Records that hold a pair which may not be, or (in one that tells all pairs) a value not known."""
        found = [_codes(X[:, place], values) for place, values in zip(self.places, self.values, strict=True)]
        held = np.asarray(~np.isnan(X[:, list(self.places)]).any(axis=1))
        return held & ~self.allowed[found[0], found[1]]


@dataclass(frozen=True)
class Order:
    """Numbers that stand in this order."""

    text: str
    places: tuple[int, int]

    def broken(self, X: Floats) -> Mask:
        return np.asarray(X[:, self.places[0]] > X[:, self.places[1]])


@dataclass(frozen=True)
class Given:
    """The second field's value for each value of the first."""

    text: str
    places: tuple[int, int]
    values: Floats
    read: Floats

    def broken(self, X: Floats) -> Mask:
        first, second = X[:, self.places[0]], X[:, self.places[1]]
        return np.asarray(~np.isnan(first) & ~np.isnan(second) & (second != self._read(first)))

    def derive(self, X: Floats) -> None:
        """Read the second field off the first; a gap in either stays."""
        first, second = X[:, self.places[0]], X[:, self.places[1]]
        known = ~np.isnan(first) & ~np.isnan(second)
        X[known, self.places[1]] = self._read(first)[known]

    def _read(self, first: Floats) -> Floats:
        return self.read[_codes(first, self.values)]


Rule = Pairs | Order | Given


def _codes(column: Floats, values: Floats) -> Codes:
    """The place of the nearest listed value."""
    middle = (values[1:] + values[:-1]) / 2
    return np.searchsorted(middle, np.nan_to_num(column, nan=values[0]))


# --- found ------------------------------------------------------------------------------------------------------------


def find_rules(data: Microdata, fixed: Mask, stated: Iterable[str] = (), *, search: bool = True) -> list[Rule]:
    """The owner's rules, then (unless not searched for) those that true records obey; a field that is ``fixed`` is
    not read off another."""
    rules = [read_rule(text, data) for text in stated]
    taken = set(read_off(rules))
    searched = range(len(data.fields)) if search else ()
    few = {place: levels for place in searched if (levels := _few(data.X[:, place])).size}
    surprising = np.log(max(sum(few[a].size * few[b].size for a, b in combinations(few, 2)), 1)) + 3
    for a, b in combinations(few, 2):
        counts = _counts(data.X, (a, b), (few[a], few[b]))
        ways = [(a, b)] * bool(_one_a_row(counts)) + [(b, a)] * bool(_one_a_row(counts.T))
        ways.sort(key=lambda way: data.fields[way[0]].kind == "category")
        free = [way for way in ways if not (fixed[way[1]] or taken & set(way))]
        if free:
            rules.append(_given(data, *free[0]))
            taken.add(free[0][1])
            continue
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1)
        never = (counts == 0) & bool(ways) | (counts <= SLIPS * expected) & (expected >= surprising)
        if never.any() and (ways or not data.numeric[[a, b]].all()):
            rules.append(Pairs(_never(data.fields, (a, b), (few[a], few[b]), never), (a, b), (few[a], few[b]), ~never))
    return rules


def _few(column: Floats) -> Floats:
    """The values of a column that has few, else none."""
    known = column[~np.isnan(column)]
    levels = np.unique(known)
    usable = 2 <= levels.size <= min(MOST_VALUES, known.size / FEWEST_RECORDS_A_VALUE)
    return levels if usable else levels[:0]


def _counts(X: Floats, places: tuple[int, int], values: tuple[Floats, Floats]) -> Codes:
    known = ~np.isnan(X[:, list(places)]).any(axis=1)
    first, second = (_codes(X[known, place], levels) for place, levels in zip(places, values, strict=True))
    shape = values[0].size, values[1].size
    return np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1]).reshape(shape)


def _one_a_row(counts: Codes) -> bool:
    return bool(((counts > 0).sum(axis=1) <= 1).all() and ((counts > 0).sum(axis=0) > 0).sum() > 1)


def _given(data: Microdata, a: int, b: int) -> Given:
    known = np.flatnonzero(~np.isnan(data.X[:, [a, b]]).any(axis=1))
    values, first = np.unique(data.X[known, a], return_index=True)
    return Given(f"{data.names[a]} -> {data.names[b]}", (a, b), values, data.X[known[first], b])


def _never(fields: tuple[Field, ...], places: tuple[int, int], values: tuple[Floats, Floats], never: Mask) -> str:
    """One of the pairs, and how many more."""
    which = np.argwhere(never)
    shown = ", ".join(
        f"{fields[place].name}={fields[place].shown(levels[code])}"
        for place, levels, code in zip(places, values, which[0], strict=True)
    )
    return f"not {shown}" + (f" and {len(which) - 1} pairs more" if len(which) > 1 else "")


def read_off(rules: Iterable[Rule]) -> dict[int, int]:
    """Fields that are read off another one, and which."""
    return {rule.places[1]: rule.places[0] for rule in rules if isinstance(rule, Given)}


# --- stated -----------------------------------------------------------------------------------------------------------


def read_rule(text: str, data: Microdata) -> Rule:
    """A rule from its line."""
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
    parts = [part.partition("=") for part in text.removeprefix("not ").split(",")]
    if len(parts) != 2:
        raise ValueError(f"rule {text!r} names {len(parts)} values; write 'not a=x, b=y'")
    a, b = (data.index(name.strip()) for name, _, _ in parts)
    values = tuple(np.unique(column[~np.isnan(column)]) for column in (data.X[:, a], data.X[:, b]))
    held = [
        np.array([str(data.fields[place].shown(value)) == label.strip() for value in levels])
        for place, levels, (_, _, label) in zip((a, b), values, parts, strict=True)
    ]
    for (name, _, label), found in zip(parts, held, strict=True):
        if not found.any():
            raise ValueError(f"rule {text!r}: no record has {name.strip()}={label.strip()}; check its spelling")
    return Pairs(text, (a, b), (values[0], values[1]), ~np.outer(*held))


# --- made to hold -----------------------------------------------------------------------------------------------------


def repair(X: Floats, y: Codes, data: Microdata, leaves: Leaves, rules: list[Rule], fixed: Mask, draws: Draws) -> None:
    """Make the rules hold in released records, in place, as far as columns may change; gaps stay where they are."""
    for rule in rules:
        if isinstance(rule, Given) and not fixed[rule.places[1]]:
            rule.derive(X)
    bound = sorted({place for rule in rules for place in rule.places})
    clean = ~np.any([rule.broken(data.X) for rule in rules], axis=0) if rules else np.ones(len(y), bool)
    for round_ in range(ROUNDS):
        broken = [(rule, np.flatnonzero(rule.broken(X) | _outside(X, leaves, rule.places))) for rule in rules]
        broken = [(rule, rows) for rule, rows in broken if rows.size]
        if not broken:
            return
        for rule, rows in broken:
            places = list(rule.places) if round_ < ROUNDS - 2 else bound
            places = [place for place in places if not fixed[place]]
            donors = donors_in_leaf(rows, y, data.y, leaves, clean, draws)
            for place in places:
                now, given = X[rows, place], data.X[donors, place]
                X[rows, place] = np.where(np.isnan(now) | np.isnan(given), now, given)


def donors_in_leaf(rows: Codes, y: Codes, true: Codes, leaves: Leaves, able: Mask, draws: Draws) -> Codes:
    """For each released record a random true one that is able: of its leaf and class, of its leaf, or its own."""
    found, leaf, classes = rows.copy(), leaves.leaf, int(max(y.max(), true.max())) + 1
    for group, wanted in ((leaf, leaf), (leaf * classes + true, leaf * classes + y)):
        pool = np.flatnonzero(able)
        pool = pool[np.argsort(group[pool], kind="stable")]
        first, last = (np.searchsorted(group[pool], wanted[rows], side) for side in ("left", "right"))
        pick = first + np.floor(draws.uniform(rows.size) * (last - first)).astype(np.int64)
        found = np.where(last > first, pool[np.minimum(pick, pool.size - 1)] if pool.size else found, found)
    return found


def _outside(X: Floats, leaves: Leaves, places: tuple[int, int]) -> Mask:
    """Records that a rule has taken out of their leaf's interval."""
    outside = np.zeros(len(X), bool)
    for place in places:
        lower, upper = leaves.bounds(place)
        outside |= (X[:, place] < lower) | (X[:, place] > upper)
    return outside
