"""`release`: a perturbed copy of a data set in which its patterns survive (after Islam & Brankovic 2004)."""

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
from sfumato.microdata.patterns.nodes import TreeNodes
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
    """The input and the settings of a release, enough to repeat it on a part of the records.

    ``data``: the records. ``terms``: what was agreed with the owner. ``treatment``: of extreme values, gaps and the
    order of rows. ``declared``: the fields whose domain the owner stated.
    """

    data: Microdata
    terms: Terms
    treatment: Treatment
    declared: Mask


@dataclass(frozen=True)
class Release:
    """A release: the perturbed ``table``, which may be handed on, and the report on it, which is for the owner.

    The object itself holds the original and must not be handed on. ``terms``: what was agreed. ``original`` and
    ``released``: the records before and after, in the same order. ``pattern``: the tree whose rules are to survive.
    ``leaves``: the leaves that confined the noise (None: none did). ``leaf_fits``: repairs of the leaves' correlation
    matrices (`Gadp`). ``rules``: which values of two columns may stand together. ``regrown``: the pattern tree grown on
    the release, where it was. ``notes``: sentences for the owner. ``roles``: the role of every column. ``rows``: the
    original's row of each released row (None: the same). ``recipe``: what is needed to repeat the release.
    """

    terms: Terms = field(repr=False)
    original: Microdata = field(repr=False)
    released: Microdata = field(repr=False)
    pattern: Pattern = field(repr=False)
    leaves: Leaves | None = field(repr=False)
    leaf_fits: tuple[LeafFit, ...] = field(repr=False)
    rules: tuple[Rule, ...] = field(repr=False)
    regrown: TreeNodes | None = field(repr=False)
    notes: tuple[str, ...]
    roles: Roles = field(default=Roles({}, {}), repr=False)
    rows: Codes | None = field(default=None, repr=False)
    recipe: Recipe | None = field(default=None, repr=False)

    @property
    def method(self) -> Method:
        """The method by which values were moved, with its options."""
        return self.terms.method

    @property
    def amount(self) -> dict[str, float]:
        """The amount of noise of each attribute by its name, in the method's own unit."""
        return dict(zip(self.original.names, self.terms.amount.tolist(), strict=True))

    @property
    def tree(self) -> TreeNodes:
        """The nodes of the tree that predicts the target, whose rules are to survive in the release."""
        return self.pattern.tree

    @cached_property
    def table(self) -> Any:
        """The released records, as the same kind of table as the original; row i is the original's row ``rows[i]``."""
        return (self.released if self.rows is None else self.released.take(self.rows)).to_table()

    @cached_property
    def preserved(self) -> Preserved:
        """Which of the patterns that were to survive are in the release."""
        again = self.regrown or self.pattern.grower.grow(self.released.X, self.released.y)
        return judge(self.original, self.released, self.tree, again, self.rules, self.terms)

    @cached_property
    def report(self) -> ReleaseReport:
        """The report for the owner: patterns kept, statistics kept, and risk; it is measured at the first use."""
        from sfumato.microdata.judged.report import report_on

        return report_on(self)


