"""Hand on a data set whose patterns survive: ``sf.release`` (Islam & Brankovic 2004, MATHS §6)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sfumato.domain import Categories, Codes, Interval
from sfumato.microdata.draws import Draws
from sfumato.microdata.judged.preserved import PatternWarning, Preserved, judge
from sfumato.microdata.methods.gadp import BASELINES, LeafFit, blur_whole_table, gadp_in_leaves
from sfumato.microdata.methods.laws import draw_by_law
from sfumato.microdata.methods.leafwise import Leafwise, pin_cuts
from sfumato.microdata.methods.treatment import KEPT, Treatment
from sfumato.microdata.patterns.pattern import Leaves, Nodes, Regrow, find_leaves, find_pattern
from sfumato.microdata.patterns.rules import Rule, find_rules, read_off, repair
from sfumato.microdata.table.fields import Microdata, read_forms, read_microdata
from sfumato.microdata.table.roles import Roles, agree_roles
from sfumato.microdata.terms import LEAST_RULES, MOST_CHANGE, Amount, Terms, agree
from sfumato.prose import counted

if TYPE_CHECKING:
    from sfumato.microdata.judged.report import ReleaseReport

Domains = Mapping[str, Interval | Categories]


class Again(Protocol):
    """The same recipe on some of the records, as if the others were not there: a tree of their own, categories in the
    order of their own classes."""

    def __call__(self, rows: Codes, draws: Draws, attempts: int = 0) -> Microdata: ...


@dataclass(frozen=True)
class Release:
    """The released table and the report on it. Hand on ``table``; this object holds the original for the report."""

    method: str
    amount: dict[str, float]
    tree: Nodes = field(repr=False)
    regrow: Regrow = field(repr=False)
    original: Microdata = field(repr=False)
    released: Microdata = field(repr=False)
    leaves: Leaves | None = field(repr=False)
    leaf_fits: tuple[LeafFit, ...] = field(repr=False)
    notes: tuple[str, ...]
    kept: tuple[str, ...]
    terms: Terms = field(repr=False)
    rules: tuple[Rule, ...] = field(default=(), repr=False)
    regrown: Nodes | None = field(default=None, repr=False)
    roles: Roles = field(default=Roles({}, {}), repr=False)
    treatment: Treatment = KEPT
    rows: Codes | None = field(default=None, repr=False)
    again: Again | None = field(default=None, repr=False)

    @cached_property
    def table(self) -> Any:
        """The released records, as the kind of table that came: row i is record ``rows[i]``, which only this object
        knows."""
        return (self.released if self.rows is None else self.released.take(self.rows)).to_table()

    @cached_property
    def preserved(self) -> Preserved:
        """What of the patterns asked for is in the release."""
        again = self.regrown or self.regrow(self.released.X, self.released.y)
        return judge(self.original, self.released, self.tree, again, self.rules, self.terms)

    @cached_property
    def report(self) -> ReleaseReport:
        """Patterns kept, statistics kept, risk; made when first asked for."""
        from sfumato.microdata.judged.report import report_on

        return report_on(self)


def release(
    table: Any, target: str | None = None, method: str = "leafwise", *, preserve: str | None = None,
    rules: Iterable[str] = (), amount: Amount | None = None, noise: Any = None, labels: str = "rpt",
    perturb: str = "all", tree: Any = None, domains: Domains | None = None, keep: Iterable[str] = (),
    attempts: int | None = None, least_rules: float = LEAST_RULES, most_change: float = MOST_CHANGE,
    roles: Mapping[str, str] | None = None, outliers: str = "replace", gaps: str = "deal", order: str = "shuffle",
    rng: np.random.Generator | int | None = None,
) -> Release:
    """A perturbed copy of a table of true records in which the patterns of before are still found; where those asked
    for are not, a :class:`PatternWarning` says so.

    table     pandas, Polars, PyArrow, DuckDB or a mapping of columns; comes back as the same kind
    target    the column to be explained: classes, or a number of more than twenty values; None: all columns alike
    method    "leafwise" (inside the leaves of a tree), "gadp" (GADP inside every leaf, then the class step), or, to
              compare with: "sadp", "correlated", "gadp-table", "swap", "random"
    preserve  "rules" (a tree grown on the release is the same), "correlations" (of every two columns), or "both"
    rules     what columns may hold together: "a -> b", "a ~ b", "a <= b", "not a=x, b=y"; others are found
    amount    how much noise, for all attributes or by name: "leafwise" the least number of donors (default 10), for
              rank noise a standard deviation as a share of the leaf's ranks (default 1), for additive noise of the
              interval's width (default 0.276); "gadp" the share 1 − κ² of fresh variance, one number (default 1);
              "sadp", "correlated" in standard deviations; "swap" the window as a share of the ranks; "random" as a
              share of the domain
    noise     "donors" (the default but for preserve="rules") draws each column from records alike in the others;
              "rank" keeps every leaf's distribution, each column alone; "additive" is IB04's law with the cuts kept in
              place, "paper" the same to the letter, drawn once; so is an own law: a table {share of the interval:
              probability}, a quantile function, or a `laws.Law`, which ``amount`` multiplies (default 1)
    labels    "rpt", "ppt", "alpt" or "none"
    perturb   "all" attributes of a leaf, only those "tested" on its path, only the "untested" (or those in leaves of
              several classes only: "untested-mixed"), or "none"
    tree      a fitted tree whose patterns are to survive, or options of scikit-learn's for one that is grown on the
              numbers, as {"max_leaf_nodes": 8}; by default one is grown on the table, with "c45" by C4.5
    domains   what a column may hold, where that is more than what it holds; keep: columns that stay as they are
    attempts  how often to look whether a tree grown on the release still finds the patterns (0: never)
    least_rules, most_change  what is preserved: this share of records under kept rules, no association changed more
    roles     of columns, where another than the proposed one is meant: "identifier" (left out), "quasi-identifier",
              "sensitive", "free" (kept), "constant"
    outliers  "replace" extreme values and rare labels by those of a few people together, or "keep" them
    gaps      "deal" the patterns of missing values anew inside leaves, or "keep" them
    order     "shuffle" the rows, or "keep" their order
    rng       None draws from the operating system's randomness; a NumPy generator is for simulations
    """
    treatment = Treatment(outliers, gaps, order)
    data, agreed = read_records(table, target, domains, roles)
    kept = [*keep, *(name for name in agreed.having("free") if name != target)]
    for name in kept:
        if name in agreed.having("identifier"):
            raise ValueError(f"column {name!r} is an identifier, which is left out; give it another role to keep it")
    terms = agree(
        data, method, amount, noise, labels, perturb, attempts, kept, preserve, rules, least_rules, most_change
    )
    declared = np.isin(data.names, list(domains or ()))
    tree = grow_as_asked(tree, data) if isinstance(tree, Mapping) else tree

    def recipe(original: Microdata, tree: Any, terms: Terms, draws: Draws) -> Release:
        done = release_records(treatment.before(original, terms.kept, declared, draws), terms, tree, draws)
        leaf = np.zeros(len(original.y), np.int64) if done.leaves is None else done.leaves.leaf
        released = treatment.after(done.released, leaf, terms.kept, draws)
        if released is not done.released and done.leaves is not None:
            repair(released.X, released.y, done.original, done.leaves, list(done.rules), terms.kept, draws)
        return replace(done, original=original, released=released)

    def again(rows: Codes, draws: Draws, attempts: int = 0) -> Microdata:
        part = data.take(rows).arranged()
        grown = tree if tree is None or isinstance(tree, str) else grow_again(tree, part)
        return recipe(part, grown, replace(terms, attempts=attempts), draws).released.like(data.fields)

    draws = Draws(rng)
    done = recipe(data, tree, terms, draws)
    done = replace(
        done, notes=(*agreed.notes(), *treatment.notes(data, done.released, terms.kept), *done.notes), roles=agreed,
        treatment=treatment, rows=treatment.rows(len(data.y), draws), again=again,
    )
    done.table  # noqa: B018 (made now, while the caller's table is as it was)
    if not done.preserved.reached:
        warnings.warn(str(done.preserved), PatternWarning, stacklevel=2)
    return done


def read_records(
    table: Any, target: str | None, domains: Domains | None = None, roles: Mapping[str, str] | None = None
) -> tuple[Microdata, Roles]:
    """A table's records without what names people, and the role of every column."""
    forms = read_forms(table)
    agreed = agree_roles({name: form.values for name, form in forms.items()}, target, roles)
    held = {name: form for name, form in forms.items() if agreed.by_column[name] != "identifier"}
    return read_microdata(table, target, domains, forms=held), agreed


