"""`Method`, the base of all methods of release, and `Terms`, what is agreed with the owner before one runs.

A method is a frozen value with its own options. It states how it moves records (`Method.move`); everything else has a
default: what it preserves, how much noise each field gets, how often the result is checked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.noise import STEPS
from sfumato.microdata.patterns.nodes import TreeNodes
from sfumato.microdata.patterns.owners import grow_again, grow_as_asked
from sfumato.microdata.patterns.pattern import Leaves, Pattern, find_leaves, find_pattern
from sfumato.microdata.patterns.rules import Rule, find_rules, read_off
from sfumato.microdata.table.fields import Mask, Microdata

Amount = float | Mapping[str, float]
"""One number for all attributes, or numbers by attribute."""

Preserve = str | Mapping[str, float]

LIMITS = {"rules": 0.8, "correlations": 0.1}
"""What counts as preserved (docs/decisions/0027): the least share of records under kept rules, and the largest change
of an association."""

LOOKS = 4_000_000
"""Values on which the pattern tree may be grown again, summed over all attempts, to bound the time. Chosen by
judgement."""

FEWEST_LOOKS = 4
"""Attempts that large tables get all the same."""

MOST_LOOKS = 60
"""Attempts that small tables get at most: two cuts beside each other are nearly as good, so that one try in two or
three finds the same one."""


@dataclass(frozen=True)
class LeafFit:
    """How one leaf's correlation matrix was repaired; ``shrinkage``: 0 keeps it, 1 replaces it by the pooled one.

    ``reason``: why, as a text; empty where nothing was done.
    """

    leaf: int
    records: int
    shrinkage: float
    reason: str


@dataclass(frozen=True)
class Moved:
    """What a method of release returns: the moved values X and classes y, and the tree, leaves and rules that it used.

    ``leaf_fits``: repairs of the leaves' correlation matrices. ``regrown``: the pattern tree grown on these records,
    None where none was.
    """

    X: Floats
    y: Codes
    pattern: Pattern
    leaves: Leaves | None = None
    rules: tuple[Rule, ...] = ()
    leaf_fits: tuple[LeafFit, ...] = ()
    regrown: TreeNodes | None = None


@dataclass(frozen=True)
class Terms:
    """What is agreed with the data owner before a release is made, checked against the table.

    ``preserve``: "rules", "correlations", "both" or "nothing", and ``limits`` as in LIMITS. ``rules``: the owner's
    rules. ``kept``: the fields that stay as they are. ``amount``: the noise of each field, in the method's unit.
    ``attempts``: how often a tree is grown on the release to see whether it finds the patterns.
    """

    method: Method
    preserve: str
    limits: Mapping[str, float]
    rules: tuple[str, ...]
    kept: Mask
    amount: Floats
    attempts: int

    @property
    def guards_rules(self) -> bool:
        """Whether the rules of the pattern tree are to survive."""
        return self.preserve in ("rules", "both")


class Method(ABC):
    """A method of release, which moves the values of records. A subclass must define `move`."""

    name: ClassVar[str]

    @abstractmethod
    def move(self, data: Microdata, terms: Terms, draws: Draws) -> Moved:
        """Move the values of the records ``data`` as agreed in ``terms``; return the moved records.

        ``draws``: the source of random numbers.
        """

    def amounts(self, data: Microdata) -> Floats:
        """Return the amount of noise of each field of ``data``, an array in the method's own unit."""
        return np.ones(len(data.fields))

    def preserves(self, data: Microdata) -> str:
        """Return what a release of ``data`` by this method is to preserve, where the owner does not say.

        "rules" (of a tree), "correlations", "both" or "nothing".
        """
        return "nothing"

    def looks(self, data: Microdata, preserve: str) -> int:
        """Return how often a tree is grown on the release of ``data`` to see whether it has the same rules.

        ``preserve``: what is to survive.
        """
        return 0

    def varied(self) -> tuple[Method, ...]:
        """Return several versions of the method, with less and with more noise, for comparison."""
        return (self,)

    def grown_on(self, data: Microdata) -> Self:
        """Return the method with a tree fitted to ``data`` in place of options that only describe one."""
        return self

    def grown_again_on(self, data: Microdata) -> Self:
        """Return the method with the owner's own tree grown anew on the records ``data``, where it has one."""
        return self