def release(
    table: Any, target: str | None = None, method: Method | None = None, *, preserve: Preserve | None = None,
    rules: Iterable[str] = (), keep: Iterable[str] = (), roles: Mapping[str, str] | None = None,
    domains: Domains | None = None, treatment: Treatment | None = None, rng: np.random.Generator | int | None = None,
) -> Release:
    """Release a perturbed copy of a table of true records in which its patterns can still be found.

    Where a pattern that was to survive does not, a :class:`PatternWarning` says so.

    table      true records: pandas, Polars, PyArrow, DuckDB or a mapping of columns; the release is of the same kind
    target     the column to be explained: classes, or a number of more than twenty values; None: there is none
    method     how values are moved, with its own options: `Donors` (the default), `IB04` (the default for
               preserve="rules"), `Gadp` or `Swap` of ``sf.microdata``
    preserve   what is to survive: "rules" (a tree grown on the release has the same rules), "correlations" (of every
               two columns), "both", or these with their limits: {"rules": 0.8, "correlations": 0.1} is the least share
               of records under kept rules, and the largest change of an association. None: what the method is made for
    rules      which values of two columns may stand together: "a -> b" (b follows from a), "a ~ b" (only pairs that
               occur), "a <= b", "not a=x, b=y"; besides these, rules that the records obey are found
    keep       columns that stay as they are
    roles      by column, where another than the proposed role is meant: "identifier" (left out), "quasi-identifier",
               "sensitive", "free" (kept), "constant"
    domains    by column the values it may have, where these are more than the values that occur
    treatment  what is done about extreme values, gaps and the order of rows: `Treatment` of ``sf.microdata``
    rng        None: secure random numbers; a NumPy generator or a seed is for simulations

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
    result = carry_out(recipe, draws)
    notes = (*agreed.notes(), *treatment.notes(data, result.released, terms.kept), *result.notes)
    result = replace(result, notes=notes, roles=agreed, rows=treatment.rows(len(data.y), draws), recipe=recipe)
    result.table  # noqa: B018 (made now, while the caller's table is as it was)
    if not result.preserved.reached:
        warnings.warn(str(result.preserved), PatternWarning, stacklevel=2)
    return result


def method_for(preserve: Preserve | None) -> Method:
    """Return the default method for what is to survive: `IB04` for rules alone, otherwise `Donors`."""
    return Donors() if preserve is None or preserve_of(preserve)[0] != "rules" else IB04()


def read_records(
    table: Any, target: str | None, domains: Domains | None = None, roles: Mapping[str, str] | None = None
) -> tuple[Microdata, Roles]:
    """Read a table's records without the columns that name people (identifiers), and the role of every column.

    The parameters are those of `release`.
    """
    forms = read_forms(table)
    agreed = agree_roles({name: form.values for name, form in forms.items()}, target, roles)
    released_forms = {name: form for name, form in forms.items() if agreed.by_column[name] != "identifier"}
    return read_microdata(table, target, domains, forms=released_forms), agreed


def carry_out(recipe: Recipe, draws: Draws) -> Release:
    """Make a release by a recipe: replace extreme values, move values by the method, spread missing ones anew."""
    original, terms, treatment = recipe.data, recipe.terms, recipe.treatment
    moved = release_records(treatment.before(original, terms.kept, recipe.declared, draws), terms, draws)
    leaf = np.zeros(len(original.y), np.int64) if moved.leaves is None else moved.leaves.leaf
    released = treatment.after(moved.released, leaf, terms.kept, draws)
    if released is not moved.released and moved.leaves is not None:
        repair(released.X, released.y, moved.original, moved.leaves, list(moved.rules), terms.kept, draws)
    return replace(moved, original=original, released=released)


def release_part(recipe: Recipe, rows: Codes, draws: Draws, attempts: int = 0) -> Microdata:
    """Release some of the records (``rows``) by the same recipe, as if the others did not exist; return them.

    So that a release can be judged on records that it was not made of.

    They get a pattern tree of their own, and categories in the order of their own class shares. ``attempts``: how often
    a tree is grown on the release to see whether it finds the patterns.
    """
    part = recipe.data.take(rows).arranged()
    terms = replace(recipe.terms, attempts=attempts, method=recipe.terms.method.grown_again_on(part))
    return carry_out(replace(recipe, data=part, terms=terms), draws).released.like(recipe.data.fields)


def release_records(data: Microdata, terms: Terms, draws: Draws) -> Release:
    """Make a release of records by the agreed method alone, without treating extreme values, gaps or the order."""
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
    """Return sentences for the owner about columns and leaves in which little or nothing can move."""
    notes = [f"{a.name} has one value only and stays as it is" for a in data.fields if a.low == a.high]
    if leaves is not None:
        single = int(((leaves.size == 1) & leaves.nodes.is_leaf).sum())
        notes += [f"{single} leaves hold one record; its class stays as it is"] if single else []
        notes += ["the tree has no cut; every attribute is untested"] if leaves.nodes.size == 1 else []
    return tuple(notes)


def _broken(data: Microdata, rules: Iterable[Rule]) -> list[str]:
    """Return a sentence for each rule that true records break, with their number; stated rules may be broken."""
    counts = [(rule.text, int(rule.broken(data.X).sum())) for rule in rules]
    return [
        f"rule {text!r}: {counted(count, 'true record')} of {len(data.X):,} break it; in the release none should"
        for text, count in counts if count
    ]
