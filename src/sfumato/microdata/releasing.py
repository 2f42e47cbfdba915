"""Hand on a data set whose patterns survive: ``sf.release`` (after Islam & Brankovic 2004)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.domain import Categories, Codes, Interval
from sfumato.microdata.draws import Draws
from sfumato.microdata.kept.preserved import PatternWarning, Preserved, judge
from sfumato.microdata.methods.donors import Donors
from sfumato.microdata.methods.ib04 import IB04
from sfumato.microdata.methods.method import LeafFit, Method, Preserve, Terms, agree, preserve_of
from sfumato.microdata.methods.treatment import Treatment
from sfumato.microdata.patterns.nodes import Nodes
from sfumato.microdata.patterns.pattern import Leaves, Pattern
from sfumato.microdata.patterns.rules import Rule, repair
from sfumato.microdata.table.fields import Mask, Microdata, read_forms, read_microdata
from sfumato.microdata.table.roles import Roles, agree_roles
from sfumato.prose import counted

if TYPE_CHECKING:
    from sfumato.microdata.judged.report import ReleaseReport

Domains = Mapping[str, Interval | Categories]


@dataclass(frozen=True)
class Recipe:
    """What a release is made of and how: enough to make another one of some of the records.

    ``declared``: fields whose domain the owner stated.
    """

    data: Microdata
    terms: Terms
    treatment: Treatment
    declared: Mask


@dataclass(frozen=True)
class Release:
    """The released table and the report on it. Hand on ``table``; this object holds the original for the report."""

    terms: Terms = field(repr=False)
    original: Microdata = field(repr=False)
    released: Microdata = field(repr=False)
    pattern: Pattern = field(repr=False)
    leaves: Leaves | None = field(repr=False)
    leaf_fits: tuple[LeafFit, ...] = field(repr=False)
    rules: tuple[Rule, ...] = field(repr=False)
    regrown: Nodes | None = field(repr=False)
    notes: tuple[str, ...]
    roles: Roles = field(default=Roles({}, {}), repr=False)
    rows: Codes | None = field(default=None, repr=False)
    recipe: Recipe | None = field(default=None, repr=False)

    @property
    def method(self) -> Method:
        return self.terms.method

    @property
    def amount(self) -> dict[str, float]:
        """How much noise each attribute got, in the method's unit."""
        return dict(zip(self.original.names, self.terms.amount.tolist(), strict=True))

    @property
    def tree(self) -> Nodes:
        """The tree whose rules are to survive."""
        return self.pattern.tree

    @cached_property
    def table(self) -> Any:
        """The released records, as the kind of table that came: row i is record ``rows[i]``, which only this object
        knows."""
        return (self.released if self.rows is None else self.released.take(self.rows)).to_table()

    @cached_property
    def preserved(self) -> Preserved:
        """What of the patterns asked for is in the release."""
        again = self.regrown or self.pattern.grower.grow(self.released.X, self.released.y)
        return judge(self.original, self.released, self.tree, again, self.rules, self.terms)

    @cached_property
    def report(self) -> ReleaseReport:
        """Patterns kept, statistics kept, risk; made when first asked for."""
        from sfumato.microdata.judged.report import report_on

        return report_on(self)


