"""What every method of releasing has in common: its name, its options, what is agreed with the owner, what comes of it.

A method is a frozen value with its own options. It states how it moves records (`Method.move`); everything else has a
default: what it preserves, how much noise each field gets, how often the owner looks.
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
from sfumato.microdata.patterns.nodes import Nodes
from sfumato.microdata.patterns.owners import grow_again, grow_as_asked
from sfumato.microdata.patterns.pattern import Leaves, Pattern, find_leaves, find_pattern
from sfumato.microdata.patterns.rules import Rule, find_rules, read_off
from sfumato.microdata.table.fields import Mask, Microdata

Amount = float | Mapping[str, float]
"""One number for all attributes, or numbers by attribute."""
Preserve = str | Mapping[str, float]
LIMITS = {"rules": 0.8, "correlations": 0.1}
"""What counts as preserved: the least share of records under rules that are kept, the largest change of an
association."""
LOOKS, FEWEST_LOOKS, MOST_LOOKS = 4_000_000, 4, 60
"""How many values a tree may be grown on again, over all attempts; large tables get four attempts, small ones sixty."""


@dataclass(frozen=True)
class LeafFit:
    """How one leaf's correlation matrix was made usable: 0 keeps it, 1 replaces it by the pooled one."""

    leaf: int
    records: int
    shrinkage: float
    reason: str


@dataclass(frozen=True)
class Moved:
    """Records as a method has moved them, and what it went by."""

    X: Floats
    y: Codes
    pattern: Pattern
    leaves: Leaves | None = None
    rules: tuple[Rule, ...] = ()
    leaf_fits: tuple[LeafFit, ...] = ()
    regrown: Nodes | None = None
    """The pattern tree grown on these records, where it was."""


@dataclass(frozen=True)
class Terms:
    """How to release, checked against the table: amounts and kept columns in the order of its fields."""

    method: Method
    preserve: str
    limits: Mapping[str, float]
    rules: tuple[str, ...]
    kept: Mask
    amount: Floats
    attempts: int
    """How often the owner looks."""

    @property
    def guards_rules(self) -> bool:
        return self.preserve in ("rules", "both")


class Method(ABC):
    """How the values of records move. One method is required: `move`."""

    name: ClassVar[str]

    @abstractmethod
    def move(self, data: Microdata, terms: Terms, draws: Draws) -> Moved:
        """Move the values of the records."""

    def amounts(self, data: Microdata) -> Floats:
        """Return how much noise each field gets, in the method's own unit."""
        return np.ones(len(data.fields))

    def preserves(self, data: Microdata) -> str:
        """Return what a release by this method is to preserve if the owner does not say."""
        return "nothing"

    def looks(self, data: Microdata, preserve: str) -> int:
        """Return how often a tree is grown on the release, to see whether it finds the patterns."""
        return 0

    def varied(self) -> tuple[Method, ...]:
        """Return the same method with less and with more noise, to choose from."""
        return (self,)

    def grown_on(self, data: Microdata) -> Self:
        """Return the method with the tree that its options describe."""
        return self

    def grown_again_on(self, data: Microdata) -> Self:
        """Return the method with the owner's own tree grown anew on these records."""
        return self


@dataclass(frozen=True, kw_only=True)
class InLeaves(Method):
    """A method that moves values inside the leaves of a tree, and then classes.

    leaves   the tree whose rules survive: None grows one on the table, a number one of at most so many leaves, "c45"
             one after C4.5; options of scikit-learn's trees grow one on the numbers ({"max_depth": 3}); or any fitted
             tree
    labels   how classes move inside leaves: "rpt", "ppt", "alpt" or "none"
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
        """Return the rules between columns, the pattern, and the leaves that confine the noise."""
        rules = find_rules(data, terms.kept, terms.rules, search=search)
        pattern = find_pattern(self.leaves, data, leave_out=read_off(rules), finer=finer)
        return rules, pattern, find_leaves(pattern.leaves, data, observed=observed)


@dataclass(frozen=True, kw_only=True)
class LookedAt(InLeaves):
    """A method after which the owner looks whether the rules are found again, and has values moved again if not.

    attempts   how often to look (0: never; None: from 4 times for large tables to 60 for small ones)
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
    """A method that knows nothing of a tree and leaves the class as it is; it states the values (`blurred`), which are
    then rounded to the field's type and clipped to its domain."""

    @abstractmethod
    def blurred(self, data: Microdata, terms: Terms, draws: Draws) -> Floats:
        """Return the values of all fields with noise; those of kept ones are not used."""

    def move(self, data: Microdata, terms: Terms, draws: Draws) -> Moved:
        released = np.where(terms.kept, data.X, self.blurred(data, terms, draws))
        for place, field in enumerate(data.fields):
            released[:, place] = field.snap(released[:, place], field.low, field.high)
        rules = find_rules(data, terms.kept, terms.rules, search=False)  # judged, not kept
        return Moved(released, data.y.copy(), find_pattern(None, data), rules=tuple(rules))


# --- options ----------------------------------------------------------------------------------------------------------


def check_name(option: str, value: object, allowed: Iterable[object], or_else: str = "") -> None:
    """Refuse a value that is not one of the names."""
    names = tuple(allowed)
    if value not in names:
        others = f", or give {or_else}" if or_else else ""
        raise ValueError(f"{option}={value!r} is unknown; choose {', '.join(map(str, names))}{others}")


def check_amount(option: str, amount: Amount, most: float = np.inf) -> None:
    """Refuse amounts that are no numbers, or out of range."""
    for one in amount.values() if isinstance(amount, Mapping) else (amount,):
        if isinstance(one, bool) or not isinstance(one, (int, float, np.number)) or not 0 <= one <= most:
            allowed = "0 or more" if np.isinf(most) else f"between 0 and {most:g}"
            raise ValueError(f"{option}={one!r} is not a number {allowed}")


def by_field(data: Microdata, amount: Amount, usual: float) -> Floats:
    """Return the amount of each field; ``usual`` for those that a mapping leaves out."""
    if not isinstance(amount, Mapping):
        return np.full(len(data.fields), amount, dtype=float)
    amounts = np.full(len(data.fields), usual, dtype=float)
    for name, one in amount.items():
        amounts[data.index(name)] = one
    return amounts


# --- what is agreed ---------------------------------------------------------------------------------------------------


def agree(
    data: Microdata, method: Method, preserve: Preserve | None = None, rules: Iterable[str] = (),
    keep: Iterable[str] = (),
) -> Terms:
    """Check what was asked for against the table; what is unknown or out of range is refused by name."""
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
    """Return what is to survive, as one word, and the limits by which it is judged."""
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
    """Which fields stay as they are; not all."""
    kept = np.isin(data.names, [data.names[data.index(name)] for name in keep])
    if kept.all():
        raise ValueError("keep names every attribute; leave out at least one to release")
    return np.asarray(kept)