@dataclass(frozen=True, kw_only=True)
class InLeaves(Method):
    """A method of release that moves values inside the leaves of a tree, whose rules so survive, and then classes.

    leaves   the tree whose rules survive: None grows one on the table, a number one of at most so many leaves, "c45"
             one after C4.5; options of scikit-learn's trees grow one on the numeric columns ({"max_depth": 3}); or any
             fitted tree
    labels   how classes move inside leaves: "rpt" permutes them, "ppt" draws them from the leaf's shares, "alpt" in
    pure
             leaves too, "none" leaves them as they are
    """

    leaves: Any = None
    labels: str = "rpt"

    def __post_init__(self) -> None:
        check_name("labels", self.labels, STEPS)
        if isinstance(self.leaves, str):
            check_name("leaves", self.leaves, ("c45",), "a number, options of a tree or a fitted tree")
        if isinstance(self.leaves, Real) and (self.leaves < 2 or self.leaves % 1):
            raise ValueError(f"leaves={self.leaves!r} is no whole number, 2 or more; a tree of one leaf has no rule")

    def grown_on(self, data: Microdata) -> Self:
        options = {"max_leaf_nodes": int(float(self.leaves))} if isinstance(self.leaves, Real) else self.leaves
        return replace(self, leaves=grow_as_asked(options, data)) if isinstance(options, Mapping) else self

    def grown_again_on(self, data: Microdata) -> Self:
        own = self.leaves is not None and not isinstance(self.leaves, str)
        return replace(self, leaves=grow_again(self.leaves, data)) if own else self

    def find_leaves(
        self, data: Microdata, terms: Terms, *, search: bool, finer: bool, observed: bool = True
    ) -> tuple[list[Rule], Pattern, Leaves]:
        """Return the rules between columns, the pattern tree, and the leaves that confine the noise.

        ``search``: whether to find rules besides the owner's. ``finer``: whether noise is confined to the leaves of the
        unpruned tree. ``observed``: whether intervals end at observed values (else at the cuts).
        """
        rules = find_rules(data, terms.kept, terms.rules, search=search)
        pattern = find_pattern(self.leaves, data, leave_out=read_off(rules), finer=finer)
        return rules, pattern, find_leaves(pattern.leaves, data, observed=observed)