def release_records(data: Microdata, terms: Terms, tree: Any, draws: Draws) -> Release:
    """The method on records that were read already."""
    leaves: Leaves | None = None
    fits: list[LeafFit] = []
    rules: list[Rule] = []
    regrown: Nodes | None = None
    if terms.method in BASELINES:
        pattern = find_pattern(None, data)
        X, y = blur_whole_table(data, terms.method, terms.amount, terms.kept, draws), data.y.copy()
    else:
        donors = terms.method == "leafwise" and terms.noise == "donors"
        rules = find_rules(data, terms.kept, terms.rules, search=terms.deals and terms.method == "leafwise")
        pattern = find_pattern(tree, data, leave_out=read_off(rules), finer=not donors)
        leaves = find_leaves(pattern.leaves, data, observed=terms.law is None)
        noise = Leafwise(data, leaves, terms, rules, draws)
        y = noise.classes(slice(None))
        if terms.method == "gadp":
            X, fits = gadp_in_leaves(data, leaves, float(np.sqrt(1 - terms.amount[0])), terms.kept, draws)
            repair(X, y, data, leaves, rules, terms.kept, draws)
            pin_cuts(X, np.flatnonzero(~terms.kept), leaves)
        elif terms.law is not None:
            X = draw_by_law(data, leaves, terms.law, terms.amount, terms.kept, terms.perturb, draws)
        else:
            X, y, regrown = noise.release(y, pattern)
    return Release(
        method=terms.method,
        amount=dict(zip(data.names, terms.amount.tolist(), strict=True)),
        tree=pattern.tree,
        regrow=pattern.regrow,
        original=data,
        released=data.with_values(X, y),
        leaves=leaves,
        leaf_fits=tuple(fits),
        notes=(*_notes(data, leaves), *_broken(data, rules)),
        kept=tuple(np.array(data.names)[terms.kept].tolist()),
        terms=terms,
        rules=tuple(rules),
        regrown=regrown,
    )


