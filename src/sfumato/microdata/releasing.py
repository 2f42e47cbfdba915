"""Hand on a data set whose patterns survive: ``sf.release`` (Islam & Brankovic 2004, MATHS §6).

Noise inside the leaves' intervals leaves the score of every cut of the pattern tree as it was (labels move inside
leaves only). A tree grown again differs only where, by chance, some other cut now scores higher: so the owner looks
whether a tree grown on the release finds the same patterns. Where it does not, the noise of that cut's field is drawn
again for the records of that node; every second time the labels of a small node move again too, because a leaf may have
been cut where its minority happened to fall together. Nothing original is put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.domain import Categories, Codes, Floats, Interval
from sfumato.microdata.fields import Mask, Microdata, read_microdata
from sfumato.microdata.gadp import BASELINES, LeafFit, blur_whole_table, gadp_in_leaves
from sfumato.microdata.laws import Law, draw_by_law, law_of, may_move
from sfumato.microdata.noise import LAWS, STEPS, Draws, Room, blur, blur_labels, crowded
from sfumato.microdata.pattern import Leaves, Nodes, Pattern, find_leaves, find_pattern, grow_tree, nodes_of

if TYPE_CHECKING:
    from sfumato.microdata.report import ReleaseReport

Amount = float | Mapping[str, float]
Domains = Mapping[str, Interval | Categories]

METHODS = ("leafwise", "gadp", *BASELINES)
ROLES = ("all", "tested", "untested", "untested-mixed", "none")
DEFAULT_AMOUNT = {"leafwise": 1.0, "gadp": 1.0, "sadp": 0.5, "correlated": 0.5, "gadp-table": 0.75, "swap": 0.15,
                  "random": 0.276}
ADDITIVE_AMOUNT = 0.276
"""IB04's share of the range. Rank noise may be larger, because it moves values only where the leaf has them."""
LARGEST_AMOUNT = {"gadp": 1.0, "gadp-table": 1.0, "swap": 1.0}
LOOKS, FEWEST_LOOKS, MOST_LOOKS = 4_000_000, 1, 60
"""How many values a tree may be grown on again, over all attempts; large tables get one attempt, small ones sixty."""
SMALL_NODE = 0.1
"""Labels are moved again in nodes that hold less than this share of the records; elsewhere it would stir too much."""


@dataclass(frozen=True)
class Release:
    """The released table and the report on it. Hand on ``table``; this object holds the original for the report."""

    method: str
    amount: dict[str, float]
    tree: Any = field(repr=False)
    regrow: Callable[[Floats, Codes], Any] = field(repr=False)
    original: Microdata = field(repr=False)
    released: Microdata = field(repr=False)
    leaves: Leaves | None = field(repr=False)
    leaf_fits: tuple[LeafFit, ...] = field(repr=False)
    notes: tuple[str, ...]
    kept: tuple[str, ...]

    @cached_property
    def table(self) -> Any:
        """The released records, as the kind of table that came."""
        return self.released.to_table()

    @cached_property
    def report(self) -> ReleaseReport:
        """Patterns kept, statistics kept, risk; made when first asked for."""
        from sfumato.microdata.report import report_on

        return report_on(self)


def release(
    table: Any, target: str, method: str = "leafwise", *, amount: Amount | None = None, noise: Any = "rank",
    labels: str = "rpt", perturb: str = "all", tree: Any = None, domains: Domains | None = None,
    keep: Iterable[str] = (), attempts: int | None = None, rng: np.random.Generator | int | None = None,
) -> Release:
    """A perturbed copy of a table of true records in which a decision tree still finds what it found before.

    table     pandas, Polars, PyArrow, DuckDB or a mapping of columns; comes back as the same kind
    target    the class column
    method    "leafwise" (LINAPT, LIAPT, class step), "gadp" (GADP inside every leaf, then the class step), or, to
              compare with: "sadp", "correlated", "gadp-table", "swap", "random"
    amount    how much noise, for all attributes or by name: "leafwise" a standard deviation, as a share of the
              leaf's ranks (default 1) or, for additive noise, of the interval's width (default 0.276); "gadp" the
              share 1 − κ² of fresh variance, one number (default 1); "sadp", "correlated" in standard deviations;
              "swap" the window as a share of the ranks; "random" as a share of the domain
    noise     "rank" keeps every leaf's distribution; "additive" is the paper's law with the cuts kept in place, "paper"
              the same to the letter, drawn once; so is an own law: a table {share of the interval: probability}, a
              quantile function, or a `laws.Law`, which ``amount`` multiplies (default 1)
    labels    "rpt", "ppt", "alpt" or "none"
    perturb   "all" attributes of a leaf, only those "tested" on its path, only the "untested" (or those in leaves of
              several classes only: "untested-mixed"), or "none"
    tree      a fitted tree whose patterns are to survive; by default one is grown on the table, with "c45" by C4.5
    domains   what a column may hold, where that is more than what it holds; keep: columns that stay as they are
    attempts  how often to look whether a tree grown on the release still finds the patterns (0: never)
    rng       None draws from the operating system's randomness; a NumPy generator is for simulations
    """
    data = read_microdata(table, target, domains)
    terms = agree(data, method, amount, noise, labels, perturb, attempts, keep)
    done = release_records(data, terms, tree, Draws(rng))
    done.table  # noqa: B018 (made now, while the caller's table is as it was)
    return done