@dataclass(frozen=True, kw_only=True)
class LookedAt(InLeaves):
    """A method of release that is repeated in parts until a tree grown on the release has the same rules.

    attempts   how often a tree is grown on the release (0: never; None: from 4 times for large tables to 60 for small
               ones)
    """

    attempts: int | None = None
    wanted: ClassVar[str]
    """What a release with a target is to preserve."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.attempts is not None and (not isinstance(self.attempts, int) or self.attempts < 0):
            raise ValueError(f"attempts={self.attempts!r} is not a whole number, 0 or more; 0 does not look")

    def preserves(self, data: Microdata) -> str:
        return "correlations" if data.target is None else self.wanted

    def looks(self, data: Microdata, preserve: str) -> int:
        if self.attempts is None and preserve in ("rules", "both"):
            return int(np.clip(LOOKS // data.X.size, FEWEST_LOOKS, MOST_LOOKS))
        return self.attempts or 0


class WholeTable(Method):
    """A method of release that moves values without regard to a tree, and leaves the class as it is.

    A subclass states the noisy values (`blurred`); they are then rounded to the field's steps and clipped to its
    domain.
    """

    @abstractmethod
    def blurred(self, data: Microdata, terms: Terms, draws: Draws) -> Floats:
        """Return the values of all fields with noise; those of kept fields are ignored."""

    def move(self, data: Microdata, terms: Terms, draws: Draws) -> Moved:
        released = np.where(terms.kept, data.X, self.blurred(data, terms, draws))
        for index, field in enumerate(data.fields):
            released[:, index] = field.snap(released[:, index], field.low, field.high)
        rules = find_rules(data, terms.kept, terms.rules, search=False)  # judged, not kept
        return Moved(released, data.y.copy(), find_pattern(None, data), rules=tuple(rules))


# --- options ----------------------------------------------------------------------------------------------------------


def check_name(option: str, value: object, allowed: Iterable[object], or_else: str = "") -> None:
    """Raise ValueError unless the value of an option is one of the allowed names; ``or_else``: what else it takes."""
    names = tuple(allowed)
    if value not in names:
        others = f", or give {or_else}" if or_else else ""
        raise ValueError(f"{option}={value!r} is unknown; choose {', '.join(map(str, names))}{others}")


def check_amount(option: str, amount: Amount, most: float = np.inf) -> None:
    """Raise ValueError unless every amount of an option is a number from 0 to ``most``."""
    for number in amount.values() if isinstance(amount, Mapping) else (amount,):
        if isinstance(number, bool) or not isinstance(number, (int, float, np.number)) or not 0 <= number <= most:
            allowed = "0 or more" if np.isinf(most) else f"between 0 and {most:g}"
            raise ValueError(f"{option}={number!r} is not a number {allowed}")


def by_field(data: Microdata, amount: Amount, usual: float) -> Floats:
    """Return the amount of noise of each field, as an array.

    ``amount``: one number for all, or a mapping by name. ``usual``: for fields that the mapping leaves out.
    """
    if not isinstance(amount, Mapping):
        return np.full(len(data.fields), amount, dtype=float)
    amounts = np.full(len(data.fields), usual, dtype=float)
    for name, number in amount.items():
        amounts[data.index(name)] = number
    return amounts


# --- terms ------------------------------------------------------------------------------------------------------------


def agree(
    data: Microdata, method: Method, preserve: Preserve | None = None, rules: Iterable[str] = (),
    keep: Iterable[str] = (),
) -> Terms:
    """Check the owner's wishes against the table and return them as `Terms`; parameters as in `release`."""
    wanted, limits = (method.preserves(data), LIMITS) if preserve is None else preserve_of(preserve)
    if data.target is None and wanted in ("rules", "both"):
        raise ValueError(f"preserve={wanted!r} needs a target whose rules are to survive; name one, or leave it out")
    return Terms(
        method=method.grown_on(data),
        preserve=wanted,
        limits=limits,
        rules=(rules,) if isinstance(rules, str) else tuple(rules),
        kept=_kept(data, keep),
        amount=method.amounts(data),
        attempts=method.looks(data, wanted),
    )


def preserve_of(preserve: Preserve) -> tuple[str, dict[str, float]]:
    """Return what is to survive a release ("rules", "correlations" or "both") and the limits by which that is judged.

    ``preserve``: what the owner wrote: one of these names, or a mapping from "rules" and "correlations" to limits.
    """
    if isinstance(preserve, str):
        check_name("preserve", preserve, (*LIMITS, "both"))
        return preserve, LIMITS
    for name, share in preserve.items():
        check_name("preserve", name, LIMITS)
        if not 0 <= share <= 1:
            raise ValueError(f"preserve={{{name!r}: {share:g}}} is not between 0 and 1; it is a share")
    if not preserve:
        raise ValueError("preserve={} names nothing; leave it out, or give {'rules': 0.8}")
    return next(iter(preserve)) if len(preserve) == 1 else "both", {**LIMITS, **preserve}


def _kept(data: Microdata, keep: Iterable[str]) -> Mask:
    """Return which fields stay as they are, as truth values; ValueError if these are all. ``keep``: their names."""
    kept = np.isin(data.names, [data.names[data.index(name)] for name in keep])
    if kept.all():
        raise ValueError("keep names every attribute; leave out at least one to release")
    return np.asarray(kept)
