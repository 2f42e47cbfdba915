"""Membership: was a person in the table, and what is guessed of them beside people who were not in it?

The table (of large ones 20,000 records) is split at random into two halves, and each half is released by the same
recipe. Everybody (of large tables 4,000 people) is in one of these releases and not in the other, so that what an
intruder gains from a person's being in it is a mean of differences, one a person. Half a table has smaller leaves than
the whole: the gain is too high rather than too low.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from sfumato.domain import Codes, Floats
from sfumato.microdata.intruders.scene import CONFIDENCE, Finding, Scene, column_of
from sfumato.microdata.releasing import release_part
from sfumato.microdata.table.fields import Microdata
from sfumato.microdata.table.forms import Column
from sfumato.microdata.table.points import CLOSE, points
from sfumato.prose import percent

MOST, PEOPLE, FEWEST, CELLS = 20_000, 4_000, 40, 2_000_000
THRESHOLDS = (0.05, 0.5)
"""Shares of the people who were not in it that are taken to have been."""


@dataclass(frozen=True)
class Halves:
    """True records, the half that each is in, and the release of each half."""

    original: Microdata
    half: Codes
    releases: tuple[Microdata, Microdata]

    @classmethod
    def of(cls, scene: Scene) -> Halves | None:
        recipe, n = scene.release.recipe, len(scene.release.original.y)
        if recipe is None or n < FEWEST:
            return None
        rows = np.argsort(scene.draws.uniform(n))[:MOST]
        half = np.arange(rows.size) % 2
        first, second = (release_part(recipe, rows[half == which], scene.draws) for which in (0, 1))
        return cls(scene.release.original.take(rows[:PEOPLE]), half[:PEOPLE], (first, second))

    def nearest(self, names: list[str] | None = None) -> tuple[tuple[Codes, Floats], tuple[Codes, Floats]]:
        """For everybody the nearest record (its place and distance) of each release, on all attributes or on these."""
        places = [place for place, name in enumerate(self.original.names) if names is None or name in names]
        known = _on(self.original, places, self.original)
        first, second = (_nearest(known, _on(one, places, self.original)) for one in self.releases)
        return first, second

    def crossed(self, of_first: Column, of_second: Column) -> tuple[Floats, Floats]:
        """What the release with a person says, and what the one without them says."""
        with_person = np.where(self.half == 0, of_first, of_second)
        return with_person, np.where(self.half == 0, of_second, of_first)

    @cached_property
    def size(self) -> int:
        return int(self.half.size)


def _on(data: Microdata, places: list[int], reference: Microdata) -> Floats:
    cut, like = (
        replace(one, fields=tuple(reference.fields[place] for place in places), X=one.X[:, places])
        for one in (data, reference)
    )
    return points(cut, like)


def _nearest(known: Floats, seen: Floats) -> tuple[Codes, Floats]:
    step, place, distance = max(1, CELLS // len(seen)), [], []
    own = (seen**2).sum(axis=1)
    for start in range(0, len(known), step):
        part = known[start : start + step]
        squared = (part**2).sum(axis=1)[:, None] + own - 2 * part @ seen.T
        place.append(squared.argmin(axis=1))
        distance.append(np.sqrt(np.maximum(squared.min(axis=1), 0)))
    return np.concatenate(place), np.concatenate(distance)


def gain(with_person: Floats, without: Floats, z: float) -> tuple[float, float]:
    """The mean difference, and the limit of what somebody finds who tries again: other halves, released anew, have an
    error of their own, hence √2."""
    difference = np.asarray(with_person, float) - np.asarray(without, float)
    error = np.sqrt(2.0) * difference.std(ddof=1) / np.sqrt(difference.size)
    return float(difference.mean()), float(difference.mean() + z * error)


def membership(halves: Halves) -> Finding:
    """Right answers about people of whom half were in the table; guessing is right half of the time."""
    z = float(ndtri(1 - (1 - CONFIDENCE) / len(THRESHOLDS)))
    inside, outside = halves.crossed(*(distance for _, distance in halves.nearest()))
    gains = [gain(inside <= reach, outside <= reach, z) for reach in np.quantile(outside, THRESHOLDS)]
    found, limit = max(gains, key=lambda each: each[1])
    story = (
        "knows every attribute of a person and says that they were in the table where a released record is near; "
        "measured on releases of two halves of the table, each person in one of them"
    )
    nearer = float((inside < outside).mean())
    example = f"the release with a person has the nearer record in {100 * nearer:.0f} % of cases"
    share, at_most = (1 + found) / 2, min((1 + max(limit, 0)) / 2, 1.0)
    return Finding("membership", story, "guess", share, max(at_most, share), 0.5, halves.size, example)


def sensitive_values(scene: Scene, halves: Halves) -> list[Finding]:
    """One finding for each sensitive column; the intruder knows the others."""
    sensitive = scene.release.roles.having("sensitive")
    others = [name for name in halves.original.names if name not in sensitive]
    return [_guessed(halves, name, others) for name in sensitive] if others else []


def _guessed(halves: Halves, name: str, others: list[str]) -> Finding:
    (first, _), (second, _) = halves.nearest(others)
    guesses = (column_of(one, name)[place] for one, place in zip(halves.releases, (first, second), strict=True))
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
    return Finding(f"guessing {name}", story, "guess", share, max(at_most, share), base, halves.size, example)