def release_records(data: Microdata, terms: Terms, tree: Any, draws: Draws) -> Release:
    """The method on records that were read already."""
    leaves: Leaves | None = None
    fits: list[LeafFit] = []
    if terms.method in BASELINES:
        pattern = Pattern(None, None, grow_tree)
        X, y = blur_whole_table(data, terms.method, terms.amount, terms.kept, draws), data.y.copy()
    else:
        pattern = find_pattern(tree, data)
        leaves = find_leaves(nodes_of(pattern.leaves, data.names), data, observed=terms.law is None)
        noise = Leafwise(data, leaves, terms, draws)
        y = noise.classes(slice(None))
        if terms.method == "gadp":
            X, fits = gadp_in_leaves(data, leaves, float(np.sqrt(1 - terms.amount[0])), terms.kept, draws)
            pin_cuts(X, np.flatnonzero(~terms.kept), leaves)
        elif terms.law is not None:
            X = draw_by_law(data, leaves, terms.law, terms.amount, terms.kept, terms.perturb, draws)
        else:
            X, y = noise.release(y, pattern.regrow)
    return Release(
        method=terms.method,
        amount=dict(zip(data.names, terms.amount.tolist(), strict=True)),
        tree=pattern.tree,
        regrow=pattern.regrow,
        original=data,
        released=data.with_values(X, y),
        leaves=leaves,
        leaf_fits=tuple(fits),
        notes=_notes(data, leaves),
        kept=tuple(np.array(data.names)[terms.kept].tolist()),
    )


def _notes(data: Microdata, leaves: Leaves | None) -> tuple[str, ...]:
    """What the owner should know about the input, in plain words."""
    found = [f"{a.name} has one value only and stays as it is" for a in data.fields if a.low == a.high]
    gaps = np.isnan(data.X).sum(axis=0)
    found += [f"{data.names[place]}: {gaps[place]} missing values stay missing" for place in np.flatnonzero(gaps)]
    if leaves is not None:
        single = int(((leaves.size == 1) & leaves.nodes.is_leaf).sum())
        found += [f"{single} leaves hold one record; its class stays as it is"] if single else []
        found += ["the tree has no cut; every attribute is untested"] if leaves.nodes.size == 1 else []
    return tuple(found)


# --- terms ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Terms:
    """How to release, checked against the table: amounts and kept columns in the order of its fields."""

    method: str
    noise: str
    labels: str
    perturb: str
    attempts: int
    amount: Floats
    kept: Mask
    law: Law | None