def release(
    table: Any, target: str | None = None, method: Method | None = None, *, preserve: Preserve | None = None,
    rules: Iterable[str] = (), keep: Iterable[str] = (), roles: Mapping[str, str] | None = None,
    domains: Domains | None = None, treatment: Treatment | None = None, rng: np.random.Generator | int | None = None,
) -> Release:
    """Release a perturbed copy of a table of true records in which the patterns of before are still found; where those
    asked for are not, a :class:`PatternWarning` says so.

    table      pandas, Polars, PyArrow, DuckDB or a mapping of columns; comes back as the same kind
    target     the column to be explained: classes, or a number of more than twenty values; None: all columns alike
    method     how values move, with its own options: `Donors` (the default), `IB04` (the default for preserve="rules"),
               `Gadp` or `Swap` of ``sf.microdata``
    preserve   "rules" (a tree grown on the release is the same), "correlations" (of every two columns), "both", or
               these with their limits: {"rules": 0.8, "correlations": 0.1} is the least share of records under kept
               rules, and the largest change of an association. None: what the method is made for
    rules      what columns may hold together: "a -> b", "a ~ b", "a <= b", "not a=x, b=y"; others are found
    keep       columns that stay as they are
    roles      of columns, where another than the proposed one is meant: "identifier" (left out), "quasi-identifier",
               "sensitive", "free" (kept), "constant"
    domains    what a column may hold, where that is more than what it holds
    treatment  what is done about extreme values, gaps and the order of rows: `Treatment` of ``sf.microdata``
    rng        None draws from the operating system's randomness; a NumPy generator is for simulations

    >>> import sfumato as sf
    >>> ages = [20 + row % 30 for row in range(60)]
    >>> table = {"age": ages, "class": ["young" if age < 35 else "old" for age in ages]}
    >>> done = sf.release(table, "class", sf.microdata.Swap(window=0.3), rng=1)
    >>> sorted(done.table)
    ['age', 'class']
    """
    method = method_for(preserve) if method is None else method
    if not isinstance(method, Method):
        raise TypeError(f"method={method!r} is no method; give one with its options, such as sf.microdata.Donors()")
    data, agreed = read_records(table, target, domains, roles)
    kept = [*keep, *(name for name in agreed.having("free") if name != target)]
    for name in kept:
        if name in agreed.having("identifier"):
            raise ValueError(f"column {name!r} is an identifier, which is left out; give it another role to keep it")
    terms, treatment = agree(data, method, preserve, rules, kept), treatment or Treatment()
    recipe = Recipe(data, terms, treatment, np.isin(data.names, list(domains or ())))
    draws = Draws(rng)
    done = carry_out(recipe, draws)
    done = replace(
        done, notes=(*agreed.notes(), *treatment.notes(data, done.released, terms.kept), *done.notes), roles=agreed,
        rows=treatment.rows(len(data.y), draws), recipe=recipe,
    )
    done.table  # noqa: B018 (made now, while the caller's table is as it was)
    if not done.preserved.reached:
        warnings.warn(str(done.preserved), PatternWarning, stacklevel=2)
    return done


def method_for(preserve: Preserve | None) -> Method:
    """Return the default method for what is to survive."""
    return Donors() if preserve is None or preserve_of(preserve)[0] != "rules" else IB04()


def read_records(
    table: Any, target: str | None, domains: Domains | None = None, roles: Mapping[str, str] | None = None
) -> tuple[Microdata, Roles]:
    """A table's records without what names people, and the role of every column."""
    forms = read_forms(table)
    agreed = agree_roles({name: form.values for name, form in forms.items()}, target, roles)
    held = {name: form for name, form in forms.items() if agreed.by_column[name] != "identifier"}
    return read_microdata(table, target, domains, forms=held), agreed


def carry_out(recipe: Recipe, draws: Draws) -> Release:
    """Treat outliers, move values by the method, deal gaps anew."""
    original, terms, treatment = recipe.data, recipe.terms, recipe.treatment
    done = release_records(treatment.before(original, terms.kept, recipe.declared, draws), terms, draws)
    leaf = np.zeros(len(original.y), np.int64) if done.leaves is None else done.leaves.leaf
    released = treatment.after(done.released, leaf, terms.kept, draws)
    if released is not done.released and done.leaves is not None:
        repair(released.X, released.y, done.original, done.leaves, list(done.rules), terms.kept, draws)
    return replace(done, original=original, released=released)


def release_part(recipe: Recipe, rows: Codes, draws: Draws, attempts: int = 0) -> Microdata:
    """Release some of the records by the same recipe, as if the others were not there: with a tree of their own, and
    categories in the order of their own classes."""
    part = recipe.data.take(rows).arranged()
    terms = replace(recipe.terms, attempts=attempts, method=recipe.terms.method.grown_again_on(part))
    return carry_out(replace(recipe, data=part, terms=terms), draws).released.like(recipe.data.fields)


def release_records(data: Microdata, terms: Terms, draws: Draws) -> Release:
    """Move values by the method alone, in records that were read already."""
    moved = terms.method.move(data, terms, draws)
    return Release(
        terms=terms,
        original=data,
        released=data.with_values(moved.X, moved.y),
        pattern=moved.pattern,
        leaves=moved.leaves,
        leaf_fits=moved.leaf_fits,
        rules=moved.rules,
        regrown=moved.regrown,
        notes=(*_notes(data, moved.leaves), *_broken(data, moved.rules)),
    )


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
