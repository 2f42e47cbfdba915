"""The attack on membership: was a person in the table, and how much better can be guessed about those who were?

The table (of large ones 20,000 records) is split at random into two halves, and each half is released by the same
recipe. Everybody (of large tables 4,000 people) is in one of these releases and not in the other, so what an intruder
gains from a person's being in it is a mean of differences, one a person. Half a table has smaller leaves than the
whole, so the gain is too high rather than too low.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from sfumato.domain import Codes, Floats
from sfumato.microdata.intruders.scene import CELLS, CONFIDENCE, IntruderFinding, Scene, column_of
from sfumato.microdata.releasing import release_part
from sfumato.microdata.table.fields import Microdata
from sfumato.microdata.table.forms import Column
from sfumato.microdata.table.points import CLOSE, points
from sfumato.prose import percent

MOST = 20_000
"""Records of a large table that are split, to bound the time: two more releases are made of them."""

PEOPLE = 4_000
"""People about whom an intruder guesses, to bound the time: a mean of differences has an error of some 1 to 2
points."""

FEWEST = 40
"""The fewest records of a table that is attacked so: halves of fewer than 20 records hardly have a pattern."""


THRESHOLDS = (0.05, 0.5)
"""The shares of people outside the table whom an intruder takes to be inside; both are tried, the better one is stated.
Few false alarms, or as many right answers as possible: the two ends of what attacks in the literature report."""


@dataclass(frozen=True)
class Halves:
    """A table split into two halves, each released apart, so that every person is in one release and not in the other.

    ``original``: true records. ``half``: the half, 0 or 1, that each is in. ``releases``: of both halves.
    """

    original: Microdata
    half: Codes
    releases: tuple[Microdata, Microdata]

    @classmethod
    def of(cls, scene: Scene) -> Halves | None:
        """Split a scene's table and release both halves; None where it has fewer than FEWEST records."""
        recipe, n = scene.release.recipe, len(scene.release.original.y)
        if recipe is None or n < FEWEST:
            return None
        rows = np.argsort(scene.draws.uniform(n))[:MOST]
        half = np.arange(rows.size) % 2
        first, second = (release_part(recipe, rows[half == which], scene.draws) for which in (0, 1))
        return cls(scene.release.original.take(rows[:PEOPLE]), half[:PEOPLE], (first, second))

    def nearest(self, names: list[str] | None = None) -> tuple[tuple[Codes, Floats], tuple[Codes, Floats]]:
        """Find for every person the nearest record of each of the two releases: (indices, distances) twice.

        ``names``: the attributes that distances are measured on (None: all).
        """
        indices = [index for index, name in enumerate(self.original.names) if names is None or name in names]
        truth = _on(self.original, indices, self.original)
        first, second = (_nearest(truth, _on(release, indices, self.original)) for release in self.releases)
        return first, second

    def crossed(self, of_first: Column, of_second: Column) -> tuple[Floats, Floats]:
        """Return each person's value from the release that they are in, and from the one that they are not in."""
        with_person = np.where(self.half == 0, of_first, of_second)
        return with_person, np.where(self.half == 0, of_second, of_first)

    @cached_property
    def size(self) -> int:
        """The number of people."""
        return int(self.half.size)


def _on(data: Microdata, indices: list[int], reference: Microdata) -> Floats:
    """Return records as points on some attributes, scaled by the reference's deviations."""
    cut, like = (
        replace(side, fields=tuple(reference.fields[index] for index in indices), X=side.X[:, indices])
        for side in (data, reference)
    )
    return points(cut, like)


def _nearest(truth: Floats, released: Floats) -> tuple[Codes, Floats]:
    """Return the index of the released point nearest to each true one, and the distance."""
    step, index, distance = max(1, CELLS // len(released)), [], []
    own = (released**2).sum(axis=1)
    for start in range(0, len(truth), step):
        part = truth[start : start + step]
        squared = (part**2).sum(axis=1)[:, None] + own - 2 * part @ released.T
        index.append(squared.argmin(axis=1))
        distance.append(np.sqrt(np.maximum(squared.min(axis=1), 0)))
    return np.concatenate(index), np.concatenate(distance)


def gain(with_person: Floats, without: Floats, z: float) -> tuple[float, float]:
    """Return the mean gain of a person's being in the table, and its upper limit, ``z`` standard errors above.

    The limit is for an intruder who repeats the attack: other halves, released anew, have an error of their own, hence
    the factor √2.
    """
    difference = np.asarray(with_person, float) - np.asarray(without, float)
    error = np.sqrt(2.0) * difference.std(ddof=1) / np.sqrt(difference.size)
    return float(difference.mean()), float(difference.mean() + z * error)


def membership(halves: Halves) -> IntruderFinding:
    """Attack a release by guessing who was in the table: whoever has a released record near them.

    Returns how many guesses are right; of the people half were in it, so blind guessing gives 1/2.
    """
    z = float(ndtri(1 - (1 - CONFIDENCE) / len(THRESHOLDS)))
    inside, outside = halves.crossed(*(distance for _, distance in halves.nearest()))
    gains = [gain(inside <= reach, outside <= reach, z) for reach in np.quantile(outside, THRESHOLDS)]
    best_gain, limit = max(gains, key=lambda gain_and_limit: gain_and_limit[1])
    story = (
        "knows every attribute of a person and says that they were in the table where a released record is near; "
        "measured on releases of two halves of the table, each person in one of them"
    )
    nearer = float((inside < outside).mean())
    example = f"the release with a person has the nearer record in {100 * nearer:.0f} % of cases"
    share, at_most = (1 + best_gain) / 2, min((1 + max(limit, 0)) / 2, 1.0)
    return IntruderFinding("membership", story, "guess", share, max(at_most, share), 0.5, halves.size, example)


def sensitive_values(scene: Scene, halves: Halves) -> list[IntruderFinding]:
    """Attack a release by guessing each person's sensitive values from the released record nearest by other columns.

    Returns a list of one result a sensitive column.
    """
    sensitive = scene.release.roles.having("sensitive")
    others = [name for name in halves.original.names if name not in sensitive]
    return [_guessed(halves, name, others) for name in sensitive] if others else []


def _guessed(halves: Halves, name: str, others: list[str]) -> IntruderFinding:
    """Guess the sensitive column ``name`` of each person from the released record nearest by the columns ``others``.

    Returns how often the guess is right for people in the table, and for people who are not.
    """
    (first, _), (second, _) = halves.nearest(others)
    guesses = (column_of(half, name)[rows] for half, rows in zip(halves.releases, (first, second), strict=True))
    truth = column_of(halves.original, name)
    numeric = name in halves.original.names and halves.original.numeric[halves.original.index(name)]
    reach = CLOSE * float(np.nanstd(truth)) if numeric else 0.0
    inside, outside = halves.crossed(*(np.abs(guess - truth) <= reach for guess in guesses))
    added, limit = gain(inside, outside, float(ndtri(CONFIDENCE)))
    base = float(outside.mean())
    story = (
        f"knows the other attributes of a person and takes {name} from the nearest released record; by guessing: from "
        "a release without that person"
    )
    share, at_most = base + added, min(base + max(limit, 0), 1.0)
    example = f"{name} is guessed right for {percent(share, 0)} of those in the table, for {percent(base, 0)} of others"
    return IntruderFinding(f"guessing {name}", story, "guess", share, max(at_most, share), base, halves.size, example)