def agree(
    data: Microdata, method: str, amount: Amount | None = None, noise: Any = "rank", labels: str = "rpt",
    perturb: str = "all", attempts: int | None = None, keep: Iterable[str] = (),
) -> Terms:
    """Check what was asked for; what is unknown or out of range is refused by name."""
    law = law_of(noise)
    noise = "paper" if law else noise
    named = (
        ("method", method, METHODS),
        ("noise", noise, LAWS),
        ("labels", labels, STEPS),
        ("perturb", perturb, ROLES),
    )
    for key, value, allowed in named:
        if value not in allowed:
            raise ValueError(f"{key}={value!r} is unknown; choose {', '.join(allowed)}")
    kept = np.isin(data.names, [data.names[data.index(name)] for name in keep])
    if kept.all():
        raise ValueError("keep names every attribute; leave out at least one to release")
    usual = int(np.clip(LOOKS // data.X.size, FEWEST_LOOKS, MOST_LOOKS)) if method == "leafwise" else 0
    tries = usual if attempts is None else attempts
    law = law if method == "leafwise" else None
    return Terms(method, noise, labels, perturb, tries, _amounts(data, method, amount, noise), kept, law)


def _amounts(data: Microdata, method: str, amount: Amount | None, noise: str) -> Floats:
    usual = ADDITIVE_AMOUNT if (method, noise) == ("leafwise", "additive") else DEFAULT_AMOUNT[method]
    if isinstance(amount, Mapping):
        if "gadp" in method:
            raise ValueError(f"method {method!r} takes one amount for all attributes; pass a number")
        wanted = {data.index(name): value for name, value in amount.items()}
        amounts = np.array([wanted.get(place, usual) for place in range(len(data.fields))], dtype=float)
    else:
        amounts = np.full(len(data.fields), usual if amount is None else amount, dtype=float)
    most = LARGEST_AMOUNT.get(method, np.inf)
    wrong = ~((amounts >= 0) & (amounts <= most))
    if wrong.any():
        raise ValueError(f"amount={amounts[wrong][0]:g} is not between 0 and {most:g}; see the method's unit of noise")
    return amounts


# --- noise leaf by leaf, and the owner's look -------------------------------------------------------------------------


@dataclass(frozen=True)
class Leafwise:
    """Fresh draws of a column, of the classes of some records, and of the whole release."""

    data: Microdata
    leaves: Leaves
    terms: Terms
    draws: Draws

    def column(self, place: int) -> Floats:
        """One field with noise where the terms want it."""
        column = self.data.X[:, place]
        if self.terms.kept[place]:
            return column.copy()
        room = Room(self.data.fields[place], *self.leaves.bounds(place), self.leaves.leaf)
        ranked = crowded(column, room.group) & (self.terms.noise == "rank")
        blurred = blur(column, self.terms.amount[place], room, ranked, self.draws)
        return np.where(may_move(self.leaves, self.data.y, self.terms.perturb)[:, place], blurred, column)

    def classes(self, rows: Codes | slice) -> Codes:
        return blur_labels(self.data.y[rows], self.leaves.leaf[rows], self.terms.labels, self.draws)

    def release(self, y: Codes, regrow: Callable[[Floats, Codes], Any]) -> tuple[Floats, Codes]:
        """All columns, drawn again in places at most ``attempts`` times; of all versions the closest is returned."""
        X = np.column_stack([self.column(place) for place in range(len(self.data.fields))])
        pin_cuts(X, np.flatnonzero(~self.terms.kept), self.leaves)
        attempts = self.terms.attempts
        best, fewest = (X, y), len(y) + 1
        for attempt in range(attempts + 1):
            rivals = differences(self.leaves, nodes_of(regrow(X, y)), X) if attempts else []
            affected = sum(records.size for records, _ in rivals)
            if affected < fewest:
                best, fewest = (X.copy(), y.copy()), affected
            if not rivals or attempt == attempts:
                break
            self._draw_again(X, y, rivals, second=attempt % 2 == 1)
        return best

    def _draw_again(self, X: Floats, y: Codes, rivals: list[tuple[Codes, int]], *, second: bool) -> None:
        for records, place in rivals:
            X[records, place] = self.column(place)[records]
            if self.terms.perturb == "none" or (second and records.size < SMALL_NODE * len(y)):
                y[records] = self.classes(records)
        pin_cuts(X, [place for _, place in rivals], self.leaves)


def differences(leaves: Leaves, regrown: Nodes, released: Floats) -> list[tuple[Codes, int]]:
    """The topmost nodes where the regrown tree cuts differently: their records, and the field it cuts instead."""
    found, pairs = [], [(0, 0)]
    nodes = leaves.nodes
    while pairs:
        ours, theirs = pairs.pop()
        if regrown.left[theirs] < 0:
            continue
        records = leaves.records(ours)
        if _same_cut(nodes, ours, regrown, theirs, released[records]):
            pairs += [(int(nodes.left[ours]), int(regrown.left[theirs]))]
            pairs += [(int(nodes.right[ours]), int(regrown.right[theirs]))]
        else:
            found.append((records, int(regrown.feature[theirs])))
    return found


def _same_cut(nodes: Nodes, ours: int, regrown: Nodes, theirs: int, values: Floats) -> bool:
    if nodes.left[ours] < 0 or nodes.feature[ours] != regrown.feature[theirs]:
        return False
    column = values[:, nodes.feature[ours]]
    return np.array_equal(nodes.goes_left(ours, column), regrown.goes_left(theirs, column))


def pin_cuts(X: Floats, places: npt.ArrayLike, leaves: Leaves) -> None:
    """Move the value nearest to each cut of these fields, on both sides, onto the value that stood there, so that the
    cut is found at the same place. The record that moves need not be the one whose value it was; the cut itself is the
    pattern."""
    nodes, taken = leaves.nodes, np.zeros(X.shape, dtype=bool)
    for node in np.flatnonzero(~nodes.is_leaf & np.isin(nodes.feature, places)):
        place = nodes.feature[node]
        for child, value, side in (
            (nodes.left[node], leaves.last_left[node], 1),
            (nodes.right[node], leaves.first_right[node], -1),
        ):
            records = leaves.records(int(child))
            leaf, column = leaves.leaf[records], X[records, place]
            able = (leaves.lower[leaf, place] <= value) & (value <= leaves.upper[leaf, place])
            able &= ~taken[records, place] & ~np.isnan(column)
            if able.any():
                nearest = records[able][np.argmax(side * column[able])]
                X[nearest, place], taken[nearest, place] = value, True