def grow_as_asked(options: Mapping[str, Any], data: Microdata) -> Any:
    """The owner's tree, grown on the numeric attributes."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    names = np.array([name for name in data.names if name != data.target], dtype=object)
    names = names[[data.numeric[data.index(name)] for name in names]]
    if not names.size:
        raise ValueError("tree names options, but the table has no numeric attribute; leave them out")
    tree: Any = DecisionTreeRegressor(**{"random_state": 0, **options})
    if data.response is None:
        tree = DecisionTreeClassifier(**{"criterion": "entropy", "random_state": 0, **options})
    tree.feature_names_in_ = names
    return grow_again(tree, data)


def grow_again(tree: Any, data: Microdata) -> Any:
    """A tree with the same options, grown on these records."""
    from sklearn.base import clone

    names = np.array(getattr(tree, "feature_names_in_", data.names), dtype=object)
    target = data.y if data.response is None else data.X[:, data.response]
    grown = clone(tree).fit(data.X[:, [data.index(name) for name in names]], target)
    grown.feature_names_in_ = names
    return grown


def _notes(data: Microdata, leaves: Leaves | None) -> tuple[str, ...]:
    """What the owner should know about the input, in plain words."""
    found = [f"{a.name} has one value only and stays as it is" for a in data.fields if a.low == a.high]
    if leaves is not None:
        single = int(((leaves.size == 1) & leaves.nodes.is_leaf).sum())
        found += [f"{single} leaves hold one record; its class stays as it is"] if single else []
        found += ["the tree has no cut; every attribute is untested"] if leaves.nodes.size == 1 else []
    return tuple(found)


def _broken(data: Microdata, rules: Iterable[Rule]) -> list[str]:
    """Rules that true records break: what the owner states, the table need not obey."""
    counts = [(rule.text, int(rule.broken(data.X).sum())) for rule in rules]
    return [
        f"rule {text!r}: {counted(count, 'true record')} of {len(data.X):,} break it; in the release none should"
        for text, count in counts if count
    ]
