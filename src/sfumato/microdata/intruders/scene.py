"""What every intruder has in common: a scene to look at, and a finding to report.

The scene holds true records and released ones, paired by place, which only the measurement knows. Of large tables
1,000 people are looked for among 20,000 records, those of whole leaves: among all they would be harder to find, so the
figures are too high rather than too low.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.stats import beta

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.releasing import Release
from sfumato.microdata.table.fields import Mask, Microdata

PEOPLE, CANDIDATES = 1_000, 20_000
CONFIDENCE = 0.99
Aim = Literal["find", "guess"]


@dataclass(frozen=True)
class Finding:
    """One intruder: what they know and do, and how often they succeed.

    ``found`` is the share of people found or guessed, ``at_most`` the upper 99 % limit of that share for people like
    these, ``by_guessing`` the share without their released records: one of all records (of the leaf, for whoever knows
    it) taken at random, or a guess from a release that these people are not in.
    """

    name: str
    story: str
    aim: Aim
    found: float
    at_most: float
    by_guessing: float
    people: int
    example: str

    @property
    def risk(self) -> float:
        """The share of people found, at most; of guesses only what the release adds to them."""
        return self.at_most if self.aim == "find" else max(self.at_most - self.by_guessing, 0.0)


def upper_limit(hits: float, people: int) -> float:
    """The upper confidence limit of a share (Clopper and Pearson), at least the share itself."""
    return 1.0 if hits >= people else float(beta.ppf(CONFIDENCE, hits + 1, people - hits))


@dataclass(frozen=True)
class Scene:
    """The people looked for are the first ``people`` records; columns are the attributes and then the class, where it
    is no attribute itself."""

    release: Release
    rows: Codes
    draws: Draws

    @classmethod
    def of(cls, release: Release, draws: Draws) -> Scene:
        """Whole leaves, so that the records a person may be confused with are all there, in random order."""
        n = len(release.original.y)
        leaf = np.arange(n) if release.leaves is None else release.leaves.leaf
        turn = draws.uniform(int(leaf.max()) + 1)[leaf]
        rows = np.lexsort((draws.uniform(n), turn))[:CANDIDATES]
        return cls(release, rows[np.argsort(draws.uniform(rows.size))], draws)

    @property
    def people(self) -> int:
        return min(PEOPLE, self.rows.size)

    @cached_property
    def names(self) -> list[str]:
        original = self.release.original
        return [*original.names, str(original.target)] if has_class(original) else original.names

    @cached_property
    def known(self) -> Floats:
        """True values, one row a record."""
        return _with_class(self.release.original.take(self.rows))

    @cached_property
    def seen(self) -> Floats:
        """Released values of the same records."""
        return _with_class(self.release.released.take(self.rows))

    @cached_property
    def is_label(self) -> Mask:
        own = ~self.release.original.numeric
        return np.append(own, True) if has_class(self.release.original) else own

    @cached_property
    def scale(self) -> Floats:
        """Standard deviations of the true values, 1 where there is none."""
        deviation = np.array([_deviation(column) for column in self.known.T])
        return np.where(deviation > 0, deviation, 1.0)

    @cached_property
    def unchanged(self) -> Mask:
        """Columns that were kept, or that moved in less than a tenth of the records."""
        same = ((self.known == self.seen) | (np.isnan(self.known) & np.isnan(self.seen))).mean(axis=0)
        varied = np.array([np.unique(column).size > 1 for column in self.known.T])
        return np.asarray((same > 0.9) & varied)

    @cached_property
    def leaves(self) -> tuple[Codes, Codes] | None:
        """The leaf of each true and of each released record, for whoever knows the tree."""
        if self.release.leaves is None or self.release.leaves.nodes.size == 1:
            return None
        nodes, fields = self.release.leaves.nodes, len(self.release.original.fields)
        return nodes.descend(self.known[:, :fields]), nodes.descend(self.seen[:, :fields])


def has_class(data: Microdata) -> bool:
    """Whether the target is a column beside the attributes."""
    return data.target is not None and data.target not in data.names


def column_of(data: Microdata, name: str) -> Floats:
    """An attribute, or the class as its codes."""
    return np.asarray(data.X[:, data.index(name)] if name in data.names else data.y, dtype=float)


def _with_class(data: Microdata) -> Floats:
    return np.column_stack([data.X, data.y]) if has_class(data) else data.X


def _deviation(column: Floats) -> float:
    known = column[~np.isnan(column)]
    return float(known.std()) if known.size else 0.0
