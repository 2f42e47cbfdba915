"""Hand on a data set whose patterns survive: ``sf.release`` (Islam & Brankovic 2004, MATHS §6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.domain import Categories, Codes, Floats, Interval
from sfumato.microdata.baselines import BASELINES, blur_whole_table
from sfumato.microdata.draws import Draws
from sfumato.microdata.gadp import LeafFit, gadp_in_leaves
from sfumato.microdata.guard import Redraw, guard_patterns, pin_cuts
from sfumato.microdata.labels import STEPS, blur_labels
from sfumato.microdata.leaves import Leaves, Mask, find_leaves, nodes_of
from sfumato.microdata.noise import Spread, blur
from sfumato.microdata.table import Microdata, read_microdata

if TYPE_CHECKING:
    from sfumato.microdata.report import ReleaseReport

Domains = Mapping[str, Interval | Categories]
Amount = float | Mapping[str, float]

METHODS = ("leafwise", "gadp", *BASELINES)
LAWS = ("rank", "additive")
ROLES = ("all", "tested", "untested", "none")
DEFAULT_AMOUNT = {"leafwise": 1.0, "gadp": 1.0, "sadp": 0.5, "correlated": 0.5, "gadp-table": 0.75, "swap": 0.15}
ADDITIVE_AMOUNT = 0.276
"""IB04's share of the range. Rank noise may be larger, because it moves values only where the leaf has them."""
LARGEST_AMOUNT = {"gadp": 1.0, "gadp-table": 1.0, "swap": 1.0}
PRUNING = 1.0
"""The price of a leaf, in units of ln(n·p) of deviance."""
LOOKS, FEWEST_LOOKS, MOST_LOOKS = 4_000_000, 2, 60
"""How many values a tree may be grown on again, over all attempts; large tables get two attempts, small ones sixty."""


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
    leaf_fits: tuple[LeafFit, ...] = field(repr=False, default=())
    notes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @cached_property
    def table(self) -> Any:
        """The released records, as the kind of table that came."""
        return self.released.to_table()

    @cached_property
    def report(self) -> ReleaseReport:
        """Patterns kept, statistics kept, risk; made when first asked for."""
        from sfumato.microdata.report import report_on

        return report_on(self)


@dataclass(frozen=True)
class Choice:
    """How to release, checked against the table: amounts and kept columns in the order of its attributes."""

    method: str
    noise: str
    labels: str
    perturb: str
    attempts: int
    amount: Floats
    kept: Mask


def release(
    table: Any,
    target: str,
    method: str = "leafwise",
    *,
    amount: Amount | None = None,
    noise: str = "rank",
    labels: str = "rpt",
    perturb: str = "all",
    tree: Any = None,
    domains: Domains | None = None,
    keep: Iterable[str] = (),
    attempts: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> Release:
    """A perturbed copy of a table of true records in which a decision tree still finds what it found before.

    table     pandas, Polars, PyArrow, DuckDB or a mapping of columns; comes back as the same kind
    target    the class column
    method    "leafwise" (LINAPT, LIAPT, class step), "gadp" (GADP inside every leaf, then the class step), or, to
              compare with: "sadp", "correlated", "gadp-table", "swap"
    amount    how much noise, for all attributes or by name: "leafwise" a standard deviation, as a share of the
              leaf's ranks (default 1) or, for additive noise, of the interval's width (default 0.276); "gadp" the
              share 1 − κ² of fresh variance, one number (default 1); "sadp", "correlated" in standard deviations;
              "swap" the window as a share of the ranks
    noise     "rank" keeps every leaf's distribution; "additive" is the paper's law
    labels    "rpt", "ppt", "alpt" or "none"
    perturb   "all" attributes of a leaf, only those "tested" on its path, only the "untested", or "none"
    tree      a fitted tree whose patterns are to survive; by default one is grown on the table
    domains   what a column may hold, where that is more than what it holds; keep: columns that stay as they are
    attempts  how often to look whether a tree grown on the release still finds the patterns (0: never)
    rng       None draws from the operating system's randomness; a NumPy generator is for simulations
    """
    data = read_microdata(table, target, domains)
    choice = choose(data, method, amount, noise, labels, perturb, attempts, keep)
    done = release_records(data, choice, tree, Draws(rng))
    done.table  # noqa: B018 (made now, while the caller's table is as it was)
    return done


def release_records(data: Microdata, choice: Choice, tree: Any, draws: Draws) -> Release:
    """The method on records that were read already."""
    method = choice.method
    if method in BASELINES:
        released = blur_whole_table(data, method, choice.amount, choice.kept, draws)
        return _finish(data, released, data.y.copy(), Pattern(None, None, grow_tree), None, choice)
    pattern = _pattern(tree, data)
    leaves = find_leaves(nodes_of(pattern.leaves, data.names), data)
    y = blur_labels(data.y, leaves.leaf, choice.labels, draws)
    if method == "gadp":
        released, fits = gadp_in_leaves(data, leaves, float(np.sqrt(1 - choice.amount[0])), choice.kept, draws)
        _pin_all(released, leaves, choice.kept)
        return _finish(data, released, y, pattern, leaves, choice, fits=tuple(fits))
    released, y = _leafwise(data, y, leaves, choice, pattern.regrow, draws)
    return _finish(data, released, y, pattern, leaves, choice)


def _leafwise(
    data: Microdata, y: Codes, leaves: Leaves, choice: Choice, regrow: Any, draws: Draws
) -> tuple[Floats, Codes]:
    def fresh(place: int) -> Floats:
        column = data.X[:, place]
        if choice.kept[place]:
            return column.copy()
        spread = Spread(data.attributes[place], *leaves.bounds(place), leaves.leaf)
        blurred = blur(column, np.full(column.shape, choice.amount[place]), spread, choice.noise, draws)
        tested = leaves.tested[leaves.leaf, place]
        every = np.ones_like(tested)
        wanted = {"all": every, "tested": tested, "untested": ~tested, "none": ~every}[choice.perturb]
        return np.where(wanted, blurred, column)

    released = np.column_stack([fresh(place) for place in range(len(data.attributes))])
    _pin_all(released, leaves, choice.kept)

    def labels(rows: Codes) -> Codes:
        return blur_labels(data.y[rows], leaves.leaf[rows], choice.labels, draws)

    redraw = Redraw(regrow, fresh, labels, labels_only=choice.perturb == "none")
    return guard_patterns(released, y, leaves, redraw, choice.attempts)


def _pin_all(released: Floats, leaves: Leaves, kept: Mask) -> None:
    for place in np.flatnonzero(~kept):
        pin_cuts(released[:, place], int(place), leaves)


def grow_tree(X: Floats, y: Codes, *, pruned: bool = True) -> Any:
    """The default pattern tree: entropy cuts, leaves of at least 0.4·√n records and five, pruned (minimal cost
    complexity) so that a leaf must lower the deviance by ln(n·p): noise is no pattern. Unpruned, the same tree goes on
    to smaller leaves."""
    from sklearn.tree import DecisionTreeClassifier

    fewest = max(5, round(0.4 * len(y) ** 0.5))
    price = PRUNING * np.log(X.size) / (len(y) * np.log(2)) if pruned else 0.0
    tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=fewest, ccp_alpha=price, random_state=0)
    return tree.fit(X, y)


