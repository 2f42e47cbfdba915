"""`Scene`, the records that intruders attack, and `IntruderFinding`, the result of an attack.

A scene has true records and released ones in the same order, which only the measurement knows. Of large tables 1,000
people are looked for among 20,000 records, those of whole leaves: among all records they would be harder to find, so
the figures are too high rather than too low.
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

PEOPLE = 1_000
"""People who are looked for, to bound the time: a share among them has a standard error of 1.6 points at most, and the
upper limit is stated."""

CANDIDATES = 20_000
"""Records among which they are looked for, to bound the time; more would make people harder to find."""

CONFIDENCE = 0.99
"""The confidence of upper limits on risk; a convention, stated in the report."""

CELLS = 2_000_000
"""Distances in memory at once: 8 to 16 MB. It changes no result."""

Aim = Literal["find", "guess"]


@dataclass(frozen=True)
class IntruderFinding:
    """The result of one intruder's attack on a release: how many people were found, or guessed right about.

    ``name`` and ``story``: what the intruder knows and does. ``aim``: "find" people's records, or "guess" something
    about them. ``found``: the share of people found or guessed. ``at_most``: the upper 99 % limit of that share.
    ``by_guessing``: the share without people's released records: a record taken at random (inside the leaf, where the
    intruder knows it), or a guess from a release that these people are not in. ``people``: how many were looked for.
    ``example``: a sentence for the owner.
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
        """The upper limit of the share of people found; for guesses, of what the release adds to guessing."""
        return self.at_most if self.aim == "find" else max(self.at_most - self.by_guessing, 0.0)


def upper_limit(hits: float, people: int) -> float:
    """Return the upper confidence limit (Clopper and Pearson) of a share of ``hits`` among so many people."""
    return 1.0 if hits >= people else float(beta.ppf(CONFIDENCE, hits + 1, people - hits))


@dataclass(frozen=True)
class Scene:
    """The true and the released records that intruders attack; the people looked for are the first ``people`` records.

    ``rows``: which records of the release these are. Columns are the attributes, then the class unless it is one of
    them.
    """

    release: Release
    rows: Codes
    draws: Draws

    @classmethod
    def of(cls, release: Release, draws: Draws) -> Scene:
        """Draw the records of a scene, in random order.

        Whole leaves are taken, so that all records with which a person may be confused are there.
        """
        n = len(release.original.y)
        leaf = np.arange(n) if release.leaves is None else release.leaves.leaf
        turn = draws.uniform(int(leaf.max()) + 1)[leaf]
        rows = np.lexsort((draws.uniform(n), turn))[:CANDIDATES]
        return cls(release, rows[np.argsort(draws.uniform(rows.size))], draws)

    @property
    def people(self) -> int:
        """The number of people who are looked for."""
        return min(PEOPLE, self.rows.size)

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns."""
        original = self.release.original
        return [*original.names, str(original.target)] if has_class(original) else original.names

    @cached_property
    def true_values(self) -> Floats:
        """The true values: [record, column]."""
        return _with_class(self.release.original.take(self.rows))

    @cached_property
    def released_values(self) -> Floats:
        """The released values of the same records: [record, column]."""
        return _with_class(self.release.released.take(self.rows))

    @cached_property
    def is_label(self) -> Mask:
        """Which columns are labels, not numbers."""
        own = ~self.release.original.numeric
        return np.append(own, True) if has_class(self.release.original) else own

    @cached_property
    def scale(self) -> Floats:
        """The standard deviation of each column's true values, 1 where it is 0."""
        deviation = np.array([_deviation(column) for column in self.true_values.T])
        return np.where(deviation > 0, deviation, 1.0)

    @cached_property
    def unchanged(self) -> Mask:
        """Which columns vary and are the same in the release for more than nine records in ten."""
        true, released = self.true_values, self.released_values
        same = ((true == released) | (np.isnan(true) & np.isnan(released))).mean(axis=0)
        varied = np.array([np.unique(column).size > 1 for column in self.true_values.T])
        return np.asarray((same > 0.9) & varied)

    @cached_property
    def leaves(self) -> tuple[Codes, Codes] | None:
        """The leaf of the pattern tree that each true and each released record lies in, as two arrays of node numbers.

        None where the tree has no cut.
        """
        if self.release.leaves is None or self.release.leaves.nodes.size == 1:
            return None
        nodes, fields = self.release.leaves.nodes, len(self.release.original.fields)
        return nodes.descend(self.true_values[:, :fields]), nodes.descend(self.released_values[:, :fields])


def has_class(data: Microdata) -> bool:
    """Return whether the target is a column beside the attributes."""
    return data.target is not None and data.target not in data.names


def column_of(data: Microdata, name: str) -> Floats:
    """Return the values of an attribute, or the codes of the class."""
    return np.asarray(data.X[:, data.index(name)] if name in data.names else data.y, dtype=float)


def _with_class(data: Microdata) -> Floats:
    """Return the values of all attributes, then the codes of the class unless it is an attribute."""
    return np.column_stack([data.X, data.y]) if has_class(data) else data.X


def _deviation(column: Floats) -> float:
    """Return the standard deviation of the values that are not missing, 0 without any."""
    present = column[~np.isnan(column)]
    return float(present.std()) if present.size else 0.0
