"""Hand on a data set whose patterns survive: ``sf.release`` (Islam & Brankovic 2004, MATHS §6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.domain import Categories, Codes, Floats, Interval
from sfumato.microdata.baselines import BASELINES, blur_whole_table
from sfumato.microdata.choice import Amount, Choice, choose
from sfumato.microdata.draws import Draws
from sfumato.microdata.gadp import LeafFit, gadp_in_leaves
from sfumato.microdata.guard import Redraw, guard_patterns, pin_cuts
from sfumato.microdata.labels import blur_labels
from sfumato.microdata.leaves import Leaves, Mask, find_leaves, nodes_of
from sfumato.microdata.noise import Spread, blur
from sfumato.microdata.pattern import Pattern, find_pattern, grow_tree
from sfumato.microdata.table import Microdata, read_microdata

if TYPE_CHECKING:
    from sfumato.microdata.report import ReleaseReport

Domains = Mapping[str, Interval | Categories]


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
    pattern = find_pattern(tree, data)
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