@dataclass(frozen=True)
class Pattern:
    """The tree whose rules are to survive, the finer or equal one whose leaves confine the noise, and how to regrow."""

    tree: Any
    leaves: Any
    regrow: Callable[[Floats, Codes], Any]


def _pattern(tree: Any, data: Microdata) -> Pattern:
    if tree is None:
        return Pattern(grow_tree(data.X, data.y), grow_tree(data.X, data.y, pruned=False), grow_tree)
    from sklearn.base import clone

    nodes_of(tree, data.names)
    names = list(getattr(tree, "feature_names_in_", data.names))
    places = [data.index(name) for name in names]
    if not data.numeric[places].all():
        text = data.names[places[int(np.argmin(data.numeric[places]))]]
        raise ValueError(f"the tree tests {text!r}, a column of categories; leave tree out, or fit it on numbers only")

    def regrow(X: Floats, y: Codes) -> Any:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            grown = clone(tree).fit(X[:, places], y)
        return nodes_of(_Named(grown, names), data.names)

    return Pattern(tree, tree, regrow)


@dataclass(frozen=True)
class _Named:
    """A tree fitted on a plain matrix, with the names of the columns it stands for."""

    grown: Any
    feature_names_in_: list[str]

    @property
    def tree_(self) -> Any:
        return self.grown.tree_


def choose(
    data: Microdata,
    method: str,
    amount: Amount | None = None,
    noise: str = "rank",
    labels: str = "rpt",
    perturb: str = "all",
    attempts: int | None = None,
    keep: Iterable[str] = (),
) -> Choice:
    """Check what was asked for; what is unknown or out of range is refused by name."""
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
    return Choice(method, noise, labels, perturb, tries, _amounts(data, method, amount, noise), kept)


def _amounts(data: Microdata, method: str, amount: Amount | None, noise: str) -> Floats:
    usual = ADDITIVE_AMOUNT if (method, noise) == ("leafwise", "additive") else DEFAULT_AMOUNT[method]
    if isinstance(amount, Mapping):
        if "gadp" in method:
            raise ValueError(f"method {method!r} takes one amount for all attributes; pass a number")
        wanted = {data.index(name): value for name, value in amount.items()}
        amounts = np.array([wanted.get(place, usual) for place in range(len(data.attributes))], dtype=float)
    else:
        amounts = np.full(len(data.attributes), usual if amount is None else amount, dtype=float)
    most = LARGEST_AMOUNT.get(method, np.inf)
    wrong = ~((amounts >= 0) & (amounts <= most))
    if wrong.any():
        raise ValueError(f"amount={amounts[wrong][0]:g} is not between 0 and {most:g}; see the method's unit of noise")
    return amounts


def _finish(
    data: Microdata,
    X: Floats,
    y: Codes,
    pattern: Pattern,
    leaves: Leaves | None,
    choice: Choice,
    *,
    fits: tuple[LeafFit, ...] = (),
) -> Release:
    released = data.with_values(X, y)
    amount = dict(zip(data.names, choice.amount.tolist(), strict=True))
    kept = tuple(np.array(data.names)[choice.kept].tolist())
    notes = _notes(data, leaves)
    return Release(choice.method, amount, pattern.tree, pattern.regrow, data, released, leaves, fits, notes, kept)


def _notes(data: Microdata, leaves: Leaves | None) -> tuple[str, ...]:
    """What the owner should know about the input, in plain words."""
    found = [f"{a.name} has one value only and stays as it is" for a in data.attributes if a.low == a.high]
    gaps = np.isnan(data.X).sum(axis=0)
    found += [f"{data.names[place]}: {gaps[place]} missing values stay missing" for place in np.flatnonzero(gaps)]
    if leaves is not None:
        single = int(((leaves.size == 1) & leaves.nodes.is_leaf).sum())
        found += [f"{single} leaves hold one record; its class stays as it is"] if single else []
        found += ["the tree has no cut; every attribute is untested"] if leaves.nodes.size == 1 else []
    return tuple(found)
